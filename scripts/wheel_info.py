"""Writes NAME-VERSION.dist-info into the tree of a wheel, from pyproject.toml, with the licences of the
libraries that are in it. Called by scripts/wheel.

usage: wheel_info.py ROOT TREE      prints the wheel's name
"""
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

# What the oldest glibc is that the module runs with, by the symbols that it and its libraries need.
PLATFORM = "manylinux_2_36_x86_64"


def metadata(project, readme):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def package_of(library):
    """-> the Debian package that a library was copied from, or None"""
    found = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    return found.stdout.split(":")[0] if found.returncode == 0 else None


def only_by_soname(libraries):
    """A wheel has no links: each library once, under the name that others ask for."""
    for link in [library for library in libraries.iterdir() if library.is_symlink()]:
        target = link.resolve()
        link.unlink()
        target.rename(link)


def add_licences(root, libraries, into):
    into.mkdir()
    shutil.copy(root / "LICENSE", into / "LICENSE")
    for package in sorted({package_of(library.name) for library in libraries} - {None}):
        shutil.copy(f"/usr/share/doc/{package}/copyright", into / f"{package}.txt")
    for name in ("GPL-2", "GPL-3", "LGPL-2.1", "LGPL-3"):
        shutil.copy(f"/usr/share/common-licenses/{name}", into / name)


def main():
    root, tree = Path(sys.argv[1]), Path(sys.argv[2])
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    python = f"cp{sysconfig.get_python_version().replace('.', '')}"
    tag = f"{python}-{python}-{PLATFORM}"
    info = tree / f"{name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata(project, (root / project["readme"]).read_text()))
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: memtool\nRoot-Is-Purelib: false\n"
                                f"Tag: {tag}\n")
    only_by_soname(tree / "memtool/libs")
    add_licences(root, (tree / "memtool/libs").iterdir(), info / "licenses")
    print(f"{name}-{project['version']}-{tag}.whl")


if __name__ == "__main__":
    main()
