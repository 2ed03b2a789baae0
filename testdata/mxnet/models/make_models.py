#!/usr/bin/env python3
"""Storage profiles as MXNet 2.0 writes them, of a ResNet-18 with Gluon and of a BERT with four layers without scopes.

usage: make_models.py FOLDER

Names have the forms of the official writer (PR 17656): scopes of Gluon blocks, in_arg:, arg_grad:, aux_state:, the
node of an operator's output, updater:, resource:, comm_dev:, image_io:. Sizes are those of the tensors, rounded up
to 4096 bytes, and above 2 MiB to 2 MiB, as the naive pool does.
"""
import sys
from pathlib import Path

HEADER = '"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
MIB = 1 << 20


def rounded(size):
    page = 2 * MIB if size > 2 * MIB else 4096
    return -(-size // page) * page


class Log:
    def __init__(self, devices):
        self.devices = devices
        self.rows = []

    def add(self, name, numbers, unrounded=False):
        size = 4 * numbers
        for device in range(self.devices):
            self.rows.append((name, size, device, size if unrounded else rounded(size)))

    def write(self, path, amend):
        used = [sum(row[3] for row in self.rows if row[2] == device) for device in range(self.devices)]
        with open(path, "w", encoding="ascii") as file:
            file.write(HEADER)
            for name, size, device, actual in sorted(self.rows):
                file.write(f'"{name}","{size}","{device}","{actual}","0"\n')
            for device, bytes_used in enumerate(used):  # whole MiB of the process
                more = -(bytes_used + amend) % MIB + amend
                file.write(f'"nvml_amend","{more}","{device}","{more}","0"\n')


def parameter(log, scope, name, numbers):
    log.add(f"{scope}in_arg:{name}", numbers)
    log.add(f"{scope}arg_grad:{name}", numbers)
    log.add("updater:optimizer_state:_zeros", numbers)


def resnet(log, batch):
    """Convolutions (channels in, out, width of the output) of ResNet-18 on 224 x 224."""
    layers = [(3, 64, 112)]
    for stage, (channels, width) in enumerate([(64, 56), (128, 28), (256, 14), (512, 7)]):
        before = 64 if stage == 0 else channels // 2
        layers += [(before, channels, width)] + [(channels, channels, width)] * 3
    for index, (before, channels, width) in enumerate(layers):
        scope = f"resnetv10:stage{(index + 3) // 4}:"
        output = batch * channels * width * width
        kernel = 49 if index == 0 else 9
        parameter(log, scope, f"conv{index}_weight", before * channels * kernel)
        log.add(f"{scope}conv{index}_fwd", output)
        for name in ("gamma", "beta"):
            parameter(log, scope, f"batchnorm{index}_{name}", channels)
        for name in ("running_mean", "running_var"):
            log.add(f"{scope}aux_state:batchnorm{index}_{name}", channels)
        log.add(f"{scope}batchnorm{index}_fwd", output)
        log.add(f"{scope}relu{index}_fwd", output)
        if index % 2 == 0 and index > 0:
            log.add(f"{scope}_plus{index // 2}", output)
    parameter(log, "resnetv10:", "dense0_weight", 512 * 1000)
    log.add("resnetv10:dense0_fwd", batch * 1000)
    log.add("resnetv10:dense0_fwd_backward", batch * 512)
    log.add("softmaxcrossentropyloss0:pick0", batch)
    log.add("softmaxcrossentropyloss0:log_softmax0_head_grad", batch * 1000)
    log.add("resource:temp_space (cudnn_convolution-inl.h +737)", 8 * MIB)
    log.add("comm_dev:merge_buf_0", 512 * 1000)
    log.add("<unk>:image_io:batch0", batch * 3 * 224 * 224, unrounded=True)
    log.add("<unk>:unknown", 300)


def bert(log, batch, length, units=256, layers=4):
    tokens = batch * length
    log.add("<unk>:in_arg:data0", tokens)
    parameter(log, "<unk>:", "bertmodel0_word_embed_embedding0_weight", 30522 * units)
    log.add("<unk>:bertmodel0_word_embed_embedding0_fwd", tokens * units)
    for layer in range(layers):
        cell = f"bertencoder0_transformer{layer}_"
        for name in ("query", "key", "value", "proj"):
            parameter(log, "<unk>:", f"{cell}dense_{name}_weight", units * units)
            log.add(f"<unk>:{cell}dense_{name}_fwd", tokens * units)
        log.add(f"<unk>:{cell}attention_batch_dot0", batch * 4 * length * length)
        log.add(f"<unk>:{cell}attention_softmax0", batch * 4 * length * length)
        log.add(f"<unk>:{cell}attention_dropout0_fwd", batch * 4 * length * length)
        log.add(f"<unk>:{cell}ffn_1_fwd", 4 * tokens * units)
        log.add(f"<unk>:{cell}ffn_gelu0_erf0", 4 * tokens * units)
        log.add(f"<unk>:{cell}ffn_2_fwd", tokens * units)
        log.add(f"<unk>:{cell}layernorm0_output", tokens * units)
        parameter(log, "<unk>:", f"{cell}ffn_1_weight", 4 * units * units)
        parameter(log, "<unk>:", f"{cell}ffn_2_weight", 4 * units * units)
    log.add("<unk>:bertclassifier0_dense0_fwd_backward", tokens * units)
    log.add("resource:cudnn_dropout_state (dropout-inl.h +258)", 2 * MIB)
    log.add("<unk>:_zeros", 1000)
    log.add("<unk>:unknown", 64)


def main():
    folder = Path(sys.argv[1])
    log = Log(2)
    resnet(log, 8)
    log.write(folder / "resnet.csv", 300 * MIB)
    log = Log(1)
    bert(log, 16, 128)
    log.write(folder / "bert.csv", 600 * MIB)


if __name__ == "__main__":
    main()
