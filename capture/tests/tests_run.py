"""`memtool run` and the public header."""
import json
import re
import signal
import subprocess

from harness import events_of, same, sums_of


def test_api(env):
    env.program("linked", "api")
    rows = events_of(env, env.log())
    sums, _ = sums_of(rows)
    same({"0 device": (2, (1 << 20) + 4096), "arena@0 arena": (2, 500)},
         {name: (row["allocs"], row["live"]) for name, row in sums.items()}, "books")
    text = env.ask("raw", env.log())
    same(1, len(re.findall(r"alloc .*size=4096 .*tag=layer1", text)), "tag")
    same(1, len(re.findall(r"alloc .*size=500 .*tag=inner", text)), "inner tag")
    assert re.search(r"^mark begin#1 ", text, re.M) and re.search(r"^mark snapshot ", text, re.M)
    total = json.loads(env.ask("top", "--format", "json", env.log()))["total"]
    same((1 << 20) + 4096, total, "the arena is not counted beside its segment")
    total = json.loads(env.ask("top", "--device", "arena@0", "--format", "json", env.log()))["total"]
    same(500, total, "the arena alone")
    total = json.loads(env.ask("top", "--at", "mark:begin#1", "--device", "0", "--format", "json",
                               env.log()))["total"]
    same(0, total, "at the mark")
    env.clear()
    env.program("linked", "api", shim=False)
    same([], env.logs(), "the header's functions are weak")


def test_launcher(env):
    program = env.programs / "driver_program"
    plain = {k: v for k, v in env.environment(shim=False).items() if k != "MEMTOOL_CAPTURE_OUT"}

    def launch(*words, **more):
        return subprocess.run([str(env.memtool), "run", *map(str, words)], env={**plain, **more},
                              cwd=env.folder, capture_output=True, text=True, timeout=60)
    done = launch("--", program, "linked", "calls")
    same(0, done.returncode, done.stderr)
    log = env.log()
    assert re.fullmatch(rf"memtool: {re.escape(str(log))}: 102 events, device 0: peak 21.09 MiB, "
                        r"end 3.15 MiB, device 1: peak 21.09 MiB, end 3.17 MiB, host: peak "
                        r"161.66 KiB, end 142.12 KiB\n", done.stderr), done.stderr
    env.clear()
    done = launch("-q", "-o", "here.%r.%%.mtcap", program, "linked", "calls", RANK="5")
    same((0, "", "here.5.%.mtcap"), (done.returncode, done.stderr, env.log().name), "quiet")
    env.clear()
    child = subprocess.Popen([str(env.memtool), "run", "-q", "--", str(program), "linked",
                              "endless"], env=plain, cwd=env.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    same(b"ready\n", child.stdout.readline(), "started")
    try:
        child.send_signal(signal.SIGTERM)
        same(128 + signal.SIGTERM, child.wait(timeout=60), "a signal is passed on")
    finally:
        child.kill()
        child.stdout.close()
