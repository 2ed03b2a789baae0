"""The command lines that pprof_habits_oracle.py tries: options alone, then random combinations."""
import random
import re
from collections import namedtuple

from pprof_oracle import facts, plain, wire

# `options` are (name, value) in pprof's order, value None: a switch.  `spelling` seeds the choice of
# dashes and `=`. `after`: the options follow the source. `extra`: further sources.
Case = namedtuple("Case", "path command argument options extra spelling after")

MATRIX = ["top", "tree", "peek", "traces", "tags", "raw", "callgrind", "dot"]
PROFILES = ["proto", "topproto"]  # what they write is read back
FEW = ["text", "comments"]
SORTS = ("cum", "flat")
GRANULARITIES = ("functions", "filefunctions", "files", "lines", "addresses")
LEGACY = ("inuse_space", "inuse_objects", "alloc_space", "alloc_objects", "total_delay", "contentions",
          "mean_delay")
REGEX_FILTERS = ("focus", "ignore", "show", "hide", "show_from", "prune_from")
BASES = ("base", "diff_base")
SLOW_BYTES = 200_000  # pprof needs seconds for files above


class Names:
    """What a file offers to options: read from its bytes, without either tool."""

    def __init__(self, path):
        self.types, self.functions, self.labels, self.places, self.keys = [], [], [], [], []
        try:
            self.types, self.functions, self.labels = facts(path)
            data = wire.unpacked_file(path.read_bytes())
            strings = [v.decode(errors="replace") for f, _, v in wire.fields(data) if f == wire.STRINGS]
            places, keys = set(), set()
            for field, _, value in wire.fields(data):
                if field in (wire.FUNCTION, wire.MAPPING):
                    at = 4 if field == wire.FUNCTION else 5
                    places.update(strings[v] for f, _, v in wire.fields(value) if f == at)
                elif field == wire.SAMPLE:
                    for _, _, label in (t for t in wire.fields(value) if t[0] == 3):
                        keys.update(strings[v] for f, _, v in wire.fields(label) if f == 1)
            self.places, self.keys = sorted(filter(plain, places)), sorted(filter(plain, keys))
        except Exception:  # not a profile: pprof refuses it, and so must memtool
            pass

    def regex(self, rng, functions_only=False):
        """A regular expression that RE2 takes, and that matches something here."""
        pools = [p for p in (self.functions, self.functions, self.places) if p]
        if functions_only and self.functions and rng.random() < 0.9:
            pools = [self.functions]
        if not pools:
            return rng.choice((".", "^$", "x"))
        name = rng.choice(rng.choice(pools))
        other = rng.choice(rng.choice(pools))
        part = rng.randrange(max(1, len(name) - 3))
        return rng.choice((
            f"^{re.escape(name)}$", re.escape(name), re.escape(name[part:part + 4]),
            f"{re.escape(name)}|{re.escape(other)}", f"(?i){re.escape(name.upper())}",
            f"{re.escape(name[:2])}.*{re.escape(name[-2:])}",
            f"^[{name[0] if name[0].isalnum() else 'a'}-z]"))


def tag_filters(names, rng):
    """Values of tagfocus and tagignore: by value, by key, by range."""
    out = ["1kb:", ":100", "5:2000b", "nothing_has_this"]
    for key, value in rng.sample(names.labels, min(2, len(names.labels))):
        # A comma separates expressions.
        word = re.escape(value.split(",")[0])
        out += [f"{key}=^{word}", f"^{re.escape(key)}:{word}"]
    if names.labels:
        (k, v), (k2, v2) = rng.choice(names.labels), rng.choice(names.labels)
        out.append(",".join(re.escape(x.split(",")[0]) for x in (v, v2)))
    for key in names.keys:
        if key not in {k for k, _ in names.labels}:
            out += [f"{key}=64b", f"{key}=:1kb", f"{key}=100:"]
    return out


def tag_keys(names, rng):
    keys = [re.escape(k) for k in names.keys] or ["nokey"]
    return [rng.choice(keys), keys[0][:3], ".", "|".join(keys[:2])]


def roots(names):
    keys = [k for k in names.keys if "," not in k] or ["nokey"]
    return [*keys[:3], ",".join(keys[:2]), f"{keys[0]},nokey"]


