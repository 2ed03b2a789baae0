"""What runtimes get for the driver functions that they ask for."""
import shutil
import subprocess

from harness import SKIPPED, same


CUDART = r'''
#include <cuda_runtime.h>
#include <cstdio>
int main() { void* p = 0; printf("%d\n", (int)cudaMalloc(&p, 1 << 20)); return 0; }
'''


def test_cudart(env):
    """The real static runtime resolves its functions through the shim before it refuses the fake."""
    if shutil.which("nvcc") is None:
        print("no nvcc")
        return SKIPPED
    source = env.folder / "program.cu"
    source.write_text(CUDART)
    built = subprocess.run(["nvcc", "-cudart", "static", "-o", str(env.folder / "program"),
                            str(source)], capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stderr)
        return SKIPPED
    done = env.run(env.folder / "program", FAKE_DRIVER_QUERIES=env.folder / "queries")
    assert done.stdout.strip() != "0", "the fake is not a device"
    queries = [line.split() for line in (env.folder / "queries").read_text().splitlines()]
    assert len(queries) > 300, len(queries)
    swapped = {words[1] for words in queries if words[0] == "found"}
    for name in ("cuMemAlloc", "cuMemFree", "cuMemAllocAsync", "cuMemHostAlloc", "cuArrayCreate"):
        assert name in swapped, name
    return 0
