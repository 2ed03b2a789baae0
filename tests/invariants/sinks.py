"""Rules about whatever the program prints: status, bytes, numbers. Each yields (kind, what is wrong)."""
import csv
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET

from answers import NotJson, parse

RULES = []
csv.field_size_limit(1 << 26)

# Command lines whose output is looked at though no sum is taken from it.
SHOWN = {
    "profile": ["info FILE", "top FILE", "top --format markdown FILE", "top --format csv -n 0 FILE", "top --format jsonl -n 0 FILE",
                "tree FILE", "traces FILE", "tags FILE", "flame FILE", "dot FILE", "raw FILE", "oom FILE", "segments FILE",
                "segments --format jsonl -n 0 FILE", "buckets FILE", "buckets --format csv FILE", "account FILE", "timeline FILE",
                "timeline --format csv FILE", "events FILE", "events --format jsonl FILE", "events --summary FILE", "steps FILE",
                "leaks FILE", "whatif FILE", "index FILE", "pprof -top FILE", "pprof -tree FILE", "pprof -dot FILE",
                "svg -o graph.svg FILE", "flame -o flame.svg FILE", "timeline --plot plot.svg FILE",
                "convert --to chrome -o c.json FILE", "convert --to json -o dump.json FILE", "report -o report.html FILE",
                "ranks FILE", "ranks --all --format json FILE",
                "peek . FILE", "leaks --format json FILE", "tree --format csv FILE", "info --format jsonl FILE"],
    "truth": ["account FILE sound.json", "account --format csv FILE sound.json"],
    "keywords": ["buckets --keywords FILE sound.log", "buckets --keywords FILE --multi all --format csv sound.log"],
    "digest": ["ranks FILE", "ranks --all --format json FILE", "ranks --format jsonl FILE", "index FILE", "info FILE"],
    "baseline": ["check --baseline FILE sound.json", "check --baseline FILE --format json sound.json",
                 "check --budget FILE sound.json"],
}
# Without input that can be read, these say why.
REFUSED = ["top FILE", "oom FILE", "segments --format json FILE", "index FILE"]
WRITTEN = ("graph.svg", "flame.svg", "plot.svg", "c.json", "dump.json")

# Columns that are differences or places, and have a sign.
SIGNED = re.compile(r"^(delta|change|slope|bend|least_step|most_step|outlier|headroom|error|untrackable|limit|"
                    r".*_delta|.*_slope|.*_difference|device|gpu|rank|event|.*_event|time.*|.*_ns|.*_us|first|begin)$")
SIGNED_COMMANDS = {"diff", "leaks", "ranks", "check", "fit", "raw", "convert"}
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
SHARES = {"share", "fragmentation", "of_all"}
NEGATIVE = re.compile(r"(?<![\w.+\-:/'\"])[-\u2212]\d[\d,]*(?:\.\d+)?\s?(?:B|[KMGTPE]iB)\b")
PERCENT = re.compile(r"(?<![\w.,+\-])(-?\d[\d,]*(?:\.\d+)?)%")
NOT_A_NUMBER = re.compile(r"(?<![\w.\-/])[-+]?(?:nan|inf|infinity)(?![\w.\-/])", re.IGNORECASE)


def rule(function):
    RULES.append(function)
    return function


def ask_all(it):
    """Asks what the rules here look at."""
    for words in SHOWN[it.role] if it.role != "profile" or it.info() else REFUSED:
        it.ask(words)


def where(text, place):
    return text[max(place - 50, 0):place + 50]


@rule
def statuses_are_documented(it):
    """Every command ends with a documented status: never by a signal, never with 5, a fault in the program."""
    for result in it.results.values():
        if result.code is None:
            yield "end", f"`{result.words}` does not end"
        elif result.code < 0:
            yield "signal", f"`{result.words}` ends by signal {-result.code}"
        elif result.code == 6 and b"dot needs more than" in result.err:
            continue  # Graphviz was not done in time, on a machine that does much else
        elif result.code not in (0, 1, 2, 3, 4):
            yield f"status-{result.code}", f"`{result.words}` ends with {result.code}: {result.err[:200]!r}"
        elif result.code and not result.err and not (result.code == 1 and result.out):
            yield "silent", f"`{result.words}` ends with {result.code} and without a word"
        elif result.code == 3 and result.out and result.command not in ("ranks", "index"):
            yield "half", f"`{result.words}` ends with 3, but prints {result.out[:80]!r}"


@rule
def commands_agree_that_a_file_is_read(it):
    """What `info` reads, `top` reads; what it refuses, they refuse."""
    info, top = it.ask("info --format json FILE").code, it.ask("top --format json -n 0 FILE").code
    if it.role == "profile" and (info == 3) != (top == 3) and 2 not in (info, top):
        yield "status", f"info ends with {info}, top with {top}: {it.ask('top --format json -n 0 FILE').err[:200]!r}"


