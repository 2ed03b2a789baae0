"""Rules about figures: what one command says must follow from what another says. Each yields (kind, what is wrong)."""
import shlex
from collections import defaultdict

from answers import NotJson, parse, total

RULES = []


def rule(function):
    RULES.append(function)
    return function


def differ(kind, one, other, what):
    """Figures that are told must be equal; a figure that is left out (null) contradicts nothing."""
    if one is not None and other is not None and one != other:
        yield kind, f"{what}: {one:,} and {other:,}, {one - other:+,} apart"


@rule
def info_is_top(it):
    """What `info` says is live at the end, at the start and at the peak is what `top` lists for that moment."""
    for name, device in it.devices():
        for moment, key in (("end", "end_bytes"), ("peak", "peak_bytes"), ("start", "start_bytes")):
            answer = it.json(f"top --at {moment} --device {shlex.quote(name)} -n 0 FILE")
            if answer and not it.clamped(answer):
                yield from differ(moment, device[key], answer["total"], f"device {name}, info's {key} and top's total")
    # A number may stand for several ledgers of one device; in some formats one lies within another.
    rows = it.info().get("devices", [])
    nests = any(ledger["parent"] is not None or ledger["level"] == "user" for ledger in it.info().get("ledgers", []))
    for number in {row["device"] for row in rows if row["device"] >= 0 and not nests}:
        for moment, key in (("end", "end_bytes"), ("start", "start_bytes")):
            held = [row[key] for row in rows if row["device"] == number]
            answer = it.json(f"top --at {moment} --device {number} -n 0 FILE") if len(held) > 1 and None not in held else None
            if answer and not it.clamped(answer):
                yield from differ(moment, sum(held), answer["total"], f"device {number}, info's {key} and top's total")


@rule
def sample_types_are_top(it):
    """The sum of a sample type in `info` is the total of `top` for it."""
    for row, kind in enumerate(it.info().get("sample_types", [])[:3]):
        answer = it.json(f"top --sample-index {row} -n 0 FILE")
        if answer and not it.clamped(answer) and not answer["unknown"]:
            yield from differ("total", kind["total"], answer["total"], f"info's {kind['type']} and top's total")


@rule
def heads_are_sums_of_rows(it):
    """The head of a table is the sum of its rows, when no row is left out."""
    lines = [("top --at end -n 0 FILE", "flat", "total"), ("top -n 0 --by line --frames all FILE", "flat", "total"),
             ("top -n 0 --by tag FILE", "flat", "total"), ("traces FILE", "value", "total"),
             ("events --summary -n 0 FILE", "bytes", "total"), ("events --summary -n 0 FILE", "kept_bytes", "kept_bytes"),
             ("events --summary -n 0 FILE", "short_bytes", "short_bytes"),
             ("events --summary -n 0 FILE", "allocations", "allocations")]
    if it.has_history:
        lines += [("top --at peak -n 0 FILE", "flat", "total")]
    for words, column, head in lines:
        answer = it.json(words)
        if answer and answer.get(head) is not None and not answer["rows_cut"] and not it.clamped(answer):
            yield from differ(words.split()[0], answer[head], total(answer["rows"], column), f"`{words}`: {head}, sum of rows")
    tree = it.json("tree --frames all -n 0 FILE")
    if tree and not it.clamped(tree) and not tree["rows_cut"] and b"(no stack)" not in it.unpacked:
        own = sum(row["flat"] for row in tree["rows"] if row["relation"] == "self")
        lines = it.json("top -n 0 --by line --frames all FILE") or {"rows": []}
        nameless = sum(row["flat"] for row in lines["rows"] if row["name"] == "(no stack)")  # of no function
        yield from differ("tree", tree["total"], own + nameless, "`tree`: total, sum of what functions hold themselves")


