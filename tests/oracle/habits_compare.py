"""How what memtool prints is compared with what pprof prints: `canonical(command, text)`.

Most commands are compared byte for byte.  Graphs and written profiles are compared by content, and
`relaxed` is for what pprof itself prints in another order on another run.
"""
import difflib
import re
from collections import Counter

NODE = re.compile(r"(N+\d+(?:_\d+)*) \[(.*)\]", re.S)
EDGE = re.compile(r"(N+\d+(?:_\d+)*) -> (N+\d+(?:_\d+)*) \[(.*)\]", re.S)
LEGEND = re.compile(r'subgraph cluster_L \{ "((?:[^"\\]|\\.)*)" \[(.*)\] \}', re.S)
ATTRIBUTE = re.compile(r'\s*(\w+) ?= ?("(?:[^"\\]|\\.)*"|[^\s"]+)', re.S)
NODELET = re.compile(r'label ?= ?"(.*)" id=("?\w+"?) fontsize=(\d+) shape=(\w+) tooltip="(.*)"', re.S)
ESCAPING = re.compile(r'\\+[nlr]?|["\x00-\x1f]')


class Unreadable(Exception):
    pass


# --- dot --------------------------------------------------------------------------------------------
def attributes(text):
    out, at = {}, 0
    while at < len(text.rstrip()):
        found = ATTRIBUTE.match(text, at)
        if not found:
            return None
        out[found[1]] = found[2][1:-1] if found[2][0] == '"' else found[2]
        at = found.end()
    return out


def statements(text):
    """Joins the lines of labels that hold a newline: pprof does not escape values of labels."""
    pending = ""
    for line in text.split("\n"):
        pending = f"{pending}\n{line}" if pending else line
        if not pending.strip():
            pending = ""
        elif pending.endswith(("]", "{", "}")) and (
                pending[0] != "N" or EDGE.fullmatch(pending) or NODE.fullmatch(pending)):
            yield pending
            pending = ""
    if pending:
        yield pending


def read_dot(text):
    """-> (header, {node: attributes}, [(source, destination, attributes)])"""
    header, nodes, edges = [], {}, []
    for statement in statements(text):
        if found := EDGE.fullmatch(statement):
            edge = attributes(found[3])
            if edge is None:
                raise Unreadable(f"edge {statement[:200]!r}")
            edges.append((found[1], found[2], edge))
        elif found := NODE.fullmatch(statement):
            node = attributes(found[2])
            if node is None:  # a quote in a label's value
                inner = NODELET.fullmatch(found[2])
                if not inner:
                    raise Unreadable(f"node {statement[:200]!r}")
                node = dict(zip(("label", "id", "fontsize", "shape", "tooltip"), inner.groups()))
            if found[1] in nodes:
                raise Unreadable(f"{found[1]} is defined twice")
            nodes[found[1]] = node
        elif found := LEGEND.fullmatch(statement):
            told = sorted((attributes(found[2]) or {"?": statement}).items())
            header += [f"legend {found[1]}"] + [f"legend {k}={v}" for k, v in told if k != "label"]
            header += [f"legend {line}" for k, v in told if k == "label" for line in v.split("\\l")]
        elif statement == "}" or re.fullmatch(r'digraph ".*" \{|node \[.*\]', statement, re.S):
            header.append(statement)
        else:
            raise Unreadable(f"statement {statement[:200]!r}")
    return header, nodes, edges


