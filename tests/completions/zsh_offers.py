"""Command lines in a real zsh, at a terminal of its own."""
import os
import pty
import select
import time
from pathlib import Path

SECONDS = 120


def offers(script, folder, lines):
    """-> for each line what Tab offers there, and the line after it. `folder` is where the shell is."""
    place = script.parent
    cases, answers = place / "cases", place / "answers"
    cases.write_text("".join(f"{line}\n" for line in lines))
    screen = run_zsh(folder, {"SCRIPT": script, "CASES": cases, "ANSWERS": answers, "ZDOTDIR": place, "HOME": place})
    found, strange = [], []
    for line in answers.read_text().splitlines():
        kind, _, text = line.partition("\t")
        if kind == "case":
            found.append(([], []))
        elif kind == "offer":
            found[-1][0].append(text.replace("\\", ""))  # as it is written in a command line
        elif kind == "line":
            found[-1][1].append(text)
        else:
            strange.append(line)
    if strange or len(found) != len(lines) or not all(after for _, after in found):
        raise SystemExit(f"zsh: {len(found)} of {len(lines)} lines\n{strange[:9]}\n{screen}")
    return [(offered, after[0]) for offered, after in found]


def run_zsh(folder, environment):
    """-> what it shows"""
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   **{name: str(path) for name, path in environment.items()}}
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    os.write(terminal, f"source {Path(__file__).with_name('offers.zsh')}\n".encode())
    screen, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # it has ended
            break
        if not piece:
            break
        screen += piece
    os.close(terminal)  # and with it a shell that has not
    os.waitpid(process, 0)
    return screen.decode(errors="replace")