@rule
def a_replay_ends_at_its_blocks(it):
    """What is live at the end is what the blocks hold, or the replay does not reconcile; then an answer says so."""
    for name, device in it.devices():
        if device["reconciles"] and not it.info_is_clamped():
            blocks = device["live_block_bytes"] + device["pending_free_bytes"]
            yield from differ("end", device["end_bytes"], blocks, f"device {name}, end and blocks")
        if device["reconciles"] is False:
            for words in ("info --strict FILE", "top --strict --at end FILE"):
                if (result := it.ask(words)).code == 0:
                    yield "silent", f"device {name} does not reconcile, but `{result.words}` ends with 0"
        if None not in (device["end_bytes"], device["peak_bytes"]) and device["end_bytes"] > device["peak_bytes"]:
            yield "peak", f"device {name} ends at {device['end_bytes']:,}, above its peak of {device['peak_bytes']:,}"
        stacks = device.get("peak_stacks")
        if stacks and all(value is not None for value in stacks.values()) and not it.info_is_clamped():
            yield from differ("stacks", device["peak_bytes"], sum(stacks.values()), f"device {name}, peak and its stacks")


@rule
def a_written_profile_is_top(it):
    """A profile that `convert --to pprof` writes holds what `top` shows, also through the eyes of `pprof`."""
    answer = it.json("top -n 0 FILE")
    if not answer or it.clamped(answer):
        return
    if written := it.sibling("convert --to pprof -o written.pb.gz FILE", "written.pb.gz"):
        again = written.json("top -n 0 FILE")
        if again is None:
            yield "unread", f"what convert writes is not read: {written.ask('top FILE').err[:200]!r}"
        else:
            yield from differ("total", answer["total"], again["total"], "top of the input and of the profile written")
    if written := it.sibling("pprof -proto -output=proto.pb.gz FILE", "proto.pb.gz"):
        again = written.json("top -n 0 FILE")
        whole = it.json("top -n 0 --by line --frames all FILE")
        if again and whole and b"(no stack)" not in it.unpacked:  # pprof leaves out what has no stack
            stacked = answer["total"] - sum(row["flat"] for row in whole["rows"] if row["name"] == "(no stack)")
            yield from differ("pprof", stacked, again["total"], "top of the input, and of what `pprof -proto` writes of it")
    for moment in ("", "--at peak ")[:1 + it.has_history]:
        answer = it.json(f"top {moment}-n 0 FILE")
        name = f"{moment.strip('- ').replace(' ', '_')}.folded"
        if answer and not answer["unknown"] and it.sibling(f"convert --to folded {moment}-o {name} FILE", name):
            lines = (it.folder / name).read_bytes().decode(errors="replace").splitlines()
            yield from differ("folded", answer["total"], sum(int(line.rsplit(" ", 1)[1]) for line in lines if line),
                              f"top's total and the counts of convert --to folded {moment}")


@rule
def buckets_add_up(it):
    """Per axis, buckets with Others add up to the total, and with Untrackable to the expected sum."""
    # 1 TB, and less than most inputs have
    for words in ("buckets FILE", "buckets --expected-sum 1TB FILE", "buckets --expected-sum 1KB FILE",
                  "buckets --keywords two.yaml --multi all FILE", "buckets --keywords two.yaml --expected-sum 1TB FILE"):
        answer = it.json(words)
        if not answer or it.clamped(answer):
            continue
        axes = defaultdict(int)
        for row in answer["rows"]:
            if row["bytes"] is not None:
                axes[row.get("axis", "")] += row["bytes"]
        repeated = answer.get("repeated_bytes") or 0
        whole = answer["total"] if answer["expected_sum"] is None else answer["expected_sum"]
        for axis, found in axes.items():
            if not whole <= found <= whole + repeated:
                yield "axis", f"`{words}`: axis {axis!r} is {found:,} of {whole:,} ({repeated:,} in several)"
        if answer["expected_sum"] is not None:
            yield from differ("untrackable", answer["untrackable"], answer["expected_sum"] - answer["total"],
                              f"`{words}`: untrackable and what follows")
        top = it.json("top -n 0 FILE")
        if top:
            yield from differ("total", answer["total"], top["total"], f"`{words}` and top's total")


# The parts of `account`: each is the sum of those below it.
PARTS = (("capacity", ("free", "used", "driver_reserved")), ("used", ("other_processes", "process")),
         ("process", ("below_framework", "reserved")), ("reserved", ("cached", "allocated")),
         ("allocated", ("rounding", "requested")))


