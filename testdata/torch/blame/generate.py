#!/usr/bin/env python3
"""Writes snapshots (JSON form) whose stacks are hard to blame. usage: generate.py, in this folder"""
import json

MIB = 1 << 20
SITE = "/opt/conda/lib/python3.11/site-packages/"


def py(name, file, line):
    return {"name": name, "filename": file, "line": line}


def native(name, file=""):
    return {"name": name, "filename": file, "line": 0}


UNWIND = [native("torch::unwind::unwind()", "??"),
          native("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)", "??")]
# Static symbols of an interpreter that conda built: no file.
INTERPRETER = [native("vectorcall_maybe.constprop.0"), native("slot_tp_call"), native("_PyEval_EvalFrameDefault")]
CALL = [native("cfunction_call"), native("method_vectorcall_VARARGS_KEYWORDS")]
START = [native("run_eval_code_obj"), native("run_mod"), native("pyrun_file"), native("Py_BytesMain")]
TRAIN, STEP, MODEL = "/home/u/gnn/train.py", "/home/u/gnn/steps.py", "/home/u/gnn/models.py"


def mul():
    return [native("at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)", "??"),
            native("torch::autograd::THPVariable_mul(_object*, _object*, _object*)", "python_variable_methods.cpp")]


class Trace:
    def __init__(self):
        self.events, self.blocks, self.at, self.time = [], {}, 0x7F0000000000, 1_700_000_000_000_000

    def add(self, action, address, size, frames):
        self.time += 1
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "device": 0,
                            "time_us": self.time, "frames": frames})

    def alloc(self, mib, frames):
        address, size = self.at, mib * MIB
        self.at += size
        self.add("alloc", address, size, frames)
        self.blocks[address] = {"address": address, "size": size, "requested_size": size,
                                "state": "active_allocated", "frames": frames}
        return address

    def free(self, address, frames):
        block = self.blocks[address]
        self.add("free_requested", address, block["size"], frames)
        self.add("free_completed", address, block["size"], frames)
        block.update(state="inactive", requested_size=0, frames=[])

    def oom(self, mib, free, frames):
        self.add("oom", free * MIB, mib * MIB, frames)

    def segment(self, device=0):
        blocks = list(self.blocks.values())
        total = sum(block["size"] for block in blocks)
        used = sum(block["size"] for block in blocks if block["state"] != "inactive")
        return {"device": device, "address": 0x7F0000000000, "total_size": total, "allocated_size": used,
                   "active_size": used, "requested_size": used, "stream": 0, "segment_type": "large",
                   "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": blocks}

    def write(self, name, *others):
        traces = [self, *others]
        with open(name, "w") as file:
            json.dump({"segments": [trace.segment(i) for i, trace in enumerate(traces)],
                       "device_traces": [trace.events for trace in traces]}, file, indent=1)
            file.write("\n")


def conda():
    """Out of memory in update_nodes, below frames of the interpreter, a package and a compiled function."""
    trace = Trace()
    main = [py("<module>", TRAIN, 30), *START]
    step = INTERPRETER + [py("step", STEP, 12), *CALL, *main]
    update = [py("update_nodes", MODEL, 210), *INTERPRETER, py("_call_impl", SITE + "torch/nn/modules/module.py", 1750),
              *CALL, py("forward", MODEL, 100), *step]
    einsum = [py("einsum", SITE + "einops/einops.py", 939), *INTERPRETER, *update]
    for _ in range(3):
        trace.alloc(500, UNWIND + mul() + CALL + update)
    trace.alloc(200, UNWIND + [native("torch::autograd::THPVariable_einsum(_object*, _object*, _object*)", "x.cpp")]
                + CALL + einsum)
    # A thread of autograd, and one of the interpreter: no frames of Python.
    trace.alloc(64, UNWIND + [native("torch::autograd::generated::MulBackward0_apply_functional(std::vector<at::Tensor>&&)", "F.cpp"),
                              native("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)", "??"),
                              native("execute_native_thread_routine", "thread.o"), native("clone", "??")])
    trace.alloc(8, UNWIND + [native("at::_ops::arange::call(c10::Scalar const&)", "??"), *CALL,
                             native("thread_run"), native("pythread_wrapper"), native("clone", "??")])
    # A package that a script of its own starts: nothing else in the stack.
    trace.alloc(32, UNWIND + mul() + [py("load", SITE + "mypackage/load.py", 5), *CALL,
                                      py("cli", SITE + "click/core.py", 7), py("<module>", "/opt/conda/bin/mypackage", 8)])
    trace.oom(500, 100, UNWIND + mul() + CALL + update)
    trace.write("conda.json")


def forwards():
    """Methods of several classes with one name, in one file; what they hold peaks at different times."""
    trace = Trace()
    main = [py("<module>", TRAIN, 30)]
    layer = [py("forward", MODEL, 330), *main]
    mlp = [py("forward", MODEL, 216), py("forward", MODEL, 340), *main]
    attention = [py("forward", MODEL, 300), *layer]
    helper = [py("softmax", STEP, 7), *attention]
    kept = trace.alloc(100, mlp)
    trace.alloc(40, attention)
    trace.alloc(20, [py("softmax", STEP, 6), *attention])
    trace.alloc(10, helper)
    trace.alloc(4, layer)
    trace.free(kept, [native("THPVariable_clear(THPVariable*)", "python_variable.cpp"), *mlp])
    trace.alloc(120, [py("step", SITE + "torch/optim/adam.py", 9), py("optimize", TRAIN, 40), *main])
    for hash in ("ckq3", "cab7"):  # generated code, under the hash of its content
        file = f"/tmp/torchinductor_u/{hash[1:3]}/{hash}{'x' * 47}.py"
        trace.alloc(2, [py("call", file, 88), py("_fn", SITE + "torch/_dynamo/eval_frame.py", 5)])
        trace.alloc(1, [py("call", file, 99), py("compile_wrapper", SITE + "torch/_dynamo/eval_frame.py", 7), *main])
    trace.write("forwards.json")


