"""What the tests that decode files of their own have in common: their options, and how they end."""
import argparse
from pathlib import Path


def options(doc, **more):
    """--memtool, --testdata, and further ones with their defaults: flips=200."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    for name, value in more.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def verdict(faults, looked=None, least=0):
    """Prints the faults; the exit status. `looked`: how many files were compared, of which `least` must be."""
    for fault in faults:
        print(fault)
    print(f"{'' if looked is None else f'{looked} files, '}{len(faults)} faults")
    return 1 if faults or (looked or 0) < least else 0
