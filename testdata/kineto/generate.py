#!/usr/bin/env python3
"""Writes the traces of this folder; README.md says what is in them."""
import json
from pathlib import Path

PYTHON, BACKWARD = 100, 101  # threads


class Trace:
    def __init__(self):
        self.events = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": PYTHON, "args": {"name": "thread 100 (python)"}}]
        self.index = 0
        self.total = {}

    def span(self, category, name, begin, end, thread=PYTHON):
        self.index += 1
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": begin,
                            "dur": end - begin, "args": {"External id": self.index, "Ev Idx": self.index}})

    def memory(self, time, address, size, device=0, reserved=4 << 20, thread=PYTHON):
        self.index += 1
        self.total[device] = self.total.get(device, 0) + size
        self.events.append({
            "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": thread, "ts": time,
            "args": {"Total Reserved": 0 if device < 0 else reserved, "Total Allocated": self.total[device],
                     "Bytes": size, "Addr": address, "Device Id": device, "Device Type": 0 if device < 0 else 1,
                     "Ev Idx": self.index}})


def without_address():
    """More is freed without an address than such events allocate: that was there before."""
    t = Trace()
    t.total[0] = 200_000
    t.span("python_function", "train.py(30): main", 1000, 9000)
    t.span("cpu_op", "aten::empty", 1100, 1900)
    t.memory(1200, 0x7F0000000000, 65536)
    t.memory(2000, 0, 131072)
    t.memory(3000, 0, -231072)
    t.memory(4000, 0, 50000)
    t.memory(5000, 0x7F0000000000, -65536)
    return t.events


def main():
    t = Trace()
    t.total[0] = 1_000_000  # 700,000 of it stay, 300,000 are freed in the trace
    t.span("user_annotation", "ProfilerStep#3", 1000.5, 9000)
    t.span("python_function", "train.py(30): main", 1000, 20000)
    t.span("python_function", "train.py(12): step", 1010, 8990)
    t.span("python_function", "nn.Module: Linear_0", 1100, 2000)
    t.span("python_function", "torch/nn/modules/linear.py(114): forward", 1110, 1990)
    t.span("cpu_op", "aten::linear", 1200, 1900)
    t.span("cpu_op", "aten::empty", 1300, 1400)
    t.memory(1350.25, 0x7F0000000000, 65536)
    t.span("cpu_op", "aten::relu", 2500, 2700)
    t.memory(2600, 0x7F0000010000, 65536)
    t.memory(2600, 0x55000000, 4096, device=-1)
    t.span("cpu_op", "autograd::engine::evaluate_function: ReluBackward0", 3000, 3500, thread=BACKWARD)
    t.span("cpu_op", "ReluBackward0", 3010, 3490, thread=BACKWARD)
    t.span("cpu_op", "aten::empty_strided", 3100, 3200, thread=BACKWARD)
    t.memory(3150, 0x7F0000020000, 131072, thread=BACKWARD, reserved=6 << 20)
    t.memory(4000, 0x7F0000010000, -65536)
    t.memory(4100, 0x7E0000000000, -300_000)  # from before the trace
    t.memory(5000, 0x7F0000020000, -131072, reserved=4 << 20)
    t.memory(5100, 0x55000000, -4096, device=-1)
    t.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[OutOfMemory]", "pid": 1, "tid": PYTHON,
                     "ts": 8000, "args": {"Bytes": 1 << 40, "Device Id": 0, "Device Type": 1}})
    t.span("kernel", "void gemm(float*)", 5200, 5300, thread=7)
    t.memory(12000, 0x7F0000030000, 8192)
    t.events.reverse()  # the profiler does not write them in the order of their times
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A10"}], "trace_id": "0A",
            "baseTimeNanoseconds": 1_700_000_000_000_000_000, "displayTimeUnit": "ms"}
    folder = Path(__file__).parent
    (folder / "trace.json").write_text(json.dumps({**head, "traceEvents": t.events, "traceName": "trace.json"}, indent=1))
    (folder / "bare.json").write_text(json.dumps([e for e in t.events if e.get("cat") != "python_function"]))
    (folder / "without_address.json").write_text(json.dumps({**head, "traceEvents": without_address()}, indent=1))
    (folder / "no_memory.json").write_text(json.dumps({**head, "traceEvents": [e for e in t.events if e["ph"] != "i"]}))
    c = Trace()
    for device, first, second in ((0, 4096, 8192), (1, 4096, 8192)):
        c.span("cpu_op", "aten::empty", 100, 200)
        c.memory(150, 0x7F0000000000, first, device)
        c.span("cpu_op", "aten::zeros", 300, 400)
        c.memory(350, 0x7F0000010000, second, device)
        c.memory(500, 0x7F0000000000, -first, device)
        c.memory(600, 0x7F0000020000, 512, device)
    changed = [e for e in c.events if e.get("args", {}).get("Bytes") == 8192]
    changed[0]["args"]["Bytes"] = 16384
    changed[1]["args"]["Bytes"] = 1 << 40
    (folder / "contradicts.json").write_text(json.dumps({**head, "traceEvents": c.events}))


main()
