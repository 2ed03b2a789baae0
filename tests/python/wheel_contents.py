"""What is in a wheel: names that leave its library, what that needs of a system, a caller in C, licences."""
import hashlib
import base64
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "bindings/c/memtool.h"
MOST_BYTES = 12_000_000  # of the wheel


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def check_names(library, glibc):
    """Only what memtool.h declares leaves it, and it needs nothing newer than the wheel's name says."""
    defined = set(re.findall(r"^[0-9a-f]+ \w (\S+)$", output("nm", "-D", "--defined-only", library), re.M))
    declared = set(re.findall(r"^[a-z][\w *]*[ *](memtool_\w+)\(", HEADER.read_text(), re.M))
    wrong = [f"{name} is not in memtool.h" for name in defined - declared]
    wrong += [f"{name} is not in the library" for name in declared - defined]
    for version in re.findall(r" UND \S+@GLIBC_([\d.]+)", output("readelf", "--wide", "--dyn-syms", library)):
        if tuple(map(int, version.split("."))) > glibc:
            wrong.append(f"{library.name} needs glibc {version}")
    if "TEXTREL" in output("readelf", "-d", library):
        wrong.append(f"{library.name} changes its code when it is loaded")
    return wrong


def check_caller(library, testdata, folder):
    """A program in plain C uses it."""
    caller = folder / "caller"
    subprocess.run(["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-D_POSIX_C_SOURCE=200809L", f"-I{HEADER.parent}",
                    ROOT / "tests/c/caller.c", library, "-o", caller], check=True)
    wrong = []
    for path, code, says in [(Path(testdata) / "pprof/jax_leak/memory9.prof", 0, r".*pprof.*, 0\n\d+ rows, [1-9]\d+\n"),
                             ("/nowhere", 1, r"io 2 -1 /nowhere: .*\n")]:
        done = subprocess.run([caller, path, "flat"], env={"LD_LIBRARY_PATH": str(library.parent)}, capture_output=True, text=True,
                              check=False)
        # It ends with work left alone, which must not meet what was destroyed.
        codes = {subprocess.run([caller, path, "flat"], env={"LD_LIBRARY_PATH": str(library.parent)}, capture_output=True,
                                check=False).returncode for _ in range(20)}
        if codes != {code}:
            wrong.append(f"caller {path} ends with {codes}")
        if done.returncode != code or not re.fullmatch(says, done.stdout):
            wrong.append(f"caller {path}: {done.returncode} {done.stdout}{done.stderr}")
    return wrong


def check_record(packed):
    record = next(name for name in packed.namelist() if name.endswith(".dist-info/RECORD"))
    lines = dict(line.split(",", 1) for line in packed.read(record).decode().splitlines())
    wrong = [f"{name} is not recorded" for name in packed.namelist() if name not in lines]
    for name, rest in lines.items():
        data = packed.read(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        if name != record and rest != f"sha256={digest},{len(data)}":
            wrong.append(f"{name} is not what RECORD says")
    return wrong


def check_wheel(wheel, testdata):
    """-> what is wrong with it"""
    tag = re.fullmatch(r"memtool_profile-[\d.]+-py3-none-manylinux_(\d+)_(\d+)_x86_64(\.\w+)?\.whl", wheel.name)
    if not tag:
        return [f"{wheel.name}: not for every Python and Linux"]
    wrong = [] if wheel.stat().st_size <= MOST_BYTES else [f"{wheel.stat().st_size} bytes"]
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
        package = Path(folder) / "memtool"
        wrong += check_record(packed)
        wrong += [f"{name} is not inside" for name in ("_questions.pyi", "py.typed", "libmemtool_capture.so")
                  if not (package / name).exists()]
        licences = {Path(name).name for name in packed.namelist() if "/licenses/" in name}
        wrong += [f"no licence {name}" for name in {"LICENSE", "INSIDE", "RELINKING", "libcairo2-dev.txt", "libdw-dev.txt"} - licences]
        wrong += check_names(package / "libmemtool_c.so", (int(tag[1]), int(tag[2])))
        return wrong + check_caller(package / "libmemtool_c.so", testdata, Path(folder))
