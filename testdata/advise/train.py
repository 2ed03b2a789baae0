"""Trains the model of model.py, changed or not, and records it: train.py FOLDER [NAME…] writes a snapshot for each
setup below (JSON, gzip). Which change leads from which to which is in PAIRS; memtool edits the first and has to come to
the second. The same bytes on every run."""

import dataclasses
import gzip
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "whatif"))

import allocator as memory  # noqa: E402
import autograd as ag  # noqa: E402
import model as models  # noqa: E402


@dataclasses.dataclass
class Setup:
    layers: int = 6
    hidden: int = 384
    heads: int = 6
    length: int = 256
    vocabulary: int = 2048
    batch: int = 8
    steps: int = 2
    group: int = 0  # 0: no checkpoints
    every: int = 1
    reentrant: bool = False
    norm: str = ""  # where: before, "post", "scaled"
    passes: int = 1
    ranks: int = 1
    states: int = 2
    foreach: bool = False
    optimizer: bool = True
    limit: int = 0  # MiB of the device; 0: as much as it takes


BASE = Setup()
OPTIMIZER = Setup(batch=1, length=64, vocabulary=16384)  # the optimizer's step is the peak
SETUPS = {
    "base": BASE,
    "ck1": dataclasses.replace(BASE, group=1),
    "ck2": dataclasses.replace(BASE, group=2),
    "ck3": dataclasses.replace(BASE, group=3),
    "ckevery2": dataclasses.replace(BASE, group=1, every=2),
    "ck1r": dataclasses.replace(BASE, group=1, reentrant=True),
    "post": dataclasses.replace(BASE, norm="post"),
    "postck1": dataclasses.replace(BASE, norm="post", group=1),
    "scaled": dataclasses.replace(BASE, norm="scaled"),
    "scaledck1": dataclasses.replace(BASE, norm="scaled", group=1),
    "B4": dataclasses.replace(BASE, batch=4),
    "acc2": dataclasses.replace(BASE, batch=4, passes=2),
    "step1": dataclasses.replace(BASE, steps=1),
    "opt": OPTIMIZER,
    "optsgd": dataclasses.replace(OPTIMIZER, states=1),
    "optforeach": dataclasses.replace(OPTIMIZER, foreach=True),
    "optzero2": dataclasses.replace(OPTIMIZER, ranks=2),
    "oom": dataclasses.replace(BASE, steps=3, limit=560),
    "b1": dataclasses.replace(BASE, batch=1),
    "oomstep": dataclasses.replace(BASE, batch=1, limit=190),
    "infer": dataclasses.replace(BASE, optimizer=False, steps=0),
}
# From, the change, to.
PAIRS = [
    ("base", "checkpoint:model.py:51", "ck1"),
    ("base", "checkpoint:model.py:51,group=2", "ck2"),
    ("base", "checkpoint:model.py:51,group=3", "ck3"),
    ("base", "checkpoint:model.py:51,every=2", "ckevery2"),
    ("base", "checkpoint:model.py:51,reentrant", "ck1r"),
    ("post", "checkpoint:model.py:51", "postck1"),
    ("scaled", "checkpoint:model.py:51", "scaledck1"),
    ("base", "batch/2", "B4"),
    ("base", "accumulate=2", "acc2"),
    ("step1", "next-step", "base"),
    ("opt", "optimizer=sgd", "optsgd"),
    ("optforeach", "foreach=False", "opt"),
    ("opt", "zero1=2", "optzero2"),
]
# What memtool advise says that the next step of the first needs, and a recording of it: after a first step, after one
# that failed in the second, after one that failed in the first step of the optimizer.
NEEDS = [("step1", "base"), ("oom", "base"), ("oomstep", "b1")]


def one_pass(model, batch):
    ag.TAPE = ag.Tape()
    logits = model.forward(batch)
    loss = ag.cross_entropy(logits)
    del logits
    tape, ag.TAPE = ag.TAPE, None
    ag.run_backward(tape, loss)


def owned_by_first(parameters, ranks):
    """The largest first, to the rank that has the least."""
    loads, owned = [0] * ranks, []
    for parameter in sorted(parameters, key=lambda p: -p.size):
        rank = loads.index(min(loads))
        loads[rank] += parameter.size
        if rank == 0:
            owned.append(parameter)
    return [p for p in parameters if p in owned]


def train(setup):
    model = models.Model(setup)
    if setup.steps == 0:
        model.forward(setup.batch)
    owned = owned_by_first(model.parameters, setup.ranks)
    optimizer = ag.Adam(model.parameters, owned, setup.states, setup.foreach)
    try:
        for _ in range(setup.steps):
            optimizer.zero_grad()
            for _ in range(setup.passes):
                one_pass(model, setup.batch)
            optimizer.step()
    except memory.OutOfMemory as error:
        error.__traceback__ = None  # it would keep what its frames hold
    made = ag.ALLOCATOR
    snapshot = {"segments": made.snapshot(), "device_traces": [list(made.trace)],
                "allocator_settings": made.settings(), "external_annotations": []}
    ag.ALLOCATOR = None  # Python's order of ending would be recorded otherwise
    return snapshot


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(SETUPS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        limit = SETUPS[name].limit * memory.MIB
        ag.ALLOCATOR = memory.Allocator(limit=limit) if limit else memory.Allocator()
        with open(os.path.join(folder, name + ".json.gz"), "wb") as out:
            with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, filename="") as packed:
                packed.write(json.dumps(train(SETUPS[name]), separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
