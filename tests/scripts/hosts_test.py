#!/usr/bin/env python3
"""scripts/memtool on systems other than Debian: what it says of missing packages, and its lock without flock.

A copy of the scripts runs with package managers that are written here, and an os-release beside them; a
fake cmake fails, as it does without libraries. No manager may be asked to install anything.

usage: hosts_test.py --memtool PROGRAM [--bash BASH]      BASH runs the scripts: 3.2 is what macOS has
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from packages import MANAGERS, SCRIPTS, table

TOOLS = ["awk", "cat", "chmod", "dirname", "env", "grep", "ln", "mkdir", "readlink", "rm", "sed", "sleep", "tr", "uname"]
# What each manager is asked, and answers from the file `installed`; anything else is written to `asked`.
ASK = {
    "dnf": ("rpm", '[ "$1 $2" = "-q --whatprovides" ] && exec grep -qxF -- "$3" "$HERE/installed"'),
    "zypper": ("rpm", '[ "$1 $2" = "-q --whatprovides" ] && exec grep -qxF -- "$3" "$HERE/installed"'),
    "pacman": ("pacman", '[ "$1" = -T ] && { shift; for n; do grep -qxF -- "$n" "$HERE/installed" || echo "$n"; done; exit 127; }'),
    "apk": ("apk", '[ "$1 $2" = "info -e" ] && exec grep -qxF -- "$3" "$HERE/installed"'),
    "brew": ("brew", '[ "$1 $2 $3" = "list --formula -1" ] && exec cat "$HERE/installed"'),
}
INSTALL = {"dnf": "dnf install", "zypper": "zypper install", "pacman": "pacman -S --needed", "apk": "apk add",
           "brew": "brew install"}
RELEASES = {
    "dnf": 'ID=fedora\n', "zypper": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n', "pacman": "ID=arch\n",
    "apk": 'ID=alpine\nPRETTY_NAME="Alpine Linux v3.22"\n',
}
OTHERS = {"dnf": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', "zypper": 'ID="sles"\nID_LIKE="suse"\n',
          "pacman": "ID=manjaro\nID_LIKE=arch\n"}
# What bash 3.2 does not know.
NEWER = r"\b(mapfile|readarray|coproc)\b|(declare|local|typeset) -[a-z]*[Ang]|\$\{\w+(\^|,|@)|:-\d+\}|\|&|&>>|wait -n|%\("
KILLED = 2**22 + 1  # above any process


def script(path, text):
    path.unlink(missing_ok=True)  # never through a link to the system's own
    path.write_text(f"#!/bin/sh\nHERE={path.parent.parent}\n{text}\n")
    path.chmod(0o755)


class Host:
    """A checkout with the scripts, and a PATH with nothing but what is put there."""

    def __init__(self, folder, bash):
        self.folder, self.bin, self.root = folder, folder / "bin", folder / "checkout"
        self.bin.mkdir()
        shutil.copytree(SCRIPTS, self.root / "scripts")
        (self.root / "build").mkdir()
        for name, target in [*((tool, shutil.which(tool)) for tool in TOOLS), ("bash", bash)]:
            (self.bin / name).symlink_to(target)
        script(self.bin / "cmake", "echo 'CMake Error: no libraries'; exit 1")
        (folder / "installed").touch()

    def has(self, manager, installed=()):
        tool, answer = ASK[manager]
        for name in {manager, tool}:
            script(self.bin / name, (answer if name == tool else ":") + f'\necho "{name} $*" >> "$HERE/asked"; exit 1')
        if manager == "brew":
            script(self.bin / "uname", "echo Darwin")
        (self.folder / "installed").write_text("".join(f"{name}\n" for name in installed))

    def run(self, *words, release=None, **more):
        """-> status, standard error"""
        (self.folder / "os-release").write_text(release or "ID=unknown\n")
        done = subprocess.run(words, cwd=self.root, stdin=subprocess.DEVNULL, text=True, check=False, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), **more)
        return done.returncode, done.stdout + done.stderr

    def environment(self):
        return {"PATH": str(self.bin), "MEMTOOL_OS_RELEASE": str(self.folder / "os-release")}


def says(host, manager, wanted, release=None, **more):
    """-> what is wrong with what scripts/memtool says where `wanted` is missing"""
    status, said = host.run("scripts/memtool", "top", "file", release=release, **more)
    sudo = "" if manager == "brew" or (os.geteuid() == 0 and not more) else "sudo "
    lines = said.splitlines()
    wrong = [] if status == 125 else [f"exit status {status}"]
    if (host.folder / "asked").exists():
        wrong.append("asked: " + (host.folder / "asked").read_text())
    line = f"  {sudo}{INSTALL[manager]} {' '.join(wanted)}"
    if wanted and line not in lines:
        wrong.append(f"no line '{line}'")
    if not wanted and "seem to be missing" in said:
        wrong.append("something seems to be missing")
    for row in table()["build"]:
        cell = row.cells[manager]
        if cell == "-" and f"  {row.cells['apt']}: {row.words}" not in lines:
            wrong.append(f"nothing is said of {row.cells['apt']}")
    if lines[-1:] != ["CMake Error: no libraries"]:
        wrong.append("CMake does not have the last word")
    return [f"{manager}: {fault}\n{said}" for fault in wrong]


def check_manager(manager, new_host):
    names = list(dict.fromkeys(row.cells[manager] for row in table()["build"] if row.cells[manager] not in "-."))
    wrong = []
    for installed in [names[::2], names]:
        host = new_host()
        host.has(manager, installed)
        missing = [name for name in names if name not in installed]
        wrong += says(host, manager, missing, RELEASES.get(manager))
    # By the name that a system goes by, another's manager beside its own; and by what is there alone.
    host = new_host()
    host.has("pacman" if manager != "pacman" else "dnf")
    host.has(manager)
    wrong += says(host, manager, names, OTHERS.get(manager, RELEASES.get(manager)))
    host = new_host()
    host.has(manager)
    wrong += says(host, manager, names)
    return wrong


def check_others(new_host):
    wrong = []
    status, said = new_host().run("scripts/memtool", "top", "file")
    if status != 125 or "missing" in said:
        wrong.append(f"an unknown system: {status} {said}")
    host = new_host()
    host.has("dnf")
    status, said = host.run("scripts/deb", release=RELEASES["dnf"])
    if status != 125 or "[deb]" not in said or "CMake" in said:
        wrong.append(f"scripts/deb elsewhere: {status} {said}")
    host = new_host()
    host.has("dnf")
    (host.root / "build/release").mkdir()
    (host.root / "build/release/build.ninja").touch()
    status, said = host.run("scripts/memtool", "top", "file", release=RELEASES["dnf"])
    if "missing" in said:
        wrong.append(f"with a build that was configured: {said}")
    if os.geteuid() == 0:
        host = new_host()
        host.has("apk")
        for path in [host.folder, *host.folder.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        names = [row.cells["apk"] for row in table()["build"] if row.cells["apk"] not in "-."]
        wrong += says(host, "apk", names, RELEASES["apk"], user=65534, group=65534, extra_groups=[])
    return wrong


HOLD = 'source scripts/setup.sh; hold_build_lock; echo held; read -r; release_build_lock; echo released'
COUNT = """source scripts/setup.sh
hold_build_lock
count=$(cat count)
sleep 0.05
echo $((count + 1)) > count
[[ $1 = 0 ]] || kill -9 $$
release_build_lock"""


def check_lock(host):
    wrong = []
    link = host.root / "build/.lock-owner"
    start = dict(cwd=host.root, text=True, env=host.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE)
    with subprocess.Popen(["bash", "-c", HOLD, "first"], **start) as first:
        if first.stdout.readline() != "held\n" or link.readlink() != Path(f"process {first.pid}"):
            wrong.append("the lock is not held")
        with subprocess.Popen(["bash", "-c", HOLD, "second"], **start) as second:
            told = second.stderr.readline()
            if f"process {first.pid} holds" not in told:
                wrong.append(f"the second says '{told}'")
            first.communicate("\n")
            if "held\nreleased\n" != second.communicate("\n")[0]:
                wrong.append("the second never holds it")
    if link.is_symlink():
        wrong.append("the lock stays")
    # Owners that died, and several who find them gone.
    link.symlink_to(f"process {KILLED}")
    (host.root / "count").write_text("0\n")
    # Started by a shell, which sees at once that one of them has ended.
    all_of_them = f"for n in 1 2 3 4 5 6; do bash -c '{COUNT}' count $((n % 2)) & done; wait"
    done = subprocess.run(["bash", "-c", all_of_them], cwd=host.root, text=True, env=host.environment(), check=False,
                          timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    count = int((host.root / "count").read_text())
    if count != 6:
        wrong.append(f"{count} of 6 had the lock alone: {done.stdout}")
    return [f"lock: {fault}" for fault in wrong]


def check_old_bash():
    wrong = []
    for name in ["memtool", "test", "setup.sh"]:
        for number, line in enumerate((SCRIPTS / name).read_text().splitlines(), 1):
            code = re.sub(r"(^|\s)#.*", "", line)
            if found := re.search(NEWER, code):
                wrong.append(f"scripts/{name}:{number}: bash 3.2 does not know '{found[0]}'")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--bash", default=shutil.which("bash"))
    args = parser.parse_args()
    wrong = check_old_bash()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)

        def new_host():
            place = folder / str(len(list(folder.iterdir())))
            place.mkdir()
            return Host(place, args.bash)

        for manager in MANAGERS[1:]:
            wrong += check_manager(manager, new_host)
        wrong += check_others(new_host) + check_lock(new_host())
    print("\n".join(wrong) or "scripts/memtool says what is missing, under six package managers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
