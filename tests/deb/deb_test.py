#!/usr/bin/env python3
"""The Debian package: what lintian says of it, what it asks for, and, where MEMTOOL_DEB_ROOT names a
system made with `debootstrap --variant=minbase bookworm`, that it takes the place of Debian's own memtool
there and runs.

usage: deb_test.py FOLDER...     (which hold memtool-profile_*.deb; scripts/deb makes it)
Takes the newest; skipped (77) without a package.
"""
import os
import shutil
import subprocess
import sys
import tempfile
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


def check_pages(package):
    """The page is inside: the program runs from where the package is unpacked, with this system's libraries."""
    with tempfile.TemporaryDirectory() as name:
        code, text = said("dpkg-deb", "-x", package, name)
        if code:
            return [text]
        folder, wrong = Path(name), []
        (folder / "step.csv").write_text("not looked into")
        for words in (["page", "-o", "page.html"], ["report", "-o", "report.html", "step.csv"]):
            code, text = said(folder / "usr/bin/memtool", *words, cwd=folder)
            if code:
                return [f"{words}: exit {code} {text}"]
        page, report = ((folder / name).read_text() for name in ("page.html", "report.html"))
        if len(page) < 500000 or len(report) < len(page) or 'data-name="step.csv"' not in report:
            wrong.append(f"the page has {len(page)} characters, a report {len(report)}")
        licences = {path.name for path in folder.glob("usr/share/doc/memtool-profile/licences/*")}
        wrong += [f"no licence {name}" for name in {"INSIDE", "libre2-dev.txt", "emscripten.txt", "lzma1.txt"} - licences]
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
            (["memtool", "report", "-o", "/tmp/report.html", "/etc/debian_version"], ""),
            (["grep", "-c", "data-name=.debian_version", "/tmp/report.html"], "1"),
            (["dpkg", "--purge", "memtool-profile"], "Removing")]:
        code, text = said(*inside, *command)
        gone = command[0] == "dpkg-query" and "no packages found" in text
        if not gone and (code or wanted not in text):
            return [f"{command}: exit {code}\n{text}"]
    return []


def main():
    packages = sorted((package for folder in sys.argv[1:] for package in Path(folder).glob("memtool-profile_*.deb")),
                      key=os.path.getmtime)
    if not packages:
        print("skipped: no package; scripts/deb makes it")
        return SKIPPED
    wrong = check_package(packages[-1]) + check_pages(packages[-1])
    root = os.environ.get("MEMTOOL_DEB_ROOT")
    if root:
        wrong += check_installation(packages[-1], root)
    else:
        print("MEMTOOL_DEB_ROOT names no system: not installed anywhere")
    print("\n".join(wrong) or "the package is as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
