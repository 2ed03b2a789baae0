#!/usr/bin/env python3
"""Writes snapshots (JSON form) that begin after the model was loaded, and one of engines. usage: generate.py, in this folder"""
import json

MIB = 1 << 20
SITE = "/opt/venv/lib/python3.12/site-packages/"
MAIN = {"name": "main", "filename": "/home/u/train.py", "line": 40}


def py(name, file, line=10):
    return {"name": name, "filename": file, "line": line}


FORWARD = [py("forward", "/home/u/model.py", 21), MAIN]
ENGINE = [{"name": "MmBackward0::apply(...)", "filename": "??", "line": 0},
          {"name": "torch::autograd::Engine::thread_main", "filename": "??", "line": 0}]
ACCUMULATE = [{"name": "torch::autograd::AccumulateGrad::apply(...)", "filename": "??", "line": 0}] + ENGINE[1:]
ADAMW = [py("step", SITE + "torch/optim/adamw.py", 220), MAIN]
ZERO_GRAD = [py("zero_grad", SITE + "torch/optim/optimizer.py", 980), MAIN]
# An embedding, and four layers.
SIZES = [20 * MIB] + 4 * [4 * MIB, 4 * MIB, 16 * MIB, 8192]
CUBLAS = 2 * 4096 * 1024 + 8 * 16 * 1024


class Snapshot:
    def __init__(self):
        self.events, self.blocks, self.at, self.time = [], {}, 0x7F0000000000, 1_760_000_000_000_000

    def before(self, size):
        address = self.at
        self.at += -(-size // 512) * 512
        self.blocks[address] = {"address": address, "size": self.at - address, "requested_size": size,
                                "state": "active_allocated", "frames": []}
        return address

    def add(self, action, address, size, frames):
        self.time += 5
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0,
                            "time_us": self.time, "frames": frames})

    def alloc(self, size, frames):
        address = self.before(size)
        self.blocks[address]["frames"] = frames
        self.add("alloc", address, size, frames)
        return address

    def free(self, address, frames):
        block = self.blocks[address]
        for action in ("free_requested", "free_completed"):
            self.add(action, address, block["requested_size"], frames)
        block.update(state="inactive", requested_size=0, frames=[])

    def write(self, name):
        blocks = list(self.blocks.values())
        active = [block for block in blocks if block["state"] != "inactive"]
        size = sum(block["size"] for block in blocks)
        used = sum(block["size"] for block in active)
        segment = {"device": 0, "address": 0x7F0000000000, "total_size": size, "allocated_size": used,
                   "active_size": used, "requested_size": sum(block["requested_size"] for block in active),
                   "stream": 0, "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": False,
                   "frames": [], "blocks": blocks}
        with open(name, "w", encoding="ascii") as file:
            json.dump({"segments": [segment], "device_traces": [self.events],
                       "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False}},
                      file, separators=(",", ":"))
            file.write("\n")

    def passes(self, gradients):
        """Forward and backward; returns the gradients."""
        activations = [self.alloc(3 * MIB, FORWARD) for _ in SIZES]
        made = []
        for size, activation in zip(reversed(SIZES), reversed(activations)):
            made.append(self.alloc(size, ENGINE))
            if gradients:
                self.free(made[-1], ACCUMULATE)
            self.free(activation, ENGINE)
        return gradients or made


def adam():
    """The second step of a run: parameters, AdamW's two of each, frozen weights, workspaces."""
    snapshot = Snapshot()
    for size in SIZES + [12 * MIB, 12 * MIB, 12 * MIB, CUBLAS, CUBLAS] + SIZES + SIZES:
        snapshot.before(size)
    for _ in range(2):
        gradients = snapshot.passes([])
        snapshot.free(snapshot.alloc(16 * MIB, ADAMW), ADAMW)
        for gradient in gradients:
            snapshot.free(gradient, ZERO_GRAD)
    snapshot.passes([])
    snapshot.write("before_adam.json")


def kept():
    """zero_grad(set_to_none=False), no optimizer to be seen, and one more copy of the model."""
    snapshot = Snapshot()
    parameters, gradients, copy = ([snapshot.before(size) for size in SIZES] for _ in range(3))
    assert parameters and copy
    snapshot.passes(gradients)
    snapshot.write("before_kept.json")


def engines():
    """What engines and trainers allocate: one block each, of as many MiB as its number."""
    snapshot = Snapshot()
    vllm, sglang, torch = SITE + "vllm/", SITE + "sglang/srt/", SITE + "torch/"
    module = [py("_call_impl", torch + "nn/modules/module.py"), py("step", "/home/u/rl.py"), MAIN]
    stacks = [
        [py("_allocate_kv_cache_tensors", vllm + "v1/worker/gpu_model_runner.py"),
         py("initialize_kv_cache", vllm + "v1/worker/gpu_model_runner.py")],
        [py("_create_buffers", sglang + "mem_cache/memory_pool.py"),
         py("init_memory_pool", sglang + "model_executor/model_runner.py")],
        [py("create_weights", vllm + "model_executor/layers/linear.py"),
         py("initialize_model", vllm + "model_executor/model_loader/utils.py")],
        [py("forward", "/home/u/model.py"), py("capture_model", vllm + "v1/worker/gpu_model_runner.py")],
        [py("__init__", SITE + "megatron/core/distributed/param_and_grad_buffer.py")],
        [py("_build_model_and_main_param_groups", SITE + "megatron/core/optimizer/distrib_optimizer.py")],
        [py("alloc_all_gather_outputs", torch + "distributed/fsdp/_fully_shard/_fsdp_param.py")] + module,
        [py("fetch_sub_module", SITE + "deepspeed/runtime/zero/partitioned_param_coordinator.py")] + module,
        [py("setup_buckets", SITE + "deepspeed/runtime/zero/stage_1_and_2.py")],
        [py("initialize_optimizer_states", SITE + "deepspeed/runtime/zero/stage3.py")],
        [py("_prepare_inputs", SITE + "transformers/trainer.py")],
        [py("compute_loss", SITE + "trl/trainer/sft_trainer.py")],
        [py("prepare_latents", SITE + "diffusers/pipelines/flux/pipeline_flux.py")],
        [py("call", "/tmp/torchinductor_u/ab/cabc.py"), py("runtime_wrapper", torch + "_functorch/_aot_autograd/rt.py")],
        [py("__init__", "/home/u/attention.py"), py("__init__", "/home/u/block.py"), py("build", "/home/u/rl.py")],
        [py("__init__", "/home/u/replay.py"), py("build", "/home/u/rl.py")],
        # To PyTorch 1.13 every optimizer's step was below a decorator of torch.autograd.
        [py("step", torch + "optim/adamw.py"), py("decorate_context", torch + "autograd/grad_mode.py")],
    ]
    for number, stack in enumerate(stacks, start=1):
        snapshot.alloc(number * MIB, stack if MAIN in stack else stack + [MAIN])
    snapshot.alloc(CUBLAS, module)
    snapshot.write("engines.json")


adam()
kept()
engines()
