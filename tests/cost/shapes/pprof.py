"""pprof profiles."""
import keys

from .common import KIB, message, number, shape, texts, varint


def profile(samples, locations=(), functions=(), strings=(), mappings=()):
    """One sample type; strings follow "", "space", "bytes"."""
    return b"".join([message(1, number(1, 1), number(2, 2)), *samples, *mappings, *locations, *functions,
                     *(message(6, text) for text in ("", "space", "bytes", *strings))])


def sample(stack, *labels, value=KIB):
    return message(2, message(1, *map(varint, stack)), message(2, varint(value)), *labels)


def location(id_, function, mapping=0):
    return message(4, number(1, id_), number(2, mapping), message(4, number(1, function)))


def function(id_, name, file=0):
    return message(5, number(1, id_), number(2, name), number(4, file))


def functions_of(n, names, files=None, ids=lambda i: i + 1):
    """A sample for each of n functions with the names (and files)."""
    return profile([sample([ids(i)]) for i in range(n)], [location(ids(i), ids(i)) for i in range(n)],
                   [function(ids(i), names[i], files[i] if files else 0) for i in range(n)], [])


@shape(".pb", "top", 10_000)
def pprof_ids(n, hostile):
    return functions_of(n, [1] * n, ids=lambda i: keys.multiple(i, n) if hostile else 100_000_000 + i * 3)


@shape(".pb", "top", 10_000)
def pprof_names_of_one_xxh3(n, hostile):
    names = [keys.run_of_bytes(i) if hostile else b"function" + b"%08d" % i + b"sixteen bytes of" for i in range(n)]
    return functions_of(n, range(3, n + 3)) + b"".join(message(6, name) for name in names)


@shape(".pb", "top --by tag", 6_000)
def pprof_label_values_of_one_std_hash(n, hostile):
    names = keys.texts(n) if hostile else [f"label {i:010d}" for i in range(n)]
    return profile([sample([1], message(3, number(1, 3), number(2, i + 4))) for i in range(n)], [location(1, 1)],
                   [function(1, 3)], ["key", *names])


@shape(".pb", "top", 10_000)
def pprof_stacks_of_one_xxh3(n, hostile):
    """Runs of packed ids: every byte below 0x80 ends one."""
    def run(i):
        packed = keys.run_of_bytes(i)
        return packed if hostile else packed[8:16] + packed[:8] + packed[16:]

    runs = [run(i) for i in range(n)]
    ids = set()
    for packed in runs:
        at = shift = 0
        for byte in packed:
            at |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                ids.add(at)
                at = shift = 0
    return profile([message(2, message(1, packed), message(2, varint(KIB))) for packed in runs],
                   [location(id_, 1) for id_ in sorted(ids)], [function(1, 3)], ["f"])


@shape(".pb", "top", 10_000)
def pprof_label_bytes_of_one_xxh3(n, hostile):
    """A label of 32 bytes with its tag and length: a field that nobody knows fills it up to the second half."""
    def label(i):
        run = keys.run_of_bytes(i)
        second = bytes.fromhex("ded46de9839097db") + run[8:16] if hostile else run[8:16] + b"12345678"
        return message(3, number(1, 3), number(3, 1), message(15, b"12345678", second))

    assert len(label(0)) == 32
    return profile([sample([1], label(i)) for i in range(n)], [location(1, 1)], [function(1, 3)], ["key"])


@shape(".pb", "top", 6_000)
def pprof_label_sets(n, hostile):
    def labels(i):
        numbers = keys.label_numbers(i, 3, 4, 0, 0) if hostile else (i * keys.GOLDEN, i * keys.FINALIZER)
        return [message(3, number(1, key), number(3, value)) for key, value in zip((3, 4), numbers)]

    return profile([sample([1], *labels(i)) for i in range(n)], [location(1, 1)], [function(1, 3)], ["key", "other"])


@shape(".pb", "dot", 10_000)
def pprof_function_and_labels(n, hostile):
    """Rows of (function, label set)."""
    def one(i, j):
        return sample([i + 1], message(3, number(1, 3), number(3, j + 1)))

    chosen = list(keys.pairs(n))
    return profile([one(0, j) for j in range(n)] + [one(i, j if hostile else i) for i, j in chosen],
                   [location(i + 1, i + 1) for i in range(n)], [function(i + 1, i + 4) for i in range(n)],
                   ["key", *(f"f{i}" for i in range(n))])