@rule
def account_adds_up(it):
    """In `account` no part is negative or larger than what it is a part of, and parts add up as far as all are known."""
    truth = {"truth": ["account FILE sound.json", "account --gpu 0 FILE sound.json", "account --at peak FILE sound.json"],
             "profile": ["account FILE", "account --capacity 1GiB FILE", "account --capacity 1KiB FILE",
                         "account FILE truth.csv"] + ["account --at peak FILE"] * it.has_history}
    for words in truth.get(it.role, []):
        answer = it.json(words)
        if not answer or it.clamped(answer):
            continue
        devices = defaultdict(dict)
        for row in answer["rows"]:
            devices[row["device"]].setdefault(row["step"], row)
            if row["bytes"] is not None and row["bytes"] < 0 and not it.negative_samples():
                yield "negative", f"`{words}`: {row['step']} is {row['bytes']:,}"
        for device, rows in devices.items():
            known = {step: row["bytes"] for step, row in rows.items() if row["bytes"] is not None}
            slack = sum(row["precision"] for row in rows.values())
            if it.codes(answer):
                continue  # it says that figures contradict each other, or what is damaged
            for whole, parts in PARTS:
                parts = [part for part in parts if part in rows]
                if whole in known and parts and all(part in known for part in parts):
                    found = sum(known[part] for part in parts)
                    if abs(known[whole] - found) > slack:
                        yield "parts", f"`{words}`, device {device}: {whole} is {known[whole]:,}, {' + '.join(parts)} {found:,}"
                for part in parts:
                    if whole in known and part in known and known[part] > known[whole] + slack:
                        yield "larger", f"`{words}`, device {device}: {part} {known[part]:,} of {whole} {known[whole]:,}"


@rule
def segments_add_up(it):
    """Segments add up to what is reserved; what is free, in use and requested fits into each."""
    for words in ("segments --at end -n 0 FILE", "segments --at peak -n 0 FILE"):
        answer = it.json(words)
        if not answer:
            continue
        rows = answer["rows"]
        if not answer["rows_cut"] and rows:
            yield from differ("reserved", answer["reserved"], total(rows, "size"), f"`{words}`: reserved, sum of segments")
            yield from differ("free", answer["free"], total(rows, "free"), f"`{words}`: free, sum of segments")
        parts = [answer[key] for key in ("allocated", "pending_free", "free")]
        if None not in parts and not answer.get("unplaced_bytes"):
            yield from differ("parts", answer["reserved"], sum(parts), f"`{words}`: reserved, allocated + pending + free")
        heads = [("largest_free", "free"), ("free", "reserved"), ("allocated", "reserved"), ("largest_free", "reserved"),
                 ("returnable_bytes", "free"), ("fragmented_bytes", "free"), ("private_pool_bytes", "free"),
                 ("unlisted_bytes", "free"), ("unused_bytes", "reserved"), ("inactive_split_bytes", "free")]
        columns = [("largest_free", "free"), ("free", "size"), ("allocated", "active"), ("active", "size"),
                   ("requested", "active"), ("returnable", "free"), ("fragmented", "free"), ("live_blocks", "blocks")]
        for row, pairs in [(answer, heads), *((row, columns) for row in rows)]:
            for less, more in pairs:
                if row.get(less) is not None and row.get(more) is not None and row[less] > row[more]:
                    place = f" at {row['address']}" if "address" in row else ""
                    # A block that is smaller than what was asked for is shown as the file has it, with a diagnostic.
                    if less != "requested" or it.ask("segments --strict FILE").code != 4:
                        kind = "requested" if less == "requested" else "larger"
                        yield kind, f"`{words}`: {less} {row[less]:,} of {more} {row[more]:,}{place}"
        if words == "segments --at end -n 0 FILE" and it.info().get("format") == "torch_snapshot":
            ends = [row["reserved_end_bytes"] for row in it.info()["devices"]]
            if ends and None not in ends and len(ends) == len({row["device"] for row in rows}):
                yield from differ("info", answer["reserved"], sum(ends), "segments' reserved, info's reserved_end_bytes")


SAME = ("info FILE", "top -n 0 FILE", "top -n 0 --at peak --frames all --by line FILE", "oom FILE", "segments FILE",
        "account FILE", "tags FILE", "buckets FILE", "timeline FILE", "events --summary FILE")
# What is about the file and not about what it holds.
ABOUT_THE_FILE = {"path", "packing", "input", "property", "sentences"}


def without(value):
    if isinstance(value, dict):
        if value.get("property") in ("input", "format"):
            return None
        return {key: without(one) for key, one in value.items() if key not in ABOUT_THE_FILE}
    return [without(one) for one in value] if isinstance(value, list) else value


