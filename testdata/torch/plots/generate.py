#!/usr/bin/env python3
"""A small snapshot, and the pages that PyTorch 2.0 drew of it: what their script draws, as its _memory_viz.py put it together.

usage: generate.py      (writes beside itself)
"""
import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
AT = 0x7F3E2C000000
MIB = 1 << 20


def frame(name, filename, line):
    return {"name": name, "filename": filename, "line": line}


MAIN = frame("main", "/home/ada/train.py", 30)
STACKS = {
    "load": [frame("load", "/home/ada/train.py", 7), MAIN],
    "forward": [frame("at::_ops::mm::call(at::Tensor const&)", "??", 0), frame("forward", "/home/ada/model.py", 12), MAIN],
    "step": [frame("step", "C:\\python\\torch\\optim\\adamw.py", 184), MAIN],
}


def event(action, block, size, stack, **more):
    return {"action": action, "addr": AT + block * MIB, "size": size * MIB, "stream": 0, "frames": STACKS[stack], **more}


EVENTS = [
    event("segment_alloc", 0, 24, "load"),
    event("alloc", 0, 4, "load"),
    event("alloc", 4, 6, "forward"),
    event("free_requested", 20, 2, "step"),
    event("free_completed", 20, 2, "step"),
    event("alloc", 10, 8, "forward"),
    event("free_requested", 4, 6, "step"),
    event("free_completed", 4, 6, "step"),
    event("alloc", 4, 3, "step"),
    {"action": "oom", "device_free": 5 * MIB, "size": 64 * MIB, "stream": 0, "frames": STACKS["forward"]},
    event("free_requested", 10, 8, "step"),
]


def block(at, size, state, stack=None):
    made = {"address": AT + at * MIB, "size": size * MIB, "requested_size": size * MIB, "state": state}
    return {**made, "frames": STACKS[stack]} if stack else made


BLOCKS = [block(0, 4, "active_allocated", "load"), block(4, 3, "active_allocated", "step"), block(7, 3, "inactive"),
          block(10, 8, "active_pending_free", "forward"), block(18, 6, "inactive")]
SNAPSHOT = {
    "segments": [{"device": 0, "address": AT, "total_size": 24 * MIB, "allocated_size": 7 * MIB, "active_size": 15 * MIB,
                  "requested_size": 15 * MIB, "stream": 0, "segment_type": "large", "is_expandable": False, "blocks": BLOCKS}],
    "device_traces": [EVENTS],
}


class Tables:
    def __init__(self):
        self.strings, self.suffixes = {}, {}

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def stack(self, lines):
        rest = None
        for line in reversed(lines):
            rest = self.suffixes.setdefault((self.text(line), rest), len(self.suffixes))
        return rest

    def listed(self):
        return {"suffix_table": list(self.suffixes), "string_table": list(self.strings)}


def lines_of(frames):
    return [f"{f['filename']}:{f['line']}:{f['name']}" for f in frames]


def trace_plot(alloc, free, prefix):
    tables, sizes, infos, actions, before, live, versions = Tables(), [], [], [], [], {}, {}

    def element(e, *extra):
        versions[e["addr"]] = versions.get(e["addr"], -1) + 1
        sizes.append(e["size"])
        infos.append(tables.stack([f"{prefix}{e['addr']:x}_{versions[e['addr']]} {e['size'] / MIB:.1f}MiB allocation ({e['size']} bytes)",
                                   *extra, *lines_of(e["frames"])]))
        return len(sizes) - 1

    for e in EVENTS:
        if e["action"] == alloc:
            live[e["addr"]] = element(e)
            actions.append(live[e["addr"]])
        elif e["action"] == free:
            known = live.pop(e["addr"], None)
            if known is None:
                known = element(e, "alloc not recorded, stack trace for free:")
                before.append(known)
            actions.append(known)
    return {"actions": actions, "elements_size": sizes, "elements_info": infos, "elements_category": None, **tables.listed(),
            "initially_allocated": before[::-1], "categories": None}


def profile_plot():
    """Of a profiler: Python calls as it names them, categories, and a parameter that is never freed."""
    tables = Tables()
    elements = [(4 * MIB, "parameter", []), (6 * MIB, "activation", ["nn/linear.py(114): forward", "train.py(30): main"]),
                (8 * MIB, "temporary", ["train.py(31): main"])]
    categories = ["unknown", "input", "temporary", "activation", "gradient", "autograd_detail", "parameter", "optimizer_state"]
    infos = [tables.stack([f"{size / MIB:.1f}MiB ({size} bytes) allocation ({category})", *stack]) for size, category, stack in elements]
    return {"actions": [1, 2, 1, 2], "elements_size": [size for size, _, _ in elements], "elements_info": infos,
            "elements_category": [categories.index(category) for _, category, _ in elements], **tables.listed(),
            "initially_allocated": [0], "categories": categories}


