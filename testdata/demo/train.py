# Allocates 64 MiB on the first GPU, with nothing but NVIDIA's driver: for `memtool run -- python train.py`.
import ctypes

cuda, context, block = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(64 << 20)) == 0