def steps():
    """Six steps; what each allocates is freed in the next, by a call of its own, but 1 MiB of a cache."""
    trace = Trace()
    main = [py("<module>", TRAIN, 30)]
    update = [py("update_nodes", MODEL, 210), *CALL, *main]
    clear = UNWIND + [native("THPVariable_clear(THPVariable*)", "python_variable.cpp")] + CALL + update
    before = None
    for _ in range(6):
        now = trace.alloc(50, UNWIND + mul() + CALL + update)
        if before:
            trace.free(before, clear)
        before = now
        trace.alloc(1, UNWIND + mul() + CALL + [py("cache", STEP, 4), *CALL, *main])
    trace.free(before, clear)
    trace.write("steps.json")


def backward():
    """One backward pass: twelve gradients, none freed."""
    trace = Trace()
    thread = [native("execute_native_thread_routine", "thread.o"), native("clone", "??")]
    mul_backward = [native("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor>&&)", "??"), *thread]
    for _ in range(12):
        trace.alloc(8, UNWIND + mul_backward)
    trace.write("backward.json")


def replaced():
    """Twelve times, what one line gives up another takes: the total stays."""
    trace = Trace()
    main = [py("<module>", TRAIN, 30)]
    old = [py("load", TRAIN, 12), *main]
    new = [py("convert", TRAIN, 20), *main]
    kept = [trace.alloc(8, old) for _ in range(12)]
    for block in kept:
        trace.free(block, old)
        trace.alloc(8, new)
    trace.write("replaced.json")


def cells():
    """A notebook, whose code is in no function, and a script that it runs."""
    trace = Trace()
    cell = "/tmp/ipykernel_412/3071956216.py"
    kernel = [py("run_code", SITE + "IPython/core/interactiveshell.py", 3577)]
    trace.alloc(300, UNWIND + [py("<module>", cell, 4), *kernel])
    trace.alloc(200, UNWIND + [py("<module>", cell, 9), *kernel])
    trace.alloc(100, UNWIND + [py("<module>", cell, 4), *kernel])
    trace.alloc(50, UNWIND + [py("<cell line: 2>", "<ipython-input-7-0a1b2c>", 3), *kernel])
    trace.alloc(25, UNWIND + [py("<cell line: 2>", "<ipython-input-7-0a1b2c>", 5), *kernel])
    load = [py("<module>", cell, 12), *kernel]
    for line, mib in ((21, 40), (22, 60), (25, 2)):
        trace.alloc(mib, UNWIND + [py("load", STEP, line), *load])
    trace.write("cells.json")


def lines():
    """Twelve steps on two devices. On the first, line 44 of `collect` keeps 8 a step, and line 40 took 60 once; what it
    keeps, `shrink` gives up on the second, step by step, so that the sum stays."""
    trace, other = Trace(), Trace()
    main = [py("<module>", TRAIN, 30)]
    collect = lambda line: UNWIND + [py("collect", STEP, line), *main]
    queue = [other.alloc(8, UNWIND + [py("shrink", STEP, 60), *main]) for _ in range(16)]
    other.events.clear()  # they were there before
    trace.time = other.time
    for step in range(12):
        work = [trace.alloc(30 + 5 * (step % 3), UNWIND + mul() + [py("update_nodes", MODEL, 210), *main]) for _ in range(2)]
        if step == 0:
            for _ in range(6):
                trace.alloc(10, collect(40))
        trace.alloc(8, collect(44))
        for block in work:
            trace.free(block, [])
        other.time = trace.time
        other.free(queue.pop(), [])
        trace.time = other.time
    trace.write("lines.json", other)


def scripts():
    """Scripts without an ending: one's own, and those that start an installed package."""
    trace = Trace()
    own, job, tool = "/usr/local/bin/fit-gnn", "/home/u/gnn/run", "/opt/conda/bin/torchrun"
    norm = [py("norm", SITE + "torch/functional.py", 1500)]
    trace.alloc(40, UNWIND + norm + [py("<module>", own, 71)])
    trace.alloc(4, UNWIND + [py("forward", MODEL, 100), py("<module>", own, 75)])
    trace.alloc(30, UNWIND + norm + [py("main", job, 12), py("<module>", job, 20)])
    trace.alloc(20, UNWIND + norm + [py("main", SITE + "torch/distributed/run.py", 900),
                                     py("wrapper", SITE + "torch/distributed/elastic/multiprocessing/errors/__init__.py", 346),
                                     py("<module>", tool, 8)])
    wheel = "/root/.pex/installed_wheels/0/9f/einops-0.8.0-py3-none-any.whl/einops/einops.py"
    trace.alloc(10, UNWIND + [py("rearrange", wheel, 500), py("load", "/srv/train.pyz/loader.py", 5),
                              py("execute", "/root/.pex/unzipped/.bootstrap/pex/pex.py", 560)])
    bazel = "/root/.cache/bazel/k8-fastbuild/bin/gnn/train.runfiles/"
    trace.alloc(5, UNWIND + [py("update", bazel + "pip_optax/optax/_src/update.py", 40),
                             py("train", bazel + "_main/gnn/train.py", 33)])
    trace.write("scripts.json")


conda()
forwards()
steps()
backward()
replaced()
cells()
lines()
scripts()
