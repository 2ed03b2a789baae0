"""A part of what a test could try, another one each day: the ordinary run has not the time for all of it."""
import os
import random

SEED = os.environ.get("MEMTOOL_SAMPLE_SEED", "1")
WHOLE = os.environ.get("MEMTOOL_TEST_FULL") == "1"


def share(items, parts, salt=""):
    """-> one of `parts` equal parts of the items, in their order, drawn by MEMTOOL_SAMPLE_SEED; `salt` tells draws of one
    test apart. At least one, and all of them with MEMTOOL_TEST_FULL=1."""
    items = list(items)
    if WHOLE or not items:
        return items
    kept = random.Random(f"{SEED} {salt}").sample(range(len(items)), -(-len(items) // parts))
    return [items[at] for at in sorted(kept)]


def told():
    """-> how what was drawn is drawn again"""
    return "" if WHOLE else f" (a sample, MEMTOOL_SAMPLE_SEED={SEED})"
