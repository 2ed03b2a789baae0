"""A small transformer of sizes. Its frames are those of the recordings."""

import autograd as ag


class Block:
    def __init__(self, hidden):
        self.parameters = [ag.Parameter(4 * size * hidden) for size in
                           (3 * hidden, hidden, 4 * hidden, 4 * hidden)]

    def attention(self, x, scores):
        qkv = ag.linear(x, self.parameters[0], 3 * x.size)
        heads = ag.attend(qkv, scores, x.size)
        return ag.linear(heads, self.parameters[1], x.size)

    def feed_forward(self, x):
        up = ag.linear(x, self.parameters[2], 4 * x.size)
        return ag.linear(ag.gelu(up), self.parameters[3], x.size)

    def forward(self, x, scores):
        x = ag.add(x, self.attention(ag.norm(x), scores))
        return ag.add(x, self.feed_forward(ag.norm(x)))


class PostNormBlock(Block):
    def enter(self, x):
        return x

    def forward(self, x, scores):
        x = ag.norm_first(ag.add(x, self.attention(self.enter(x), scores)))
        return ag.norm_first(ag.add(x, self.feed_forward(x)))


class ScaledBlock(PostNormBlock):
    def enter(self, x):
        return ag.scale(x)  # then nobody keeps what goes in


class Model:
    def __init__(self, setup):
        self.setup = setup
        hidden = setup.hidden
        self.embedding = ag.Parameter(4 * setup.vocabulary * hidden)
        kind = {"": Block, "post": PostNormBlock, "scaled": ScaledBlock}[setup.norm]
        self.blocks = [kind(hidden) for _ in range(setup.layers)]
        self.head = ag.Parameter(4 * setup.vocabulary * hidden)
        self.parameters = [self.embedding] + [p for b in self.blocks for p in b.parameters] + [self.head]

    def group(self, x, blocks, scores):
        for block in blocks:
            x = block.forward(x, scores)
        return x

    def forward(self, batch):
        setup = self.setup
        x = ag.embed(self.embedding, 4 * batch * setup.length * setup.hidden)
        scores = 4 * batch * setup.heads * setup.length * setup.length
        step = max(setup.group, 1)
        for i in range(0, len(self.blocks), step):
            blocks = self.blocks[i:i + step]
            if setup.group and i // step % setup.every == 0:
                if setup.reentrant:
                    x = ag.checkpoint_reentrant(lambda t, b=blocks: self.group(t, b, scores), x)
                else:
                    x = ag.checkpoint(lambda t, b=blocks: self.group(t, b, scores), x)
            else:
                x = self.group(x, blocks, scores)
        return ag.linear(ag.norm(x), self.head, 4 * batch * setup.length * setup.vocabulary)
