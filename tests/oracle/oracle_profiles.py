"""Random profiles for the oracle: small, seeded, and full of corner cases."""
import random


def random_profile(seed):
    rng = random.Random(seed)
    files = [f"/src/p{k}/m{k}.py" for k in range(4)]
    # Few names over several files: pprof merges rows by name alone.
    names = [f"f{k}" for k in range(12)] + ["<module>", "<lambda>", "a::b<int>", "op (inline)x"]
    functions = []
    for i in range(1, 31):
        name = rng.choice(names)
        functions.append((i, name, name, rng.choice(files), rng.randrange(1, 90)))
    locations = []
    for i in range(1, 61):
        depth = rng.choice((1, 1, 1, 2, 3))  # inlining
        lines = [(rng.randrange(1, 31), rng.randrange(1, 200)) for _ in range(depth)]
        locations.append((i, 1, 0x1000 + 16 * i, lines))
    labels = [[("device", f"cuda:{k}"), ("kind", "buffer")] for k in range(3)]
    labels += [[("kind", "executable")], [], [("bytes", 64, "bytes")], [("step", 3, "")]]
    samples = {}
    for _ in range(400):
        # From a small pool of ids, so recursion is common; sometimes no stack.
        stack = tuple(rng.randrange(1, 61) for _ in range(rng.choice((0, 1, 2, 3, 5, 9, 40))))
        label = rng.randrange(len(labels))
        count = rng.randrange(0, 5)
        size = rng.choice((0, 1, 4096, 1 << 20, (1 << 31) + 7))
        values = [count, count * size, rng.randrange(-1000, 1000)]
        # pprof adds up samples of equal stack and labels before it takes absolute
        # values; one sample per pair keeps that out of the comparison.
        samples[stack, label] = values
    return {
        "types": [("allocations", "count"), ("space", "bytes"), ("drift", "bytes")],
        "default": "space",
        "mappings": [(1, 0x1000, 0x9000, 0, "/opt/app", "abcd", (1, 1, 1, 1))],
        "functions": functions, "locations": locations,
        "samples": [(stack, values, labels[label]) for (stack, label), values in samples.items()],
    }
