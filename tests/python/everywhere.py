#!/usr/bin/env python3
"""What must work in every Python that the wheel is for: without pandas and NumPy, also in PyPy.

usage: everywhere.py TESTDATA      with the package importable
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

from package import PackageTest

HEADER = '"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
IS_CPYTHON = sys.implementation.name == "cpython"


class Everywhere(PackageTest):
    def program(self, *words, **options):
        """What the program of this Python's package does."""
        folder = os.path.dirname(os.path.dirname(self.memtool.__file__))
        line = f"import sys; sys.path.insert(0, {folder!r}); sys.argv = ['memtool', *sys.argv[1:]]; " \
            "import runpy; runpy.run_module('memtool', run_name='__main__', alter_sys=False)"
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([sys.executable, "-c", line, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False, **options)

    def test_columns(self):
        top = self.run_.top()
        self.assertEqual((len(top), top["flat"][0], top["name"][0], top["flat"].unit), (13, 50331648, "train_step", "bytes"))
        self.assertEqual(top["flat"].data.tolist(), top["flat"].to_list())
        self.assertTrue(top["flat"].data.readonly)
        self.assertEqual({column.data.format for column in top.values() if column.data is not None} - set("qQidhb?"), set())
        self.assertEqual(top.json()["rows"][0]["flat"], 50331648)
        self.assertIn("13 rows, ", repr(top))
        self.assertNotIn("13 columns", repr(top))
        self.assertIn("48.00 MiB", str(top))

    def test_missing_numbers_truths_and_lists(self):
        events = self.run_.events()
        self.assertTrue(any(column.missing is not None for column in events.values()))
        for answer in (events, self.run_.flame(), self.run_.traces(), self.run_.steps(), self.run_.segments()):
            for row, truth in zip(range(3), answer.json()["rows"]):
                for key, value in answer.row(row).items():
                    if key in truth and not str(truth[key]).startswith("0x"):
                        self.assertEqual(value, truth[key], (answer.question, key))

    def test_nothing_found(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nothing = self.run_.leaks(focus="matches nothing at all")
        self.assertEqual([column.to_list() for column in nothing.values()], [[]] * len(list(nothing.values())))

    def test_answers_outlive_what_they_are_of(self):
        data = self.memtool.load(self.path).events()["size"].data
        for _ in range(3):
            self.memtool.load(self.path).top()
        self.assertEqual(sum(data), sum(self.run_.events()["size"]))

    def test_errors(self):
        with self.assertRaises(FileNotFoundError) as caught:
            self.memtool.load("/nowhere/at/all")
        self.assertEqual(caught.exception.filename, "/nowhere/at/all")
        with self.assertRaises(self.memtool.UsageError):
            self.run_.top(by="colour")
        with self.assertRaises(ValueError):
            self.memtool.load("a\0b")
        with self.assertRaises(self.memtool.InputError) as damaged:
            self.memtool.load(sorted(Path(self.testdata, "pprof/malformed").glob("*.pb"))[0])
        self.assertTrue(damaged.exception.message)

    def test_progress(self):
        told = []
        self.memtool.load(self.path, progress=lambda *numbers: told.append(numbers))
        self.assertEqual(told[-1], (os.path.getsize(self.path),) * 2)

    def test_threads(self):
        totals = []
        threads = [threading.Thread(target=lambda: totals.append(sum(self.run_.events()["size"]))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(totals)), 1)
        self.assertEqual(len(totals), 6)

    def test_ctrl_c(self):
        reader, writer = os.pipe()
        os.write(writer, HEADER.encode())
        timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.memtool.load(f"/dev/fd/{reader}")
        timer.join()
        os.close(writer)
        time.sleep(0.1)
        os.close(reader)

    def test_arrow_where_there_are_capsules(self):
        if IS_CPYTHON:
            self.assertIn("arrow_array_stream", repr(self.run_.top().__arrow_c_stream__()))
        else:
            self.assertFalse(hasattr(self.run_.top(), "__arrow_c_stream__"))

    def test_help_has_the_options(self):
        import pydoc
        self.assertIn("frames=", pydoc.plain(pydoc.render_doc(self.run_.top)))

    def test_pictures(self):
        self.assertIn("digraph", self.run_.ask("dot"))
        with tempfile.TemporaryDirectory() as folder:
            for kind, begins in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
                self.run_.ask("timeline", plot=f"{folder}/x.{kind}", format="json")
                self.assertTrue(Path(folder, f"x.{kind}").read_bytes().startswith(begins), kind)

    def test_the_program(self):
        self.assertIn(self.memtool.__version__, self.program("--version").stdout.decode())
        done = self.program("top", "--format", "json", "--at", "peak", "-n", "0", self.path)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(done.stdout.decode()), self.run_.top().json())
        self.assertEqual(self.program("top", "/nowhere/at/all").returncode, 3)
        self.assertEqual(self.program("nonsense").returncode, 2)
        with open(self.path, "rb") as file:
            self.assertEqual(self.program("info", "-", stdin=file).returncode, 0)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.program("demo", cwd=folder).returncode, 0)
            self.assertTrue(list(Path(folder).rglob("*.pickle*")))
            done = self.program("run", "--", "sh", "-c", "exit 7", cwd=folder)
            self.assertEqual(done.returncode, 7, done.stderr)

    def test_the_program_ends_as_programs_do(self):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.argv[1:] = "
                                  "['top', '-']; from memtool.__main__ import main; print('begun', flush=True); main()",
                                  os.path.dirname(os.path.dirname(self.memtool.__file__))],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.assertEqual(child.stdout.readline(), b"begun\n")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=20), -signal.SIGINT)
        for stream in (child.stdin, child.stdout, child.stderr):
            stream.close()

    def test_the_program_ends_with_its_reader(self):
        reader, writer = os.pipe()
        os.close(reader)
        line = [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
                "from memtool.__main__ import main; sys.exit(main())", os.path.dirname(os.path.dirname(self.memtool.__file__))]
        done = subprocess.run([*line, "raw", self.path], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        its = subprocess.run([*line, "raw", self.path], stdout=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, its.returncode, done.stderr), (-signal.SIGPIPE, 0, b""))


if __name__ == "__main__":
    Everywhere.testdata = sys.argv.pop(1)
    unittest.main()
