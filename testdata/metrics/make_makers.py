#!/usr/bin/env python3
"""Writes tensorboardx.tfevents and datastore.wandb with their makers' own writers, and prints what their own readers say, for
tests/corpus/metrics_test.py: needs tensorboardX, TensorBoard and W&B (sources will do, with protobuf's compiler for their .proto).

usage: PYTHONPATH=... make_makers.py [tensorboardx|wandb]...
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
GIB, MIB, START = 1 << 30, 1 << 20, 1_790_000_000


def tensorboardx():
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboardX import SummaryWriter

    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder) as writer:
            for step in range(20):
                wall = START + 0.25 + 3 * step
                writer.add_scalar("loss", 2.0 / (1 + step), step, walltime=wall)
                writer.add_scalar("mem-allocated-bytes", 18 * GIB + step * 64 * MIB, step, walltime=wall)
                writer.add_scalar("mem-reserved-bytes", 20 * GIB + step * 64 * MIB, step, walltime=wall)
                writer.add_scalar("mem-max-allocated-bytes", 26 * GIB, step, walltime=wall)
                writer.add_scalar("memory/max_reserved(GiB)", 30.5 + step / 8, step, walltime=wall)
                writer.add_scalar("memory/num_ooms", 0, step, walltime=wall)
            writer.add_text("notes", "a text is a tensor", 3)
            writer.add_histogram("weights", [1.0, 2.0, 3.0], 4)
        shutil.copyfile(next(Path(folder).glob("events*")), FOLDER / "tensorboardx.tfevents")
        read = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
        read.Reload()
        return {tag: [event.value for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def wandb():
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    path = FOLDER / "datastore.wandb"
    path.unlink(missing_ok=True)
    store = DataStore()
    store.open_for_write(str(path))

    def put(fill):
        record = wandb_internal_pb2.Record()
        fill(record)
        store.write(record)

    def history(record):
        record.history.step.num = step
        for key, value in (("loss", 2 / (1 + step)), ("_step", step), ("_timestamp", START + 0.5 + 2 * step)):
            record.history.item.add(key=key, value_json=json.dumps(value))
        record.history.item.add(nested_key=["perf/max_memory_allocated_gb"], value_json=json.dumps(60.0 + step / 16))

    def stats(record):
        record.stats.timestamp.FromNanoseconds((START + 1 + 2 * step) * 10**9)
        for key, value in (("gpu.0.memoryAllocated", 75.5), ("gpu.0.memoryAllocatedBytes", 62 * GIB + step * MIB),
                           ("gpu.process.0.memoryAllocatedBytes", 60 * GIB + step * MIB), ("proc.memory.rssMB", 2048.25)):
            record.stats.item.add(key=key, value_json=json.dumps(value))

    for step in range(24):
        put(history)
        if step % 3 == 0:
            put(stats)
        if step == 11:  # longer than a block
            put(lambda record: setattr(record.output_raw, "line", "x" * 40_000))
    store.close()
    read = DataStore()
    read.open_for_scan(str(path))
    values = {}
    while (data := read.scan_data()) is not None:
        record = wandb_internal_pb2.Record.FromString(data)
        for item in [*record.history.item, *record.stats.item]:
            values.setdefault(item.key or ".".join(item.nested_key), []).append(float(item.value_json))
    return values


if __name__ == "__main__":
    for name in sys.argv[1:] or ("tensorboardx", "wandb"):
        for tag, values in {"tensorboardx": tensorboardx, "wandb": wandb}[name]().items():
            print(name, tag, len(values), repr(sum(values)))