@rule
def a_container_answers_the_same(it):
    """`convert --to memtool` keeps every answer, `oom` of a log included."""
    if not (kept := it.sibling("convert --to memtool -o kept.memtool FILE", "kept.memtool")):
        return
    for words in SAME:
        name = words.split()[0]
        if name == "oom" and it.info().get("format", "").startswith("mxnet"):
            continue  # the text may have a message besides its table, the container has the table
        one, other = it.json(words), kept.json(words)
        if name == "oom" and one and other:  # its first sentence may name the file
            other["answer"] = other["answer"].replace(kept.name, it.name)
        if (one is None) != (other is None):
            why = (kept if other is None else it).ask(words.replace(name, f"{name} --format json", 1)).err
            alone = "the input" if other is None else "its container"
            yield f"{name}-status", f"`{words}` answers for {alone} alone: {why[:200]!r}"
        elif one is not None and without(one) != without(other):
            where = first_difference(without(one), without(other))
            yield name, f"`{words}` differs at {where}"


def first_difference(one, other, path="$"):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one:
            if one[key] != other.get(key):
                return first_difference(one[key], other.get(key), f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for row, (a, b) in enumerate(zip(one, other)):
            if a != b:
                return first_difference(a, b, f"{path}[{row}]")
    return f"{path}: {str(one)[:80]} and {str(other)[:80]}"


@rule
def a_snapshot_written_again_is_the_same(it):
    """What `cut` writes of a whole snapshot ends where the input ends."""
    if it.info().get("format") != "torch_snapshot":
        return
    if not (again := it.sibling("cut -o cut.pickle FILE", "cut.pickle")):
        return
    one, other = it.json("top -n 0 FILE"), again.json("top -n 0 FILE")
    if other is None:
        yield "unread", f"what `cut` writes is not read: {again.ask('top FILE').err[:200]!r}"
    elif one and not it.clamped(one):
        yield from differ("end", one["total"], other["total"], "top of the input and of what `cut` wrote")


@rule
def a_file_does_not_differ_from_itself(it):
    """`diff` of an input with itself has no row; from start to end it has what the totals differ by."""
    answer = it.json("diff FILE FILE")
    if answer and not it.clamped(answer):
        if answer["rows"]:
            yield "itself", f"`diff FILE FILE` has {len(answer['rows'])} rows, the first {str(answer['rows'][0])[:200]}"
        for key in ("delta", "total_delta"):
            if answer.get(key):
                yield "itself", f"`diff FILE FILE`: {key} is {answer[key]:,}"
    if it.has_history:
        answer = it.json("diff --base-at start --at end -n 0 FILE")
        first, last = it.json("top --at start -n 0 FILE"), it.json("top --at end -n 0 FILE")
        if answer and first and last and not it.clamped(answer, first, last) and not answer["rows_cut"]:
            yield from differ("moments", last["total"] - first["total"], total(answer["rows"], "delta"),
                              "end minus start, sum of deltas")


@rule
def every_message_is_explained(it):
    """`oom --message K` explains message K of as many as there are, and refuses the one after; parts add up."""
    answer = it.json("oom FILE")
    if not answer:
        return
    yield from oom_adds_up(answer, "oom FILE")
    messages = answer.get("messages") or 0
    for number in range(1, min(messages, 4) + 1):
        one = it.json(f"oom --message {number} FILE")
        if one is None:
            why = it.ask(f"oom --message {number} FILE").err
            yield "message", f"message {number} of {messages} has no answer: {why[:150]!r}"
            continue
        yield from differ("message", one.get("message"), number, f"the number of message {number}")
        yield from oom_adds_up(one, f"oom --message {number} FILE")
    if messages:
        code = it.ask(f"oom --message {messages + 1} FILE").code
        if code != 2:
            yield "beyond", f"`oom --message {messages + 1}` of {messages} messages ends with {code}"


def oom_adds_up(answer, words):
    parts = [row for row in answer["rows"] if row["kind"] == "part"]
    said = any(note["code"] == "clamped_sums" for note in answer["diagnostics"])
    if parts and all(row["bytes"] is not None for row in parts) and answer.get("total") is not None and not said:
        slack = sum(row["precision"] for row in parts)
        found = total(parts, "bytes")
        if abs(found - answer["total"]) > slack:
            yield "parts", f"`{words}`: total {answer['total']:,}, sum of parts {found:,}"
    # What is live may be more than the device has: Windows spills it into the host's memory.
    for key, most in (("driver_free", "capacity"), ("largest_free", "reserved"), ("live", "reserved"), ("cached", "reserved"),
                      ("usable_largest", "largest_free"), ("usable_free", "reserved")):
        least, bound = answer.get(key), answer.get(most)
        # Figures in a message are rounded to two digits after the point.
        if least is not None and bound is not None and bound and least > bound * 1.01 + 1024:
            yield key, f"`{words}`: {key} {least:,} of {most} {bound:,}"


@rule
def a_timeline_ends_where_info_says(it):
    """`timeline` has info's peak as its highest point and info's end as its last."""
    for name, device in it.devices():
        answer = it.json(f"timeline --points 100000 --device {shlex.quote(name)} FILE")
        if not answer or not answer["rows"] or it.clamped(answer) or it.info_is_clamped():
            continue
        live = [row["allocated"] for row in answer["rows"] if row.get("allocated") is not None]
        held = [row["reserved"] for row in answer["rows"] if row.get("reserved") is not None]
        if live:
            yield from differ("end", device["end_bytes"], live[-1], f"device {name}, info's end and the timeline's")
            yield from differ("peak", device["peak_bytes"], max(live), f"device {name}, info's peak and the timeline's")
        if held and device["reserved_peak_event"] is not None and device["reserved_peak_bytes"]:
            yield from differ("reserved", device["reserved_peak_bytes"], max(held),
                              f"device {name}, reserved peak and the timeline's")


@rule
def a_digest_says_what_info_says(it):
    """The digest that `index` makes has info's peak and end of every device."""
    result = it.ask("index FILE")
    if result.code != 0 or not it.has_history:
        return
    try:
        digest = parse(result.out)
    except NotJson:
        return
    rows = {(row["device"], row["name"]): row for row in it.info()["devices"]}
    for row in digest.get("devices", []):
        of_info = rows.get((row["device"], row["name"]))
        if of_info:
            for key in ("peak", "end", "reserved_peak", "reserved_end", "base"):
                yield from differ("device", of_info[f"{key}_bytes"], row[key], f"device {row['name']}: {key} in info, in the digest")


@rule
def flames_are_sums(it):
    """In a flame graph a frame is at least the sum of those on it, and the root is the total of `top`."""
    answer, top = it.json("flame FILE"), it.json("top -n 0 FILE")
    if not answer or not top or not answer["rows"] or it.clamped(answer, top) or it.negative_samples():
        return
    yield from differ("total", top["total"], answer["rows"][0]["bytes"], "top's total and the root of the flame graph")
    above = defaultdict(int)
    for row in answer["rows"]:
        above[row["parent"]] += row["bytes"]
    for row in answer["rows"]:
        found = above[row["id"]] + row["self"] + (row.get("left_out") or 0)
        if above[row["id"]] > row["bytes"] or row["self"] > row["bytes"] or found < row["bytes"]:
            yield "frame", f"{row['name']!r} has {row['bytes']:,}; itself {row['self']:,}, those on it {above[row['id']]:,}"


@rule
def cumulative_is_at_least_flat(it):
    """A row holds no more than what it and its callees hold together, and that is no more than the total."""
    answer = it.json("top -n 0 FILE")
    if not answer or it.clamped(answer) or it.negative_samples():
        return
    for row in answer["rows"]:
        if not row["flat"] <= row["cum"] <= answer["total_unfiltered"]:
            yield "row", f"{row['name']!r}: flat {row['flat']:,}, cum {row['cum']:,} of {answer['total_unfiltered']:,}"


@rule
def tags_are_no_more_than_all(it):
    """The values of one label hold together no more than the total."""
    answer = it.json("tags -n 0 FILE")
    if not answer or it.clamped(answer) or it.negative_samples():
        return
    keys = defaultdict(int)
    for row in answer["rows"]:
        if row["bytes"] > answer["total"]:
            yield "value", f"{row['key']}={row['value']}: {row['bytes']:,} of {answer['total']:,}"
        keys[row["key"]] += row["bytes"]
    top = it.json("top -n 0 FILE")
    if top:
        yield from differ("total", answer["total"], top["total"], "tags' total and top's")


@rule
def merged_with_itself_is_twice(it):
    """`merge FILE FILE` holds twice what `top` shows."""
    if it.has_history:
        return
    top = it.json("top -n 0 FILE")
    merged = it.sibling("merge -o merged.pb.gz FILE FILE", "merged.pb.gz") if top else None
    if merged and (again := merged.json("top -n 0 FILE")) and not it.clamped(top, again):
        yield from differ("total", 2 * top["total"], again["total"], "twice top's total, and that of what merge writes")


@rule
def steps_stay_below_the_peak(it):
    """No step has a peak above the peak of the run."""
    answer = it.json("steps -n 0 FILE")
    if answer:
        peaks = defaultdict(list)
        for row in it.info().get("devices", []):
            peaks[row["device"]].append(row["peak_bytes"])
        for row in answer["rows"]:
            told = [peak for peak in peaks[row["device"]] if peak is not None]
            if told and row["peak"] is not None and row["peak"] > (most := max(told)):
                yield "peak", f"step {row['step']}: {row['peak']:,} above {most:,}"


@rule
def a_model_reserves_what_it_holds(it):
    """`whatif`: what is live is reserved, for settings of the file and for others."""
    answer = it.json("whatif FILE")
    for row in (answer or {}).get("rows", []):
        if row["live_at_peak"] > row["reserved_peak"] or row["reserved_peak_low"] > row["reserved_peak"]:
            yield "row", f"setting {row['setting']!r}: live {row['live_at_peak']:,} of {row['reserved_peak']:,}"


@rule
def what_is_live_is_reserved(it):
    """No device has more live than reserved, unless an answer says that the file contradicts itself."""
    for name, device in it.devices():
        for live, held in (("peak_bytes", "reserved_peak_bytes"), ("end_bytes", "reserved_end_bytes")):
            if device[live] is not None and device[held] and device[live] > device[held] and it.ask("info --strict FILE").code == 0:
                yield live.split("_", maxsplit=1)[0], f"device {name}: {live} {device[live]:,}, {held} {device[held]:,}, no word"


@rule
def a_moment_is_the_same_everywhere(it):
    """In the middle of a history, `timeline` and `top --at event:N` have the same live bytes; `events` ends with info's end."""
    devices = it.devices()
    if len(it.info().get("devices", [])) != 1 or not devices or it.info_is_clamped():
        return
    name, device = devices[0]
    answer = it.json(f"timeline --points 100000 --device {shlex.quote(name)} FILE")
    rows = [row for row in (answer or {}).get("rows", []) if row["event"] >= 0 and row["allocated"] is not None]
    for row in {len(rows) // 3, len(rows) // 2} if rows else ():
        top = it.json(f"top --at event:{rows[row]['event']} -n 0 FILE")
        if top and not it.clamped(top):
            yield from differ("event", rows[row]["allocated"], top["total"],
                              f"live after event {rows[row]['event']} in timeline and top")
    events = it.json("events -n 0 FILE")
    if events and events["rows"] and not events["rows_cut"]:
        yield from differ("last", events["rows"][-1]["allocated"], device["end_bytes"], "ALLOCATED of the last event, info's end")


@rule
def out_of_memory_is_the_same_everywhere(it):
    """What `oom` says of a history's failure is what `segments` shows of that moment."""
    if len(it.info().get("devices", [])) != 1 or not it.info()["devices"][0]["oom_events"] or "-text" in it.info()["format"]:
        return
    oom, segments = it.json("oom FILE"), it.json("segments --at oom -n 0 FILE")
    if oom and segments and oom.get("reserved") is not None:
        yield from differ("live", oom["live"], segments["allocated"], "live in oom, allocated in segments --at oom")
        yield from differ("reserved", oom["reserved"], segments["reserved"], "reserved in oom and in segments --at oom")
        yield from differ("largest", oom["largest_free"], segments["largest_free"], "largest_free in oom and in segments --at oom")


@rule
def no_run_exceeds_itself(it):
    """`check` of an input against the baseline that it made passes."""
    if it.ask("check --write-baseline own.json FILE").code == 0 and (it.folder / "own.json").exists():
        done = it.ask("check --baseline own.json FILE")
        if done.code not in (0, 4):
            yield "own", f"`check --baseline` of the input's own baseline ends with {done.code}: {(done.out + done.err)[:200]!r}"
