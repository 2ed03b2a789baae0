"""A small language model that is trained for a few steps on a GPU, with PyTorch's history recorded.

usage: train.py NAME [--ck KIND] [--amp] [--acc N] [--batch N] [--seq N] [--chunks N] [--opt NAME] ...

Writes NAME.pickle (the snapshot) and NAME.json (what the allocator itself says of each step: its
counters are the truth that memtool's figures are compared with).
"""
import argparse
import contextlib
import functools
import json
import os
import subprocess

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        weights = scores.softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.ffn = FeedForward(width)

    def forward(self, x, ck=""):
        if ck == "attn":
            x = x + checkpoint(self.attention, self.norm1(x), use_reentrant=False)
        else:
            x = x + self.attention(self.norm1(x))
        if ck == "ffn":
            return x + checkpoint(self.ffn, self.norm2(x), use_reentrant=False)
        return x + self.ffn(self.norm2(x))


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(args.vocab, args.width)
        if args.model == "encoder":
            blocks = (nn.TransformerEncoderLayer(args.width, args.width // 64, 4 * args.width, batch_first=True)
                      for _ in range(args.layers))
        else:
            blocks = (Block(args.width, args.width // 64) for _ in range(args.layers))
        if args.compile:
            blocks = (torch.compile(block) for block in blocks)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(args.width)
        self.head = nn.Linear(args.width, args.vocab, bias=False)
        self.ck = args.ck

    def group(self, blocks, x):
        for block in blocks:
            x = block(x)
        return x

    def hidden(self, tokens):
        x = self.embed(tokens)
        blocks = list(self.blocks)
        if self.ck in ("1", "2", "3", "1r"):
            size = int(self.ck[0])
            for at in range(0, len(blocks), size):
                x = checkpoint(functools.partial(self.group, blocks[at:at + size]), x,
                               use_reentrant=self.ck.endswith("r"))
        else:
            for index, block in enumerate(blocks):
                if self.ck == "every2" and index % 2 == 0:
                    x = checkpoint(block, x, use_reentrant=False)
                elif self.ck in ("attn", "ffn"):
                    x = block(x, self.ck)
                else:
                    x = block(x)
        return self.norm(x)

    def loss(self, tokens, chunks):
        return loss_of(self, self.hidden(tokens[:, :-1]), tokens[:, 1:], chunks)


class ConvBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(y)))


class ConvNet(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.stem = nn.Conv2d(3, 128, 3, padding=1)
        self.blocks = nn.ModuleList(ConvBlock(128) for _ in range(args.layers))
        self.head = nn.Linear(128, 100)
        self.ck = args.ck

    def loss(self, tokens, _):
        images = torch.randn(4 * tokens.shape[0], 3, 64, 64, device=tokens.device)
        x = self.stem(images)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.ck else block(x)
        targets = torch.randint(100, (x.shape[0],), device=x.device)
        return F.cross_entropy(self.head(x.mean(dim=(2, 3))), targets)


class Library(nn.Module):
    """GPT-2 of Transformers, with its own checkpointing."""

    def __init__(self, args):
        super().__init__()
        from transformers import GPT2Config, GPT2LMHeadModel
        self.model = GPT2LMHeadModel(GPT2Config(vocab_size=args.vocab, n_embd=args.width, n_layer=args.layers,
                                                n_head=args.width // 64))
        if args.ck:
            self.model.gradient_checkpointing_enable()

    def loss(self, tokens, _):
        return self.model(input_ids=tokens[:, :-1], labels=tokens[:, :-1]).loss


def make_model(args):
    return {"conv": ConvNet, "library": Library}.get(args.model, Model)(args)


def loss_of(model, hidden, targets, chunks):
    if chunks <= 1:
        return F.cross_entropy(model.head(hidden).flatten(0, 1), targets.flatten())
    parts = zip(hidden.flatten(0, 1).chunk(chunks), targets.flatten().chunk(chunks))
    return sum(checkpoint(lambda h, t: F.cross_entropy(model.head(h), t), h, t, use_reentrant=True)
               for h, t in parts) / chunks


def make_optimizer(args, parameters):
    if args.opt == "none":
        return None
    if args.opt == "sgd":
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, foreach=args.foreach)
    if args.opt == "zero":
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=1e-4, foreach=args.foreach)
    return torch.optim.AdamW(parameters, lr=1e-4, foreach=args.foreach, fused=args.fused)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    for name, default in (("layers", 8), ("width", 768), ("vocab", 8192), ("batch", 8), ("seq", 512),
                          ("steps", 3), ("acc", 1), ("chunks", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--model", default="own", choices=("own", "encoder", "conv", "library"))
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--offload", action="store_true", help="keep what the backward needs on the host")
    parser.add_argument("--half", action="store_true", help="parameters in bfloat16")
    parser.add_argument("--ck", default="")
    parser.add_argument("--opt", default="adamw")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--foreach", type=lambda word: word == "yes", default=None)
    parser.add_argument("--fused", type=lambda word: word == "yes", default=None)
    parser.add_argument("--keep-grads", action="store_true", help="zero_grad(set_to_none=False)")
    parser.add_argument("--vary", action="store_true", help="another length at each step")
    parser.add_argument("--no-history", action="store_true")
    parser.add_argument("--smi", action="store_true", help="write what nvidia-smi says at the end")
    args = parser.parse_args()
    rank = int(os.environ.get("RANK", "-1"))
    if rank >= 0:
        torch.distributed.init_process_group("gloo")
    torch.manual_seed(0)
    if not args.no_history:
        torch.cuda.memory._record_memory_history(max_entries=200000, stacks="python")
    model = make_model(args).cuda()
    if args.half:
        model = model.bfloat16()
    if rank >= 0:
        model = nn.parallel.DistributedDataParallel(model)
    bare = model.module if rank >= 0 else model
    optimizer = make_optimizer(args, model.parameters())
    steps = []
    lengths = (10, 13, 7, 16, 9, 15, 11, 14)
    for step in range(args.steps):
        torch.cuda.reset_peak_memory_stats()
        for _ in range(args.acc):
            seq = args.seq * lengths[step % len(lengths)] // 16 if args.vary else args.seq
            tokens = torch.randint(args.vocab, (args.batch, seq + 1), device="cuda")
            keep = torch.autograd.graph.save_on_cpu() if args.offload else contextlib.nullcontext()
            with keep, torch.autocast("cuda", torch.bfloat16, enabled=args.amp):
                loss = bare.loss(tokens, args.chunks)
            (loss / args.acc).backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad(set_to_none=not args.keep_grads)
        else:
            model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        steps.append({
            "live_peak": stats["allocated_bytes.all.peak"], "live": stats["allocated_bytes.all.current"],
            "reserved_peak": stats["reserved_bytes.all.peak"], "reserved": stats["reserved_bytes.all.current"],
            "requested_peak": stats["requested_bytes.all.peak"], "retries": stats["num_alloc_retries"],
            "device_used": torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]})
    name = args.name if rank < 0 else f"{args.name}_rank{rank}"
    with open(f"{name}.json", "w") as out:
        json.dump({"arguments": vars(args), "torch": torch.__version__,
                   "conf": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""), "steps": steps}, out, indent=1)
    if not args.no_history:
        torch.cuda.memory._dump_snapshot(f"{name}.pickle")
    if args.smi:
        with open(f"{name}.smi.csv", "w") as out:
            subprocess.run(["nvidia-smi", "--query-compute-apps=pid,process_name,used_gpu_memory", "--format=csv"],
                           stdout=out, check=False)
        print("pid", os.getpid(), flush=True)


if __name__ == "__main__":
    main()
