#!/usr/bin/env python3
"""The portable program in an empty root: nothing there but what the archive holds, and inputs. That of another
machine runs there under qemu, which needs nothing either.

usage: portable_test.py --archives memtool-VERSION-linux-ARCH.tar.xz... --testdata FOLDER
Takes the newest of the archives that are there; skipped (77) without one, without the right to change the root, or
without qemu-user-static.
"""
import argparse
import base64
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

SKIPPED = 77

# Command line, exit code, and what its output (or, after "!", its message) has to say.
LINES = [
    ("top memory9.prof", 0, "total|FLAT"),
    ("diff memory1.prof memory9.prof", 0, "afunction"),
    ("buckets --keywords SETME.yaml --expected-sum 11GB", 0, "11.00 GiB"),
    ("dot memory9.prof", 0, "digraph"),
    ("oom libraries.log", 0, "."),
    ("timeline snapshot.pickle", 0, "peak"),
    ("timeline --plot x.svg snapshot.pickle", 0, "."),
    ("timeline --plot x.png snapshot.pickle", 0, "."),
    ("timeline --plot x.pdf snapshot.pickle", 0, "."),
    ("top --at peak snapshot.pickle.gz", 0, "FLAT"),
    ("check --budget budget.yaml base.json.gz", 0, "ok +118.00 MiB +120.00 MiB .* peak"),
    ("check --budget budget.yaml new.json.gz", 1, "FAILED +peak is 129.00 MiB"),
    ("check --baseline memory.json --max-growth 1% --junit memory.xml new.json.gz", 1, "FAILED +reserved"),
    ("convert --to sqlite -o x.sqlite memory9.prof", 0, ""),
    ("convert --to pprof -o x.pb.gz memory9.prof", 0, ""),
    ("svg -o graph.svg memory9.prof", 6, "!memtool dot"),
    ("help --completions fish", 0, "complete -c memtool"),
    ("page -o page.html", 0, ""),
    ("report -o report.html memory9.prof", 0, ""),
    ("open memory9.prof", 0, "/data/.*html"),
    ("--version", 0, "static[^*]*Page: +inside"),
]
# It finds the capture library by /proc, for which qemu stands in.
NATIVE_LINES = [("run -- true", 125, "!libmemtool_capture.so is neither")]


