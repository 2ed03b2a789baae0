"""Programs that change under the shim: sub-interpreters, libraries that go, threads that fork."""
from harness import SKIPPED, compare_books, same
from tests_stacks import interpreters

SUB = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def allocate(size):
    pointer = ctypes.c_ulonglong()
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
allocate(4096)
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
kind = dict(isolated=False) if sys.version_info < (3, 13) else dict(config="legacy")
interpreters.run_string(interpreters.create(**kind), "pass")
allocate(8192)
'''


def pythons(env):
    """The interpreters that the shim reads frames of, each with an empty folder and the driver."""
    for (version, _), python in interpreters():
        if 9 <= int(version.split(".")[1]) <= 13:
            env.clear()
            (env.folder / "libcuda.so.1").symlink_to(env.programs / "driver" / "libcuda.so.1")
            yield version, python


def test_subinterpreters(env):
    """Once one was created, PyGILState_Check says yes to threads that do not hold the lock."""
    tried = 0
    for version, python in pythons(env):
        script = env.folder / "program.py"
        script.write_text(SUB)
        env.run(python, script)
        compare_books(env, version)
        tried += 1
    return 0 if tried else SKIPPED
