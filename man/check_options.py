#!/usr/bin/env python3
"""Every option of `memtool COMMAND --help` is in its page, and no other; memtool(1) lists the
commands of `memtool help`, and memtool-formats(5) explains the formats of `memtool help formats`.

usage: check_options.py MEMTOOL FOLDER COMMAND...   (FOLDER holds the expanded *.md)
"""
import re
import subprocess
import sys
from pathlib import Path


def options_of_help(memtool, command):
    text = subprocess.run([memtool, command, "--help"], check=True, capture_output=True,
                          text=True).stdout
    return set(re.findall(r"^  (?:-\w \[ )?--([\w-]+)", text, re.M))


def options_of_page(page):
    terms = [line for line, after in zip(page, page[1:] + [""]) if is_term(line, page)]
    return set(re.findall(r"`--([\w-]+)`", "\n".join(terms)))


def is_term(line, page):
    return line.startswith(("`-", "*")) and any(
        a == line and b.startswith(":   ") for a, b in zip(page, page[1:]))


def commands_of_help(memtool):
    text = subprocess.run([memtool, "help", "commands"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^(\S+) +(.+)$", text, re.M)


def formats_of_help(memtool):
    text = subprocess.run([memtool, "help", "formats"], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^([\w-]+)  +", text[:text.index("\nWhat it writes")], re.M)


def main():
    memtool, folder, *commands = sys.argv[1:]
    wrong = []
    for command in commands:
        page = (Path(folder) / f"memtool-{command}.1.md").read_text().splitlines()
        real, documented = options_of_help(memtool, command), options_of_page(page)
        if not real:
            wrong.append(f"memtool {command} --help lists no option")
        wrong += [f"memtool-{command}(1) lacks --{name}" for name in sorted(real - documented)]
        wrong += [f"memtool-{command}(1) invents --{name}" for name in sorted(documented - real)]
    listed = re.findall(r"^memtool-(\S+)\(1\)\n:   (.+)$", (Path(folder) / "memtool.1.md").read_text(),
                        re.M)
    if listed != commands_of_help(memtool):
        wrong.append("memtool(1) does not list the commands of memtool help")
    explained = re.findall(r"^`([\w-]+)`\n:   ", (Path(folder) / "memtool-formats.5.md").read_text(), re.M)
    wrong += [f"memtool-formats(5) lacks {name}" for name in formats_of_help(memtool) if name not in explained]
    print("\n".join(wrong) or f"{len(commands)} pages agree with the program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
