"""The recordings `base` of testdata/gpu with the native frames that stacks="all" would have added.

They were recorded with stacks="python". What each line of train.py runs follows from its source, and what its backward runs
from PyTorch's derivatives.yaml: one list for a block, in the order in which autograd goes through it.
"""

import ctypes
import ctypes.util
import pickle

# Of the forward, by the innermost line: what its allocations are of, in their order; "+": an input of a matmul, laid out anew.
FORWARD = {
    ("functional.py", 2567): ["clone", "embedding"],
    ("functional.py", 2935): ["native_layer_norm"],
    ("linear.py", 134): ["addmm"],
    ("train.py", 32): ["clone+", "clone+", "bmm", "mul"],
    ("train.py", 33): ["_softmax"],
    ("train.py", 34): ["clone+", "bmm", "clone"],
    ("train.py", 44): ["gelu"],
    ("train.py", 59): ["add"],
    ("train.py", 62): ["add"],
    ("train.py", 159): ["clone"],
    ("functional.py", 3504): ["_log_softmax", "nll_loss_forward", "nll_loss_forward"],
}
LOSS = ["nll_loss_backward", "_log_softmax_backward_data", "mm", "mm"]
NORM = ["native_layer_norm_backward"] * 3
LINEAR = ["mm", "mm", "sum", "sum", "sum"]
FEED_FORWARD = [*LINEAR, "gelu_backward", *LINEAR]
ATTENTION = [*LINEAR, "clone", "bmm", "bmm", "_softmax_backward_data", "_softmax_backward_data", "mul", "bmm", "bmm", "clone",
             "clone", "cat", *LINEAR]
BLOCK = [*FEED_FORWARD, *NORM, *ATTENTION, *NORM]
BLOCKS = 8
WORKSPACES = (33554432, 1048576)  # bytes


def native(name):
    return {"name": name, "filename": "??", "line": 0}


def operator(name):
    return native(f"at::_ops::{name}::call(at::Tensor const&)")


WORKSPACE = native("at::cuda::getCUDABlasLtWorkspace()")


def label_forward(event, number):
    frames = event["frames"]
    place = frames[0]["filename"].rsplit("/", 1)[-1], frames[0]["line"]
    operators = FORWARD.get(place)
    if operators is None:
        return
    name = operators[min(number, len(operators) - 1)]
    added = [operator(name.strip("+"))]
    if name == "addmm" and number > 0:
        assert event["size"] in WORKSPACES
        added.insert(0, WORKSPACE)
    if name.endswith("+"):
        added.append(operator("matmul"))
    if place == ("functional.py", 3504):
        added.append(operator("cross_entropy_loss"))
    event["frames"] = added + frames


def label_backward(events):
    rest = [event for event in events if event["size"] > 4 and event["size"] != WORKSPACES[0]]
    names = LOSS + NORM + BLOCK * BLOCKS
    engine = native("torch::autograd::Engine::thread_main")
    for event in events:
        event["frames"] = [WORKSPACE, engine] if event["size"] == WORKSPACES[0] else [engine]
    for event, name in zip(rest, names + ["embedding_dense_backward"] * (len(rest) - len(names))):
        event["frames"].insert(0, operator(name))


def with_operators(snapshot):
    backward, place, number = [], None, 0
    for event in snapshot["device_traces"][0] + [{"action": "alloc", "frames": [native("end")]}]:
        if event["action"] != "alloc":
            continue
        if not event.get("frames"):
            backward.append(event)
            place = None
            continue
        if backward:
            label_backward(backward)
            backward = []
        here = [(frame["filename"], frame["line"]) for frame in event["frames"]]
        number = number + 1 if here == place else 0
        place = here
        if event.get("size"):
            label_forward(event, number)
    return snapshot


def unpack(data):
    """Of zstd, by the library that memtool links."""
    decompress = ctypes.CDLL(ctypes.util.find_library("zstd")).ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(1 << 26)
    size = decompress(room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)))
    assert size <= len(room)
    return room.raw[:size]


def write(source, target):
    target.write_bytes(pickle.dumps(with_operators(pickle.loads(unpack(source.read_bytes())))))
