#!/usr/bin/env python3
"""Every option of `memtool COMMAND --help` is in its page, and no other; memtool(1) lists the
commands as `memtool help` does.

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
    text = subprocess.run([memtool, "help"], check=True, capture_output=True, text=True).stdout
    listed = text[text.index("\nCommands:"):text.index("\nReads:")]
    return re.findall(r"^  (\S+) +(.+)$", listed, re.M)


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
    print("\n".join(wrong) or f"{len(commands)} pages agree with the program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
