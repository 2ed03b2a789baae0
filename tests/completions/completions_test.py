#!/usr/bin/env python3
"""What shells complete is what the program has, as far as `--help` tells it (which man.options compares
with the manual): the same commands, and of each the same options. The shells run the scripts, zsh at a
terminal of its own; where zsh is not installed, its script is compared as text, fish's is not looked at.

Words that are offered for a value are given to the program, which must not say of them what it says of
a word that nobody knows.

usage: completions_test.py --memtool PROGRAM --testdata FOLDER --shell bash|zsh|fish
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from zsh_offers import offers

SKIPPED = 77
SNAPSHOT = "torch/small/list.pickle"

# Of --backend and --stacks.
RUN_WORDS = {"preload", "cupti", "off", "native", "python", "both"}

# What bash has in COMP_WORDS, and what has to be offered: words, or lines of a file.
CASES = [
    ("memtool to", ["memtool", "to"], ["top"]),
    ("memtool --", ["memtool", "--"], ["--help", "--version"]),
    ("memtool top --fo", ["memtool", "top", "--fo"], ["--focus", "--format"]),
    ("memtool top --format=j", ["memtool", "top", "--format", "=", "j"], ["json", "json-columns", "jsonl"]),
    ("memtool top --format ", ["memtool", "top", "--format", ""],
     ["table", "json", "json-columns", "jsonl", "csv", "markdown"]),
    ("memtool top --format=", ["memtool", "top", "--format", "="],
     ["table", "json", "json-columns", "jsonl", "csv", "markdown"]),
    ("memtool flame --format f", ["memtool", "flame", "--format", "f"], ["folded"]),
    ("memtool top --at peak:", ["memtool", "top", "--at", "peak", ":"], ["reserved"]),
    ("memtool top --at=peak:r", ["memtool", "top", "--at", "=", "peak", ":", "r"], ["reserved"]),
    ("memtool top --at ev", ["memtool", "top", "--at", "ev"], ["event:"]),
    ("memtool top mem", ["memtool", "top", "mem"], ["memory a.prof", "memory1.prof"]),
    ("memtool top -- mem", ["memtool", "top", "--", "mem"], ["memory a.prof", "memory1.prof"]),
    ("memtool top --at peak mem", ["memtool", "top", "--at", "peak", "mem"],
     ["memory a.prof", "memory1.prof"]),
    ("memtool top -- --f", ["memtool", "top", "--", "--f"], []),
    ("memtool top --output=memory1", ["memtool", "top", "--output", "=", "memory1"],
     ["memory1.prof"]),
    ("memtool top -o memory1", ["memtool", "top", "-o", "memory1"], ["memory1.prof"]),
    ("memtool top --keywords buil", ["memtool", "top", "--keywords", "buil"],
     ["builtin:mxnet", "builtin:pytorch", "builtin:jax", "builtin:xla", "builtin:driver", "builtin:log"]),
    ("memtool top --keywords builtin:j", ["memtool", "top", "--keywords", "builtin", ":", "j"],
     ["jax"]),
    ("memtool top --focus mem", ["memtool", "top", "--focus", "mem"], []),
    ("memtool events --action alloc,fr", ["memtool", "events", "--action", "alloc,fr"],
     ["alloc,free", "alloc,free_requested", "alloc,free_completed"]),
    ("memtool help re", ["memtool", "help", "re"], ["recording", "report"]),
    ("memtool pprof -topp", ["memtool", "pprof", "-topp"], ["-topproto"]),
    ("memtool run --stacks n", ["memtool", "run", "--stacks", "n"], ["native"]),
    ("memtool run -- python mem", ["memtool", "run", "--", "python", "mem"],
     ["memory a.prof", "memory1.prof"]),
    ("memtool run python --st", ["memtool", "run", "python", "--st"], []),
    ("memtool nosuch --", ["memtool", "nosuch", "--"], []),
]

# What zsh and fish offer instead: whole words where bash completes a part; zsh one of a list; after a program
# that is run, what that program has.
WHOLE = {
    "memtool top --at peak:": ["peak:reserved"],
    "memtool top --at=peak:r": ["peak:reserved"],
    "memtool top --keywords builtin:j": ["builtin:jax"],
}
ZSH = {
    **WHOLE,
    "memtool events --action alloc,fr": ["free", "free_requested", "free_completed"],
    "memtool run nosuchprogr": [],
    "memtool run memtool-tes": ["memtool-test-program"],
    "memtool run -- memtool-tes": ["memtool-test-program"],
}
# fish offers memtool's own options after the program of `run`, too.
FISH_KNOWN = {"memtool run python --st"}
# The line after Tab, where more than one word or file would do.
AFTER = {
    "memtool top --fo": "memtool top --fo",
    "memtool top --format ": "memtool top --format ",
    "memtool top --format=": "memtool top --format=",
    "memtool top --at peak:": "memtool top --at peak:reserved ",
    "memtool top --at ev": "memtool top --at event:",
    "memtool top mem": "memtool top memory",
    "memtool top --keywords buil": "memtool top --keywords builtin:",
    "memtool top --keywords builtin:j": "memtool top --keywords builtin:jax ",
    "memtool top -o memory1": "memtool top -o memory1.prof ",
    "memtool run --stacks n": "memtool run --stacks native ",
    "memtool run -- python mem": "memtool run -- python memory",
    "memtool run memtool-tes": "memtool run memtool-test-program ",
}

BASH = r"""
source "$1"
shift
while IFS= read -r -d '' COMP_LINE; do
  COMP_POINT=${#COMP_LINE} COMP_WORDS=()
  IFS= read -r -d '' count
  for ((n = 0; n < count; ++n)); do
    IFS= read -r -d '' word
    COMP_WORDS+=("$word")
  done
  COMP_CWORD=$((count - 1)) COMPREPLY=()
  _memtool
  printf '%s\0' "${#COMPREPLY[@]}" "${COMPREPLY[@]}"
done
"""


def printed(memtool, *args):
    return subprocess.run([memtool, *args], check=True, capture_output=True, text=True).stdout


def commands_of(memtool):
    return [line.split()[0] for line in printed(memtool, "help", "commands").splitlines()]


def options_of(memtool, command):
    text = printed(memtool, command, "--help")
    return set(re.findall(r"^  (?:-\w \[ )?--([\w-]+)", text, re.M)) | {"help"}


def with_value(memtool, command):
    """Options with a value. Those of run are named here: elsewhere its words are programs, and are run."""
    if command == "run":
        return ["backend", "stacks"]
    found = re.findall(r"^  (?:-\w \[ --([\w-]+) \]|--([\w-]+)) \S", printed(memtool, command, "--help"),
                       re.M)
    return [one or other for one, other in found]


def bash_offers(script, folder, lines):
    """What bash would offer for each (line, words)."""
    asked = "".join(text + "\0" for line, words in lines for text in [line, str(len(words)), *words])
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", script], input=asked, cwd=folder,
                          capture_output=True, text=True, check=True)
    if done.stderr:
        raise SystemExit(f"bash: {done.stderr}")
    answers = iter(done.stdout.split("\0"))
    return [[next(answers) for _ in range(int(next(answers)))] for _ in lines]


def names(offered):
    return {word.lstrip("-") for word in offered}


def compared(command, offered, memtool):
    wanted = options_of(memtool, command)
    return ([f"{command}: --{name} is not completed" for name in sorted(wanted - offered)] +
            [f"{command}: --{name} is completed and is no option" for name in sorted(offered - wanted)])


def check_bash(memtool, script, testdata, folder):
    wrong = []
    commands = commands_of(memtool)
    asked = [(f"memtool {command} -", ["memtool", command, "-"]) for command in commands]
    for command, offered in zip(commands, bash_offers(script, folder, asked)):
        wrong += compared(command, names(offered), memtool)
    offered, = bash_offers(script, folder, [("memtool ", ["memtool", ""])])
    if offered != [*commands, "--help", "--version"]:
        wrong.append(f"commands: {offered}")
    make_files(folder)
    for (line, _, wanted), offered in zip(
            CASES, bash_offers(script, folder, [case[:2] for case in CASES])):
        if sorted(offered) != sorted(wanted):
            wrong.append(f"{line!r}: offers {offered}, not {wanted}")
    line = printed(memtool, "-V")
    facts = printed(memtool, "--version")
    if not re.fullmatch(r"memtool [\d.]+\n", line) or not facts.startswith(line + "Build:     "):
        wrong.append(f"--version does not begin with what -V says: {facts}")
    return wrong + check_words(memtool, script, testdata, folder, commands)


def check_words(memtool, script, testdata, folder, commands):
    """Words of values mean something to the program."""
    wrong = []
    pairs = [(command, option) for command in commands for option in with_value(memtool, command)
             if command != "pprof"]
    asked = [(f"memtool {command} --{option} ", ["memtool", command, f"--{option}", ""])
             for command, option in pairs]
    (folder / "files").mkdir()
    seen = set()
    tried = 0
    for (command, option), offered in zip(pairs, bash_offers(script, folder / "files", asked)):
        words = [word for word in offered if word[-1] not in ":=@" and not word.startswith("--")]
        if not words or (option, tuple(words)) in seen:
            continue
        seen.add((option, tuple(words)))
        if command == "run" and not set(words) <= RUN_WORDS:
            wrong.append(f"run --{option} offers {words[:9]}")
            continue
        nonsense = said(memtool, command, option, "nosuchword", testdata)
        if not nonsense:
            wrong.append(f"{command} --{option}: any word will do, but some are offered")
        for word in words:
            tried += 1
            if said(memtool, command, option, word, testdata).replace(word, "nosuchword") == nonsense:
                wrong.append(f"{command} --{option} {word}: {nonsense}")
    print(f"{tried} words of {len(seen)} options were tried")
    return wrong + ([] if tried > 100 else ["hardly any words"])


def said(memtool, command, option, word, testdata):
    rest = ["--", "true"] if command == "run" else [] if command == "help" else [testdata / SNAPSHOT]
    if option == "keywords" and command not in ("buckets", "account"):
        rest = ["--by", "bucket", *rest]
    done = subprocess.run([memtool, command, f"--{option}", word, *rest], capture_output=True,
                          errors="replace", check=False, stdin=subprocess.DEVNULL, timeout=60)
    return done.stderr if done.returncode else ""


def make_files(folder):
    for name in ["memory1.prof", "memory a.prof"]:
        (folder / name).touch()


def check_cases(shell, instead, answered):
    """`answered`: {line: what was offered}"""
    wanted = {**{line: words for line, _, words in CASES}, **instead}
    return [f"{shell}: {line!r} offers {offered}, not {wanted[line]}" for line, offered in answered.items()
            if sorted(offered) != sorted(wanted[line])]


def check_zsh_text(memtool, script):
    wrong = []
    text = script.read_text()
    cases = dict(re.findall(r"^        ([a-z]+)\)\n(.*?)^          ;;$", text, re.M | re.S))
    if list(cases) != commands_of(memtool):
        wrong.append(f"commands: {list(cases)}")
    two, one = r"--([a-z][\w-]*)", r"-([a-z_]{2,})"
    for command, body in cases.items():
        specs = "\n".join(re.sub(r"\[.*", "", line) for line in body.splitlines())
        wrong += compared(command, set(re.findall(one if command == "pprof" else two, specs)), memtool)
    return wrong


def check_zsh(memtool, script, _testdata, folder):
    wrong = check_zsh_text(memtool, script)
    if shutil.which("zsh") is None:
        return wrong
    make_files(folder)
    program = folder.parent / "bin/memtool-test-program"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    os.environ["PATH"] += f":{program.parent}"
    commands = commands_of(memtool)
    lines = [*dict.fromkeys([line for line, _, _ in CASES] + list(ZSH))]
    asked = lines + ["memtool ", *(f"memtool {command} -" for command in commands)]
    answered = dict(zip(asked, offers(script, folder, asked)))
    for command in commands:
        offered = answered[f"memtool {command} -"][0]
        long = {word.strip("-") for word in offered if len(word) > 2}  # not the letters
        wrong += compared(command, long, memtool)
    if answered["memtool "][0] != commands:
        wrong.append(f"commands: {answered['memtool '][0]}")
    wrong += check_cases("zsh", ZSH, {line: answered[line][0] for line in lines})
    return wrong + [f"zsh: {line!r} becomes {answered[line][1]!r}" for line, after in AFTER.items()
                    if answered[line][1] != after]


def check_fish(memtool, script, _testdata, folder):
    wrong = []
    for command in commands_of(memtool):
        offered = ""
        for dashes in ["-", "--"]:
            line = f"memtool {command} {dashes}"
            offered += subprocess.run(
                ["fish", "--no-config", "-c",
                 f"source {shlex.quote(str(script))}; complete -C {shlex.quote(line)}"],
                check=True, capture_output=True, text=True, cwd=folder).stdout
        long = set(re.findall(r"^--([\w-]+)", offered, re.M))
        if command == "pprof":
            long |= {name for name in re.findall(r"^-(\w+)", offered, re.M) if len(name) > 1}
        wrong += compared(command, long, memtool)
    make_files(folder)
    return wrong + check_cases("fish", WHOLE, fish_offers(script, folder))


def fish_offers(script, folder):
    """-> {line of CASES: what fish offers}, without the option that a value is written to"""
    lines = [line for line, _, _ in CASES if line not in FISH_KNOWN]
    ask = "".join(f"complete -C {shlex.quote(line)}; printf '\\0'\n" for line in lines)
    done = subprocess.run(["fish", "--no-config", "-c", f"source {shlex.quote(str(script))}\n{ask}"], check=True,
                          capture_output=True, text=True, cwd=folder)
    answers = done.stdout.split("\0")
    return {line: [re.sub(r"^--\w+=", "", word.split("\t")[0]) for word in answer.splitlines()]
            for line, answer in zip(lines, answers)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--shell", required=True)
    args = parser.parse_args()
    if shutil.which(args.shell) is None and args.shell == "fish":
        print("skipped: fish is not installed")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script"
        script.write_text(printed(args.memtool, "help", "--completions", args.shell))
        check = {"bash": check_bash, "zsh": check_zsh, "fish": check_fish}[args.shell]
        (folder / "here").mkdir()
        wrong = check(args.memtool, script, args.testdata, folder / "here")
        if shutil.which(args.shell):
            syntax = subprocess.run([args.shell, "-n", script], capture_output=True, text=True,
                                    check=False)
            wrong += [syntax.stderr] if syntax.returncode or syntax.stderr else []
    print("\n".join(wrong) or f"{args.shell} completes what the program has")
    if not wrong and shutil.which(args.shell) is None:
        print(f"skipped: {args.shell} is not installed, its syntax was not looked at")
        return SKIPPED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
