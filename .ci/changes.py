"""What changed since .ci/tidy-base, and what that can have touched. Shared by .ci/tidy, .ci/clang and .ci/headers.

.ci/tidy-base names the commit whose every source and header was found clean. Everything is looked at with
--full or MEMTOOL_CI_FULL=1, where that commit is not known, and when .clang-tidy changed.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("libprofile", "formats", "commands", "capture")


def git(*words):
    """-> what it prints, or None."""
    try:
        # The checkout may belong to another user.
        done = subprocess.run(["git", "-c", f"safe.directory={ROOT}", *words], cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.decode() if done.returncode == 0 else None


def changed_files():
    """-> the paths that changed since the base, or None for a full pass, and why."""
    if "--full" in sys.argv[1:] or os.environ.get("MEMTOOL_CI_FULL") == "1":
        return None, "asked for"
    stamp = ROOT / ".ci/tidy-base"
    base = stamp.read_text().split()[:1] if stamp.exists() else []
    if not base:
        return None, "no .ci/tidy-base"
    if git("merge-base", "--is-ancestor", *base, "HEAD") is None:
        return None, f"{base[0][:12]} of .ci/tidy-base is no ancestor here"
    # Including what is not committed.
    old = git("diff", "--name-only", "-z", "--no-renames", *base, "--")
    new = git("ls-files", "--others", "--exclude-standard", "-z")
    if old is None or new is None:
        return None, "git does not say what changed"
    paths = set((old + new).split("\0")) - {""}
    if ".clang-tidy" in paths:
        return None, ".clang-tidy changed"
    return paths, f"changed since {base[0][:12]}"


def members(unit):
    """-> the sources that are compiled as one (cmake/MemtoolUnity.cmake)"""
    return [str(Path(path).relative_to(ROOT)) for path in re.findall(r'#include "(.*)"', Path(unit).read_text())]


class Includes:
    """Who includes whom, by the ends of paths: that may find a header too many, and none too few."""

    def __init__(self):
        found = [path for folder in FOLDERS for end in ("*.h", "*.cc", "*.proto")
                 for path in (ROOT / folder).rglob(end)]
        self.paths = sorted(str(path.relative_to(ROOT)) for path in found)
        self.by_name = {}
        for path in self.paths:
            self.by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
        self.reached = {}

    def direct(self, path):
        text = (ROOT / path).read_text(errors="replace")
        for wanted in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text, re.MULTILINE):
            wanted = re.sub(r"^(\.\./)*", "", wanted).replace(".pb.h", ".proto")
            for other in self.by_name.get(wanted.rsplit("/", 1)[-1], []):
                if f"/{other}".endswith(f"/{wanted}"):
                    yield other

    def of(self, path):
        """The path itself and everything that it includes."""
        seen, waiting = {path}, [path]
        while waiting:
            at = waiting.pop()
            if at not in self.reached:
                self.reached[at] = list(self.direct(at))
            waiting += [other for other in self.reached[at] if other not in seen]
            seen.update(self.reached[at])
        return seen

    def touched(self, paths, changed):
        """-> those of `paths` that changed or include what did; all of them where `changed` is None."""
        return paths if changed is None else [path for path in paths if self.of(path) & changed]
