"""Makes libraries to link with instead of glibc's own: the same functions, each by the newest name that an old
glibc has. A linker binds a function to its newest name, and what was linked with glibc 2.36 would need that; but
glibc still has the names that programs of before were linked with. What has no old name is not there: it does not
link, and glibc/newer.c has it or nobody may call it.

usage: old_names.py VERSION FOLDER LIBRARY...    VERSION: "2.17"; LIBRARY: libc.so.6, libm.so.6, the loader
"""
import re
import subprocess
import sys
from pathlib import Path

# Parts of libc.so.6 by now. An old glibc has their functions there, and so they are to be loaded.
PARTS = ["libpthread.so.0", "libdl.so.2", "librt.so.1"]
# What the linker always takes from glibc: a few functions that every library has of its own.
OWN = "libc_nonshared.a"


def number(version):
    return tuple(map(int, version.split(".")))


def names_of(library, newest):
    """-> {symbol: (its name's version, whether it is data)}"""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True,
                            check=True).stdout
    found = {}
    for line in listed.splitlines():
        entry = re.match(r" *\d+: [0-9a-f]+ +\S+ (\w+) +(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)@+GLIBC_([\d.]+)$", line)
        if entry and number(entry[3]) <= newest and number(entry[3]) > number(found.get(entry[2], ("0",))[0]):
            found[entry[2]] = entry[3], entry[1] == "OBJECT"
    return found


def link(folder, soname, symbols):
    """Makes FOLDER/SONAME, which has these symbols and does nothing."""
    lines = [".text"]
    for place, (name, (version, is_data)) in enumerate(sorted(symbols.items())):
        kind = "object" if is_data else "function"
        lines += [f".globl s{place}", f".type s{place}, %{kind}", f".symver s{place}, {name}@@@GLIBC_{version}",
                  f"s{place}: .byte 0", f".size s{place}, 1"]
    source, script = folder / f"{soname}.s", folder / f"{soname}.map"
    source.write_text("\n".join([*lines, '.section .note.GNU-stack,"",%progbits', ""]))
    versions = sorted({version for version, _ in symbols.values()}, key=number)
    script.write_text("".join(f"GLIBC_{version} {{}};\n" for version in versions))
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", *([f"-Wl,--version-script={script}"] if
                    versions else []), source, "-o", folder / soname], check=True)


def path_of(file):
    return subprocess.run(["gcc", f"-print-file-name={file}"], capture_output=True, text=True, check=True).stdout.strip()


def main():
    newest, folder, libraries = number(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    for soname in libraries:
        link(folder, soname, names_of(path_of(soname), newest))
    for soname in PARTS:
        link(folder, soname, {})
        (folder / f"{soname.split('.')[0]}.so").write_text(f"INPUT({folder / soname})\n")
    (folder / "libm.so").write_text(f"INPUT({folder / 'libm.so.6'})\n")
    loader = [folder / soname for soname in libraries if soname.startswith("ld")]
    (folder / "libc.so").write_text(f"GROUP({folder / 'libc.so.6'} {path_of(OWN)} AS_NEEDED({' '.join(map(str, loader))}))\n")


if __name__ == "__main__":
    main()