def segment_plot():
    tables = Tables()
    events = {"action": [], "addr": [], "size": [], "stream": [], "frames": []}
    i = 0
    while i < len(EVENTS):
        e, follows = EVENTS[i], EVENTS[i + 1] if i + 1 < len(EVENTS) else {}
        both = e["action"] == "free_requested" and follows.get("action") == "free_completed"
        events["action"].append(tables.text("free" if both else e["action"]))
        events["addr"].append(e["device_free"] if e["action"] == "oom" else e["addr"])
        events["size"].append(e["size"])
        events["stream"].append(e["stream"])
        events["frames"].append(tables.stack(lines_of(e["frames"])))
        i += 2 if both else 1
    active = [b for b in BLOCKS if b["state"] != "inactive"]
    return {"string_table": list(tables.strings), "suffix_table": list(tables.suffixes), "events": events,
            "segments": {"addr": [AT], "size": [24 * MIB], "stream": [0]},
            "blocks": {"addr": [b["address"] for b in active], "size": [b["size"] for b in active],
                       "real_size": [b["requested_size"] for b in active],
                       "frames": [tables.stack(lines_of(b["frames"])) for b in active],
                       "pending_free": [int(b["state"] == "active_pending_free") for b in active]}}


def page(variable, data):
    return ('\n<!DOCTYPE html>\n<html>\n<head></head>\n<body>\n<script type="module">\n'
            f'import * as d3 from "https://cdn.jsdelivr.net/npm/d3@7.7.0/+esm";\n\nlet {variable} = {json.dumps(data)}\n\n'
            'function main() {}\n</script>\n</body>\n</html>\n')


SMALL = {"actions": [0, 1, 0, 2], "elements_size": [512, 1024, 2048], "elements_info": [1, 2, None], "elements_category": None,
         "suffix_table": [[0, None], [1, 0], [2, 0]], "initially_allocated": [2], "categories": None,
         "string_table": ["train.py:3:main", "b7f00_0 512.0B allocation (512 bytes)", "b7f10_0 1.0KiB allocation (1024 bytes)"]}


def small_plot(**changed):
    return page("alloc_data", {**SMALL, **changed}).encode()


def malformed():
    """Pages that are wrong in one way each, and what the error says."""
    yield "plot_circle.html", small_plot(suffix_table=[[0, 1], [1, 0], [2, 0]]), r"suffix_table: entry 0 is missing or refers to a later one"
    yield "plot_itself.html", small_plot(suffix_table=[[0, 0], [1, 0], [2, 0]]), r"suffix_table: entry 0 .* refers to a later one"
    yield "plot_no_suffix.html", small_plot(elements_info=[9, 9, 9]), r"suffix_table: entry 9 is missing"
    yield "plot_no_text.html", small_plot(suffix_table=[[7, None], [1, 0], [2, 0]]), r"string_table: the page refers to text 7"
    yield "plot_no_element.html", small_plot(actions=[0, 3]), r"actions: element 3, where there are 3"
    yield "plot_negative.html", small_plot(initially_allocated=[-1]), r"actions: element -1"
    yield "plot_no_sizes.html", small_plot(elements_size=[]), r"with a picture and no snapshot"
    yield "plot_cut.html", small_plot()[:300], r"JSON text ends early"
    # Every element has a stack of its own that holds all the others.
    deep = 4000
    yield "plot_deep.html", small_plot(suffix_table=[[0, i - 1 if i else None] for i in range(deep)], actions=list(range(deep)),
                                       elements_size=[1] * deep, elements_info=list(range(deep))), r"too many frames"


def main():
    (HERE / "snapshot.json").write_text(json.dumps(SNAPSHOT) + "\n")
    (HERE / "trace_plot.html").write_text(page("alloc_data", trace_plot("alloc", "free_completed", "b")))
    (HERE / "trace_plot_of_segments.html").write_text(page("alloc_data", trace_plot("segment_alloc", "segment_free", "s")))
    (HERE / "profile_plot.html").write_text(page("alloc_data", profile_plot()))
    (HERE / "segment_plot.html").write_text(page("trace_data", segment_plot()))


if __name__ == "__main__":
    main()
