"""The source's folders: includes go one way."""
import re

from harness import same

# Each folder includes itself and what it names here, as README.md says.
BELOW = {
    "base": set(),
    "objects": {"base"},
    "log": {"base"},
    "stacks": {"base", "objects", "log"},
    "record": {"base", "log", "stacks"},
    "providers": {"base", "objects", "record"},
    "cuda": {"base", "objects", "record", "providers"},
    "hip": {"base", "record", "providers"},
    "cupti": {"base", "objects", "record", "providers", "cuda"},
    "intercept": {"base", "objects", "record", "providers", "cuda", "hip"},
}


def test_folders(env):
    source = env.sources.parent / "src"
    same(set(BELOW), {path.name for path in source.iterdir() if path.is_dir()}, "folders")
    order = list(BELOW)
    for folder, below in BELOW.items():
        assert all(order.index(other) < order.index(folder) for other in below), folder
        used = {found for path in (source / folder).iterdir()
                for found in re.findall(r'^#include "(\w+)/', path.read_text(), re.M)}
        same(set(), used - below - {folder}, f"{folder}/ includes what is not below it")