def calls_of(n, chosen):
    """A sample for each function, then one for each (caller, callee)."""
    return profile([sample([i + 1]) for i in range(n)] + [sample([b + 1, a + 1]) for a, b in chosen],
                   [location(i + 1, i + 1) for i in range(n)], [function(i + 1, i + 3) for i in range(n)], [f"f{i}" for i in range(n)])


def unlike(n, chosen):
    """As many other pairs."""
    return [(i, (i * 7 + 1) % n) for i in range(len(chosen))]


@shape(".pb", "tree", 8_000)
def pprof_edges(n, hostile):
    """Edges of the call graph, in a table of two to four slots for each."""
    chosen = keys.masked_pairs(n, 2 << n.bit_length(), 8, exclusive=False)
    return calls_of(n, chosen if hostile else unlike(n, chosen))


@shape(".pb", "flame", 8_000)
def pprof_calls(n, hostile):
    """Nodes of the call tree: (a row of it, a function); the functions themselves are its first rows."""
    chosen = keys.masked_pairs(n, 2 << (2 * n).bit_length(), 16, exclusive=True, offset=(1, 0))
    return calls_of(n, chosen if hostile else unlike(n, chosen))


@shape(".pb", "tree", 300)
def pprof_long_file(n, hostile):
    files = texts(n, hostile, 1 << 20)
    strings = [f"f{i}" for i in range(n)] + (files[:1] if hostile else files)
    at = [3 + n + (0 if hostile else i) for i in range(n)]
    return functions_of(n, range(3, n + 3), at) + b"".join(message(6, text) for text in strings)


@shape(".pb", "top", 300)
def pprof_long_function(n, hostile):
    names = texts(n, hostile, 1 << 20)
    strings = [f"file{i}" for i in range(n)] + (names[:1] if hostile else names)
    at = [3 + n + (0 if hostile else i) for i in range(n)]
    return functions_of(n, at, range(3, n + 3)) + b"".join(message(6, text) for text in strings)


def stacks_of(n, names, at):
    """A sample of one size for each of n stacks of three functions; function i has the name names[at[i]]."""
    return profile([sample([i + 1, (7 * i) % n + 1, (13 * i) % n + 1]) for i in range(n)],
                   [location(i + 1, i + 1) for i in range(n)],
                   [function(i + 1, 3 + at[i], 3 + len(names) + i) for i in range(n)], [*names, *(f"file{i}" for i in range(n))])


@shape(".pb", "top", 1_000)
def pprof_alike_functions(n, hostile):
    """Two names that differ at their end: what is as large as each other is sorted by name."""
    names = ["f" * (1 << 19) + end for end in "ab"] if hostile else texts(n, False, 1 << 20)
    return stacks_of(n, names, [i % len(names) for i in range(n)])


@shape(".pb", "top --by stack", 1_000)
def pprof_alike_stacks(n, hostile):
    names = ["f" * (1 << 19) + end for end in "ab"] if hostile else texts(n, False, 1 << 20)
    return stacks_of(n, names, [i % len(names) for i in range(n)])


@shape(".pb", "tags", 300)
def pprof_long_label(n, hostile):
    """A value of each of n keys."""
    values = texts(n, hostile, 1 << 20)
    samples = [sample([1], message(3, number(1, 4 + i), number(2, 4 + n + (0 if hostile else i)))) for i in range(n)]
    return profile(samples, [location(1, 1)], [function(1, 3)],
                   ["f", *(f"key{i}" for i in range(n)), *(values[:1] if hostile else values)])


@shape(".pb", "top --by module", 300)
def pprof_long_module(n, hostile):
    files = texts(n, hostile, 1 << 20)
    mappings = [message(3, number(1, i + 1), number(2, 4096 * (i + 1)), number(3, 4096 * (i + 2)),
                        number(5, 3 + n + (0 if hostile else i))) for i in range(n)]
    return profile([sample([i + 1]) for i in range(n)], [location(i + 1, i + 1, i + 1) for i in range(n)],
                   [function(i + 1, i + 3) for i in range(n)],
                   [*(f"f{i}" for i in range(n)), *(files[:1] if hostile else files)], mappings)