def single_options(names, rng, other):
    """-> lists of options, each list one thing to try alone."""
    out = [[(name, None)] for name in SORTS + GRANULARITIES + LEGACY]
    out += [[(name, None)] for name in ("mean", "relative_percentages", "noinlines", "call_tree",
                                        "compact_labels", "drop_negative", "normalize")]
    out += [[("cum", "true")], [("cum", "false")], [("mean", "0")], [("trim", "true")]]
    out += [[("trim", "false")], [("trim", "0")]]
    out += [[("nodecount", v)] for v in ("0", "1", "3", "10", "1000", "-1", "x")]
    out += [[("nodefraction", v)] for v in ("0", "0.05", "0.3", "1")]
    out += [[("edgefraction", v)] for v in ("0", "0.05", ".3")]
    out += [[("divide_by", v)] for v in ("2", "0.5", "1000", "3", "0")]
    out += [[("unit", v)] for v in ("B", "kb", "mb", "GB", "auto", "minimum", "ms", "s", "count", "bogus")]
    for kind, _ in names.types:
        out += [[("sample_index", kind)], [("mean", None), ("sample_index", kind)]]
    out += [[("sample_index", v)] for v in ("0", "1", "99", "nonsense")]
    for name in REGEX_FILTERS:
        out += [[(name, names.regex(rng))] for _ in range(3)]
    out += [[("focus", "no_function_has_this")], [("show_from", "no_function_has_this")], [("focus", "a(")]]
    out += [[("ignore", ".")], [("focus", "x" * 100)]]
    for value in tag_filters(names, rng):
        out += [[("tagfocus", value)], [("tagignore", value)]]
    out += [[(name, value)] for name in ("tagshow", "taghide") for value in tag_keys(names, rng)]
    out += [[(name, value)] for name in ("tagroot", "tagleaf") for value in roots(names)]
    for name in BASES:
        base = (name, str(other))
        out += [[base], [base, ("normalize", None)], [base, ("drop_negative", None)]]
        out += [[base, ("nodefraction", "0"), ("edgefraction", "0"), ("nodecount", "0")]]
        out += [[base, base], [base, ("cum", None), ("unit", "auto")]]
    out.append([("base", str(other)), ("diff_base", str(other))])
    return out


def fewer(options, rng, count):
    return rng.sample(options, min(count, len(options)))


def slow(path):
    return path.stat().st_size > SLOW_BYTES


def cases_of(path, other, stranger, seed):
    """Every option alone under every command, for one file; `other` is its base."""
    rng = random.Random(f"{seed} {path.name}")
    names = Names(path)
    singles = [[]] + single_options(names, rng, other)
    out = []

    def add(command, options, extra=(), after=False):
        argument = names.regex(rng, True) if command == "peek" else None
        out.append(Case(str(path), command, argument, tuple(options), tuple(map(str, extra)),
                        rng.randrange(1 << 30), after))

    if slow(path):
        for command in MATRIX + PROFILES + FEW:
            add(command, [])
        for options in fewer(singles[1:], rng, 14):
            add(rng.choice(("top", "tree", "dot", "tags", "peek")), options)
        return out
    for command in MATRIX:
        for options in singles:
            add(command, options)
        for options in fewer(singles[1:], rng, 3):
            if not any(name in BASES for name, _ in options):
                add(command, options, after=True)
        add(command, [], extra=[other])
        add(command, [], extra=[path])
    if stranger:  # its sample types do not fit
        for name in BASES:
            add("top", [(name, str(stranger))])
        add("top", [], extra=[stranger])
        add("tags", [], extra=[stranger])
    for command in PROFILES + FEW:
        add(command, [])
        for options in fewer(singles[1:], rng, 24 if command in PROFILES else 6):
            add(command, options)
        for name in BASES:
            add(command, [(name, str(other))])
        add(command, [], extra=[other])
    return out


def combinations(paths, partner, seed, count):
    """Seeded random combinations of 2 to 4 options x command x file."""
    rng = random.Random(f"{seed} combinations")
    known, out = {}, []
    if not paths:
        return out
    for _ in range(count):
        path = rng.choice(paths)
        if slow(path) and rng.random() < 0.8:
            path = rng.choice(paths)
        if path not in known:
            names = Names(path)
            known[path] = names, single_options(names, rng, partner(path)[0])
        names, singles = known[path]
        options, wanted = [], rng.randint(2, 4)
        while len(options) < wanted:
            taken = {name for name, _ in options}
            # One sort, one granularity, one sample type: two of one kind are seldom accepted.
            for group in (SORTS, GRANULARITIES, BASES, LEGACY + ("sample_index",)):
                if taken & set(group) and rng.random() < 0.95:
                    taken |= set(group)
            options += [o for o in rng.choice(singles) if o[0] not in taken]
        command = rng.choice(MATRIX + ["top", "tree", "dot", "proto", "topproto"])
        argument = names.regex(rng, True) if command == "peek" else None
        out.append(Case(str(path), command, argument, tuple(options), (), rng.randrange(1 << 30), False))
    return out


def spelled(case):
    """-> (words of command and options, words of the sources) as a user might type them."""
    rng = random.Random(case.spelling)
    words = []
    for name, value in [(case.command, case.argument), *case.options]:
        dashes = rng.choice(("-", "-", "--"))
        # A switch takes its value only after `=`; after the sources a bare word is a source.
        switch = value in ("true", "false") or (name in ("mean", "trim") and value == "0")
        if value is None:
            words.append(dashes + name)
        elif switch or case.after or rng.random() < 0.7:
            words.append(f"{dashes}{name}={value}")
        else:
            words += [dashes + name, value]
    return words, [case.path, *case.extra]


def to_file(case):
    """Whether it is tried with -output: most profiles, and some of the rest."""
    return case.spelling % 4 != 0 if case.command in PROFILES else case.spelling % 16 == 0
