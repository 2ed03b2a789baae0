#!/usr/bin/env python3
"""Writes the inputs of this folder again, byte for byte: README.md says after what they are made."""
import json
import os
import struct
import zlib

FOLDER = os.path.dirname(os.path.abspath(__file__))
GIB = 1 << 30
MIB = 1 << 20
START = 1_790_000_000  # 2026-09-21


def write(name, data):
    os.makedirs(os.path.dirname(os.path.join(FOLDER, name)), exist_ok=True)
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(data)


# --- protobuf


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


def float32(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


# --- TensorBoard


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def framed(event):
    length = struct.pack("<Q", len(event))
    return length + masked(length) + event + masked(event)


def event(seconds, step, tag, value):
    return framed(double(1, seconds) + number(2, step) + text(5, text(1, text(1, tag) + value)))


def version(seconds):
    return framed(double(1, seconds) + text(3, "brain.Event:2"))


def simple(value):
    return float32(2, value)


def tensor(value):
    """As TensorFlow 2 writes a scalar: a tensor of floats without dimensions."""
    return text(9, text(1, text(1, "scalars"))) + text(8, number(1, 1) + text(2, b"") + text(4, struct.pack("<f", value)))


def megatron(peak_step, top):
    data = version(START)
    for i in range(10):
        step = (i + 1) * 10
        seconds = START + 60.25 * (i + 1)
        allocated = 18 * GIB + (top - 18 * GIB if step == peak_step else i * 256 * MIB)
        data += event(seconds, step, "lm loss", simple(11.5 - i))
        data += event(seconds, step, "mem-reserved-bytes", simple(allocated + 2 * GIB))
        data += event(seconds, step, "mem-allocated-bytes", simple(allocated))
        data += event(seconds, step, "mem-max-allocated-bytes", simple(top))
        data += event(seconds, step, "mem-allocated-count", simple(4711))
    return data


def titan():
    data = version(START)
    for step, (active, reserved, ooms) in enumerate(((30.5, 34.25, 0), (31.0, 39.75, 0), (36.125, 44.5, 1)), 1):
        seconds = START + 10.0 * step
        data += event(seconds, step, "memory/max_active(GiB)", tensor(active))
        data += event(seconds, step, "memory/max_active(%)", tensor(active / 0.8))
        data += event(seconds, step, "memory/max_reserved(GiB)", tensor(reserved))
        data += event(seconds, step, "memory/num_alloc_retries", tensor(ooms * 3))
        data += event(seconds, step, "memory/num_ooms", tensor(ooms))
        data += event(seconds, step, "memory/of the future(GiB)", tensor(1))
    return data


# --- W&B

BLOCK = 32768


class Blocks:
    """leveldb's log with zlib's checksum, after a header of seven bytes."""

    def __init__(self):
        self.data = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))

    def piece(self, kind, data):
        crc = zlib.crc32(bytes([kind]) + data)
        self.data += struct.pack("<IHB", crc, len(data), kind) + data

    def record(self, data):
        first = True
        while True:
            left = BLOCK - len(self.data) % BLOCK
            if left < 7:
                self.data += bytes(left)
                continue
            part, data = data[: left - 7], data[left - 7 :]
            self.piece({(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not data], part)
            first = False
            if not data:
                return


def item(key, value):
    return text(1, key) + text(16, json.dumps(value))


def wandb():
    blocks = Blocks()
    blocks.record(number(1, 1) + text(17, text(1, "3x5y7z") + text(3, "demo")))
    # A configuration that needs more than a block.
    blocks.record(number(1, 2) + text(5, text(1, item("prompt", "words " * 8000))))
    record = 3
    for i in range(8):
        seconds = START + 15 * i
        stats = number(1, 0) + text(2, number(1, seconds) + number(2, 500_000_000))
        for gpu in (0, 1):
            used = 4 * GIB + (i if gpu == 0 else 2 * i) * 512 * MIB
            stats += text(3, item(f"gpu.{gpu}.memoryAllocatedBytes", used))
            stats += text(3, item(f"gpu.{gpu}.memoryAllocated", round(used / (80 * GIB) * 100, 2)))
            stats += text(3, item(f"gpu.process.{gpu}.memoryAllocatedBytes", used - GIB))
        stats += text(3, item("proc.memory.rssMB", 2048.5))
        blocks.record(number(1, record) + text(7, stats))
        record += 1
        history = text(1, item("train/loss", 2.5 / (i + 1)))
        history += text(1, item("perf/max_memory_allocated_gb", 2.5 + i / 4))
        history += text(1, text(2, "perf") + text(16, "1"))
        history += text(1, item("_timestamp", seconds + 1.25)) + text(1, item("_step", i * 100))
        blocks.record(number(1, record) + text(2, history))
        record += 1
    return bytes(blocks.data)


# --- tables and JSON


def lightning():
    start, end = "DeviceStatsMonitor.on_train_batch_start/", "DeviceStatsMonitor.on_train_batch_end/"
    keys = ["allocated_bytes.all.current", "allocated_bytes.all.peak", "num_ooms", "reserved_bytes.all.current",
            "segment.all.current"]
    header = [end + key for key in keys] + [start + key for key in keys] + ["epoch", "step", "train_loss"]
    rows = [",".join(header)]
    for step in range(6):
        for where, extra in ((start, 0), (end, 64 * MIB)):
            allocated = 6 * GIB + step * 128 * MIB + extra
            values = {where + "allocated_bytes.all.current": allocated,
                      where + "allocated_bytes.all.peak": 9 * GIB + step * 128 * MIB,
                      where + "num_ooms": 0,
                      where + "reserved_bytes.all.current": 10 * GIB + step * 128 * MIB,
                      where + "segment.all.current": 12,
                      "step": step}
            rows.append(",".join(str(values.get(name, "")) for name in header))
        rows.append(",".join({"epoch": "0", "step": str(step), "train_loss": "0.5"}.get(name, "") for name in header))
    return ("\n".join(rows) + "\n").encode()


TRAINER = {
    "before_init_mem_cpu": 1_500_000_000, "before_init_mem_gpu": 0,
    "epoch": 1.0,
    "eval_loss": 1.25, "eval_mem_cpu_alloc_delta": 0, "eval_mem_cpu_peaked_delta": 1_000_000,
    "eval_mem_gpu_alloc_delta": 0, "eval_mem_gpu_peaked_delta": 3_221_225_472,
    "init_mem_cpu_alloc_delta": 500_000_000, "init_mem_cpu_peaked_delta": 0,
    "init_mem_gpu_alloc_delta": 2_147_483_648, "init_mem_gpu_peaked_delta": 0,
    "train_loss": 1.5, "train_mem_cpu_alloc_delta": 250_000_000, "train_mem_cpu_peaked_delta": 125_000_000,
    "train_mem_gpu_alloc_delta": 4_294_967_296, "train_mem_gpu_peaked_delta": 6_442_450_944,
}


def trainer_state():
    log = [{"epoch": step / 10, "loss": 2.0, "step": step, "memory/max_reserved(GiB)": 20.5 + step} for step in (1, 2, 3)]
    log.append({key: value for key, value in TRAINER.items() if not key.startswith("eval")} | {"step": 3})
    return (json.dumps({"best_metric": None, "epoch": 1.0, "global_step": 3, "log_history": log}, indent=2) + "\n").encode()


def memory_profile():
    """As protobuf writes a message as JSON: integers of 64 bits are strings."""

    def moment(ps, heap, stack=0):
        stats = {"stackReservedBytes": str(stack), "heapAllocatedBytes": str(heap),
                 "freeMemoryBytes": str(16 * GIB - heap - stack), "fragmentation": 0.0, "peakBytesInUse": str(12 * GIB)}
        return {"timeOffsetPs": str(ps), "aggregationStats": stats,
                "activityMetadata": {"memoryActivity": "ALLOCATION", "requestedBytes": "1048576",
                                     "allocationBytes": "1048576", "address": "140000000000000",
                                     "tfOpName": "dot", "stepId": "1", "regionType": "temp"}}

    sampled = [moment(i * 1_000_000_000, (4 + (i * 3) % 8) * GIB, 256 * MIB) for i in range(12)]
    one = {"memoryProfileSnapshots": [moment(5_000_000_000, 7 * GIB)],
           "profileSummary": {"peakBytesUsageLifetime": str(12 * GIB), "peakStatsTimePs": "5000000000",
                              "memoryCapacity": str(16 * GIB)},
           "activeAllocations": [], "specialAllocations": [], "sampledTimelineSnapshots": sampled}
    host = {"memoryProfileSnapshots": [moment(0, GIB), moment(3_000_000_000, 2 * GIB)],
            "profileSummary": {"peakBytesUsageLifetime": str(2 * GIB), "memoryCapacity": "-1"},
            "activeAllocations": [], "specialAllocations": []}
    return json.dumps({"memoryProfilePerAllocator": {"GPU_0_bfc": one, "gpu_host_bfc": host}, "numHosts": 1,
                       "memoryIds": ["GPU_0_bfc", "gpu_host_bfc"], "version": 1}).encode()


def main():
    write("megatron.tfevents", megatron(60, 30 * GIB + 512 * MIB))
    write("megatron_rank1.tfevents", megatron(70, 26 * GIB))
    # As a job leaves them.
    write("ranks/rank_0/events.out.tfevents.1790000000.n1.7.0", megatron(60, 30 * GIB + 512 * MIB))
    write("ranks/rank_1/events.out.tfevents.1790000000.n1.8.0", megatron(70, 26 * GIB))
    write("titan.tfevents", titan())
    cut = megatron(60, 30 * GIB + 512 * MIB)
    damaged = bytearray(cut[:-40])
    damaged[400] ^= 1  # in a record: the ones behind it are read
    write("damaged.tfevents", bytes(damaged))
    write("run.wandb", wandb())
    write("metrics.csv", lightning())
    write("all_results.json", (json.dumps(TRAINER, indent=4, sort_keys=True) + "\n").encode())
    write("trainer_state.json", trainer_state())
    write("memory_profile.json", memory_profile())
    jsonl = "".join(json.dumps({"step": step, "loss": 1.0, "perf/max_memory_allocated_gb": 60.5 + step,
                                "perf/max_memory_reserved_gb": 70.25, "perf/cpu_memory_used_gb": 200.5}) + "\n"
                    for step in range(4))
    write("metrics.jsonl", jsonl.encode())


if __name__ == "__main__":
    main()
