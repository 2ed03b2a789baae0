#!/usr/bin/env python3
"""Tests of bench.py's arithmetic and page; nothing is timed."""
import json
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

import compare
import figures
import measuring
import scaling
from bench_cases import case_table, input_table

HERE = Path(__file__).resolve().parent


def runs(*cpu, wall=None, rss=10.0):
    return [{"cpu": c, "wall": wall or c, "rss": rss, "written": 0} for c in cpu]


def result(name, ours, peer, goal, **more):
    return {"case": name, "peer": "gzip -dc", "short": f"memtool {name} a|b", "runs": len(ours), "goal": goal,
            "rss_floor": 1.0, **measuring.summary(ours, peer), **more}


class Noise(unittest.TestCase):
    def test_a_change_beyond_the_least_noise(self):
        said = lambda old, new: compare.verdict(old, new)["verdict"]
        self.assertEqual(said([1.0, 1.0, 1.0, 1.0], [1.03, 1.03, 1.03, 1.03]), "slower")
        self.assertEqual(said([1.0, 1.0, 1.0, 1.0], [1.01, 1.01, 1.01, 1.01]), "within noise")
        self.assertEqual(said([1.0, 1.0, 1.0, 1.0], [0.9, 0.9, 0.9, 0.9]), "faster")

    def test_either_build_makes_the_noise(self):
        quiet, loud = [1.0, 1.0, 1.0, 1.0], [1.05, 1.20, 1.05, 1.20]
        for old, new in ((quiet, loud), (loud, quiet)):
            found = compare.verdict(old, new)
            self.assertEqual(found["verdict"], "within noise")
            self.assertAlmostEqual(found["noise"], 1.20 / 1.05 - 1)

    def test_a_drift_is_noise_too(self):
        # Every other run agrees with the others; the earlier half does not agree with the later one.
        self.assertAlmostEqual(compare.noise([1.0, 1.0, 1.5, 1.5]), 0.5)

    def test_one_disturbed_run_is_not(self):
        self.assertAlmostEqual(compare.noise([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]), 0.0)

    def test_one_run_has_no_halves(self):
        self.assertEqual(compare.verdict([1.0], [1.5])["noise"], compare.LEAST_NOISE)

    def test_memory(self):
        self.assertEqual(compare.memory_verdict([100, 90], [106, 90])["verdict"], "grew")
        self.assertEqual(compare.memory_verdict([100, 90], [104, 104])["verdict"], "")

    def test_instructions(self):
        said = lambda old, new: compare.count_verdict(old, new)["verdict"]
        self.assertEqual([said(1000, 1021), said(1000, 1019), said(1000, 979)], ["more", "", "less"])
        self.assertTrue(compare.is_slower({"instructions": compare.count_verdict(1000, 1021)}))
        self.assertFalse(compare.is_slower({"case": "x", "error": "exit 1"}))


class Figures(unittest.TestCase):
    def test_the_ratio_is_of_least_times_and_most_memory(self):
        found = measuring.summary(runs(3.0, 1.0) + runs(5.0, rss=20.0), runs(2.0, 8.0, 4.0))
        self.assertEqual(found["cpu"]["ratio"], 0.5)
        self.assertEqual(found["cpu"]["medians"]["memtool"], 3.0)
        self.assertEqual(found["rss"]["ratio"], 2.0)

    def test_turns_alternate_and_results_stay_with_their_command(self):
        order, real = [], measuring.measure
        measuring.measure = lambda command: order.append(command) or command
        try:
            self.assertEqual(measuring.in_turns(["a", "b"], 3), [["a"] * 3, ["b"] * 3])
        finally:
            measuring.measure = real
        self.assertEqual("".join(order), "ab" "abbaab")

    def test_what_is_written_is_measured_and_removed(self):
        found = measuring.measure([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('x' * 1234)",
                                   f"{measuring.FOLDER}/file"])
        self.assertEqual(found["written"], 1234)

    def test_a_failed_run_is_an_error(self):
        with self.assertRaisesRegex(RuntimeError, "exit 3: alas"):
            measuring.measure([sys.executable, "-c", "import sys; print('alas', file=sys.stderr); sys.exit(3)"])

    def test_units(self):
        self.assertEqual([figures.seconds(s) for s in (0.0042, 0.0994, 0.1, 1.2345, 12.345, 1234.5)],
                         ["4.2 ms", "99.4 ms", "0.100 s", "1.23 s", "12.3 s", "1,234 s"])
        self.assertEqual(figures.goal_value("cpu", 1 / 16), "1/16")
        self.assertEqual(figures.goal_value("cpu", 0.85), "0.85")


