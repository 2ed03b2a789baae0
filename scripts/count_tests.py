#!/usr/bin/env python3
"""Counts what a run of ctest did: names each failure, then "N passed, N failed, N skipped".

usage: count_tests.py RESULTS.xml CASES   (exit 1: something failed)

RESULTS.xml is ctest's --output-junit. A test that runs a binary of GoogleTest has a file in the
folder CASES, NAME.xml, and counts as the cases in it. An empty file means that the binary ended
before its last case: one failure, whatever its exit code was.
"""
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def verdict_of_test(test):
    """ctest: a test that could not be started is "notrun" like a skipped one, but failed."""
    if test.get("status") == "run":
        return "passed"
    skipped = test.find("skipped")
    if test.get("status") == "disabled" or (
            skipped is not None and skipped.get("message", "").startswith("SKIP_")):
        return "skipped"
    return "failed"


def verdict_of_case(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    ran = case.get("status") == "run" and case.get("result", "completed") == "completed"
    return "passed" if ran and case.find("skipped") is None else "skipped"


def verdicts(test, cases):
    """-> [(name, verdict)] of one test of ctest."""
    name, verdict = test.get("name"), verdict_of_test(test)
    path = cases / f"{name}.xml"
    if not path.exists() or verdict == "skipped":
        return [(name, verdict)]
    try:
        found = [(f"{name}: {case.get('classname')}.{case.get('name')}", verdict_of_case(case))
                 for case in ET.parse(path).getroot().iter("testcase")]
    except ET.ParseError:
        return [(f"{name}: ended before its last case", "failed")]
    if verdict == "failed" and all(of_case != "failed" for _, of_case in found):
        found.append((f"{name}: failed outside of its cases", "failed"))
    return found


def main():
    results, cases = Path(sys.argv[1]), Path(sys.argv[2])
    counts = dict(passed=0, failed=0, skipped=0)
    # Without a report no test ran.
    tests = ET.parse(results).getroot().iter("testcase") if results.exists() else []
    for test in tests:
        for name, verdict in verdicts(test, cases):
            counts[verdict] += 1
            if verdict == "failed":
                print(f"failed: {name}")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
