#!/usr/bin/env python3
"""What the system allows ends an answer with a sentence, and no signal: a group of 100 MiB, address space, threads.

usage: system_limits_test.py --memtool PATH

A control group of version 1 or 2 is made below the one that this runs in, where that is possible, and the kernel kills what
outgrows it. Other ways in which a group may be told (nested ones, Slurm's, a container's) are files in a mount namespace,
which only the program believes in.
"""
import argparse
import functools
import gzip
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from command_lines import command_lines
from shapes.common import AT, PAGE, message, varint
from shapes.pprof import function, functions_of, location, profile, sample
from shapes.torch import event, snapshot

MIB = 1 << 20
GROUP = 100 * MIB
INPUT_ERROR = 3
NOBODY = 65534
DRAWS = {"svg"}  # Graphviz does, in a process of its own
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40}


def write_deep(path, stacks):
    """Stacks of 50 million frames and more, each of which takes 4 bytes in memory and hardly any in the file."""
    piece = b"\x01" * 100_000
    value = message(2, varint(5))
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(profile([], [location(1, 1)], [function(1, 3)], ["f"]))
        for pieces in range(500, 500 + stacks):
            ids = b"\x0a" + varint(pieces * len(piece))
            file.write(b"\x12" + varint(len(value) + len(ids) + pieces * len(piece)) + value + ids)
            for _ in range(pieces):
                file.write(piece)


class Answer:
    def __init__(self, command, prepare=None):
        child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 preexec_fn=prepare)
        # The one is short whenever the other is long.
        self.out, self.said = child.stdout.read(), child.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.memory = usage.ru_maxrss * 1024

    def fault(self, most, path=""):
        """What is wrong with the end of an answer that needs more than there is, for an input or for itself."""
        sizes = [float(size) * UNITS[unit] for size, unit in re.findall(r"([\d.]+) ?([KMGT]iB)\b", self.said)]
        if self.code != INPUT_ERROR:
            return f"ends with {self.code}: {self.said}"
        if self.said.count("\n") != 1 or str(path) not in self.said or "memory" not in self.said:
            return f"says {self.said}"
        if any(size > most for size in sizes):
            return f"names more than there is: {self.said}"
        # What this process held is counted for the programs that it starts.
        return f"holds {self.memory / MIB:.0f} MiB" if self.memory > max(most, 64 * MIB) else ""


# --- Groups ---------------------------------------------------------------------------------------------------------------
def own_groups():
    """-> (version, folder of the group that this runs in) for each hierarchy that could limit memory"""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        hierarchy, controllers, path = line.split(":", 2)
        for _, where, kind, options, *_ in mounts:
            if kind == "cgroup" and "memory" in controllers.split(",") and "memory" in options.split(","):
                yield 1, Path(where + path)
            elif kind == "cgroup2" and hierarchy == "0":
                yield 2, Path(where + path)


@contextmanager
def group(limit):
    """-> the file that takes a process into a new group with the limit, or None"""
    made = None
    for version, above in own_groups():
        folder = above / f"memtool-test-{os.getpid()}"
        try:
            folder.mkdir()
            made = folder
            (folder / ("memory.limit_in_bytes" if version == 1 else "memory.max")).write_text(str(limit))
            break
        except OSError:  # not ours to make, or without a limit of its own
            if made:
                made.rmdir()
                made = None
    try:
        yield made / "cgroup.procs" if made else None
    finally:
        if made:
            made.rmdir()


def in_group(memtool, deep, small):
    """-> faults, or None when no group can be made"""
    with group(GROUP) as procs:
        if not procs:
            return None

        def enter():
            procs.write_text(str(os.getpid()))

        faults = []
        answer = Answer([memtool, "info", small], enter)
        if answer.code:
            faults.append(f"a small input in a group ends with {answer.code}: {answer.said}")
        for command in ("info", "top", "traces"):
            if fault := Answer([memtool, command, deep], enter).fault(GROUP, deep):
                faults.append(f"{command} in a group of 100 MiB {fault}")
        return faults


