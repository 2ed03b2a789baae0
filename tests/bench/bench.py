#!/usr/bin/env python3
"""Times memtool against other programs on the same inputs, turn by turn.

usage: bench.py --memtool PATH [--cases A,B] [--scaling] [--json OUT] [--report MD] [--plot SVG]
       bench.py --results JSON --report MD --plot SVG
       bench.py --compare OLD NEW [--instructions] [--cases A,B] [--fail]

The result is the ratio of least values, memtool / peer: a busy machine only ever makes a run slower.
Goals are shown beside it and never asserted.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

import bench_plot
import bench_report
import compare
import scaling
from bench_cases import case_table, input_table
from figures import short, show
from measuring import ROOT, cached, default_cache, in_turns, machine, rss_floor, size_of, summary, versions


def run_case(case, files, names, runs):
    commands = [case.ours(*files), case.peer(*files)]
    runs = max(runs, case.runs)
    ours, peer = in_turns(commands, runs)
    result = {"case": case.name, "peer": case.peer_name, "short": short(commands[0], names), "runs": runs,
              "goal": case.goal, **summary(ours, peer), "rss_floor": rss_floor()}
    if case.rate:
        amount = sum(map(size_of, files)) if case.rate == "read" else ours[0]["written"]
        result.update(rate=case.rate, bytes=amount, mb_s=amount / 1e6 / result["cpu"]["memtool"])
    return {**result, "all_runs": {"memtool": ours, "peer": peer}}


def program(parser, name):
    found = shutil.which(name)
    if not found:
        parser.error(f"no program {name}")
    return str(Path(found).resolve())


def chosen(parser, args, cases):
    if args.cases == "none":
        return []
    if not args.cases:
        return [c for c in cases if args.slow or not c.slow]
    wanted = args.cases.split(",")
    unknown = set(wanted) - {c.name for c in cases}
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are: {', '.join(c.name for c in cases)}")
    return [c for c in cases if c.name in wanted]


def inputs(args, case):
    table = input_table(args.samples)
    return [str(cached(args.cache, *table[name])) for name in case.files]


def each(cases, run):
    """-> the results of run(case); what cannot run is said and goes on"""
    for case in cases:
        try:
            result = run(case)
        except RuntimeError as error:
            print(f"\n{case.name}: could not run: {error}", flush=True)
            result = {"case": case.name, "peer": case.peer_name, "goal": case.goal, "error": str(error)}
        if result:
            yield result


def run_cases(memtool, args, cases, results):
    def run(case):
        files = inputs(args, case)
        peer = case.peer(*files)[0]
        if not shutil.which(peer):
            print(f"\n{case.name}: skipped, {peer} is not installed", flush=True)
            return None
        for name, path in zip(case.files, files):
            results["inputs"][name] = size_of(path)
        names = dict(zip(files, case.files))
        result = run_case(case, files, {memtool: "memtool", **names}, args.runs)
        print("\n".join(show(result)), flush=True)
        return result

    for result in each(cases, run):
        results["results"].append(result)
        keep(args, results)


def run_compare(parser, args):
    old, new = (program(parser, name) for name in args.compare)
    cases = chosen(parser, args, [c for c in case_table(old, args.samples) if not c.slow])
    if args.instructions:
        what, head, line = "instructions of one run each", compare.COUNT_HEAD, compare.count_line
        one = lambda case: compare.count_case(case, old, new, inputs(args, case))
    else:
        what, head, line = f"least CPU of {args.runs} runs each, in turns; most memory", compare.HEAD, compare.line
        one = lambda case: compare.compare_case(case, old, new, inputs(args, case), args.runs)
    print(f"old: {old}\nnew: {new}\n{what}\n\n{head}", flush=True)
    results = []

    def run(case):
        result = one(case)
        print(line(result), flush=True)
        return result

    for result in each(cases, run):
        results.append(result)
        keep(args, {"compare": [old, new], "machine": machine(), "samples": args.samples, "results": results})
    return 1 if args.fail and any(map(compare.is_slower, results)) else 0


def keep(args, results):
    """After each case, so that an interrupted run is not lost."""
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")


def repeatable(words):
    """The command line without folders of this machine."""
    def word(text):
        path = Path(text)
        if not path.is_absolute():
            return text
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    return " ".join(["tests/bench/bench.py", *map(word, words)])


def run_all(parser, args):
    memtool = program(parser, args.memtool)
    results = {"command": repeatable(sys.argv[1:]), "versions": versions(memtool), "machine": machine(),
               "samples": args.samples, "runs": args.runs, "inputs": {}, "results": [], "scaling": []}
    for name, text in results["versions"].items():
        print(f"{name:8} {text or 'not installed'}")
    print(f"{'machine':8} {bench_report.machine_words(results['machine'])}", flush=True)
    run_cases(memtool, args, chosen(parser, args, case_table(memtool, args.samples)), results)
    if args.scaling:
        print()
        for kind in scaling.COMMANDS:
            for result in scaling.run_kind(memtool, args.cache, kind, args.sizes, args.runs):
                print(scaling.line(result), flush=True)
                results["scaling"].append(result)
                keep(args, results)
    keep(args, results)
    return results


def arguments(parser):
    parser.add_argument("--memtool", help="the program")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="two builds instead of peers")
    parser.add_argument("--instructions", action="store_true",
                        help="with --compare: count instructions (valgrind), which depend on no other work")
    parser.add_argument("--fail", action="store_true",
                        help="with --compare: exit 1 where NEW is slower beyond noise, or executes over 2 %% more")
    parser.add_argument("--results", type=Path, help="run nothing: figures that --json wrote")
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5, help="per program and case, after one to warm up (default 5)")
    parser.add_argument("--cases", help="names, separated by commas, or none (default: all that are not slow)")
    parser.add_argument("--slow", action="store_true", help="also cases whose peer takes minutes")
    parser.add_argument("--scaling", action="store_true", help="also time and memory at three sizes of input")
    parser.add_argument("--sizes", type=lambda text: sorted(map(int, text.split(","))), default=scaling.SIZES,
                        help="other sizes for --scaling, separated by commas")
    parser.add_argument("--cache", type=Path, default=default_cache(), help=f"inputs (default {default_cache()})")
    parser.add_argument("--json", type=Path, help="write all figures and every single run here")
    parser.add_argument("--report", type=Path, help="write a page here, Markdown")
    parser.add_argument("--plot", type=Path, help="write its picture here, SVG")
    return parser.parse_args()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args = arguments(parser)
    if sum(map(bool, (args.memtool, args.compare, args.results))) != 1:
        parser.error("one of --memtool, --compare and --results")
    if args.runs < 1:
        parser.error("--runs: at least 1")
    if args.compare:
        return run_compare(parser, args)
    results = json.loads(args.results.read_text()) if args.results else run_all(parser, args)
    if args.report:
        args.report.write_text(bench_report.page(results, args.plot))
    if args.plot:
        args.plot.write_text(bench_plot.draw(results["results"]))
    return 1 if not args.results and any("error" in r for r in results["results"]) else 0


if __name__ == "__main__":
    sys.exit(main())
