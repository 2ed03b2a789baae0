"""Every command line that an input goes through, from what the program says about itself."""
import re
import subprocess

# What a command needs besides an input; each command that is not here takes one.
ARGUMENTS = {
    "peek": ["f", "IN"],
    "diff": ["IN", "IN"],
    "fit": ["--x", "1,2", "IN", "IN"],
    "check": ["--write-baseline", "-", "IN"],
    "merge": ["-o", "OUT", "IN", "IN"],
    "cut": ["-o", "OUT", "IN"],
    "report": ["-o", "OUT", "IN"],
    "leaks": ["IN", "IN", "IN"],
}
NO_INPUT = {"help", "run", "page"}
STARTS_OTHERS = {"open", "web"}  # a browser
DRAWN_BY_GRAPHVIZ = {"svg", "png", "gif", "pdf", "ps", "web"}  # of pprof


def help_of(memtool, *words):
    return subprocess.run([memtool, *words], capture_output=True, text=True, check=True).stdout


def listed(text, option):
    """The words that the help of an option lists: "A, B or C"."""
    found = re.search(rf"^ +(?:-\w \[ )?--{option}\b[^\n]*?  +((?:[^\n]|\n {{20,}})*)", text, re.M)
    if not found:
        return []
    words = re.sub(r"\([^)]*\)", "", found[1].replace("\n", " ")).replace("rows:", "").replace(" or ", ", ")
    return [word for word in map(str.strip, words.split(",")) if re.fullmatch(r"[a-z]+", word)]


def command_lines(memtool):
    """-> lists of words, with IN for an input and OUT for a file to write: each command, in each form that its help lists"""
    lines = []
    for name in re.findall(r"^(\w+) ", help_of(memtool, "help", "commands"), re.M):
        if name in NO_INPUT | STARTS_OTHERS:
            continue
        about = help_of(memtool, name, "--help")
        arguments = ARGUMENTS.get(name, ["IN"])
        if name == "pprof":
            reports = re.findall(r"^  --(\w+)( REGEX)? ", about[about.index("Reports"):about.index("What is shown")], re.M)
            lines += [[name, f"-{report}", *(["f"] if regex else []), "IN"] for report, regex in reports
                      if report not in DRAWN_BY_GRAPHVIZ]
        elif targets := listed(about, "to"):
            lines += [[name, "--to", target, "-o", "OUT", *arguments] for target in targets]
        else:
            lines.append([name, *arguments])
            for option in ("format", "by"):
                lines += [[name, f"--{option}", word, *arguments] for word in listed(about, option)]
            if "--at MOMENT" in about and name not in ("cut", "whatif"):
                lines.append([name, "--at", "peak", *arguments])
    return lines
