"""How programs are measured: runs in turns, their least values, what they wrote, and the machine they ran on."""
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# In an argument: a folder of the run's own, removed with what the program wrote there.
FOLDER = "{folder}"


def default_cache():
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "memtool-bench"


def cached(folder, name, command):
    """-> the path of an input, made by `command(path)` if it is not there"""
    path = folder / name
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name first, so that an interrupted maker leaves no partial input.
        part = path.with_name(name + ".part")
        if part.is_dir():
            shutil.rmtree(part)
        subprocess.run(command(str(part)), check=True)
        part.rename(path)
    return path


def size_of(path):
    """In bytes, of a file or of all files in a folder."""
    path = Path(path)
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size


def measure(command):
    """-> {wall, cpu: seconds, rss: MiB, written: bytes} of one run.

    What it prints is discarded; written is what it left in FOLDER. The kernel counts what this
    script held when it started the child, so rss never shows less than that: see rss_floor().
    """
    with tempfile.TemporaryDirectory(prefix="memtool-bench-") as folder:
        command = [word.replace(FOLDER, folder) for word in command]
        return dict(run(command), written=size_of(folder))


def run(command):
    with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, null.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - start
        if status:
            errors.seek(0)
            said = errors.read(500).decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}: {said}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024}


def instructions(command):
    """-> how many instructions one run executes, those of the kernel left out: counted by valgrind, as machines that
    are lent to several people have no counters of their own."""
    with tempfile.TemporaryDirectory(prefix="memtool-bench-") as folder:
        counts = Path(folder) / "counts"
        run(["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counts}", "--log-file=/dev/null",
             *(word.replace(FOLDER, folder) for word in command)])
        return int(counts.read_text().rsplit("summary:", 1)[1].split()[0])


def rss_floor():
    """In MiB: a peak at or below this is only known to be no larger."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_turns(commands, runs):
    """-> per command its runs: A B, B A, A B, ..., so that neither a busy time nor the place in a turn favours one"""
    for command in commands:  # this round only warms the page cache
        measure(command)
    results = [[] for _ in commands]
    for turn in range(runs):
        order = list(enumerate(commands))
        for index, command in reversed(order) if turn % 2 else order:
            results[index].append(measure(command))
    return results


def divided(a, b):
    return a / b if b else None


def summary(ours, peer):
    """Two lists of runs -> per measure the figures of both sides and their ratio.

    Of times the least counts, since other work on the machine only adds to them; of memory the most.
    """
    result = {}
    for name, of in (("wall", min), ("cpu", min), ("rss", max)):
        mine, theirs = [r[name] for r in ours], [r[name] for r in peer]
        ratios = sorted(a / b for a, b in zip(mine, theirs) if b)
        result[name] = {
            "memtool": of(mine), "peer": of(theirs), "ratio": divided(of(mine), of(theirs)),
            "medians": {"memtool": statistics.median(mine), "peer": statistics.median(theirs),
                        "ratio": statistics.median(ratios) if ratios else None},
            "ratio_low": ratios[0] if ratios else None, "ratio_high": ratios[-1] if ratios else None}
    return result


def version(command):
    """-> what the program says, or None if it is not installed"""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0] if lines else "?"


def versions(memtool):
    return {"memtool": version([memtool, "--version"]), "gzip": version(["gzip", "--version"]),
            "igzip": version(["igzip", "--version"]),
            "wc": version(["wc", "--version"]), "rg": version(["rg", "--version"]), "go": version(["go", "version"]),
            "python": platform.python_version()}


def machine():
    try:
        known = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
        name = next(text.strip() for key, text in known.items() if key.strip() == "model name")
    except (OSError, StopIteration):
        name = platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {"cpu": name, "cores": os.cpu_count(), "memory_gib": round(memory), "load": round(os.getloadavg()[0], 1)}