def run(root, line):
    def enter():
        os.chroot(root)
        os.chdir("/data")

    emulator = ["/emulator"] if (root / "emulator").exists() else []
    return subprocess.run([*emulator, "/memtool/bin/memtool", *line.split()], preexec_fn=enter, env={"TMPDIR": "/data"},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def unpack(archive, root):
    with tarfile.open(archive) as tar:
        tops = {member.name.split("/")[0] for member in tar}
        tar.extractall(root)
    top, = tops
    (root / top).rename(root / "memtool")


def missing_files(top):
    wanted = ["bin/memtool", "lib/memtool/libmemtool_capture.so", "LICENSE",
              "share/man/man1/memtool.1", "share/bash-completion/completions/memtool",
              "share/zsh/site-functions/_memtool", "share/fish/vendor_completions.d/memtool.fish",
              "share/memtool/engines/README.md", "share/doc/memtool/licences/RELINKING",
              "share/doc/memtool/licences/libc6-dev.txt",
              "share/doc/memtool/licences/fonts-dejavu-core.txt",
              "share/doc/memtool/licences/libcairo2-dev.txt"]
    return [f"{name} is missing" for name in wanted if not (top / name).exists()]


def shapes(svg):
    """The outlines of an SVG's letters: each glyph drawn once."""
    glyphs = re.findall(r'<symbol [^>]*id="glyph[^>]*>(.*?)</symbol>|<g id="glyph[^>]*>(.*?)</g>', svg, re.S)
    return {one or other for one, other in glyphs}


def needs(path, *words):
    """What a program asks of its machine."""
    return subprocess.run(["readelf", "--wide", *words, path], capture_output=True, text=True,
                          check=True).stdout


def check_pages(data):
    """The page has the program inside, and a report is the page with its input, byte for byte."""
    page, report = ((data / name).read_text() for name in ("page.html", "report.html"))
    wrong = [] if len(page) > 500000 and "<title>" in page else [f"page.html has {len(page)} characters"]
    block = re.search(r'data-name="memory9.prof"[^>]*data-encoding="([a-z-]+)"[^>]*>([A-Za-z0-9+/=]+)', report)
    if not block:
        return [*wrong, "report.html has no memory9.prof"]
    held = base64.b64decode(block[2])
    if block[1] == "deflate-raw":
        held = zlib.decompress(held, -zlib.MAX_WBITS)
    if held != (data / "memory9.prof").read_bytes():
        wrong.append("report.html has another memory9.prof")
    if len(report) < len(page):
        wrong.append("report.html is less than the page")
    return wrong


def check(archive, testdata, root, emulator):
    unpack(archive, root)
    if emulator:
        shutil.copy(emulator, root / "emulator")
    top = root / "memtool"
    wrong = missing_files(top)
    data = root / "data"
    data.mkdir()
    small = testdata / "torch/small"
    for source, name in [(testdata / "pprof/jax_leak/memory1.prof", ""),
                         (testdata / "pprof/jax_leak/memory9.prof", ""),
                         (small / "proto4.pickle", "snapshot.pickle"),
                         (small / "packed.pickle.gz", "snapshot.pickle.gz"),
                         *inputs(testdata)]:
        shutil.copy(source, data / (name or source.name))
    lines = LINES if emulator else LINES + NATIVE_LINES
    for line, code, says in lines:
        done = run(root, line)
        text = done.stderr if says.startswith("!") else done.stdout
        if done.returncode != code or not re.search(says.removeprefix("!"), text):
            wrong.append(f"{line}: exit {done.returncode}\n{done.stdout[:300]}{done.stderr[:300]}")
        if "ontconfig" in done.stderr:
            wrong.append(f"{line}: {done.stderr}")
    glyphs = shapes((data / "x.svg").read_text())
    # Without a font every letter is the same box.
    if len(glyphs) < 15:
        wrong.append(f"x.svg has {len(glyphs)} different letters")
    if (data / "x.png").stat().st_size < 10000:
        wrong.append("x.png is hardly a picture")
    wrong += check_pages(data)
    if "INTERP" in needs(top / "bin/memtool", "-l") or "NEEDED" in needs(top / "bin/memtool", "-d"):
        wrong.append("the program needs a loader or libraries")
    versions = re.findall(r"GLIBC_2\.(\d+)", needs(top / "lib/memtool/libmemtool_capture.so", "-V"))
    if not versions or max(map(int, versions)) > 17:
        wrong.append(f"the capture library needs {sorted(set(versions))}")
    if not emulator:
        done = subprocess.run([top / "bin/memtool", "run", "--", "true"], capture_output=True, text=True, cwd=data,
                              check=False)
        if done.returncode != 0 or "libmemtool" in done.stderr:
            wrong.append(f"run -- true beside the host's files: exit {done.returncode} {done.stderr}")
    return len(lines), wrong


def inputs(testdata):
    sockeye = [path for path in (testdata / "mxnet/sockeye").iterdir() if path.is_file()]
    steps = [testdata / "steps" / name for name in ("base.json.gz", "new.json.gz", "budget.yaml", "memory.json")]
    return [(path, "") for path in [*sockeye, *steps, testdata / "oom_text/libraries.log"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--archives", required=True, type=Path, nargs="+")
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    archives = [archive for archive in args.archives if archive.exists()]
    if not archives:
        print(f"skipped: no {args.archives[0].name}; scripts/portable makes it")
        return SKIPPED
    archive = max(archives, key=os.path.getmtime)
    if os.geteuid() != 0:
        print("skipped: only root can change the root")
        return SKIPPED
    arch = archive.name.removesuffix(".tar.xz").split("-")[-1]
    emulator = None
    if arch != platform.machine():
        emulator = shutil.which(f"qemu-{arch}-static")
        if not emulator:
            print(f"skipped: this machine is no {arch}, and qemu-user-static is not installed")
            return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        count, wrong = check(archive, args.testdata, Path(name), emulator)
    under = f" under {emulator}" if emulator else ""
    print("\n".join(wrong) or f"{count} command lines ran in an empty root{under}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
