"""Checks what the libraries of a wheel need, and packs it: the same bytes from the same files. Called by scripts/wheel.

usage: wheel.py FOLDER GLIBC    FOLDER has tree/ and licences/; writes the wheel there and prints its name
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What every Linux with glibc has.
SYSTEMS = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1"}
# libgcc_s, as old as glibc 2.17 (manylinux2014).
NEWEST = {"GCC": (4, 8)}


def needs(library, glibc):
    """-> what a library asks for that systems of that glibc do not have"""
    def readelf(*options):
        return subprocess.run(["readelf", "--wide", *options, library], capture_output=True, text=True, check=True).stdout
    newest = {**NEWEST, "GLIBC": glibc}
    wrong = [f"the library {name}" for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")) if name not in SYSTEMS]
    for symbol, kind, version in re.findall(r" UND (\w+)@(\w+)_([\w.]+)", readelf("--dyn-syms")):
        numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
        if kind not in newest or not numbers or numbers[:2] > newest[kind]:
            wrong.append(f"{symbol} of {kind}_{version}")
    return wrong


def metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    for extra, wanted in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one}; extra == "{extra}"' for one in wanted]
    readme = (ROOT / project["readme"]).read_text()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def contents(folder, project, name, tags):
    """-> {name in the wheel: (bytes, whether it may be run)}"""
    files = {str(path.relative_to(folder / "tree")): (path.read_bytes(), path.suffix == ".so")
             for path in (folder / "tree").rglob("*") if path.is_file()}
    info = f"{name}.dist-info"
    for path in (folder / "licences").iterdir():
        files[f"{info}/licenses/{path.name}"] = path.read_bytes(), False
    scripts = "".join(f"{command} = {function}\n" for command, function in project["scripts"].items())
    texts = {"METADATA": metadata(project), "entry_points.txt": f"[console_scripts]\n{scripts}",
             "WHEEL": "Wheel-Version: 1.0\nGenerator: memtool\nRoot-Is-Purelib: false\n" +
                      "".join(f"Tag: {tag}\n" for tag in tags)}
    return {**files, **{f"{info}/{key}": (text.encode(), False) for key, text in texts.items()}}, f"{info}/RECORD"


def pack(path, files, record):
    lines = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
             for name, (data, _) in sorted(files.items())]
    files[record] = "".join([*lines, f"{record},,\n"]).encode(), False
    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # a ZIP begins in 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            data, runs = files[name]
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)


def main():
    folder, version = Path(sys.argv[1]), sys.argv[2]
    glibc = tuple(map(int, version.split(".")))
    wrong = [f"{library.name} needs {need}" for library in sorted((folder / "tree").rglob("*.so"))
             for need in needs(library, glibc)]
    if wrong:
        sys.exit("\n".join([*wrong, f"nothing beyond glibc {version} may be needed"]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    platforms = [f"manylinux_{glibc[0]}_{glibc[1]}_x86_64", *(["manylinux2014_x86_64"] if glibc == (2, 17) else [])]
    wheel = f"{name}-py3-none-{'.'.join(platforms)}.whl"
    pack(folder / wheel, *contents(folder, project, name, [f"py3-none-{platform}" for platform in platforms]))
    print(wheel)


if __name__ == "__main__":
    main()
