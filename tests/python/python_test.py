#!/usr/bin/env python3
"""The wheel is what it says that it is, and the Python package gives the answers of the program.

usage: python_test.py --memtool PATH --testdata DIR --wheel FOLDER [--python PYTHON] [--most BYTES]

Makes a virtual environment that sees the distribution's packages, installs the wheel of FOLDER there,
and runs itself in it (--inside): for every file of DIR, and of the folders in MEMTOOL_REFERENCE_DATA, every
line of LINES must have the columns, figures and notes of the program's --format json; errors must be
the program's errors. Then what only Python has: pandas, Arrow, threads, hostile names; methods.py, reading.py
and notebook.py have the rest of that. What needs neither pandas nor NumPy (everywhere.py) also runs in the oldest and the
newest other CPython of ~/.pyenv and in PyPy, where these are there: it says in which. wheel_contents.py looks at the wheel.
Skipped (77) without a wheel, with one that is older than the program, and without pandas.
"""
import argparse
import html.parser
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # an isolated Python does not look there
from arrow_consumer import arrow_table
from everywhere import Everywhere
from methods import Methods
from notebook import Notebook
from package import PackageTest
from reading import Reading
from wheel_contents import check_wheel

SKIPPED = 77
# What cannot be an input.
NO_INPUTS = {".py", ".md", ".yaml", ".tsv", ".cc", ".jsonl"}
# Goldens; and what takes as much memory as there is, which the program bounds and Python does not.
LEFT_OUT = {"expected", "hostile"}
# Questions as (command, options of Python, options of the program).
LINES = [
    ("top", {}, []),
    ("top", {"at": "peak", "by": "line", "frames": "all"}, ["--at", "peak", "--by", "line", "--frames", "all"]),
    ("top", {"focus": "a", "cum": True, "n": 3}, ["--focus", "a", "--cum", "-n", "3"]),
    ("tree", {}, []),
    ("tags", {}, []),
    ("traces", {"n": 50}, ["-n", "50"]),
    ("buckets", {"entries": 2}, ["--entries", "2"]),
    ("timeline", {"by": "function"}, ["--by", "function"]),
    ("timeline", {"points": 20}, ["--points", "20"]),
    ("events", {}, []),
    ("events", {"action": "alloc", "n": 7}, ["--action", "alloc", "-n", "7"]),
    ("events", {"summary": True}, ["--summary"]),
    ("segments", {}, []),
    ("oom", {}, []),
    ("steps", {}, []),
    ("leaks", {}, []),
    ("account", {}, []),
    ("flame", {}, []),
    ("info", {}, []),
]


# --- outside: the environment ---