# Name: what /proc/self/cgroup says, the mounts with their folders, the file with the limit; others say that there is none.
V1, V2 = "memory.limit_in_bytes", "memory.max"
TOLD = {
    "version 2, in a container": ("0::/\n", [("cgroup2", "/", "")], "memory.max"),
    "version 2": ("0::/user.slice/session-2.scope\n", [("cgroup2", "/", "")], "user.slice/session-2.scope/memory.max"),
    "version 2, of a group above": ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", [("cgroup2", "/", "")],
                                    "system.slice/slurmstepd.scope/job_7/memory.max"),
    "version 1, in a container": ("4:memory:/docker/0123abcd\n", [("cgroup", "/docker/0123abcd", "memory")],
                                  "memory/memory.limit_in_bytes"),
    "version 1": ("5:cpu,cpuacct:/\n4:memory:/batch\n0::/\n", [("cgroup", "/", "memory")], "memory/batch/memory.limit_in_bytes"),
    "version 1, of a group above": ("4:memory:/slurm/uid_0/job_7/step_0/task_0\n", [("cgroup", "/", "memory")],
                                    "memory/slurm/uid_0/job_7/memory.limit_in_bytes"),
}
ENTER = """set -e
mount -t tmpfs none /sys/fs/cgroup
cp -r "$1"/tree/. /sys/fs/cgroup/
mount --bind "$1"/cgroup /proc/$$/cgroup
mount --bind "$1"/mountinfo /proc/$$/mountinfo
mount --bind "$1"/mounts /proc/$$/mounts
shift
exec "$@"
"""


def tell(folder, membership, mounts, limited):
    """Writes what a process would see in such a group: each group on the way has a limit, and only one of them a low one."""
    folder.mkdir()
    name, none = (V1, "9223372036854771712\n") if limited.endswith(V1) else (V2, "max\n")
    top = folder / "tree" / ("memory" if name == V1 else "")
    top.mkdir(parents=True)
    line = next(line for line in membership.splitlines() if "memory" in line or line.startswith("0::"))
    path, root = line.split(":", 2)[2].strip("/"), mounts[0][1].strip("/")
    inside = top / path.removeprefix(root).strip("/")
    inside.mkdir(parents=True, exist_ok=True)
    while inside != top.parent and inside != folder:
        if name == V1 or inside != top:  # the root of version 2 has no limit, but in a container
            (inside / name).write_text(none)
        inside = inside.parent
    (folder / "tree" / limited).write_text(f"{GROUP}\n")
    (folder / "cgroup").write_text(membership)
    where = [f"/sys/fs/cgroup/{options}".rstrip("/") for _, _, options in mounts]
    (folder / "mountinfo").write_text("".join(
        f"{30 + i} 23 0:{26 + i} {root} {at} rw,nosuid - {kind} {kind} rw,{options}\n"
        for i, ((kind, root, options), at) in enumerate(zip(mounts, where))))
    (folder / "mounts").write_text("".join(f"{kind} {at} {kind} rw,{options} 0 0\n" for (kind, _, options), at in zip(mounts, where)))


def told(memtool, deep, folder):
    """-> faults, or None when nothing can be mounted"""
    faults = []
    for i, (name, (membership, mounts, limited)) in enumerate(TOLD.items()):
        tell(folder / str(i), membership, mounts, limited)
        enter = ["unshare", "--mount", "sh", "-c", ENTER, "sh", folder / str(i)]
        if Answer([*enter, "true"]).code:
            return None
        if fault := Answer([*enter, memtool, "info", deep]).fault(GROUP, deep):
            faults.append(f"{name}: {fault}")
    return faults


