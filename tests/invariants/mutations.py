"""Changes one input into another of its kind: numbers to extremes, records twice, gone or swapped, files cut, bits flipped.

`mutate(data, rng) -> (bytes, what was done)` knows JSON, pickle, protocol buffers, SQLite, text, and the program's own two
forms, whose checksums it makes good again, so that what they guard is reached.
"""
import io
import json
import pickle
import re
import sqlite3
import tempfile
from pathlib import Path

import containers
import wire
from answers import unpacked
from extremes import number, read_varint

# --- trees: JSON and pickle


def places(value):
    """-> ((holder, key) of every number, every list of at least two, every dict with something)"""
    found, lists, dicts, stack = [], [], [], [value]
    while stack:
        one = stack.pop()
        items = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        if isinstance(one, list) and len(one) > 1:
            lists.append(one)
        if isinstance(one, dict) and one:
            dicts.append(one)
        for key, inner in items:
            if isinstance(inner, (dict, list)):
                stack.append(inner)
            elif isinstance(inner, (int, float)) and not isinstance(inner, bool):
                found.append((one, key))
            elif isinstance(inner, str) and re.fullmatch(r"-?\d{1,19}", inner):
                found.append((one, key))  # XLA's JSON has 64-bit numbers as texts
    return found, lists, dicts


# Names and numbers that do not say how much: changed less often.
DULL = {"line", "ts", "time_us", "pid", "tid", "dur", "stream", "Ev Idx", "version", "l", "schemaVersion"}


def change_tree(tree, rng):
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        found, lists, dicts = places(tree)
        what = rng.random()
        if what < 0.6 and found:
            interesting = [place for place in found if place[1] not in DULL]
            chosen = interesting if interesting and rng.random() < 0.9 else found
            # Rare names as often as frequent ones; items of lists have none.
            name = rng.choice(sorted({"" if isinstance(key, int) else key for _, key in chosen}, key=str))
            holder, key = rng.choice([place for place in chosen if ("" if isinstance(place[1], int) else place[1]) == name])
            old = holder[key]
            holder[key] = str(number(rng, int(old))) if isinstance(old, str) else number(rng, old)
            done.append(f"{key}={holder[key]}")
        elif what < 0.93 and lists:
            chosen = rng.choice(lists)
            row = rng.randrange(len(chosen))
            how = rng.choice(["twice", "gone", "swapped", "moved", "reversed"])
            if how == "twice":
                chosen.insert(rng.randrange(len(chosen) + 1), chosen[row])
            elif how == "gone":
                del chosen[row]
            elif how == "swapped":
                other = rng.randrange(len(chosen))
                chosen[row], chosen[other] = chosen[other], chosen[row]
            elif how == "moved":
                chosen.append(chosen.pop(row))
            else:
                chosen.reverse()
            done.append(f"row {row} of {len(chosen)} {how}")
        elif dicts:
            chosen = rng.choice(dicts)
            key = rng.choice(sorted(chosen, key=str))
            del chosen[key]
            done.append(f"without {key}")
    return ", ".join(done)


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("not data")


def as_json(data, rng):
    lines = data.splitlines(keepends=True)
    if len(lines) > 1 and all(line[:1] == b"{" for line in lines):  # an object a line
        row = rng.randrange(len(lines))
        lines[row], done = as_json(lines[row].rstrip(), rng)
        return b"".join(line.rstrip(b"\n") + b"\n" for line in lines), f"line {row}: {done}"
    tree = json.loads(data)
    done = change_tree(tree, rng)
    return json.dumps(tree).encode(), done


def as_pickle(data, rng):
    tree = DataOnly(io.BytesIO(data)).load()
    done = change_tree(tree, rng)
    return pickle.dumps(tree, protocol=rng.choice([2, 4, 5])), done


# --- protocol buffers


def fields(data):
    """[[number, wire type, value]] of a message; ValueError when it is none."""
    out, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if key >> 3 == 0 or key >> 3 > 1 << 20:
            raise ValueError
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError
        if at > len(data):
            raise ValueError
        out.append([key >> 3, kind, value])
    return out


def join(parsed):
    out = b""
    for field, kind, value in parsed:
        out += wire.varint(field << 3 | kind)
        out += wire.varint(value) if kind == 0 else wire.varint(len(value)) + value if kind == 2 else value
    return out