@shape(".pb", "tags", 10_000)
def pprof_labels_of_one_sample(n, hostile):
    labels = [message(3, number(1, 4), number(3, i + 1)) for i in range(n)]
    samples = [sample([1], *labels)] if hostile else [sample([1], label) for label in labels]
    return profile(samples, [location(1, 1)], [function(1, 3)], ["f", "key"])


@shape(".pb", "tags", 10_000)
def pprof_keys_of_one_sample(n, hostile):
    labels = [message(3, number(1, 4 + i), number(3, i + 1)) for i in range(n)]
    samples = [sample([1], *labels)] if hostile else [sample([1], label) for label in labels]
    return profile(samples, [location(1, 1)], [function(1, 3)], ["f", *(f"key{i}" for i in range(n))])


@shape(".pb", "tree", 10_000)
def pprof_frames_of_one_stack(n, hostile):
    samples = [sample(range(1, n + 1))] if hostile else [sample([i + 1]) for i in range(n)]
    return profile(samples, [location(i + 1, i + 1) for i in range(n)], [function(i + 1, i + 3) for i in range(n)],
                   [f"f{i}" for i in range(n)])


@shape(".pb", "flame", 1_000)
def pprof_stacks_that_share_a_stem(n, hostile):
    """n stacks of 100 frames: the same up to their leaf, or each its own."""
    def stack(i):
        return [i + 1, *(((j if hostile else i * 7 + j * 13) % n) + 1 for j in range(99))]

    return profile([sample(stack(i)) for i in range(n)], [location(i + 1, i + 1) for i in range(n)],
                   [function(i + 1, i + 3) for i in range(n)], [f"f{i}" for i in range(n)])


@shape(".pb", "info", 3_000)
def pprof_sample_types(n, hostile):
    """As many values, of n types or of one."""
    types = [message(1, number(1, i + 4), number(2, 2)) for i in range(n)] if hostile else [message(1, number(1, 4), number(2, 2))]
    samples = [message(2, message(1, varint(1)), message(2, *[varint(KIB)] * (n if hostile else 1)))] * (10 if hostile else 10 * n)
    return b"".join([*types, *samples, location(1, 1), function(1, 3),
                     *(message(6, text) for text in ("", "space", "bytes", "f", *(f"t{i}" for i in range(n))))])


@shape(".pb", "top", 10_000)
def pprof_lines_of_one_location(n, hostile):
    """Inlined functions: n at one address, or one each."""
    lines = [message(4, number(1, i + 1)) for i in range(n)]
    locations = [message(4, number(1, 1), *lines)] if hostile else [message(4, number(1, i + 1), line) for i, line in enumerate(lines)]
    return profile([sample([i + 1]) for i in range(len(locations))], locations,
                   [function(i + 1, i + 3) for i in range(n)], [f"f{i}" for i in range(n)])


@shape(".pb", "info", 20_000)
def pprof_mappings(n, hostile):
    """Mappings that lie in each other, or one after another."""
    mappings = [message(3, number(1, i + 1), number(2, 4096 * (i + 1)), number(3, 4096 * (2 * n if hostile else i + 2)), number(5, i + 4))
                for i in range(n)]
    return profile([sample([i + 1]) for i in range(n)],
                   [message(4, number(1, i + 1), number(3, 4096 * (i + 1) + 8), message(4, number(1, 1))) for i in range(n)],
                   [function(1, 3)], ["f", *(f"/lib/lib{i}.so" for i in range(n))], mappings)


def empty_messages(field):
    """Records of two bytes that say nothing, and nothing else but them; or as many bytes of comments."""
    def make(n, hostile):
        return profile([message(field) * n]) if hostile else profile([sample([1]), number(13, 1) * n], [location(1, 1)],
                                                                     [function(1, 3)], ["f"])
    make.__name__ = f"pprof_empty_{field}"
    return make


# Nothing is counted but memory: what packs a thousand to one is large before anything shows.
for field, count in ((1, 2_000_000), (2, 12_000_000), (3, 2_000_000), (4, 2_000_000), (5, 2_000_000), (6, 2_000_000)):
    shape(".pb.gz", "info -n 0", count, counted=False)(empty_messages(field))
