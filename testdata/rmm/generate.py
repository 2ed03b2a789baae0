#!/usr/bin/env python3
"""Writes logs of RMM as its logging adaptor does, of several releases, and RAFT's tracking CSV (../raft).

usage: generate.py FOLDER
       generate.py --large ROWS FILE
"""
import argparse
from pathlib import Path

HEADER = "Thread,Time,Action,Pointer,Size,Stream"
SECOND = 1_000_000


def clock(micros, colon):
    seconds = micros // SECOND
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{colon}{micros % SECOND:06}"


def row(thread, micros, action, pointer, size, stream="0x0", colon="."):
    text = "(nil)" if pointer == 0 else f"{pointer:#x}"
    return f"{thread},{clock(micros, colon)},{action},{text},{size},{stream}"


def midnight():
    """Two threads over midnight: a retry that is met, an address that is used again, one without its free."""
    at = 23 * 3600 * SECOND + 59 * 60 * SECOND + 58 * SECOND
    one, two, three = 0x7f5a00000000, 0x7f5a00100000, 0x7f5a00200000
    return [
        HEADER,
        row(1001, at + 998533, "allocate", one, 1048576, "0x2"),
        row(1002, at + 1_200_000, "allocate", two, 2097152),
        row(1001, at + 1_199_990, "allocate", three, 256, "0x2"),  # logged a little late
        row(1002, at + 1_500_000, "allocate failure", 0, 4194304),
        row(1001, at + 1_600_000, "free", one, 1048576, "0x2"),
        row(1002, at + 2_100_000, "allocate", one, 4194304),  # asked again, after midnight
        row(1001, at + 2_200_000, "allocate", 0, 0),
        row(1001, at + 2_200_001, "free", 0, 0),
        row(1001, at + 2_300_000, "free", 0x7f5a00900000, 512),  # from before the log
        row(1002, at + 3_000_000, "allocate", three, 1024),  # the free of the 256 is not in the log
        row(1002, at + 3_100_000, "free", two, 2097152),
        row(1002, at + 3_600_000 + SECOND, "free", one, 4194304),
    ]


def fails():
    """What ran out: the last request was not met."""
    at = 10 * 3600 * SECOND
    return [HEADER, row(7, at, "allocate", 0x1000, 100), row(7, at + 1, "allocate", 0x2000, 300),
            row(7, at + 2, "allocate failure", 0, 700), row(8, at + 3, "allocate", 0x3000, 700),  # another thread's
            row(7, at + 4, "free", 0x1000, 100)]


def older():
    return [HEADER, row(3, 3600 * SECOND + 7, "allocate", 0x7f0000000000, 4096, "0", ":"),
            row(3, 3600 * SECOND + 21, "free", 0x7f0000000000, 4096, "0", ":")]


def spark():
    """What an executor prints."""
    return ["26/02/03 14:21:18 INFO GpuDeviceManager: Initializing RMM ASYNC pool size = 22000.0 MB on gpuId 0",
            row(1979932, 51679998533, "allocate", 0x30a000000, 256, "0x2"),
            "26/02/03 14:21:20 WARN DeviceMemoryEventHandler: Device allocation of 1024 bytes failed, spilling",
            row(1980043, 51680100000, "allocate failure", 0, 1024, "0x2"),
            row(1980043, 51680200000, "allocate", 0x30a000100, 1024, "0x2"),
            row(1980043, 51692661875, "free", 0x30a000000, 256, "0x2"),
            "26/02/03 14:21:33 INFO Executor: Finished task 0.0 in stage 1.0 (TID 4)"]


def damaged():
    lines = midnight()
    lines[3] = lines[3].rsplit(",", 2)[0]  # cut
    lines[4] = row(1, 5, "allocate", 16, -5)
    lines.insert(6, "no row")
    lines.append(row(1, 6, "allocate", 16, 1 << 63))
    return lines


