"""Autograd as far as memory goes: tensors that are freed when the last name for them goes, a tape, checkpoints as
torch.utils.checkpoint makes them without and with reentrance. Written after their descriptions, and
not after memtool: what a program allocates when it is changed is what it allocates, and no edit."""

import sys

ALLOCATOR = None  # of testdata/whatif/allocator.py
EXTRA = []        # frames that stand for the framework's own: innermost first
TAPE = None       # None: without gradients


def frames():
    """Of the program, innermost first, as a snapshot has them."""
    here, found = sys._getframe(1), []
    while here is not None:
        name = here.f_code.co_filename.rsplit("/", 1)[-1]
        if name in ("model.py", "train.py"):
            found.append({"name": here.f_code.co_name, "filename": name, "line": here.f_lineno})
        here = here.f_back
    return [dict(f) for f in EXTRA] + found


class Inside:
    """The framework's frames around what is computed inside."""

    def __init__(self, *names):
        self.frames = [{"name": n, "filename": f, "line": line} for n, f, line in names]

    def __enter__(self):
        global EXTRA
        self.before, EXTRA = EXTRA, self.frames + EXTRA

    def __exit__(self, *_):
        global EXTRA
        EXTRA = self.before


BACKWARD = (("_engine_run_backward", "torch/autograd/graph.py", 823), ("backward", "torch/_tensor.py", 626))
STEP = (("_single_tensor_adam", "torch/optim/adam.py", 400), ("step", "torch/optim/adam.py", 200))
RECOMPUTE = (("recompute_fn", "torch/utils/checkpoint.py", 1517), ("unpack_hook", "torch/utils/checkpoint.py", 1118))


class Tensor:
    def __init__(self, size, node=None):
        self.size, self.node, self.grad, self.block, self.home = size, node, None, None, ALLOCATOR
        self.block = ALLOCATOR.malloc(size, 0, (0, 0), frames())

    def __del__(self):
        # There was none to be had, or the recording has ended.
        if self.block is not None and self.home is ALLOCATOR:
            ALLOCATOR.free(self.block, [])


class Node:
    """What an operation keeps, and what its backward allocates."""

    def __init__(self, inputs, saved, backward):
        self.inputs = [t.node if isinstance(t, Tensor) and t.node is not None else t for t in inputs]
        self.saved, self.backward, self.grad, self.unpack = saved, backward, None, None


def record(output, inputs, saved, backward):
    if TAPE is not None:
        node = TAPE.add(Node(inputs, saved, backward))
        output.node = node
    return output


class Tape:
    def __init__(self, checkpoint=None):
        self.nodes, self.checkpoint = [], checkpoint

    def add(self, node):
        if self.checkpoint is not None:
            self.checkpoint.take(node)
        self.nodes.append(node)
        return node


def accumulate(target, gradient):
    if target.grad is None:
        target.grad = gradient
    elif not isinstance(target, Parameter):
        target.grad = Tensor(gradient.size)  # both, until the sum is there; a parameter's is added to in place


def run_backward(tape, loss):
    with Inside(*BACKWARD):
        loss.node.grad = Tensor(loss.size)
        walk(tape.nodes)
        tape.nodes = []


def walk(nodes):
    while nodes:
        node = nodes.pop()
        gradient, node.grad = node.grad, None
        if gradient is None:
            continue
        saved = node.unpack() if node.unpack is not None else node.saved
        gradients = node.backward(gradient, saved)
        saved = None
        node.saved = None
        gradient = None
        for target, made in zip(node.inputs, gradients):
            if made is not None and target is not None:
                accumulate(target, made)
            made = None
        gradients = None
        node.inputs = []


class Checkpoint:
    """use_reentrant=False: what is saved is a promise to compute everything again."""

    def __init__(self, function, inputs):
        self.function, self.inputs, self.made, self.count = function, inputs, None, 0

    def take(self, node):
        index, self.count = self.count, self.count + 1
        node.saved, node.unpack = None, lambda: self.again(index)

    def again(self, index):
        global TAPE
        if self.made is None:
            before, self.made = TAPE, []
            with Inside(*RECOMPUTE):
                TAPE = Recorder(self.made)
                self.function(*self.inputs)
            TAPE = before
        saved, self.made[index] = self.made[index], None
        if all(made is None for made in self.made):
            self.inputs = None
        return saved


