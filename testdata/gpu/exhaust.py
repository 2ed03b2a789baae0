"""Runs out of device memory in one of the ways that programs do; what is printed is a log to read.

usage: exhaust.py WAY [--snapshot NAME.pickle]
"""
import argparse
import os
import subprocess
import sys
import time

MIB, GIB = 1 << 20, 1 << 30
HOLD = "import torch, time; x = torch.empty({0}, dtype=torch.uint8, device='cuda'); print('holding', flush=True); time.sleep(60)"


def neighbour(size):
    """Another process that holds so much of the card."""
    child = subprocess.Popen([sys.executable, "-c", HOLD.format(size)], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def grow(torch, size, count=1 << 20):
    return [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(count)]


def torch_way(way, snapshot):
    import torch
    if snapshot:
        torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
        torch._C._cuda_attach_out_of_memory_observer(
            lambda device, asked, total, free: torch.cuda.memory._dump_snapshot(snapshot))
    if way == "torch_grow":  # until the card is full
        grow(torch, 3 * GIB)
    elif way == "torch_fraction":
        torch.cuda.set_per_process_memory_fraction(0.05)
        grow(torch, 300 * MIB)
    elif way == "torch_neighbour":
        neighbour(60 * GIB)
        grow(torch, 2 * GIB)
    elif way == "torch_fragmented":
        torch.cuda.set_per_process_memory_fraction(0.05)
        held = grow(torch, 4 * MIB, 900)  # five in a segment, of which one stays
        held = held[::5]
        torch.empty(1 * GIB, dtype=torch.uint8, device="cuda")
    elif way == "torch_too_large":
        torch.empty(2 << 40, dtype=torch.uint8, device="cuda")
    elif way == "torch_in_graph":
        torch.cuda.set_per_process_memory_fraction(0.05)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            grow(torch, 1 * GIB)
    elif way == "torch_backward":
        torch.cuda.set_per_process_memory_fraction(0.05)
        layers = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(8))).cuda()
        x = torch.randn(20000, 4096, device="cuda")
        layers(x).exp().sum().backward()
    elif way == "torch_optimizer":
        torch.cuda.set_per_process_memory_fraction(0.05)
        layers = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(26))).cuda()
        optimizer = torch.optim.AdamW(layers.parameters())
        layers(torch.randn(16, 4096, device="cuda")).sum().backward()
        optimizer.step()
    elif way == "torch_compiled":
        torch.cuda.set_per_process_memory_fraction(0.05)
        torch.compile(lambda x: [torch.sin(x * i).cumsum(0) for i in range(40)])(torch.randn(64 * MIB, device="cuda"))
    elif way == "torch_pinned":
        torch.empty(400 * GIB, dtype=torch.uint8, pin_memory=True)
    elif way == "torch_blas":  # the card is full when cuBLAS and the kernels come
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
        torch.cuda.set_per_process_memory_fraction(1.0)
        fill(4 * MIB)
        (a @ a).sum().item()
    elif way == "torch_new_context":
        fill(4 * MIB, wait=True)
    elif way == "torch_retried":  # caught, and tried again smaller
        torch.cuda.set_per_process_memory_fraction(0.05)
        size = 16 * GIB
        while size:
            try:
                torch.empty(size, dtype=torch.uint8, device="cuda")
                print("fits at", size >> 20, "MiB")
                break
            except torch.OutOfMemoryError as error:
                print("caught:", error)
                size //= 4
    elif way == "torch_summary":  # what people print
        x = grow(torch, 300 * MIB, 5)
        del x[1]
        print(torch.cuda.memory_summary())
        print(torch.cuda.memory_summary(abbreviated=True))
        print(torch.cuda.memory_stats())
        print(torch.cuda.list_gpu_processes())
        import pprint
        pprint.pprint(dict(torch.cuda.memory_stats()))
        print("mem_get_info", torch.cuda.mem_get_info())


def fill(leave, wait=False):
    """The card but for so many bytes, past the framework's allocator."""
    import cupy
    cupy.cuda.set_allocator(None)
    held = []
    for size in (GIB, 64 * MIB, 2 * MIB):
        while cupy.cuda.runtime.memGetInfo()[0] > leave + size:
            try:
                held.append(cupy.cuda.runtime.malloc(size))
            except cupy.cuda.runtime.CUDARuntimeError:
                break
    print("free", cupy.cuda.runtime.memGetInfo()[0], flush=True)
    if wait:
        sys.exit(subprocess.call([sys.executable, "-c", "import torch; torch.ones(1, device='cuda')"]))


def cupy_way(way):
    import cupy
    if way == "cupy_limit":
        cupy.get_default_memory_pool().set_limit(size=2 * GIB)
    if way == "cupy_async":
        cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
    if way == "cupy_driver":
        cupy.cuda.set_allocator(None)
    held = []
    while True:
        held.append(cupy.zeros(3 * GIB if way != "cupy_limit" else 300 * MIB, dtype=cupy.uint8))


def numba_way(way):
    from numba import cuda
    held = []
    while True:
        held.append(cuda.device_array(3 * GIB, dtype="u1"))


def triton_way(way):
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x, y, n: tl.constexpr):
        a = tl.load(x + tl.arange(0, n)[:, None] * n + tl.arange(0, n)[None, :])
        tl.store(y + tl.arange(0, n)[:, None] * n + tl.arange(0, n)[None, :], tl.dot(a, a))

    x = torch.randn(512, 512, device="cuda", dtype=torch.float16)
    kernel[(1,)](x, torch.empty_like(x, dtype=torch.float32), 512)


def jax_way(way):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def layer(x, w):
        return jnp.tanh(x @ w)

    if way == "jax_compile":  # the program alone is larger than the card
        def huge(x):
            for i in range(6):
                x = jnp.sort(jnp.outer(x, x).reshape(-1))[: x.shape[0]] + i
            return x
        jax.jit(huge)(jnp.ones(200000)).block_until_ready()
        return
    if way == "jax_program":
        stack = jnp.ones((4096, 4096))
        jax.grad(lambda w: sum(layer(jnp.ones((60000, 4096)) * i, w).sum() for i in range(20)))(stack).block_until_ready()
        return
    held = []
    w = jnp.ones((4096, 4096))
    x = jnp.ones((65536, 4096))
    while True:
        held.append(layer(x, w).block_until_ready())
        if len(held) == 3:
            print("memory_stats", jax.local_devices()[0].memory_stats(), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way")
    parser.add_argument("--snapshot")
    args = parser.parse_args()
    ways = {"torch": lambda way: torch_way(way, args.snapshot), "cupy": cupy_way, "numba": numba_way,
            "triton": triton_way, "jax": jax_way}
    ways[args.way.split("_")[0]](args.way)


if __name__ == "__main__":
    main()