def raft():
    resources = ("host", "pinned", "managed", "device", "workspace", "large_workspace")
    header = "timestamp_us,nvtx_depth,nvtx_range" + "".join(f",{name}_current,{name}_total" for name in resources)
    samples = [  # time, range, (current, total) of each resource
        (12, "", [(0, 0)] * 6),
        (1020, "build", [(64, 64), (0, 0), (0, 0), (1000, 1000), (0, 0), (0, 0)]),
        (2031, "build", [(64, 64), (512, 512), (0, 0), (1500, 1900), (4096, 4096), (0, 0)]),
        (3042, 'search "k=8", fast', [(64, 80), (512, 512), (256, 256), (1800, 2200), (1024, 8192), (0, 0)]),
        (4050, "search", [(64, 80), (512, 512), (256, 256), (1100, 2200), (0, 8192), (2048, 2048)]),
        (5061, "", [(0, 80), (0, 512), (0, 256), (900, 2200), (0, 8192), (0, 2048)]),
    ]
    return [header] + [f'{time},{int(bool(name))},"{name}",' + ",".join(f"{a},{b}" for a, b in counters)
                       for time, name, counters in samples]


RANGES = {"build": "build#1", "fit": "build#1 > fit#2", 'search "k=8", fast': "search \"k=8\", fast#3", "": ""}
EVENTS = [  # time, range, resource, size, and for a free the range of its allocation
    (10, "build", "device", 1000, None),
    (12, "fit", "device", 4096, None),
    (15, "fit", "workspace", 65536, None),
    (15, "fit", "device", 1000, None),
    (21, "build", "device", -1000, "fit"),
    (30, "build", "workspace", -65536, "fit"),
    (42, 'search "k=8", fast', "device", 512, None),
    (43, 'search "k=8", fast', "host", 64, None),
    (50, "", "device", -1000, "build"),
    (61, "", "device", -512, 'search "k=8", fast'),
    (62, "", "device", -300, ""),  # of what was there before
]


def raft_events(sourced):
    """A row for each event, as allocation_event_monitor writes it, in both forms."""
    names = ("host", "device", "workspace")
    header = "timestamp_us" + "".join(f",{name}_{what}" for name in names for what in ("current", "peak", "total_alloc", "total_freed"))
    lines = [header + ",nvtx_depth,nvtx_range" + (",event_source,event_bytes,alloc_range" if sourced else "")]
    state = {name: [0, 0, 0] for name in names}  # current, allocated, freed
    for time, name, resource, size, origin in EVENTS if sourced else EVENTS[:-1]:
        now = state[resource]
        now[0] += size
        now[1 if size > 0 else 2] += abs(size)
        counters = "".join(f",{max(now, 0)},{max(now, 0)},{allocated},{freed}" for now, allocated, freed in state.values())
        path = RANGES[name if origin is None else origin]
        lines.append(f'{time}{counters},{path.count(">") + bool(name)},"{name}"' + (f',{resource},{size},"{path}"' if sourced else ""))
    return lines


def large(path, rows):
    with path.open("w") as out:
        out.write(HEADER + "\n")
        for i in range(rows):
            frees = i % 2 == 1 and i > 1000
            at = i - 999 if frees else i
            out.write(row(1000 + at % 8, 20 * i, "free" if frees else "allocate", 0x7f0000000000 + 4096 * at,
                          256 * (1 + at % 37), "0x2") + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--large", type=int, metavar="ROWS")
    parser.add_argument("place", type=Path)
    args = parser.parse_args()
    if args.large:
        return large(args.place, args.large)
    for path, lines in (("midnight.dev0.csv", midnight()), ("fails.csv", fails()), ("older.csv", older()),
                        ("spark.txt", spark()), ("damaged.csv", damaged()), ("../raft/sample.csv", raft()),
                        ("../raft/events.csv", raft_events(False)), ("../raft/events_sourced.csv", raft_events(True))):
        (args.place / path).write_text("\n".join(lines) + "\n")
    return None


if __name__ == "__main__":
    main()
