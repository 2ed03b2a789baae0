"""Every question is a method, says what it answers, and shows its first rows."""
import ast
import inspect
import json
import os
import pydoc
import re
import tempfile
import unittest
import unicodedata
from pathlib import Path

# Commands whose answer is text or a file: `ask` has them.
NO_METHODS = {"index", "dot", "svg", "web", "report", "page", "raw", "convert", "cut", "merge", "help"}
# Each method: arguments, and the same for the program; {} is testdata.
ASKED = {
    "overview": ([], {}, []),
    "top": (["line"], {"n": 3}, ["--by", "line", "-n", "3"]),
    "diff": (["{}/steps/new.json.gz"], {"by": "module"}, ["--by", "module"]),
    "buckets": ([], {"entries": 2}, ["--entries", "2"]),
    "account": ([], {"capacity": 80 << 30}, ["--capacity", str(80 << 30)]),
    "tags": ([], {}, []),
    "tree": (["line"], {}, ["--by", "line"]),
    "peek": (["mlp|linear"], {"at": "end"}, ["--at", "end"]),
    "flame": ([], {"at": "end"}, ["--at", "end"]),
    "traces": ([], {"n": 4}, ["-n", "4"]),
    "timeline": (["function"], {"points": 9, "from_": "event:5"},
                 ["--by", "function", "--points", "9", "--from", "event:5"]),
    "steps": ([], {"found_by": "phase"}, ["--found-by", "phase"]),
    "segments": ([], {}, []),
    "events": ([], {"action": ["alloc", "free"], "n": 7}, ["--action", "alloc,free", "-n", "7"]),
    "oom": ([], {"at": "peak"}, ["--at", "peak"]),
    "ranks": (["{}/steps/new.json.gz"], {}, []),
    "check": ([], {"budget": "{}/steps/budget.yaml"}, ["--budget", "{}/steps/budget.yaml"]),
    "whatif": (["max_split_size_mb:64"], {"card": "24GiB", "fit": True},
               ["--conf", "max_split_size_mb:64", "--card", "24GiB", "--fit"]),
    "advise": ([], {"card": "1536MiB", "headroom": "5%"}, ["--card", "1536MiB", "--headroom", "5%"]),
    "fit": (["{}/fit/train_512.json.gz"], {"x": ["batch=256", 512], "at_x": [1024, 2048]},
            ["--x", "batch=256,512", "--at-x", "1024,2048"]),
    "leaks": ([], {"all": True}, ["--all"]),
    "info": ([], {}, []),
}
OF_FIT = "{}/fit/train_256.json.gz"
OF_OTHERS = "{}/steps/base.json.gz"