def dot_lines(text, loose_labels):
    """The graph as sorted lines without node numbers; a nodelet stands under its node."""
    header, nodes, edges = read_dot(text)

    def told(attrs, label=str):
        return " ".join(f"{k}={label(v) if k == 'label' else v}"
                        for k, v in sorted(attrs.items()) if k != "id")

    def loose(value):
        return ESCAPING.sub("", value) if loose_labels else value

    content = {name: told(attrs, loose if attrs.get("shape") == "box3d" else str)
               for name, attrs in nodes.items()}
    for name in content:
        parent = re.sub(r"^N", "", name) if name.startswith("NN") else name
        while "_" in parent:  # NN1_0_0 hangs at N1_0, and that at N1
            parent = parent.rpartition("_")[0]
            content[name] += f" AT {nodes.get(parent, {}).get('tooltip', '?')}"
    out = [f"node {line}" for line in content.values()]
    for source, destination, attrs in edges:
        ends = [content.get(end, f"undefined {end}") for end in (source, destination)]
        out.append(f"edge {told(attrs)} FROM {ends[0]} TO {ends[1]}")
    return header + sorted(out)


# --- raw, for proto ---------------------------------------------------------------------------------
def raw_sections(text):
    """-> sorted lines of -raw per section, with ids replaced by what they stand for."""
    header, _, rest = text.partition("Samples:\n")
    samples, _, rest = rest.partition("\nLocations\n")
    locations, _, mappings = rest.partition("\nMappings\n")
    names = {}
    out = sorted(f"header {line}" for line in header.splitlines())
    for line in mappings.splitlines():
        number, _, told = line.partition(": ")
        names["M=" + number] = told
        out.append(f"mapping {told}")
    places = {}
    for line in locations.split("\n"):
        if found := re.match(r" *(\d+): (0x[0-9a-f]+) (?:(M=\d+) )?(.*)", line):
            last = found[1]
            places[last] = f"{found[2]} [{names.get(found[3], '-')}] {found[4]}"
        elif places:
            places[last] += " | " + line.strip()
    out += [f"location {told}" for told in places.values()]
    types, _, samples = samples.partition("\n")
    out.append(f"types {types}")
    # Names may contain anything, so a line that is not a sample belongs to the one before.
    told = []
    for line in samples.split("\n"):
        if found := re.fullmatch(r" *((?:-?\d+ *)+): ((?:\d+ )*)", line):
            stack = " <- ".join(places.get(n, f"no location {n}") for n in found[2].split())
            told.append(f"sample {found[1]} : {stack}")
        elif told:
            told[-1] += " " + line.strip()
    return sorted(out) + sorted(told)


# --- what pprof orders differently from run to run ----------------------------------------------------
def runs_sorted(rows, key):
    """Sorts neighbours of equal key; rows of other keys keep their order."""
    out, last = [], object()
    for row in rows:
        if key(row) != last:
            out.append([])
            last = key(row)
        out[-1].append(row)
    return [row for group in out for row in sorted(group)]


def size(line):
    """The first number of a row, without its sign: what pprof sorts by."""
    found = re.match(r"\s*-?(\S+)", line)
    return found[1] if found else line


def relaxed_top(text):
    head, mark, body = text.partition("cum%\n")
    return (head + mark).split("\n") + runs_sorted(body.split("\n"), size)


def relaxed_tree(text):
    """Callers and callees of equal size may change places, so the `|   name` rows of a block."""
    out = []
    for block in re.split(r"(?m)^-{10,}\+-+$", text):
        rows, block_rows = [], block.split("\n")
        for row in block_rows + [None]:
            if row is not None and re.search(r"^\s+\S+\s+\S+% \|   ", row):
                rows.append(row)
            else:
                out += runs_sorted(rows, size) + ([row] if row is not None else [])
                rows = []
        out.append("----")
    return out