@rule
def text_is_text(it):
    """What is printed is UTF-8 without anything that a terminal obeys or that turns text around."""
    for result in it.results.values():
        for stream, data in (("stdout", result.out), ("stderr", result.err)):
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                yield "utf-8", f"`{result.words}`, {stream}: {data[max(error.start - 40, 0):error.start + 20]!r}"
                continue
            breaks = "\n\t" if result.command in ("pprof", "dot") else "\n\r" if result.format == "csv" else "\n"
            for character in sorted(set(text) - set(breaks)):
                if unicodedata.category(character) == "Cc" or character in BIDI:
                    yield "escape", f"`{result.words}`, {stream}: {where(text, text.index(character))!r}"
                    break


@rule
def json_is_json(it):
    """`--format json` is one object, `json-columns` the same with columns; `jsonl` an object a line, as many as there are rows; no
    NaN, no Infinity."""
    for result in list(it.results.values()):
        if result.code not in (0, 1, 4) or not result.out:
            continue
        lines = {"json": [result.out], "json-columns": [result.out], "jsonl": result.out.split(b"\n")[:-1]}.get(result.format, [])
        if result.command == "index":
            lines = result.out.split(b"\n")[:-1]
        for line in lines:
            try:
                value = parse(line)
            except NotJson as error:
                yield result.format, f"`{result.words}`: {error}"
                break
            if not isinstance(value, dict):
                yield result.format, f"`{result.words}`: a line that is no object: {line[:80]!r}"
        if result.format == "jsonl" and not result.out.endswith(b"\n"):
            yield "jsonl", f"`{result.words}` does not end its last line"
    answer, other = it.json("top -n 0 FILE"), it.json("top --format json-columns -n 0 FILE") or {"columns": {}}
    listed = other.pop("columns")
    if answer and {**other, "rows": [dict(zip(listed, row)) for row in zip(*listed.values())]} != answer:
        yield "json-columns", "`top --format json-columns` is another table than `top --format json`"
    for jsonl, other in (("top --format jsonl -n 0 FILE", "top -n 0 FILE"),):
        answer, lines = it.json(other), it.results.get(jsonl)
        if answer and lines and lines.out.count(b"\n") != len(answer["rows"]):
            yield "rows", f"`{jsonl}` has {lines.out.count(bytes([10]))} lines, JSON {len(answer['rows'])} rows"


@rule
def csv_has_columns(it):
    """Every row of `--format csv` has as many columns as the first."""
    for result in it.results.values():
        if result.format == "csv" and result.code in (0, 4) and result.out:
            widths = {len(row) for row in csv.reader(io.StringIO(result.text(), newline="")) if row}
            if len(widths) > 1:
                yield "columns", f"`{result.words}`: rows of {sorted(widths)} columns"


