#!/usr/bin/env python3
"""The Debian package: what lintian says of it, what it asks for, and, where MEMTOOL_DEB_ROOT names a
system made with `debootstrap --variant=minbase bookworm`, that it takes the place of Debian's own memtool
there and runs.

usage: deb_test.py FOLDER     (which holds memtool-profile_*.deb; scripts/deb makes it)
Skipped (77) without a package.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77


def said(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **more)
    return done.returncode, done.stdout


def check_package(package):
    wrong = []
    for field, wanted in [("Package", "memtool-profile"), ("Conflicts", "memtool"), ("Replaces", "memtool")]:
        if said("dpkg-deb", "-f", package, field) != (0, wanted + "\n"):
            wrong.append(f"{field} is not {wanted}")
    listed = said("dpkg-deb", "-c", package)[1]
    for path in ["usr/bin/memtool", "usr/lib/memtool/libmemtool_capture.so", "usr/share/man/man1/memtool.1.gz",
                 "usr/share/bash-completion/completions/memtool", "usr/share/zsh/vendor-completions/_memtool",
                 "usr/share/fish/vendor_completions.d/memtool.fish"]:
        if f" ./{path}\n" not in listed:
            wrong.append(f"no {path}")
    if ".a\n" in listed:
        wrong.append("the library for other programs is inside")
    if shutil.which("lintian") is None:
        print("lintian is not installed: not asked")
    else:
        code, text = said("lintian", "--allow-root", package)
        wrong += [f"lintian: {text}"] if code or text else []
    return wrong


def check_installation(package, root):
    inside = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"]
    shutil.copy(package, Path(root) / "tmp/memtool.deb")
    for command in [["apt-get", "-qq", "update"], ["apt-get", "-qq", "-y", "install", "memtool"]]:
        code, text = said(*inside, *command)
        if code:
            return [f"{command}: {text}"]
    for command, wanted in [
            (["apt-get", "-qq", "-y", "--no-install-recommends", "install", "/tmp/memtool.deb"], ""),
            (["dpkg-query", "-W", "-f", "${Status}", "memtool"], "not-installed"),
            (["memtool", "--version"], "memtool "),
            (["memtool", "run", "--", "true"], ""),
            (["dpkg", "--purge", "memtool-profile"], "Removing")]:
        code, text = said(*inside, *command)
        gone = command[0] == "dpkg-query" and "no packages found" in text
        if not gone and (code or wanted not in text):
            return [f"{command}: exit {code}\n{text}"]
    return []


def main():
    packages = sorted(Path(sys.argv[1]).glob("memtool-profile_*.deb"))
    if not packages:
        print("skipped: no package; scripts/deb makes it")
        return SKIPPED
    wrong = check_package(packages[-1])
    root = os.environ.get("MEMTOOL_DEB_ROOT")
    if root:
        wrong += check_installation(packages[-1], root)
    else:
        print("MEMTOOL_DEB_ROOT names no system: not installed anywhere")
    print("\n".join(wrong) or "the package is as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