def cells(text):
    """How wide a terminal shows it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Methods(unittest.TestCase):
    testdata = ""
    program = None  # words → (code, bytes, what it said)
    differences = None

    @classmethod
    def setUpClass(cls):
        import memtool
        from memtool import _options, _questions
        cls.memtool, cls.options, cls.questions = memtool, _options, _questions.Questions
        cls.methods = {name: method for name, method in vars(cls.questions).items() if not name.startswith("_")}
        cls.run_ = memtool.load(OF_OTHERS.format(cls.testdata))

    def filled(self, value):
        return value.format(self.testdata) if isinstance(value, str) else value

    def asked(self, name):
        """-> the answer of a method, and the program's words for the same"""
        args, keywords, words = ASKED[name]
        args = [self.filled(one) for one in args]
        file = self.filled(OF_FIT if name == "fit" else OF_OTHERS)
        recording = self.memtool.load(file) if name == "fit" else self.run_
        answer = getattr(recording, name)(*args, **{key: self.filled(value) for key, value in keywords.items()})
        others = args if name in ("ranks", "fit") else []
        names = [*args, file] if name in ("diff", "peek") else [file, *others]
        return answer, [name, "--format", "json", *map(self.filled, words), "--", *names]

    def test_each_command_with_data_is_a_method(self):
        self.assertEqual(set(self.methods), set(self.options.VOCABULARY) - NO_METHODS)
        self.assertEqual(set(self.methods), set(ASKED))

    def test_methods_answer_as_the_program(self):
        for name in self.methods:
            with self.subTest(name):
                answer, words = self.asked(name)
                code, out, said = type(self).program(*words)
                self.assertEqual(answer.code, code, said)
                self.assertEqual(list(type(self).differences(answer, json.loads(out))), [])
                if "n" not in ASKED[name][1]:
                    self.assertEqual(answer.json(), json.loads(out))  # has all rows
                self.assertTrue(answer.text().strip())

    def test_columns_in_the_help_are_there(self):
        for name, method in self.methods.items():
            said = re.search(r"^Columns: (.*?)(?:\n\n|\Z)", method.__doc__, re.M | re.S)
            if name == "peek":
                self.assertIn("columns as in tree()", method.__doc__)
                continue
            words = re.sub(r"\([^)]*\)", "", said.group(1)).replace("the layers", "")
            columns = set(re.findall(r"\w+", words)) - {"and"}
            self.assertTrue(columns, name)
            self.assertEqual(columns - set(self.asked(name)[0]), set(), name)
        self.assertIn("peak_without", self.run_.top(at="peak"))

    def test_units_in_the_help_are_those_of_columns(self):
        for name, method in self.methods.items():
            said = re.search(r"^Columns: (.*?)(?:\n\n|\Z)", method.__doc__, re.M | re.S)
            if not said:
                continue
            answer = self.asked(name)[0]
            for *columns, unit in re.findall(r"(\w+)(?: and (\w+))? \((bytes|microseconds|uint64)", said.group(1)):
                for column in filter(None, columns):
                    self.assertEqual(answer[column].unit, {"uint64": "address"}.get(unit, unit), f"{name}: {column}")

    def test_options_are_keywords_and_explained(self):
        left_out = {"ascii", "color", "file", "files-from", "format", "help", "hyperlinks", "input-format", "output", "plot",
                    "plot-width", "print-frames", "print-keywords", "print-patterns", "quiet", "same-scale", "theme"}
        for name, method in self.methods.items():
            signature = inspect.signature(method).parameters
            shown = pydoc.plain(pydoc.render_doc(method))
            for option, (_, about, letter, _) in self.options.VOCABULARY[name][1].items():
                keyword = letter if letter == "n" else self.options.keyword_of(option)
                self.assertEqual(keyword in signature, bool(about) and option not in left_out, f"{name}: {option}")
                if keyword in signature:
                    self.assertRegex(shown, rf"\n +{keyword}(=|: )", f"{name}: {option}")
        self.assertIn("from_", inspect.signature(self.run_.timeline).parameters)

    def test_type_hints_have_the_same(self):
        stub = Path(inspect.getfile(self.questions)).with_suffix(".pyi")
        klass = next(node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ClassDef))
        hinted = {node.name: node for node in klass.body
                  if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
        self.assertEqual(list(hinted), list(self.methods))
        for name, node in hinted.items():
            every = [*node.args.args, *([node.args.vararg] if node.args.vararg else []), *node.args.kwonlyargs]
            self.assertEqual([one.arg for one in every], list(inspect.signature(self.methods[name]).parameters), name)
            self.assertTrue(all(one.annotation for one in every[1:]), name)
            self.assertEqual(ast.get_docstring(node), inspect.getdoc(self.methods[name]).strip(), name)
            self.assertEqual(node.returns.id, "Answer")
        hints = {one.arg: ast.unparse(one.annotation) for one in hinted["top"].args.kwonlyargs}
        self.assertEqual([hints["n"], hints["cum"], hints["own"]],
                         ["int", "bool", "Optional[Union[str, Sequence[str]]]"])

    def test_a_moment_is_said_once(self):
        run = self.memtool.load(self.run_.path, at="peak")
        for name in self.methods:
            if name in ("fit", "ranks", "diff", "peek"):
                continue
            with self.subTest(name):
                getattr(run, name)(**({"budget": self.filled("{}/steps/budget.yaml")} if name == "check" else {}))
        self.assertEqual(run.top().inputs[0]["moment"], "peak")
        self.assertEqual(run.top().to_pandas().to_dict(), self.run_.top(at="peak").to_pandas().to_dict())
        # The rest of the run counts as well.
        self.assertEqual(run.whatif().figures["fidelity"], self.run_.whatif().figures["fidelity"])
        for wrong in ("sometime", "event:x"):
            with self.assertRaisesRegex(self.memtool.UsageError, wrong):
                self.memtool.load("/nowhere/at/all", at=wrong)  # before anything is read

    def test_len_counts_rows(self):
        events = self.run_.events(n=7)
        self.assertEqual((len(events), len(events["size"]), len(list(events))), (7, 7, len(events.keys())))
        nothing = self.run_.leaks(focus="matches nothing at all")
        self.assertEqual((len(nothing), bool(nothing), bool(events)), (0, False, True))
        self.assertIn("0 rows", repr(nothing))

    def test_repr_has_the_first_rows(self):
        lines = repr(self.run_.events()).split("\n")
        self.assertRegex(lines[0], r"^<memtool.Answer of events: 768 rows, \d+ columns>$")
        self.assertEqual(lines[1].split()[:4], ["event", "device", "action", "size"])
        self.assertIn("bytes", lines[2])
        self.assertEqual([line.split()[0] for line in lines[3:13]], [str(row) for row in range(10)])
        self.assertEqual(lines[13], "… 758 more rows")
        self.assertRegex(lines[14], "^… columns .*, file")
        # Numbers end, and text begins, in one place.
        ends = {re.search(r"\d+(?=  0x)", line).end() for line in lines[3:13]}
        self.assertEqual(len(ends), 1)
        short = repr(self.run_.tags(tagshow="device"))
        self.assertIn(f"{self.run_.tags(tagshow='device').rows} row", short)
        self.assertNotIn("more row", short)

    def test_repr_of_hostile_names(self):
        names = [b"\x1b[2J\x1b[31mred", b"two\nlines\r", "\u202egnp.exe".encode(), b"\xff\xfe", b"a" * 100000,
                 "漢字かな交じり文".encode() * 30, b"\x00\x7f\x9b", "e\u0301\u2028end".encode()]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), b"\x1b[1mh\xff\n.csv")
            rows = b"".join(b'"%s",%d,0,%d,0\n' % (name, 9 - row, 9 - row) for row, name in enumerate(names))
            Path(os.fsdecode(path)).write_bytes(
                b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n' + rows)
            run = self.memtool.load(path)
            answers = [run.top(), run.traces(), run.info(), run.flame()]
            self.assertGreater(len(answers[0]), 4)
            for shown in map(repr, [run, run.at("\x1b[1m"), answers[0]["name"], *answers]):
                for line in shown.split("\n"):
                    self.assertTrue(line.isprintable(), ascii(line))
                    self.assertLessEqual(cells(line), 260 if line.startswith("<") else 100, ascii(line))
            # What stands behind names of all widths stands in one place.
            rows = [line for line in repr(answers[0]).split("\n")[3:] if not line.startswith("…")]
            self.assertEqual(len({cells(row[:row.rindex("  -  ")]) for row in rows}), 1, rows)


if __name__ == "__main__":
    unittest.main()