def change_message(data, rng, depth=0):
    parsed = fields(data)
    if not parsed:
        raise ValueError
    inner = [row for row, (_, kind, value) in enumerate(parsed) if kind == 2 and len(value) > 1]
    if inner and rng.random() < (0.8 if depth < 4 else 0.3):
        row = rng.choice(inner)
        try:
            parsed[row][2], done = change_message(parsed[row][2], rng, depth + 1)
            return join(parsed), f"{parsed[row][0]}.{done}"
        except ValueError:
            pass
    row = rng.randrange(len(parsed))
    numeric = [at for at, field in enumerate(parsed) if field[1] == 0]
    how = rng.choice(["number", "number", "number", "twice", "gone", "swapped"])
    if how == "number" and numeric:
        row = rng.choice(numeric)
        parsed[row][2] = number(rng, parsed[row][2]) % 2**64
        return join(parsed), f"{parsed[row][0]}={parsed[row][2]}"
    if how == "number" and parsed[row][1] == 2 and parsed[row][2]:  # packed numbers, if it is no text
        values, at = [], 0
        while at < len(parsed[row][2]):
            value, at = read_varint(parsed[row][2], at)
            values.append(value)
        place = rng.randrange(len(values))
        values[place] = number(rng, values[place]) % 2**64
        parsed[row][2] = b"".join(map(wire.varint, values))
        return join(parsed), f"{parsed[row][0]}[{place}]={values[place]}"
    if how == "twice":
        parsed.insert(rng.randrange(len(parsed) + 1), parsed[row])
    elif how == "swapped":
        other = rng.randrange(len(parsed))
        parsed[row], parsed[other] = parsed[other], parsed[row]
    else:
        del parsed[row]
    return join(parsed), f"field {row} {how}"


# --- text


def as_text(data, rng):
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        found = list(re.finditer(rb"\d+(\.\d+)?", data))
        lines = data.splitlines(keepends=True)
        if found and rng.random() < 0.7:
            place = rng.choice(found)
            new = str(number(rng, float(place[0]) if b"." in place[0] else int(place[0])))
            data = data[:place.start()] + new.encode() + data[place.end():]
            done.append(f"{place[0].decode()} became {new}")
        elif len(lines) > 1:
            row, how = rng.randrange(len(lines)), rng.choice(["twice", "gone", "swapped"])
            if how == "twice":
                lines.insert(rng.randrange(len(lines)), lines[row])
            elif how == "gone":
                del lines[row]
            else:
                other = rng.randrange(len(lines))
                lines[row], lines[other] = lines[other], lines[row]
            data = b"".join(lines)
            done.append(f"line {row} {how}")
    return data, ", ".join(done) or "as it was"


# --- databases


def as_database(data, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        path.write_bytes(data)
        db = sqlite3.connect(path)
        try:
            tables = [name for (name,) in db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
            tables = [name for name in tables if db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]]
            usage = [name for name in tables if "MEMORY" in name]
            table = rng.choice(usage if usage and rng.random() < 0.7 else tables)
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            row = rng.choice(db.execute(f'SELECT rowid FROM "{table}"').fetchall())[0]
            how = rng.choice(["number", "number", "number", "number", "gone", "twice"])
            column = rng.choice(columns)
            if how == "number":
                old = db.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', [row]).fetchone()[0]
                new = max(-2**63, min(2**63 - 1, number(rng, old if isinstance(old, int) else 1)))
                db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', [new, row])
                done = f"{table}.{column}={new}"
            elif how == "gone":
                db.execute(f'DELETE FROM "{table}" WHERE rowid = ?', [row])
                done = f"a row of {table} gone"
            else:
                db.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE rowid = ?', [row])
                done = f"a row of {table} twice"
            db.commit()
        except (sqlite3.Error, IndexError) as error:
            raise ValueError from error
        finally:
            db.close()
        return path.read_bytes(), done


# --- bytes


def flipped(data, rng):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out), "flip"


def form(data):
    """The function that knows how `data` is built."""
    if data.startswith(b"\x89memtool"):
        return containers.change_container
    if data.startswith(b"MTCAP"):
        return containers.change_capture_log
    if data.startswith(b"SQLite format 3"):
        return as_database
    if data[:1] == b"\x80":
        return as_pickle
    head = data[:4096].lstrip()
    if head[:1] in (b"{", b"["):
        return as_json
    try:
        head.decode()
        if b"\0" not in head:
            return as_text
    except UnicodeDecodeError:
        pass
    return change_message


# Forms that know where they end: half of one is never a whole one.
ENDS = (as_json, as_pickle, as_database, containers.change_container)


def mutate(data, rng):
    """-> (other data, what was done); "cut" and "flip" for damage that knows nothing of the form."""
    data = unpacked(data)
    if not data:
        return data, "as it was"
    change, what = form(data), rng.random()
    if what < 0.06:
        # Without a byte that could be a blank or newline after the end.
        size = rng.randrange(len(data.rstrip()) or 1)
        return data[:size], "cut" if change in ENDS else "shortened"
    if what > 0.88:
        return flipped(data, rng)
    try:
        return change(data, rng)
    except (ValueError, KeyError, IndexError, TypeError, RecursionError, OverflowError, pickle.UnpicklingError, EOFError):
        return flipped(data, rng)
