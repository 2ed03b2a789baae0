#!/usr/bin/env python3
"""install.sh, under dash with the system's tools and under busybox with its own: from a folder and over HTTP, again
over an earlier version, with damaged archives, and removing what it put there.

usage: install_test.py --script install.sh --archives memtool-VERSION-linux-ARCH.tar.xz...     (of this machine)
Takes the newest of those that are there; skipped (77) without one.
"""
import argparse
import functools
import hashlib
import http.server
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from pathlib import Path

SKIPPED = 77


class Place:
    """A folder to install from, a prefix and a folder for temporary files, under one shell."""

    def __init__(self, root, shell, path, script):
        self.shell, self.path, self.root = shell, path, root
        self.source, self.prefix, self.temporary = (root / name for name in ("from", "prefix", "tmp"))
        self.source.mkdir(parents=True)
        self.temporary.mkdir()
        self.script = shutil.copy(script, self.source / "install.sh")

    def run(self, *words, script=None, path="", **more):
        env = {"PATH": path + self.path, "PREFIX": str(self.prefix), "TMPDIR": str(self.temporary), **more}
        done = subprocess.run([*self.shell, script or self.script, *map(str, words)], env=env, capture_output=True,
                              text=True, check=False, cwd=self.root)
        left = [*self.temporary.iterdir(), *self.prefix.glob(".memtool*")]
        assert not left, f"{words} left {left}"
        return done

    def succeeds(self, *words, **more):
        done = self.run(*words, **more)
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stderr}"
        return done.stderr

    def fails(self, says, *words, **more):
        done = self.run(*words, **more)
        assert done.returncode == 1 and says in done.stderr, f"{words}: exit {done.returncode}\n{done.stderr}"

    def offer(self, *archives):
        """SHA256SUMS of these, and the archives beside it."""
        lines = []
        for archive in archives:
            if archive.parent != self.source:
                shutil.copy(archive, self.source)
            lines.append(f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n")
        (self.source / "SHA256SUMS").write_text("".join(lines))

    def stand_in(self, machine, version, *names, program="echo memtool"):
        """-> an archive with a script as the program, and files of these names."""
        top = f"memtool-{version}-linux-{machine}"
        files = dict.fromkeys(("LICENSE", "README.md", "CHANGELOG.md", *names), b"text\n")
        files["bin/memtool"] = f"#!/bin/sh\n{program} {version}\n".encode()
        with tarfile.open(self.source / f"{top}.tar.xz", "w:xz") as tar:
            for name, data in files.items():
                member = tarfile.TarInfo(f"{top}/{name}")
                member.size, member.mode = len(data), 0o755
                tar.addfile(member, io.BytesIO(data))
        return self.source / f"{top}.tar.xz"

    def installed(self):
        return {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}


def says_machine(folder, machine):
    """A folder whose uname says that machine."""
    folder.mkdir()
    (folder / "uname").write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo Linux || echo {machine}\n')
    (folder / "uname").chmod(0o755)
    return f"{folder}:"


def files_in(archive):
    with tarfile.open(archive) as tar:
        return {member.name.split("/", 1)[1] for member in tar if not member.isdir()}


def test_the_real_one(place, archive):
    place.offer(archive)
    said = place.succeeds(place.source)
    assert "this folder is not in PATH" in said and f'export PATH="{place.prefix}/bin:$PATH"' in said, said
    tops = {"LICENSE", "README.md", "CHANGELOG.md"}
    wanted = {f"share/doc/memtool/{name}" if name in tops else name for name in files_in(archive)}
    assert place.installed() == wanted | {"share/memtool/installed"}, place.installed() ^ wanted
    version = subprocess.run([place.prefix / "bin/memtool", "-V"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("memtool ") and version.strip() in said, said
    # The folder of the script is what it installs from when nothing else is said; and its place is in PATH now.
    said = place.succeeds(path=f"{place.prefix}/bin:")
    assert "PATH" not in said, said
    (place.prefix / "bin/other").write_text("not ours")
    place.succeeds("--uninstall")
    assert {path.name for path in place.prefix.rglob("*")} == {"bin", "other"}, place.installed()
    place.fails("nothing was installed", "--uninstall")


def test_over_http(place, archive):
    place.offer(archive)
    handler = functools.partial(Silent, directory=str(place.source))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        place.succeeds(MEMTOOL_FROM=address)
        assert "bin/memtool" in place.installed()
        place.succeeds("--uninstall")
        assert not place.installed()
        place.fails("SHA256SUMS cannot be had", f"{address}/nowhere")
        damage(place.source / archive.name)
        place.fails("is damaged", f"{address}/")
        assert not place.installed()
        server.shutdown()


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_damage(place, archive):
    place.offer(archive)
    damage(place.source / archive.name)
    place.fails("is damaged", place.source)
    assert not place.prefix.exists()
    # Sums that are right for an archive that was cut before they were made.
    cut = place.source / archive.name
    cut.write_bytes(archive.read_bytes()[:100000])
    place.offer(cut)
    place.fails("cannot be unpacked", place.source)
    assert not place.prefix.exists()
    (place.source / "SHA256SUMS").write_text(f"{'0' * 64}  ../{archive.name}\n")
    place.fails("there is no memtool for", place.source)


def test_machines(place, archive):
    other = place.stand_in("riscv64", "9.9")
    place.offer(archive, other)
    path = says_machine(place.root / "riscv", "riscv64")
    assert "memtool 9.9 is in" in place.succeeds(place.source, path=path)
    place.fails("there is no memtool for sparc", place.source, path=says_machine(place.root / "sparc", "sparc"))


def test_what_does_not_run(place, _):
    place.offer(place.stand_in("riscv64", "9.9", program="false"))
    place.fails("does not run here", place.source, path=says_machine(place.root / "riscv", "riscv64"))
    place.succeeds("--uninstall")
    assert not place.installed()


def test_versions(place, _):
    """What an earlier version had and a later one has not is removed; so are folders of both in the end."""
    path = says_machine(place.root / "riscv", "riscv64")
    place.prefix.mkdir()
    (place.prefix / "share").mkdir()
    place.offer(place.stand_in("riscv64", "1.0", "share/old/gone", "share/man/page"))
    place.succeeds(place.source, path=path)
    assert "share/old/gone" in place.installed()
    place.offer(place.stand_in("riscv64", "2.0", "share/man/page", "share/man/new page"))
    assert "memtool 2.0" in place.succeeds(place.source, path=path)
    assert not (place.prefix / "share/old").exists() and "share/man/new page" in place.installed()
    place.succeeds("--uninstall")
    # Only what was there before.
    assert [path.name for path in place.prefix.rglob("*")] == ["share"], place.installed()


def test_without_a_source(place, _):
    with open(place.script, "rb") as script:
        done = subprocess.run([*place.shell, "-s"], stdin=script, capture_output=True, text=True, check=False,
                              env={"PATH": place.path, "HOME": str(place.root)})
    assert done.returncode == 1 and "from where?" in done.stderr, done.stderr


def shells(root):
    """-> {name: (command, PATH)} of the shells that are here, each with tools of its own."""
    found = {}
    if shutil.which("dash"):
        found["dash"] = ([shutil.which("dash")], "/usr/bin:/bin")
    if shutil.which("busybox"):
        tools = root / "tools"
        tools.mkdir()
        subprocess.run(["busybox", "--install", "-s", tools], check=True)
        found["busybox"] = ([shutil.which("busybox"), "sh"], str(tools))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", required=True, type=Path)
    parser.add_argument("--archives", required=True, type=Path, nargs="+")
    args = parser.parse_args()
    archives = [archive for archive in args.archives if archive.exists()]
    if not archives:
        print(f"skipped: no {args.archives[0].name}; scripts/portable makes it")
        return SKIPPED
    archive = max(archives, key=os.path.getmtime)
    tests = [test for name, test in globals().items() if name.startswith("test_")]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        found = shells(root)
        for shell, (command, path) in found.items():
            for test in tests:
                place = Place(root / f"{shell} {test.__name__}", command, path, args.script)
                try:
                    test(place, archive)
                except AssertionError as error:
                    raise AssertionError(f"{shell}, {test.__name__}: {error}") from error
    if len(found) < 2:
        print(f"dash or busybox is not installed: only {', '.join(found)}")
    print(f"{len(tests)} tests of install.sh with {' and '.join(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