def fresh_environment(python, wheel, folder):
    subprocess.run([python, "-m", "venv", "--system-site-packages", folder], check=True)
    inside = Path(folder) / "bin/python"
    subprocess.run([inside, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    return inside


def console_script(folder, memtool):
    """-> what is wrong with the command that was installed"""
    mine, its = (subprocess.run([path, "help", "top"], capture_output=True, cwd=folder, check=False)
                 for path in (Path(folder) / "bin/memtool", memtool))
    return [] if (mine.returncode, mine.stdout) == (0, its.stdout) else [f"bin/memtool help top: {mine.returncode} {mine.stderr}"]


def other_pythons():
    """The oldest and the newest CPython of ~/.pyenv that the wheel is for, and PyPy, where they are there."""
    found = {}
    for path in Path.home().glob(".pyenv/versions/3.*/bin/python"):
        version = tuple(map(int, path.parts[-3].split("."))) if path.parts[-3].replace(".", "").isdigit() else ()
        if version >= (3, 8):
            found[version] = str(path)
    ends = [found[version] for version in sorted({min(found), max(found)})] if found else []
    return [*ends, *filter(None, [shutil.which("pypy3")])]


def elsewhere(wheel, testdata):
    """-> how many other Pythons failed; the package is only unpacked: PyPy may have no pip"""
    failed, ran = 0, []
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
        for python in other_pythons():
            done = subprocess.run([python, "-B", "-W", "ignore", Path(__file__).parent / "everywhere.py", testdata], cwd=folder,
                                  env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True, check=False)
            says = subprocess.run([python, "-c", "import sys; print(sys.implementation.name, sys.version.split()[0])"],
                                  capture_output=True, text=True, check=False).stdout.strip()
            ran.append(says)
            if done.returncode:
                failed += 1
                print(f"{says}: {done.stdout}{done.stderr}")
    print(f"ran also in {', '.join(ran) or 'no other Python, because none is here'}")
    return failed


def outside(args):
    wheels = sorted(Path(args.wheel).glob("memtool_profile-*.whl"))
    if not wheels:
        print(f"no wheel in {args.wheel}: scripts/wheel makes one")
        return SKIPPED
    if wheels[-1].stat().st_mtime < Path(args.memtool).stat().st_mtime:
        print(f"{wheels[-1].name} is older than the program: scripts/wheel makes a new one")
        return SKIPPED
    if subprocess.run([args.python, "-c", "import pandas"], capture_output=True, check=False).returncode:
        print("pandas is not installed")
        return SKIPPED
    wrong = check_wheel(wheels[-1], args.testdata)
    print("\n".join(wrong) or "the wheel has what it says")
    wrong = bool(wrong) + elsewhere(wheels[-1], str(Path(args.testdata).resolve()))
    with tempfile.TemporaryDirectory() as folder:
        inside = fresh_environment(args.python, wheels[-1], folder)
        for fault in console_script(folder, Path(args.memtool).resolve()):
            print(fault)
            wrong += 1
        # Not from the sources: what is tested is what was installed.
        done = subprocess.run([inside, "-I", str(Path(__file__).resolve()), "--inside",
                               "--memtool", str(Path(args.memtool).resolve()), "--testdata", str(Path(args.testdata).resolve()),
                               "--most", str(args.most)], cwd=folder, check=False).returncode
        return done or bool(wrong)


# --- inside: answers ---

def program(memtool, *words):
    done = subprocess.run([memtool, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def cell(key, row):
    """A cell of the program's JSON as Python has it."""
    value = row["id"] if key == "version" else row[key]
    if value is None:
        return None
    if key == "version":
        return int(value.rsplit("_", 1)[1])
    if key in ("address", "stream") and isinstance(value, str) and value.startswith("0x"):
        return int(value, 16)
    return value


def same(one, other):
    return one == other or (isinstance(one, float) and isinstance(other, (int, float)) and
                            math.isclose(one, other, rel_tol=1e-15))


def differences(answer, document):
    """What an answer and the program's JSON disagree about."""
    rows = document["rows"]
    keys = ["version" if key == "id" and answer.question == "events" else key for key in rows[0]] if rows else []
    if rows and list(answer) != keys:
        yield f"columns {list(answer)}, not {keys}"
        return
    if answer.rows != len(rows):
        yield f"{answer.rows} rows, not {len(rows)}"
        return
    for key in keys:
        column = answer[key].to_list()
        for number, (mine, row) in enumerate(zip(column, rows)):
            if not same(mine, cell(key, row)):
                yield f"{key} of row {number}: {mine!r}, not {cell(key, row)!r}"
                break
    besides = {key: value for key, value in document.items()
               if key not in ("schema", "inputs", "sample_type", "unit", "rows", "diagnostics")}
    for name, mine, its in [("figures", answer.figures, besides), ("inputs", answer.inputs, document["inputs"]),
                            ("diagnostics", answer.diagnostics, document["diagnostics"]),
                            ("unit", answer.unit, document["unit"]),
                            ("sample type", answer.sample_type, document["sample_type"])]:
        if mine != its:
            yield f"{name}: {mine!r}, not {its!r}"


def compare(memtool_module, memtool, path):
    """-> (how many answers were compared, faults)"""
    faults, compared = [], 0
    try:
        recording = memtool_module.load(path)
    except memtool_module.Error as error:
        code, _, said = program(memtool, "info", path)
        said = said.strip().split("memtool: ", 1)[-1]
        return 1, [] if code == 3 and str(error) == said else [f"{path}: load: {error}; the program: {code} {said}"]
    for command, options, words in LINES:
        code, out, said = program(memtool, command, "--format", "json", *words, path)
        try:
            answer = recording.ask(command, **options)
        except memtool_module.Error as error:
            line = next((line for line in said.splitlines() if line.startswith("memtool: ")), "")[len("memtool: "):]
            if code in (0, 1, 4) or str(error) != line:
                faults.append(f"{path}: {command} {options}: {error}; the program: {code} {line}")
        else:
            document = json.loads(out) if code in (0, 1, 4) else None
            found = [f"answered; the program: {said}"] if document is None else list(differences(answer, document))
            faults += [f"{path}: {command} {options}: {fault}" for fault in found]
        compared += 1
    return compared, faults


def inputs(folders, most):
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if (path.is_file() and path.suffix not in NO_INPUTS and not LEFT_OUT.intersection(path.parts)
                    and path.stat().st_size <= most):
                yield str(path)


# --- inside: what only Python has ---

class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.names = set()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)


class OnlyPython(PackageTest):
    def test_pandas_takes_columns_without_a_copy(self):
        import numpy
        events = self.run_.events()
        frame = events.to_pandas()
        self.assertEqual(frame.shape, (len(events), len(list(events))))
        for key, column in events.items():
            array = frame[key].array
            kind = frame[key].dtype.name
            memory = (array.codes if kind == "category" else array._data if kind[0] in "IU" else frame[key].to_numpy())
            self.assertTrue(numpy.shares_memory(memory, numpy.asarray(column.data)), key)

    def test_pandas_has_the_values(self):
        import pandas
        for answer in (self.run_.events(), self.run_.top(), self.run_.steps()):
            plain = pandas.DataFrame(answer)
            typed = answer.to_pandas()
            for key, column in answer.items():
                for frame in (plain, typed):
                    values = [None if not isinstance(value, (list, dict)) and pandas.isna(value) else value
                              for value in frame[key].astype(object)]
                    self.assertEqual(values, column.to_list(), key)

    def test_numbers_beyond_floats_stay_exact(self):
        import numpy
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/big.csv"
            size = 2**62 + 1
            Path(path).write_text(f'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
                                  f'"a",{size},0,{size},0\n"b",1,0,1,0\n')
            column = self.memtool.load(path).top()["flat"]
            self.assertEqual(max(column), size)
            self.assertEqual(int(numpy.asarray(column).max()), size)

    def test_arrow(self):
        for answer in (self.run_.events(), self.run_.top(), self.run_.segments(),
                       self.run_.timeline(by="function")):
            table, addresses = arrow_table(answer)
            self.assertEqual(list(table), list(answer))
            for (key, column), address in zip(answer.items(), addresses):
                self.assertEqual(table[key], column.to_list(), key)
                if column.data is not None and column.data.format != "?":
                    self.assertEqual(address, address_of(column.data), key)

    def test_nested_columns_are_json_in_arrow(self):
        answer = self.run_.flame()
        nested = [key for key, column in answer.items() if column.data is None]
        table, _ = arrow_table(answer)
        for key in nested:
            self.assertEqual([None if text is None else json.loads(text) for text in table[key]],
                             answer[key].to_list())

    def test_answers_outlive_recordings(self):
        column = self.memtool.load(self.path).events()["size"]
        data = column.data
        del column
        self.assertEqual(sum(data), sum(self.run_.events()["size"]))

    def test_threads(self):
        answers, errors = {}, []
        recording = self.memtool.load(self.path)

        def ask(number):
            try:
                answers[number] = [recording.at(moment).top(by="line").to_pandas().to_dict()
                                   for moment in ("peak", "end", "event:100", "start")]
                answers[number].append(recording.ask("dot"))
                with tempfile.TemporaryDirectory() as folder:
                    recording.ask("convert", to="pprof", output=f"{folder}/x.pb.gz")
                    answers[number].append(Path(folder, "x.pb.gz").read_bytes())
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertTrue(all(str(answers[number]) == str(answers[0]) for number in range(8)))

    def test_other_threads_run_while_it_reads(self):
        # Reading from a pipe takes as long as its writer likes.
        reader, writer = os.pipe()
        data = Path(self.path).read_bytes()
        done = []
        thread = threading.Thread(target=lambda: done.append(self.memtool.load(f"/dev/fd/{reader}")))
        thread.start()
        os.write(writer, data[:1000])
        self.assertEqual(done, [])  # this line runs although load has not returned
        os.write(writer, data[1000:])
        os.close(writer)
        thread.join()
        os.close(reader)
        self.assertEqual(done[0].info().rows, self.run_.info().rows)

    def test_moments_and_bases(self):
        start = self.run_.at("start")
        grown = self.run_.diff(start)
        self.assertEqual(grown.figures["total"], sum(grown["delta"]))
        self.assertEqual([entry["moment"] for entry in grown.inputs], ["start", "peak"])
        self.assertEqual(self.run_.moment, "peak")

    def test_a_file_that_changed_under_its_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "now.prof"
            profiles = Path(self.testdata) / "pprof/jax_leak"
            path.write_bytes((profiles / "memory1.prof").read_bytes())
            before = self.memtool.load(path)
            path.write_bytes((profiles / "memory9.prof").read_bytes())
            after = self.memtool.load(path)
            path.unlink()
            self.assertEqual(after.diff(before).figures["total"],
                             self.memtool.load(profiles / "memory9.prof").diff(
                                 self.memtool.load(profiles / "memory1.prof")).figures["total"])

    def test_what_is_wrong_is_said(self):
        memtool = self.memtool
        with self.assertRaises(memtool.UsageError) as caught:
            self.run_.top(by="colour")
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaisesRegex(TypeError, "did you mean focus"):
            self.run_.top(focuss="x")
        with self.assertRaisesRegex(TypeError, "True or False"):
            self.run_.top(cum="yes")
        with self.assertRaises(memtool.UsageError):
            memtool.ask("topp", self.path)
        with self.assertRaises(memtool.UsageError):
            memtool.load(self.path).at("sometime").top()
        with self.assertWarnsRegex(memtool.MemtoolWarning, "matched nothing"):
            self.run_.top(focus="no such function")
        damaged = sorted(Path(self.testdata, "pprof/malformed").glob("*.pb"))
        with self.assertRaises(memtool.InputError) as caught:
            memtool.load(damaged[0])
        self.assertTrue(caught.exception.message)

    def test_the_process_is_not_bounded(self):
        import resource
        self.run_.top()
        self.assertEqual(resource.getrlimit(resource.RLIMIT_DATA)[0], resource.RLIM_INFINITY)

    def test_text_where_there_are_no_rows(self):
        self.assertIn("flat", self.run_.top(format="csv", columns="flat,name"))
        self.assertTrue(self.run_.ask("raw"))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_.ask("convert", to="pprof", output=f"{folder}/x.pb.gz"), "")
            self.assertTrue(Path(folder, "x.pb.gz").stat().st_size > 0)

    def test_columns_that_were_asked_for(self):
        answer = self.run_.events(columns=["size", "event"], n=5)
        self.assertEqual(list(answer), ["size", "event"])
        self.assertEqual(answer.rows, 5)

    def test_thresholds(self):
        base = self.memtool.load(f"{self.testdata}/pprof/jax_leak/memory1.prof")
        new = self.memtool.load(f"{self.testdata}/pprof/jax_leak/memory9.prof")
        self.assertEqual(new.diff(base, fail_on_growth="1%").code, 1)
        self.assertEqual(new.diff(base, fail_on_growth="99%").code, 0)

    def test_hostile_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "h.csv"
            name = b"<script>alert(1)</script>\xff\x1b[31m&\xe2\x80\xae"
            path.write_bytes(b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n"' + name +
                             b'",7,0,7,0\n"' + name[:-4] + b'\xfe",5,0,5,0\n')
            answer = self.memtool.load(path).top()
            shown = answer._repr_html_()
            tags = Tags()
            tags.feed(shown)
            self.assertEqual(tags.names, {"pre"})
            self.assertIn("�", "".join(answer["name"]))
            answer.to_pandas()
            str(answer)

    def test_the_lines_of_the_readme(self):
        root = Path(__file__).resolve().parents[2]
        snapshot = root / "testdata/ranks/stages/memory_snapshot/iteration_10/rank2_memory_snapshot.pickle"
        block = (root / "README.md").read_text().split("```python\n")[1].split("```")[0]
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(snapshot, f"{folder}/snapshot.pickle")
            before = os.getcwd()
            os.chdir(folder)
            try:
                exec(block, {})  # pylint: disable=exec-used
            finally:
                os.chdir(before)

    def test_notebooks(self):
        shown = self.run_.top()._repr_html_()
        self.assertIn("118.00 MiB", shown)
        self.assertIn("SAVES", shown)
        self.assertIn("765 more", self.run_.events(n=3).text())
        self.assertIn("NO OUT-OF-MEMORY EVENT", self.run_.oom()._repr_html_())

    def test_the_words_of_the_program(self):
        from memtool import _options as words
        for command, (_, options) in words.VOCABULARY.items():
            for option in options:
                self.assertEqual(words.option_of(command, words.keyword_of(option)), option)


def address_of(view):
    import numpy
    return numpy.asarray(view).ctypes.data


def inside(args):
    import memtool
    warnings.simplefilter("ignore", memtool.MemtoolWarning)
    Methods.program = staticmethod(lambda *words: program(args.memtool, *words))
    Methods.differences = staticmethod(differences)
    cases = (OnlyPython, Everywhere, Methods, Reading, Notebook)
    for case in cases:
        case.testdata = args.testdata
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    result = unittest.TextTestRunner().run(unittest.TestSuite(map(load, cases)))
    folders = [args.testdata, *filter(None, os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"))]
    compared, faults, files = 0, [], 0
    for path in inputs(folders, args.most):
        count, found = compare(memtool, args.memtool, path)
        compared, files, faults = compared + count, files + 1, faults + found
    for fault in faults[:40]:
        print(fault[:600])
    print(f"{compared} answers about {files} files compared, {len(faults)} faults")
    return 0 if result.wasSuccessful() and not faults and compared > 1000 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True)
    parser.add_argument("--wheel")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--most", type=int, default=1000000, help="the largest file, in bytes")
    parser.add_argument("--inside", action="store_true")
    args = parser.parse_args()
    return inside(args) if args.inside else outside(args)


if __name__ == "__main__":
    sys.exit(main())