class PowerLaw(unittest.TestCase):
    def test_exact_data(self):
        for k in (0, 0.5, 1, 2):
            points = [(x, 7 * x ** k) for x in (200_000, 2_000_000, 10_000_000)]
            self.assertAlmostEqual(scaling.exponent(points), k)

    def test_the_larger_sizes_by_themselves(self):
        points = [{"rows": x, "cpu": y} for x, y in ((10, 5), (1000, 80), (100, 8))]
        self.assertAlmostEqual(scaling.fitted(points, "cpu")["larger"], 1.0)
        self.assertLess(scaling.fitted(points, "cpu")["all"], 0.9)

    def test_one_point_has_none(self):
        self.assertIsNone(scaling.exponent([(10, 1.0)]))


class Cases(unittest.TestCase):
    def test_names_inputs_and_goals_are_known(self):
        cases, inputs = case_table("memtool", 1000), input_table(1000)
        self.assertEqual(len({c.name for c in cases}), len(cases))
        self.assertEqual(len({name for name, _ in inputs.values()}), len(inputs))
        for case in cases:
            self.assertLessEqual(set(case.files), set(inputs), case.name)
            self.assertLessEqual(set(case.goal), set(figures.SAID), case.name)
            self.assertEqual(bool(case.rate), "mb_s" in case.goal, case.name)
            self.assertEqual(case.rate == "written",
                             bool(case.rate) and any(measuring.FOLDER in w for w in case.ours(*case.files)), case.name)


class Page(unittest.TestCase):
    STORED = {
        "command": "tests/bench/bench.py --memtool memtool --json results.json", "samples": 1000, "runs": 2,
        "versions": {"memtool": "memtool 0.1.0", "gzip": "gzip 1.12", "rg": None, "python": "3.11"},
        "machine": {"cpu": "Some CPU", "cores": 2, "memory_gib": 8, "load": 0.1}, "inputs": {"base.pb.gz": 1_500_000},
        "results": [
            result("quick", runs(0.5, 0.6), runs(1.0, 1.1), {"cpu": 0.5, "wall": 0.4}),
            result("heavy", runs(2.0, rss=400.0), runs(1.0), {"cpu": 3, "rss_mib": 300}),
            result("writes", runs(2.0), runs(1.0), {"mb_s": 100}, rate="written", mb_s=99.0),
            result("reads", runs(2.0), runs(1.0), {"mb_s": 100}, rate="read", mb_s=100.0),
            result("no-goal", runs(2.0), runs(1.0), {}),
            {"case": "broken", "peer": "wc -l", "goal": {"cpu": 1}, "error": "exit 3"}],
        "scaling": [{"kind": "pprof", "command": "top", "cpu": {"all": 0.98, "larger": 1.01},
                     "rss": {"all": 0.5, "larger": 0.75},
                     "points": [{"rows": n, "bytes": n, "cpu": n / 1e6, "rss": 20.0} for n in (200_000, 2_000_000)]}],
    }
    WANTED = {
        "quick": "| 0.500 s | 1.00 s | 0.500× | 0.500× | 10 |  | CPU 0.5 met, wall 0.4 **missed** |",
        "heavy": "| 2.00 s | 1.00 s | 2.00× | 2.00× | 400 |  | CPU 3 met, MiB 300 **missed** |",
        "writes": "| 10 | 99 | MB/s 100 **missed** |", "reads": "| 10 | 100 | MB/s 100 met |",
        "no-goal": "| 2.00× | 2.00× | 10 |  |  |", "broken": "| could not run |",
    }

    def test_every_case_with_its_verdicts(self):
        with tempfile.TemporaryDirectory() as folder:
            stored, page, plot = (Path(folder) / name for name in ("r.json", "page.md", "page.svg"))
            stored.write_text(json.dumps(self.STORED))
            done = subprocess.run([sys.executable, "-B", str(HERE / "bench.py"), "--results", str(stored), "--report",
                                   str(page), "--plot", str(plot)], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            lines, picture = page.read_text().splitlines(), plot.read_text()
        rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
        for name, wanted in self.WANTED.items():
            self.assertIn(wanted, rows[name])
        text = " ".join(lines)
        self.assertIn("7 goals: 3 met, 3 missed, 1 not measured.", text)
        self.assertIn("Some CPU, 2 cores", text)
        self.assertIn("page.svg", text)
        self.assertIn(self.STORED["command"], text)
        self.assertTrue(any(line.endswith("| 0.200 s | 2.00 s | 1.01 | 0.98 |") for line in lines))
        names = [node.firstChild.data for node in xml.dom.minidom.parseString(picture).getElementsByTagName("text")]
        for name in self.WANTED:
            self.assertEqual(name in names, name != "broken", name)
        self.assertIn("goal 0.5, met", names)


if __name__ == "__main__":
    unittest.main()
