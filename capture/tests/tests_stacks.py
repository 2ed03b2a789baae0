"""Native and Python stacks."""
import re
import subprocess
import sys
import os
from pathlib import Path

from harness import SKIPPED, events_of, read_header, same


def test_stacks(env):
    env.program("linked", "deep")
    text = env.ask("traces", "--frames", "all", env.log())
    same(31, len(re.findall(r"^ +(?:\(anonymous namespace\)::)?Recurse", text, re.M)), "depth")
    same(1, len(re.findall(r"Innermost", text)), "innermost")
    assert "main" in text and "_start" in text, text
    same(0, read_header(env.log())["unwind"], "unwound to the end")
    env.clear()
    env.program("linked", "deep", MEMTOOL_CAPTURE_DEPTH=5)
    text = env.ask("traces", "--frames", "all", env.log())
    same(4, len(re.findall(r"Recurse", text)), "depth 5 is innermost and four more")
    env.clear()
    env.program("linked", "deep", MEMTOOL_CAPTURE_STACKS="off")
    assert "Recurse" not in env.ask("traces", "--frames", "all", env.log())


PYTHON = '''
import ctypes
cuda = ctypes.{kind}("libcuda.so.1")
def allocate(size):
    pointer = ctypes.c_ulonglong()
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
def couche_\u00e9(size):
    return [allocate(size)
            for _ in range(2)]
def main():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    for i in range(3):
        couche_\u00e9(
            1 << 20)
    list(map(lambda size: allocate(size),
             [4096, 8192]))
    def generator():
        yield allocate(12288)
    list(generator())
main()
'''


def interpreters():
    found = {}
    candidates = [Path("/usr/bin/python3"), Path(sys.executable),
                  *(Path(p) / f"python3.{m}" for p in os.get_exec_path() for m in range(9, 14)),
                  *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    for path in candidates:
        if not path.exists() or "shims" in str(path):
            continue
        done = subprocess.run([str(path), "-c", "import sys, ctypes; print('%d.%d' % "
                               "sys.version_info[:2], getattr(sys, 'abiflags', ''))"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            found.setdefault((done.stdout.split()[0], str(path.resolve())), path)
    return sorted(found.items())


def expected_python(env, script, python):
    """Names and lines of each allocation's Python frames, from the interpreter itself."""
    probe = script.with_name("probe.py")
    probe.write_text(script.read_text().replace(
        'cuda = ctypes', 'import sys\ncuda = ctypes').replace(
        "    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0",
        "    frames, frame = [], sys._getframe()\n    while frame: frames.append(f'"
        "{frame.f_code.co_name}:{frame.f_lineno}'); frame = frame.f_back\n    print(*frames)"),
        encoding="utf-8")
    done = subprocess.run([str(python), str(probe)], capture_output=True, timeout=60,
                          env=env.environment(shim=False, PYTHONIOENCODING="utf-8"))
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    return [line.split() for line in text.splitlines()]


def python_frames(env, log):
    """-> per allocation, the Python frames' (last part of the qualified name, line)."""
    text = env.ask("raw", log)
    names = {}
    for line in text.splitlines():
        if found := re.match(r"  (\d+): 0x0 (\S+) (\S+\.py):(\d+):", line):
            names[found[1]] = f"{found[2].split('.')[-1]}:{found[4]}"
    return [[names[n] for n in row[5] if n in names] for row in events_of(env, log)
            if row[1] == "alloc"]


def test_python(env):
    tried = 0
    for (version, _), python in interpreters():
        minor = int(version.split(".")[1])
        for kind in ("CDLL", "PyDLL"):
            env.clear()
            script = env.folder / "program.py"
            script.write_text(PYTHON.format(kind=kind), encoding="utf-8")
            (env.folder / "libcuda.so.1").symlink_to(env.programs / "driver" / "libcuda.so.1")
            env.run(python, script)
            state = read_header(env.log())["python"]
            if not 9 <= minor <= 13:
                same(3, state, f"{version}: not supported")
                continue
            assert state in (1, 5) if kind == "CDLL" else state == 1, f"{version} {kind}: {state}"
            tried += 1
            got = python_frames(env, env.log())
            want = expected_python(env, script, python)
            # The probe has two more lines above each line but the first three.
            want = [[shift(frame, script) for frame in row] for row in want]
            got = [[frame for frame in row] for row in got]
            same([[f.split(":")[0] for f in row] for row in want],
                 [[f.split(":")[0] for f in row] for row in got], f"{version} {kind}: names")
            same(want, got, f"{version} {kind}: lines")
            traces = env.ask("traces", "--frames", "all", env.log())
            assert "_PyEval_EvalFrameDefault" not in traces, f"{version}: loops are replaced"
            assert re.search(r"Py_BytesMain|Py_Main", traces), "native frames are kept"
            env.ask("top", env.log())
    print(f"{tried} interpreters and ways of calling")
    return 0 if tried else SKIPPED


def shift(frame, script):
    """A line of the probe as a line of the program."""
    name, line = frame.rsplit(":", 1)
    lines = script.with_name("probe.py").read_text(encoding="utf-8").splitlines()
    text = lines[int(line) - 1]
    if "frames, frame" in text or "while frame" in text or "print(*frames)" in text:
        text = "    assert cuda"
    program = script.read_text(encoding="utf-8").splitlines()
    at = [n for n, known in enumerate(program, 1) if known.startswith(text)]
    assert len(at) == 1, (frame, text, at)
    return f"{name}:{at[0]}"
