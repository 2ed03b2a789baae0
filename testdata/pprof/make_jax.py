#!/usr/bin/env python3
"""Writes jax_leak/ and jax_funcs/: device memory profiles in JAX's own form.

They stand for what jax.profiler.save_device_memory_profile() would leave
behind for leak.py and funcs.py beside them.  No accelerator was used: live
buffers follow from the programs, stacks are modelled on real profiles.
"""
from pathlib import Path

import wire

HERE = Path(__file__).resolve().parent
JAX = "/usr/lib/python3/dist-packages/jax/_src/"

# Frames of the framework, innermost first: (function, file, line, first line).
# The same function at the same line may come twice with another bytecode
# offset: JAX makes a location per offset, so several locations look alike.
PJIT_RUN = [
    ("__call__", "interpreters/pxla.py", 1297, 1276),
    ("wrapper", "profiler.py", 354, 351),
    ("_pjit_call_impl_python", "pjit.py", 1872, 1829),
    ("_python_pjit_helper", "pjit.py", 195, 180),
    ("cache_miss", "pjit.py", 334, 327),
    ("reraise_with_filtered_traceback", "traceback_util.py", 182, 178),
]
PJIT_COMPILE = [
    ("backend_compile", "compiler.py", 335, 288),
    ("wrapper", "profiler.py", 354, 351),
    ("compile_or_get_cached", "compiler.py", 451, 366),
    ("_cached_compilation", "interpreters/pxla.py", 2800, 2782),
    ("from_hlo", "interpreters/pxla.py", 3009, 2952),
    ("compile", "interpreters/pxla.py", 2467, 2462),
    ("_pjit_call_impl_python", "pjit.py", 1862, 1829),
    ("_python_pjit_helper", "pjit.py", 195, 180),
    ("cache_miss", "pjit.py", 334, 327),
    ("reraise_with_filtered_traceback", "traceback_util.py", 182, 178),
]
NORMAL = [
    ("_normal", "random.py", 757, 754),
    ("normal", "random.py", 751, 719),
]
# How far into random.py a stack reaches differs between JAX versions and between
# buffers and executables, so two depths are kept.
NORMAL_TRACED = [
    ("_normal_real", "random.py", 771, 765),
    ("_normal", "random.py", 760, 754),
    ("normal", "random.py", 751, 719),
]
SEED = [
    ("apply_primitive", "dispatch.py", 88, 81),
    ("process_primitive", "core.py", 1060, 1051),
    ("bind_with_trace", "core.py", 556, 555),
    ("_true_bind", "core.py", 551, 533),
    ("bind", "core.py", 531, 529),
    ("random_seed", "prng.py", 553, 543),
    ("_key", "random.py", 156, 145),
    ("PRNGKey", "random.py", 226, 202),
]
TILE = [
    ("broadcast_in_dim", "lax/lax.py", 2719, 2688),
    ("_broadcast_to", "numpy/util.py", 434, 405),
    ("tile", "numpy/lax_numpy.py", 5120, 5081),
]
BINARY = [("deferring_binary_op", "numpy/array_methods.py", 583, 578)]


def jax(frames, offset=0):
    return [(name, JAX + file, line, start, offset) for name, file, line, start in frames]


class Builder:
    """Ids are given on first use, sample by sample, as JAX does."""

    # JAX asks for these before it meets the first sample.
    FIRST = ["allocations", "count", "space", "bytes", "kind", "buffer", "executable", "device"]

    def __init__(self, program):
        self.program = program
        self.samples, self.locations, self.functions = {}, {}, {}

    def own(self, name, line, start, offset):
        return (name, self.program, line, start, offset)

    def location(self, frame):
        name, file, line, start, offset = frame
        function = self.functions.setdefault((name, file, start), len(self.functions) + 1)
        return self.locations.setdefault((function, line, offset), len(self.locations) + 1)

    def add(self, stack, size, device):
        """One sample per distinct (traceback, size, device); counts add up."""
        at = (tuple(map(self.location, stack)), size, device)
        self.samples[at] = self.samples.get(at, 0) + 1

    def buffer(self, stack, size, device="cuda:0"):
        self.add(stack, size, device)

    def executable(self, stack, size):
        self.add(stack, size, None)

    def encode(self):
        kind = lambda device: ([("kind", "buffer"), ("device", device)] if device
                               else [("kind", "executable")])
        profile = {
            "types": [("allocations", "count"), ("space", "bytes")],
            "samples": [(stack, [n, size * n], kind(device))
                        for (stack, size, device), n in self.samples.items()],
            "locations": [(i, 0, 0, [(function, line)])
                          for (function, line, _), i in self.locations.items()],
            "functions": [(i, name, name, file, start)
                          for (name, file, start), i in self.functions.items()],
        }
        return wire.encode(profile, wire.Style(first_strings=self.FIRST))


UNKNOWN = -1  # what some backends report as the size of generated code


def leak(step):
    """State of leak.py when it saves memory{step}.prof."""
    b = Builder("/home/user/leak.py")
    first = [b.own("afunction", 6, 5, 60), b.own("<module>", 8, 1, 46)]
    loop = lambda offset: [b.own("anotherfunc", 13, 10, offset), b.own("<module>", 18, 1, 64)]
    b.buffer(jax(PJIT_RUN) + jax(NORMAL) + first, 4 * 1_000_000)
    b.executable(jax(PJIT_COMPILE) + jax(NORMAL_TRACED) + first, UNKNOWN)
    # PRNGKey is called at another bytecode offset of the same line.
    b.executable(jax(PJIT_COMPILE, 8) + jax(SEED) +
                 [b.own("afunction", 6, 5, 42), b.own("<module>", 8, 1, 46)], UNKNOWN)
    for i in range(1, step + 1):
        b.buffer(jax(PJIT_RUN) + jax(NORMAL) + loop(92), 4 * 10_000 * i)
        # A new shape compiles anew.  Same traceback, same "size": one sample
        # whose count grows, [step, -step] in the end.
        b.executable(jax(PJIT_COMPILE) + jax(NORMAL_TRACED) + loop(92), UNKNOWN)
    return b.encode()


def funcs():
    """State of funcs.py when it saves memory.prof."""
    b = Builder("/home/user/funcs.py")
    module = [b.own("<module>", 13, 1, 118)]
    in1 = lambda offset: [b.own("func1", 6, 5, offset), b.own("func2", 9, 8, 12)] + module
    in2 = lambda offset: [b.own("func2", 10, 8, offset)] + module
    b.buffer(jax(PJIT_RUN) + jax(NORMAL) + [b.own("<module>", 12, 1, 98)], 4 * 1000 * 1000)
    b.buffer(jax(PJIT_RUN) + jax(BINARY) + in1(54), 4 * 1000 * 10_000)
    b.buffer(jax(PJIT_RUN) + jax(BINARY) + in2(74), 4 * 1000 * 10_000)
    b.executable(jax(PJIT_COMPILE) + jax(TILE) + in1(42), 1448)
    b.executable(jax(PJIT_COMPILE) + jax(BINARY) + in1(54), 632)
    b.executable(jax(PJIT_COMPILE) + jax(BINARY) + in2(74), 648)
    return b.encode()


def main():
    for step in range(1, 10):
        wire.save(HERE / "jax_leak" / f"memory{step}.prof", wire.gz(leak(step)))
    wire.save(HERE / "jax_funcs" / "memory.prof", wire.gz(funcs()))


if __name__ == "__main__":
    main()