def relaxed_callgrind(text):
    """A set of functions, each with its calls as a set; addresses made absolute and the (N) of names
    resolved, as both hang on who comes first.  With -call_tree the K of a name's [K/N] varies too."""
    known, blocks, place, before, at = {}, [[]], ["", "", ""], 0, 0

    def name(found):
        kind = {"cfl": "fl", "cfn": "fn"}.get(found[1], found[1])
        if found[3]:
            known[kind, found[2]] = found[3]
        return f"{found[1]}=" + re.sub(r" \[\d+/(\d+)\]$", r" [\1]", known.get((kind, found[2]), "?"))

    def address(word):  # relative to the function before
        return before if word == "*" else int(word, 0) + (before if word[0] in "+-" else 0)

    for line in text.split("\n"):
        line = re.sub(r"^(ob|fl|fn|cfl|cfn)=\((\d+)\)(?: (.*))?$", name, line)
        words = line.split(" ")
        if line[:3] in ("ob=", "fl=", "fn="):
            place[("ob=", "fl=", "fn=").index(line[:3])] = line
        elif line.startswith("cfl="):
            blocks[-1].append(line)
        elif line.startswith(("cfn=", "* * ")):
            blocks[-1][-1] += "\n" + line
        elif line.startswith("calls=") and len(words) == 3:
            blocks[-1][-1] += f"\n{words[0]} {address(words[1]):#x} {words[2]}"
        elif re.fullmatch(r"(\*|[+-]?\d+|0x[0-9a-f]+) -?\d+ -?\d+", line):
            before, at = at, 0
            at = address(words[0])
            blocks.append([" ".join([*place, f"{at:#x}", *words[1:]])])
        elif line:
            blocks[0].append(line)
    return sorted("\n".join(block[:1] + sorted(block[1:])) for block in blocks)


def relaxed_tags(text):
    """Values of equal size, one of them negative."""
    out, rows = [], []
    for row in text.split("\n") + [None]:
        if row is not None and re.match(r"\s*-?[\d.]+\S*( \(.*?\))?: ", row):
            rows.append(row)
            continue
        # Columns are as wide as the widest row, so spaces do not tell the order.
        out += runs_sorted(rows, size) + ([row] if row is not None else [])
        rows = []
    return out


def relaxed_dot(text, call_tree):
    """Which of equally light edges gives way is drawn anew on every run.  In a call tree so is which of
    the nodes of equal name, score and flat stays: their names and flat values tell nothing of that."""
    header, nodes, _ = read_dot(text)
    if not call_tree:
        lines = [re.sub(r" minlen=\d+", "", line) for line in dot_lines(text, False)]
        return [line for line in lines if "shape=box3d" not in line.partition(" FROM ")[0] and
                not line.startswith("legend Dropped") and not re.match(r"edge .* style=dotted FROM", line)]
    kept = (attrs for attrs in nodes.values() if attrs.get("shape") != "box3d")
    return [line for line in header if not line.startswith("legend Dropped")] + \
        sorted(re.sub(r"( |\\n)of \S+ \([^()]*\)$", "", attrs["label"]) for attrs in kept)


def relaxed(command, text, call_tree=False):
    """-> lines to compare where pprof's own order varies."""
    if command in ("top", "text"):
        return relaxed_top(text)
    if command in ("tree", "peek"):
        return relaxed_tree(text)
    if command == "callgrind":
        return relaxed_callgrind(text)
    if command == "tags":
        return relaxed_tags(text)
    if command == "dot":
        return relaxed_dot(text, call_tree)
    return canonical(command, text)


def canonical(command, text, loose_labels=False):
    if command == "dot":
        return dot_lines(text, loose_labels)
    if command in ("proto", "topproto"):
        return raw_sections(text)
    return text.split("\n")


def changes(theirs, ours, limit=15):
    """A short diff: multisets where order does not matter would still be sorted lists here."""
    theirs, ours = ("\n".join(lines).split("\n")[:4000] for lines in (theirs, ours))
    lines = list(difflib.unified_diff(theirs, ours, "pprof", "memtool", lineterm="", n=1))[2:]
    if not lines:
        left, right = Counter(theirs), Counter(ours)
        lines = [f"-{line}" for line in (left - right)] + [f"+{line}" for line in (right - left)]
        lines = lines or ["(the same lines in another order)"]
    shown = [line[:220] for line in lines[:limit]]
    return shown + ([f"… and {len(lines) - limit} lines more"] if len(lines) > limit else [])
