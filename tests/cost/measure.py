"""What one run of the program costs, under limits: instructions by valgrind, or processor time, memory and output.

The memory of a process counts from before its program begins, as the copy of what started it. So runs are started by a
small process (this file as a program), however large what asks for them has grown.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Past them a run is ended, so that nothing takes the machine down."""
    memory: int = 4096 * MIB  # of address space
    seconds: int = 60  # of processor time
    output: int = 512 * MIB  # of each file


@dataclass(frozen=True)
class Cost:
    code: int  # exit status; negative: the signal that ended it
    seconds: float  # of processor time in the program itself
    memory: int  # most bytes in memory
    output: int  # bytes on standard output and in the file that it writes
    said: str  # on standard error, in the end


def limited(limits):
    def apply():
        for kind, most in ((resource.RLIMIT_AS, limits.memory), (resource.RLIMIT_FSIZE, limits.output), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(kind, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    return apply


def start_and_wait(memtool, words, limits):
    """Of the small process. OUT among the words is a file to write."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out")
        with open(os.path.join(scratch, "stdout"), "w+b") as stdout, open(os.path.join(scratch, "stderr"), "w+b") as stderr:
            child = subprocess.Popen([memtool, *(out if word == "OUT" else word for word in words)], stdin=subprocess.DEVNULL,
                                     stdout=stdout, stderr=stderr, preexec_fn=limited(limits))
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            written = os.path.getsize(out) if os.path.exists(out) else 0
            stderr.seek(max(0, os.path.getsize(stderr.name) - 500))
            return Cost(child.returncode, usage.ru_utime, usage.ru_maxrss * 1024, os.path.getsize(stdout.name) + written,
                        stderr.read().decode(errors="replace"))


starter = {}  # by process: a pool forks


def run(memtool, words, limits=Limits()):
    if os.getpid() not in starter:
        starter[os.getpid()] = subprocess.Popen([sys.executable, "-S", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process = starter[os.getpid()]
    print(json.dumps([str(memtool), [str(word) for word in words], asdict(limits)]), file=process.stdin, flush=True)
    return Cost(**json.loads(process.stdout.readline()))


def instructions(memtool, words, seconds):
    """-> instructions of a run (None when it was ended after these seconds of processor time), the seconds it took"""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log}",
                   memtool, *(os.path.join(folder, "out") if word == "OUT" else word for word in words)]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 preexec_fn=limited(Limits(memory=16384 * MIB, seconds=seconds)))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        with open(log, encoding="utf-8", errors="replace") as file:
            refs = re.search(r"I\s+refs:\s+([\d,]+)", file.read())
    return int(refs[1].replace(",", "")) if child.returncode >= 0 and refs else None, usage.ru_utime + usage.ru_stime


def main():
    for line in sys.stdin:
        memtool, words, limits = json.loads(line)
        print(json.dumps(asdict(start_and_wait(memtool, words, Limits(**limits)))), flush=True)


if __name__ == "__main__":
    main()