class Recorder:
    def __init__(self, made):
        self.made = made

    def add(self, node):
        self.made.append(node.saved)
        return None


def checkpoint(function, *inputs):
    global TAPE
    outer = TAPE
    if outer is None:
        return function(*inputs)
    TAPE = Tape(Checkpoint(function, inputs))
    output = function(*inputs)
    outer.nodes += TAPE.nodes
    TAPE = outer
    return output


def checkpoint_reentrant(function, tensor):
    """use_reentrant=True: without gradients now; in its backward the forward with them, and a
    backward inside."""
    global TAPE
    outer = TAPE
    TAPE = None
    output = function(tensor)
    TAPE = outer

    def backward(gradient, saved):
        global TAPE
        before, TAPE = TAPE, Tape()
        with Inside(("backward", "torch/utils/checkpoint.py", 320)):
            leaf = Leaf()
            inside = saved[0]
            inside_node, inside.node = inside.node, leaf
            again = function(inside)
            inside.node = inside_node
            nodes = TAPE.nodes
            TAPE = before
            again.node.grad = gradient
            gradient = None
            walk(nodes)
            again = None
            return [leaf.grad]

    return record(output, [tensor], [tensor], backward)


class Leaf:
    def __init__(self):
        self.grad = None


class Parameter(Tensor):
    """A leaf with state of an optimizer."""

    def __init__(self, size):
        super().__init__(size)
        self.state = []


def linear(x, weight, size):
    def backward(gradient, saved):
        with_weight = Tensor(weight.size)
        with_input = Tensor(saved[0].size)
        accumulate(weight, with_weight)
        return [with_input]
    return record(Tensor(size), [x], [x], backward)


def embed(weight, size):
    def backward(gradient, saved):
        accumulate(weight, Tensor(weight.size))
        return []
    return record(Tensor(size), [], [], backward)


def norm(x):
    mean, scale = Tensor(max(x.size // 512, 4)), Tensor(max(x.size // 512, 4))
    return record(Tensor(x.size), [x], [x, mean, scale], lambda g, saved: [Tensor(g.size)])


def norm_first(x):
    """Its output is allocated before what it keeps for itself."""
    output = Tensor(x.size)
    mean, scale = Tensor(max(x.size // 512, 4)), Tensor(max(x.size // 512, 4))
    return record(output, [x], [x, mean, scale], lambda g, saved: [Tensor(g.size)])


def scale(x):
    return record(Tensor(x.size), [x], [], lambda g, saved: [Tensor(g.size)])


def gelu(x):
    return record(Tensor(x.size), [x], [x], lambda g, saved: [Tensor(g.size)])


def add(a, b):
    return record(Tensor(a.size), [a, b], [], lambda g, saved: [g, g])


def attend(qkv, scores, size):
    raw = Tensor(scores)
    probabilities = Tensor(scores)
    del raw

    def backward(gradient, saved):
        of_probabilities = Tensor(scores)
        of_scores = Tensor(scores)
        del of_probabilities
        result = Tensor(saved[0].size)
        del of_scores
        return [result]
    return record(Tensor(size), [qkv], [qkv, probabilities], backward)


def cross_entropy(logits):
    logs = Tensor(logits.size)

    def backward(gradient, saved):
        of_logs = Tensor(saved[0].size)
        result = Tensor(saved[0].size)
        del of_logs
        return [result]
    return record(Tensor(4), [logits], [logs], backward)


class Adam:
    def __init__(self, parameters, owned=None, states=2, foreach=False):
        self.parameters, self.states, self.foreach = parameters, states, foreach
        self.owned = parameters if owned is None else owned

    def zero_grad(self):
        for parameter in self.parameters:
            parameter.grad = None

    def step(self):
        with Inside(*STEP):
            for parameter in self.owned:
                while len(parameter.state) < self.states:
                    parameter.state.append(Tensor(parameter.size))
            if self.foreach:
                roots = [Tensor(parameter.size) for parameter in self.owned]
                updates = [Tensor(parameter.size) for parameter in self.owned]
                del roots, updates
                return
            for parameter in self.owned:
                root = Tensor(parameter.size)
                update = Tensor(parameter.size)
                del root, update