# --- Address space --------------------------------------------------------------------------------------------------------
def in_address_space(memtool, deep, small, folder):
    faults = []

    def prepare(most):
        return lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))

    limit = 64 * MIB
    for words in (["info"], ["ranks", small, small], ["index", small, small], ["top", "-j", "4", small, small]):
        answer = Answer([memtool, *words, small], prepare(limit))
        if answer.code:
            faults.append(f"{words[0]} of small inputs in {limit // MIB} MiB of address space ends with {answer.code}: {answer.said}")
    for command in ("info", "top", "traces"):
        if fault := Answer([memtool, command, deep], prepare(limit)).fault(limit, deep):
            faults.append(f"{command} in {limit // MIB} MiB of address space {fault}")
    # Wherever the room ends: in the reader, in the rows, in what is written.
    many = folder / "many.pb"
    many.write_bytes(functions_of(40_000, range(3, 40_003)) + b"".join(message(6, f"function{i}") for i in range(40_000)))
    for command in (["traces", "--format", "json"], ["tree", "--format", "json"], ["check", "--write-baseline", "-"]):
        ended = set()
        for limit in range(16 * MIB, 160 * MIB, 4 * MIB):
            if Answer([memtool, "--version"], prepare(limit)).code:
                continue
            answer = Answer([memtool, *command, many], prepare(limit))
            ended.add(answer.code)
            if answer.code and (fault := answer.fault(limit)):
                faults.append(f"{' '.join(command)} in {limit // MIB} MiB of address space {fault}")
                break
        if not faults and ended != {0, INPUT_ERROR}:
            faults.append(f"{' '.join(command)} ends with {ended} whatever the address space: this shows nothing")
    return faults


def plain_lines(memtool):
    """Each command once, and those that read several files at a time."""
    lines = {}
    for line in command_lines(memtool):
        lines.setdefault(line[0], line)
    return [*lines.values(), ["ranks", "IN", "IN", "IN"], ["index", "IN", "IN", "IN"], ["top", "-j", "4", "IN", "IN", "IN"]]


# --- Threads --------------------------------------------------------------------------------------------------------------
def without_threads(memtool, files, folder):
    """-> faults, or None when threads cannot be forbidden; root may start any number, so a copy runs as nobody"""
    program = memtool
    if os.geteuid() == 0:
        program = folder / "memtool"
        shutil.copy(memtool, program)
        for path in (folder, program, *files):
            path.chmod(0o755)

    def prepare(most=0):
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

    if Answer([program, "--version"], prepare).code or Answer(
            ["sh", "-c", "true & wait $!"], prepare).code == 0:
        return None
    faults = []
    for name, *arguments in [line for line in plain_lines(memtool) if line[0] not in DRAWS]:
        inputs = iter(files * 2)
        words = [program, name, *(next(inputs) if word == "IN" else "/dev/stdout" if word == "OUT" else word for word in arguments)]
        wanted = Answer(words, lambda: prepare(None))
        for most in (0, 2):  # none, and one or another: as many as other processes of this user leave
            answer = Answer(words, lambda most=most: prepare(most))
            if (answer.code, answer.out) != (wanted.code, wanted.out):
                faults.append(f"{name} with {most} processes and threads: {answer.code} instead of {wanted.code}: {answer.said}")
    return faults


# --- Descriptors ----------------------------------------------------------------------------------------------------------
def without_descriptors(memtool):
    """-> faults: with too few of them an input cannot be read, which is no fault of an output"""
    faults = []
    path = Path(__file__).resolve().parents[2] / "testdata/nsys/small.sqlite"
    wanted = Answer([memtool, "info", path])
    for most in range(3, 12):
        limit = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
        if Answer([memtool, "--version"], limit).code:
            continue  # the loader needs as many
        answer = Answer([memtool, "info", path], limit)
        if answer.code != 3 and (answer.code, answer.out) != (wanted.code, wanted.out):
            faults.append(f"info with {most} descriptors: {answer.code}: {answer.said}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    memtool = parser.parse_args().memtool
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deep, small = folder / "deep.pb.gz", folder / "small.pb"
        write_deep(deep, 2)
        small.write_bytes(profile([sample([1])], [location(1, 1)], [function(1, 3)], ["f"]))
        files = [folder / f"rank{i}.pickle" for i in range(6)]
        for i, path in enumerate(files):
            path.write_bytes(snapshot([[event("alloc", AT + PAGE * j, j) for j in range(10 + i)]]))
        for what, faults in (
                ("a group of 100 MiB", in_group(memtool, deep, small)),
                ("groups as the system tells of them", told(memtool, deep, folder)),
                ("address space", in_address_space(memtool, deep, small, folder)),
                ("descriptors", without_descriptors(memtool)),
                ("threads", without_threads(memtool, files, folder))):
            print(f"skipped: {what}: this machine does not let us" if faults is None else f"{what}: {len(faults)} failures")
            for fault in faults or ():
                print(f"FAILED {fault.strip()}")
            failed += len(faults or ())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
