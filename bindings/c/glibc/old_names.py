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

# Parts of libc.so.6 by now. What moved there from them has got a newer name since, too, and an old loader looks for the
# old one in the part alone.
PARTS = {"libpthread.so.0": r"_*(pthread|sem)_", "libdl.so.2": r"dl", "librt.so.1": r"(aio|lio|mq|shm|timer)_"}
# What the linker always takes from glibc: a few functions that every library has of its own.
OWN = "libc_nonshared.a"


def number(version):
    return tuple(map(int, version.split(".")))


def names_of(library, newest):
    """-> {symbol: (its name's version, whether it is data)}; those of parts, by their library"""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True,
                            check=True).stdout
    found, moved = {}, set()
    for line in listed.splitlines():
        entry = re.match(r" *\d+: [0-9a-f]+ +\S+ (\w+) +(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)@+GLIBC_([\d.]+)$", line)
        if entry and number(entry[3]) > newest:
            moved.add(entry[2])
        elif entry and number(entry[3]) > number(found.get(entry[2], ("0",))[0]):
            found[entry[2]] = entry[3], entry[1] == "OBJECT"
    parts = {soname: {name: found[name] for name in moved & set(found) if re.match(names, name)}
             for soname, names in PARTS.items()}
    return {name: value for name, value in found.items() if not any(name in part for part in parts.values())}, parts


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
        symbols, parts = names_of(path_of(soname), newest)
        link(folder, soname, symbols)
        if soname == "libc.so.6":
            for part, its in parts.items():
                link(folder, part, its)
    for soname in PARTS:
        (folder / f"{soname.split('.')[0]}.so").write_text(f"INPUT({folder / soname})\n")
    (folder / "libm.so").write_text(f"INPUT({folder / 'libm.so.6'})\n")
    loader = [folder / soname for soname in libraries if soname.startswith("ld")]
    (folder / "libc.so").write_text(f"GROUP({folder / 'libc.so.6'} {path_of(OWN)} AS_NEEDED({' '.join(map(str, loader))}))\n")


if __name__ == "__main__":
    main()
