#!/usr/bin/env python3
"""The capture shim against a driver of our own, whose books must agree with the log exactly.

usage: run_tests.py TEST --memtool PATH --shim PATH --programs DIR   (exit 77: skipped)
"""
import argparse
import shutil
import sys

import tests_calls
import tests_cudart
import tests_hostile
import tests_process
import tests_join
import tests_loading
import tests_log
import tests_run
import tests_source
import tests_stacks
import tests_unwinding
from harness import Env

MODULES = (tests_calls, tests_cudart, tests_hostile, tests_join, tests_loading, tests_log,
           tests_process, tests_run, tests_source, tests_stacks, tests_unwinding)
TESTS = {name[5:]: test for module in MODULES for name, test in vars(module).items()
         if name.startswith("test_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("test", choices=sorted(TESTS))
    for name in ("--memtool", "--shim", "--programs"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    env = Env(args)
    try:
        return TESTS[args.test](env) or 0
    finally:
        shutil.rmtree(env.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