def numbers(value, key=""):
    """(key, number) of everything in a JSON value."""
    stack = [(key, value)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(value.items())
        elif isinstance(value, list):
            stack.extend((key, one) for one in value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield key, value


def expects(result, it):
    """Whether an expected sum is given, which may be less than there is: documented, as over-accounted."""
    return "--expected-sum" in result.words or it.role == "keywords"


@rule
def only_differences_are_negative(it):
    """No size, count or share is negative, unless it is a difference or the input's own samples are."""
    if it.negative_samples():
        return
    for result in list(it.results.values()):
        # What a rank holds more or less of than others has a sign, what it asked for has none; so has what a setting
        # saves, of which some take more.
        signed = {"ranks": {"bytes"}, "whatif": {"saves"}}.get(result.command, ())
        if result.command in SIGNED_COMMANDS - {"ranks"} or result.code not in (0, 4) or "--diff" in result.words:
            continue
        if result.command == "events" and "adjust" in result.text():
            continue  # an event without an address says by how much the total changed
        if result.format == "json":
            answer = it.json(result.words)
            for key, value in numbers(answer):
                if value < 0 and not SIGNED.match(key) and key not in signed and not expects(result, it):
                    yield result.command, f"`{result.words}`: {key} is {value:,}"
                    break
        elif result.format == "table" and result.command not in ("index", "dot", "pprof", "flame", "ranks", "whatif"):
            for found in NEGATIVE.finditer(result.text()) if not expects(result, it) else ():
                yield result.command, f"`{result.words}`: {where(result.text(), found.start())!r}"
                break


@rule
def shares_are_at_most_all(it):
    """No share is over 100 %."""
    if it.negative_samples() or b"%" in it.unpacked:
        return
    for result in list(it.results.values()):
        if result.command in SIGNED_COMMANDS | {"index", "dot", "pprof", "steps", "whatif"} or expects(result, it):
            continue
        if result.format == "json" and result.code in (0, 4):
            for key, value in numbers(it.json(result.words)):
                if key in SHARES and value is not None and value > 1.0000001:
                    yield result.command, f"`{result.words}`: {key} is {value}"
                    break
        elif result.format == "table" and result.code in (0, 4) and "--capacity" not in result.words:
            for found in PERCENT.finditer(result.text()):
                if float(found[1].replace(",", "")) > 100.0:
                    yield result.command, f"`{result.words}`: {where(result.text(), found.start())!r}"
                    break


@rule
def everything_is_a_number(it):
    """No sink has NaN or an infinity: no table, no graph, no picture, no page."""
    named = it.unpacked.lower() + it.ask("raw FILE").out.lower()  # names may be anything
    if b"nan" in named or b"inf" in named:
        return
    texts = [(result.words, result.text()) for result in it.results.values() if result.command not in ("info", "report", "raw")]
    texts += [(name, (it.folder / name).read_text(errors="replace")) for name in WRITTEN if (it.folder / name).exists()]
    for words, text in texts:
        if found := NOT_A_NUMBER.search(text):
            yield words.split()[0], f"`{words}`: {where(text, found.start())!r}"


@rule
def pictures_are_whole(it):
    """An SVG that is written is XML, a trace is JSON."""
    for name in WRITTEN:
        path = it.folder / name
        if not path.exists():
            continue
        try:
            if name.endswith(".svg"):
                ET.parse(path)
            else:
                parse(path.read_bytes())
        except (ET.ParseError, NotJson) as error:
            yield name, f"{name}: {error}"


@rule
def damage_is_said(it):
    """An answer that lists damage ends with 4 under --strict, and one that ends with 4 says why."""
    for words in ("info FILE", "top -n 0 FILE", "segments FILE", "account FILE"):
        answer = it.json(words)
        if not answer:
            continue
        command, rest = words.split(" ", 1)
        strict = it.ask(f"{command} --strict {rest}")
        damage = [note["code"] for note in answer.get("diagnostics", []) if note["severity"] == "damage"]
        if damage and strict.code == 0:
            yield "lenient", f"`{words}` lists {damage}, but ends with 0 under --strict"
        if strict.code == 4 and not strict.err:
            yield "silent", f"`{strict.words}` ends with 4 and does not say why"


@rule
def a_cut_file_is_not_whole(it):
    """Of a file that was cut short no figure is shown as if it were whole (forms that know their end)."""
    if it.damage != "cut":
        return
    strict = it.ask("info --strict FILE")
    if strict.code == 0 and it.info().get("format") not in (None, "mxnet", "mxnet-stacks", "oom-text", "hlo-text", "bfc-dump"):
        yield "whole", f"{it.info()['format']}: cut short, but `info --strict` ends with 0"


@rule
def figures_obey_their_schema(it):
    """What a schema (`memtool help schema`) says is at least 0 is; enumerations hold what they list."""
    for result in list(it.results.values()):
        if result.format != "json" or result.command in ("convert", "ranks") or result.code not in (0, 4):
            continue
        answer = it.json(result.words)
        schema = answer and SCHEMAS.get(answer.get("schema"))
        for path, value, why in violations(schema, answer) if schema else ():
            yield result.command, f"`{result.words}`: {path} is {value!r}, {why}"
            break


SCHEMAS = {}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
         "null": type(None)}


def load_schemas(run):
    """Once: the schemas that the program has. `run(words) -> stdout`"""
    for name in run(["help", "schema"]).decode().split():
        schema = json.loads(run(["help", "schema", name]))
        SCHEMAS[schema["properties"]["schema"]["enum"][0]] = schema


def violations(schema, value, path="$"):
    """The part of JSON Schema that the program's own schemas use."""
    if "anyOf" in schema:
        branches = [list(violations(one, value, path)) for one in schema["anyOf"]]
        if all(branches):
            yield min(branches, key=len)[0]
        return
    if "enum" in schema and value not in schema["enum"]:
        yield path, value, "which its enumeration does not list"
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds or []
    if kinds and not any(isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in kinds):
        yield path, value, f"which is no {' or '.join(kinds)}"
    elif isinstance(value, dict):
        for key in schema.get("required", []):
            if key not in value:
                yield path, key, "which is missing"
        for key, one in schema.get("properties", {}).items():
            if key in value:
                yield from violations(one, value[key], f"{path}.{key}")
    elif isinstance(value, list) and "items" in schema:
        for one in value:
            yield from violations(schema["items"], one, f"{path}[]")
    elif "minimum" in schema and isinstance(value, (int, float)) and value < schema["minimum"]:
        yield path, value, f"which is below {schema['minimum']}"
