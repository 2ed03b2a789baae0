"""PyTorch snapshots."""
import pickle

import keys

from .common import AT, PAGE, SECOND, shape, texts


def snapshot(traces, segments=()):
    return pickle.dumps({"segments": list(segments), "device_traces": traces, "external_annotations": [], "allocator_settings": {}},
                        protocol=4)


FRAMES = [{"name": "f", "filename": "model/a.py", "line": 1}]


def event(action, address, time, size=PAGE, frames=FRAMES, stream=0):
    return {"action": action, "addr": address, "size": size, "stream": stream, "time_us": SECOND + time, "frames": frames}


def torch_keys(address_of, more=lambda addresses: [], freed=("free_requested", "free_completed")):
    """Allocated, all of them freed, allocated again; the segments are those of the end."""
    def make(n, hostile):
        addresses = [address_of(i, n) if hostile else AT + PAGE * i * 3 for i in range(n)]
        events = [event("alloc", address, i) for i, address in enumerate(addresses)]
        events += more(addresses)
        for action in freed:
            events += [event(action, address, n + i) for i, address in enumerate(addresses)]
        events += [event("alloc", address, 2 * n + i) for i, address in enumerate(addresses)]
        segments = [{"device": 0, "address": address, "total_size": PAGE, "allocated_size": PAGE, "active_size": PAGE,
                     "requested_size": PAGE, "stream": 0, "segment_type": "small", "is_expandable": False,
                     "blocks": [{"address": address, "size": PAGE, "requested_size": PAGE, "state": "active_allocated",
                                 "frames": FRAMES}]} for address in addresses]
        return snapshot([events], segments)
    return make


@shape(".pickle", "segments --at peak", 5_000)
def torch_addresses(n, hostile):
    return torch_keys(lambda i, n: keys.multiple(i, n) * PAGE)(n, hostile)


@shape(".pickle", "top", 5_000)
def torch_annotated_addresses(n, hostile):
    """An annotation makes a table of what is live."""
    return torch_keys(lambda i, n: keys.multiple(i, n) * PAGE, lambda addresses: [
        {**event("annotate", addresses[5], len(addresses)), "user_metadata": "x", "frames": []}])(n, hostile)


@shape(".pickle", "whatif --conf expandable_segments:True", 5_000)
def torch_delayed_frees(n, hostile):
    """Frees that another stream holds up: requested, and completed much later."""
    return torch_keys(lambda i, n: keys.multiple(i, n) * PAGE)(n, hostile)


@shape(".pickle", "convert --to memtool", 5_000)
def torch_masked_addresses(n, hostile):
    return torch_keys(lambda i, n: keys.masked(i))(n, hostile)


@shape(".pickle", "top", 10_000)
def torch_lines(n, hostile):
    """Line numbers of the first function."""
    events = []
    for i in range(n):
        line = keys.line_of(i, n) if hostile else i * keys.FINALIZER >> 2 & keys.WORD >> 1
        events.append(event("alloc", AT + PAGE * i, i, frames=[{**FRAMES[0], "line": line}]))
    return snapshot([events])


@shape(".pickle", "steps", 5_000)
def torch_sizes(n, hostile):
    events = []
    for i in range(n):
        size = PAGE * (keys.multiple(i, n) if hostile else 100_000 + i * 3)
        events += [event("alloc", AT, 2 * i, size), event("free_completed", AT, 2 * i + 1, size)]
    return snapshot([events])


@shape(".pickle", "top", 5_000)
def torch_streams(n, hostile):
    return snapshot([[event("alloc", AT + PAGE * i, i, stream=keys.multiple(i, n) if hostile else 100_000 + i * 3) for i in range(n)]])


@shape(".pickle", "top", 300)
def torch_long_file(n, hostile):
    files = texts(n, hostile, 1 << 20)
    return snapshot([[event("alloc", AT + PAGE * i, i, frames=[{"name": f"f{i}", "filename": files[i], "line": i}]) for i in range(n)]])


@shape(".pickle", "timeline", 3_000)
def torch_devices(n, hostile):
    """One event each of n devices, or n of one."""
    events = [event("alloc", AT + PAGE * i, i) for i in range(n)]
    return snapshot([[one] for one in events] if hostile else [events])


@shape(".pickle", "segments", 5_000)
def torch_segments(n, hostile):
    """n segments of a block, or one of n blocks."""
    def segment(blocks):
        return {"device": 0, "address": blocks[0]["address"], "total_size": PAGE * len(blocks), "allocated_size": PAGE * len(blocks),
                "active_size": PAGE * len(blocks), "requested_size": PAGE * len(blocks), "stream": 0, "segment_type": "small",
                "is_expandable": False, "blocks": blocks}

    blocks = [{"address": AT + PAGE * i, "size": PAGE, "requested_size": PAGE, "state": "active_allocated", "frames": FRAMES}
              for i in range(n)]
    return snapshot([[]], [segment([block]) for block in blocks] if hostile else [segment(blocks)])


@shape(".pickle", "top --by annotation", 3_000)
def torch_nested_annotations(n, hostile):
    """n scopes within each other, or one after another."""
    stages = [(i, stage) for i in range(n) for stage in ("START", "END")]
    if hostile:
        stages = [(i, "START") for i in range(n)] + [(i, "END") for i in reversed(range(n))]
    notes = [{"stage": stage, "name": f"scope{i}", "device": 0, "time_us": SECOND + 10 * at} for at, (i, stage) in enumerate(stages)]
    data = {"segments": [], "device_traces": [[event("alloc", AT + PAGE * i, 20 * i + 5) for i in range(n)]],
            "external_annotations": notes, "allocator_settings": {}}
    return pickle.dumps(data, protocol=4)


@shape(".pickle", "info", 4_000)
def torch_marks_of_one_std_hash(n, hostile):
    names = keys.texts(n) if hostile else [f"mark    {i:08d}" for i in range(n)]
    notes = [{"stage": stage, "name": name, "device": 0, "time_us": SECOND + 10 * i + at}
             for i, name in enumerate(names) for at, stage in enumerate(("START", "END"))]
    data = {"segments": [], "device_traces": [[event("alloc", AT + PAGE * i, 10 * i + 5) for i in range(n)]],
            "external_annotations": notes, "allocator_settings": {}}
    return pickle.dumps(data, protocol=4)


@shape(".pickle", "tree", 5_000)
def torch_frames_of_one_stack(n, hostile):
    frames = [{"name": f"f{i}", "filename": "model/a.py", "line": i} for i in range(n)]
    return snapshot([[event("alloc", AT, 0, frames=frames)] if hostile else
                     [event("alloc", AT + PAGE * i, i, frames=frames[i:i + 1]) for i in range(n)]])


@shape(".json", "info", 400_000)
def json_depth(n, hostile):
    """Under a name that nobody knows."""
    inner = b"[" * n + b"]" * n if hostile else b"[" + b",".join([b"0"] * n) + b"]"
    return b'{"segments": [], "device_traces": [[]], "unknown": ' + inner + b"}"
