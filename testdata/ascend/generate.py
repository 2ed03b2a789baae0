#!/usr/bin/env python3
"""Writes the tables of Ascend's profilers beside it; `generate.py operators ROWS FILE` a large operator_memory.csv.

Columns, units and the TAB behind times are those of torch_npu (torch_npu/profiler/analysis), msprof and MindSpore.
"""
import heapq
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MIB, KIB = 1 << 20, 1 << 10
START = 1764753083000000000  # ns since 1970
NEW = ("Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),"
       "Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),Release Total Allocated(MB),"
       "Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type")


def micros(nanos, tail="\t"):
    return "" if nanos is None else f"{nanos // 1000}.{nanos % 1000:03d}{tail}"


class Allocator:
    """PTA's counts: allocated until the program releases a tensor, active until its stream is done with it."""

    def __init__(self, base):
        self.allocated = self.active = base
        self.reserved = -(-base // (20 * MIB)) * 20 * MIB

    def take(self, size):
        self.allocated += size
        self.active += size
        while self.active > self.reserved:
            self.reserved += 20 * MIB
        return self.said()

    def said(self):
        return self.allocated, self.reserved, self.active


def operators(rows, dice, base=512 * MIB):
    """A row per tensor, by the time of its allocation, as torch_npu sorts them."""
    pta, ends, lines, time = Allocator(base), [], [], START
    names = [f"aten::{name}" for name in ("empty", "add", "mul", "addmm", "_softmax", "native_layer_norm", "t", "zeros_like")]

    def end_until(now):
        while ends and ends[0][0] <= now:
            _, row, what = heapq.heappop(ends)
            size = lines[row]["size"]
            if what == "release":
                pta.allocated -= size
                lines[row]["after"] = pta.said()
            if what == "reusable" or lines[row]["reusable"] is None:
                pta.active -= size

    for row in range(rows):
        time += dice.randrange(200, 4000)
        end_until(time)
        size = dice.choice((512, 4096, 1536 * KIB, 64 * KIB, 6 * MIB, 512 * dice.randrange(1, 3000)))
        kept = row % 97 == 5
        released = None if kept else time + dice.randrange(100, 60_000)
        reusable = None if kept or row % 3 else released + dice.randrange(1, 9000)
        lines.append({"name": dice.choice(names), "size": size, "time": time, "released": released, "reusable": reusable,
                      "said": pta.take(size), "after": None, "stream": 281466386518016 if row % 5 else 281466386520064})
        if released:
            heapq.heappush(ends, (released, row, "release"))
        if reusable:
            heapq.heappush(ends, (reusable, row, "reusable"))
    end_until(time + 1_000_000)
    return lines


def mebibytes(totals):
    return ["", "", ""] if totals is None else [repr(total / MIB) for total in totals]


def operator_rows(lines, device="NPU:0"):
    for one in lines:
        duration = one["released"] and one["released"] - one["time"]
        active = one["reusable"] and one["reusable"] - one["time"]
        yield ",".join([one["name"], repr(one["size"] / KIB), micros(one["time"]), micros(one["released"]), micros(one["reusable"]),
                        micros(duration), micros(active), *mebibytes(one["said"]), *mebibytes(one["after"]), str(one["stream"]), device])


def write(name, header, rows, end="\n"):
    (HERE / name).write_text(header + end + "".join(row + end for row in rows), newline="")


def tensors(rows, header="Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB),"
            "Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB),Device Type"):
    """Rows of the older columns: (name, KB, from, to, allocated and reserved after both), times in us after the start."""
    yield header
    for name, size, begin, end, *totals in rows:
        times = [micros(START + 1000 * at) if at is not None else "" for at in (begin, end)]
        duration = micros(1000 * (end - begin)) if begin is not None and end is not None else ""
        yield ",".join([name, str(size), *times, duration, *("" if total is None else str(total) for total in totals), "NPU:0"])


def records(dice, steps=12):
    """memory_record.csv: PTA and GE each with their sum, as torch_npu interleaves them; APP first; WORKSPACE without."""
    for i in range(3):
        yield f"APP,{micros(START + 20_000_000 * i)},,{1200.0 + 16 * i},,,NPU:0"
    last = {"PTA": (0.0, 0.0), "GE": (0.0, 0.0)}
    for i in range(steps):
        who = "GE" if i % 4 == 3 else "PTA"
        allocated = dice.randrange(1, 40) * 4.5
        last[who] = (allocated, 242.0 if who == "GE" else max(last[who][1], 20.0 * (1 + allocated // 20)))
        time = micros(START + 4_000_000 * i + 333)
        yield f"{who},{time},{last[who][0]},{last[who][1]},{'' if who == 'GE' else allocated},,NPU:0"
        sums = [last["PTA"][at] + last["GE"][at] for at in (0, 1)]
        yield f"PTA+GE,{time},{sums[0]},{sums[1]},{allocated},,NPU:0"
    yield f"WORKSPACE,{micros(START + 9_000_000)},8.0,8.0,8.0,,NPU:0"


def modules():
    """Per module of CANN, every 20 ms; most take nothing."""
    held = {"SLOG": [0.0] * 3, "HCCL": [816.12109375, 816.12109375, 1016.5], "RUNTIME": [84.24609375] * 3, "DVPP": [0.0] * 3,
            "ROS": [10.7890625, 10.7890625, 0.0], "76": [0.0] * 3}
    for name, totals in held.items():
        for i, total in enumerate(totals):
            yield f"{name},{micros(START + 20_000_000 * i)},{total},NPU:0"


def memscope(process, hexadecimal=True, nanos=1):
    """What msMemScope writes: operators by time, then the calls of each address; PTA in memory that HAL gave it."""
    def row(number, event, kind, name, at, device="0", pointer="N/A", attributes="", stack=""):
        return ",".join([str(number), event, kind, name, str((START + at) // nanos), str(process), str(process + 1), device, pointer,
                         attributes and f'"{attributes}"', stack and f'"{stack}"', ""])

    def call(number, event, kind, at, address, size, owner="", stack="", **totals):
        pointer = f"{address:#018x}" if hexadecimal else str(address)
        more = "".join(f",{key}:{value}" for key, value in totals.items()) + (f",owner:{owner}" if owner else "")
        return row(number, event, kind, "N/A", at, "0" if kind != "HOST" else "host", pointer, f"{{addr:{pointer},size:{size}{more}}}", stack)

    yield row(1, "SYSTEM", "START_TRACE", "N/A", 0, "N/A")
    yield row(2, "OP_LAUNCH", "ATEN_START", "torch._ops.aten.mm.default", 10_000)
    yield row(9, "OP_LAUNCH", "ATEN_END", "torch._ops.aten.mm.default", 80_000)
    yield row(10, "MSTX", "Mark", "step 1", 90_000)
    yield call(4, "MALLOC", "PTA", 30_000, 0x12C041200000, 1536, "PTA@ops@aten", total=2 * MIB, used=3584)
    yield call(12, "FREE", "PTA", 120_000, 0x12C041200000, 1536, "PTA@ops@aten", total=2 * MIB, used=2560)
    yield call(5, "MALLOC", "PTA", 40_000, 0x12C041200600, 512, "PTA@model@weight", "model.py(12): forward\ntrain.py(3): main",
               total=2 * MIB, used=4096)
    yield call(3, "MALLOC", "HAL", 20_000, 0x12C041200000, 2 * MIB, "CANN@PTA")
    yield call(6, "MALLOC", "HAL", 50_000, 0x124000400000, 1 * MIB, "CANN@HCCL")
    yield call(7, "MALLOC", "HOST", 60_000, 0x7F0000001000, 4096)
    yield row(8, "ACCESS", "READ", "N/A", 70_000, "0", "0x12c041200000")


def job():
    """What two processes of one job leave: folders that torch_npu names, with the rank in a file's name beside the tables."""
    for rank in range(2):
        run = HERE / "job" / f"node7_{4242 + rank}_20260101120000000_ascend_pt"
        output = run / "ASCEND_PROFILER_OUTPUT"
        output.mkdir(parents=True, exist_ok=True)
        (run / f"profiler_info_{rank}.json").write_text("{}\n")
        dice = random.Random(20 + rank)
        device = f"NPU:{rank}"
        write(output / "operator_memory.csv", NEW, operator_rows(operators(12 + 8 * rank, dice, 32 * MIB), device))
        record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type"
        write(output / "memory_record.csv", record, (row.replace("NPU:0", device) for row in records(dice)))
        # Its last line has no end: tables join all the same.
        (output / "npu_module_mem.csv").write_text("\n".join(
            ["Component,Timestamp(us),Total Reserved(MB),Device", *(row.replace("NPU:0", device) for row in modules())]))
        write(output / "static_op_mem.csv", "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)",
              [f"{rank},Data_1,model,0,0,4294967295,512.0"])


def blocks(dice):
    """What MindSpore's memory tracker writes: stamps count allocations, releases and tasks; a comma ends each line."""
    columns = ("start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_used_memory,actual_peak_memory,file_name,"
               "line_num,type,producer_task,task_name,node_name,graph_name,user_tasks,last_user_task,python_stack,")
    yield columns
    python = "File:/app/train.py;Line:40;Function:<module>|File:/app/model.py;Line:{};Function:construct|"
    # (start, end, size, type, operator, line of model.py)
    tensors = [(1, 2**63 - 1, 4 * MIB, "Weight", "Parameter-conv1", None), (2, 2**63 - 1, MIB, "Weight", "Parameter-bn", None)]
    for i in range(12):
        begin = 4 + 3 * i
        tensors.append((begin, begin + dice.randrange(2, 20), 512 * dice.randrange(1, 4096),
                        ("Kernel", "WorkSpace", "GraphOutput")[i % 3], f"PyNative-{('Conv2D', 'MatMul', 'BiasAdd')[i % 3]}", 12 + i % 4))
    changes = sorted([(begin, size) for begin, _, size, *_ in tensors] + [(end, -size) for _, end, size, *_ in tensors if end < 2**63 - 1])
    used, peak = {}, {}
    live = most = 0
    for stamp, size in changes:
        live += size
        most = max(most, live)
        used[stamp], peak[stamp] = live, most
    for i, (begin, end, size, kind, operator, line) in enumerate(tensors):
        yield (f"{begin},{end},{hex(0x12C0C0000000 + i * 0x800000)},{i % 2},Ascend,{size},{used[begin]},{peak[begin] + MIB},"
               f"tensor_memory.cc,{80 + i},{kind},{begin},{operator},{operator},graph0,{{{begin}-}},{begin},"
               f"{python.format(line) if line else ''},")
    # A part of what a graph planned, which has no stamps, and a row that ends before it begins.
    yield f"-1,-1,0x12c0c0000200,0,Ascend,512,0,0,somas.cc,9,InSideSomas,5,Add,Add,graph0,{{}},5,,"
    yield f"9,8,0x12c0c0900200,0,Ascend,512,0,0,somas.cc,9,Kernel,5,Add,Add,graph0,{{}},5,,"


def headed(lines):
    lines = list(lines)
    return lines[0], lines[1:]


def main():
    if sys.argv[1:2] == ["operators"]:
        with open(sys.argv[3], "w") as file:
            file.write(NEW + "\n")
            file.writelines(row + "\n" for row in operator_rows(operators(int(sys.argv[2]), random.Random(1))))
        return
    dice = random.Random(7)
    first = list(operator_rows(operators(60, dice)))
    second = list(operator_rows(operators(20, dice, 64 * MIB), "NPU:1"))
    # CANN's graphs have their own totals, and no stream.
    graphs = [f"cann::Graph_{22 + i},1344,{micros(START + 9000 * i)},{micros(START + 9000 * i + 253900)},,253.900,,"
              f"{0.0625 + 1.3125 * (i + 1)},242.0,,{0.0625 + 1.3125 * (2 - i)},242.0,,,NPU:0" for i in range(3)]
    write("operator_memory.csv", NEW, first + second + graphs, "\r\n")
    # Of earlier memory one is released with a negative size, one without any; 128 KB are released in no row at all.
    write("late.csv", *headed(tensors([
        ("aten::add", 64, 10, 30, 1.0625, 20.0, 0.875, 20.0), ("", -64, 15, None, 1.0, 20.0, None, None),
        ("aten::mul", 128, 20, None, 1.125, 20.0, None, None), ("aten::mm", "", None, 22, None, None, None, None),
        ("aten::mm", 256, 40, 50, 1.0, 20.0, 0.75, 20.0), ("aten::sum", 1, 45, 45, None, None, None, None),
        ("aten::bad", 1, 60, 55, None, None, None, None), ("aten::short", "x", 70, 75, None, None, None, None)])))
    # As a table that somebody has sorted by size.
    write("unsorted.csv", *headed(tensors([
        ("aten::mm", 256, 40, 50, 1.0, 20.0, 0.75, 20.0), ("aten::add", 64, 10, 45, 1.0625, 20.0, 0.875, 20.0),
        ("aten::mul", 32, 50, None, 1.125, 20.0, None, None)])))
    write("spreadsheet.csv", "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Device Type",
          ["aten::add,64,1.69512E+15,1.69512E+15,20,NPU:0"])
    # msprof: durations and no release, totals in KB, a number for the device.
    write("msprof_operator_memory.csv", "Device,Name,Size(KB),Allocation Time(us),Duration(us),Allocation Total Allocated(KB),"
          "Allocation Total Reserved(KB),Release Total Allocated(KB),Release Total Reserved(KB)",
          [f"0,Graph_{i},192.0,{micros(START + 50_000 * i)},30.5,256.0,247808.0,64.0,247808.0" for i in range(3)])
    record = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type"
    write("memory_record.csv", record, records(dice))
    write("msprof_memory_record.csv", "Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device",
          [f"GE,{micros(START + 1_000_000 * i)},{64.0 * (1 + i % 3)},247808.0,NPU:0" for i in range(5)])
    write("npu_module_mem.csv", "Component,Timestamp(us),Total Reserved(MB),Device", modules(), "\r\n")
    write("npu_mem.csv", "Device_id,event,ddr(KB),hbm(KB),timestamp(us),memory(KB)",
          [f"0,{event},0.0,{kb},{micros(START + 1_000_000 * i)},{kb}" for i in range(3)
           for event, kb in (("APP", 1048576.0 + 2048 * i), ("Device", 3145728.0 - 1024 * i))])
    events = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)"
    write("memscope.csv", events, memscope(4242))
    # As of 2025-04: decimal addresses, microseconds, two processes, the header again where the file goes on.
    write("leaks.csv", events, [*memscope(4242, False, 1000), events, *memscope(5151, False, 1000), "13,MALLOC,PTA,N/A,x,1,1,0,1,,,"])
    # MindSpore ends each row with a comma.
    write("mindspore_memory_record.csv", "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Device,",
          [f"MINDSPORE,{micros(START + 1_000_000 * i)},{2.5 * (1 + i)},1024.0,NPU:3," for i in range(3)])
    job()
    write("memory_block.csv", *headed(blocks(random.Random(3))))
    write("static_op_mem.csv", "Device_id,Op Name,Model Name,Graph ID,Node Index Start,Node Index End,Size(KB)",
          ["0,Data_1,model,0,0,4294967295,512.0", "0,MatMul_2,model,0,1,3,1024.0", "0,Add_3,model,0,3,4,256.0",
           "0,Softmax_4,model,0,4,4,1280.0", "0,MatMul_9,model,1,0,2,64.0"])


if __name__ == "__main__":
    main()
