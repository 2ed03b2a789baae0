"""Programs that close descriptors, fork past the C library, exit in handlers, run out of things."""
import json

from harness import events_of, read_header, same


def hostile(env, scenario, *words, **more):
    return env.run(env.programs / "hostile_program", scenario, *words, **more)


def diagnostics(env, log):
    return {row["code"]: row for row in json.loads(
        env.ask("info", "--format", "json", log))["diagnostics"]}


def parent_log(env):
    """The log of the process that was not forked."""
    logs = [log for log in env.logs() if read_header(log)["forked"] == 0]
    assert len(logs) == 1, env.logs()
    return logs[0]


def test_descriptors(env):
    """The number of the log's descriptor is the user's file now: nothing is done to that."""
    hostile(env, "descriptors")
    same(b"precious", (env.folder / "precious").read_bytes(), "the user's file")
    log = parent_log(env)
    header = read_header(log)
    same((120001, 0, 0, 1), tuple(header[name] for name in ("events", "dropped", "stop", "flags")),
         "the log goes on by its path")
    same(header["committed"], log.stat().st_size, "cut to what it holds")
    same(120001, len(events_of(env, log)), "readable")
    env.clear()
    hostile(env, "moved")
    same(b"precious", (env.folder / "precious").read_bytes(), "the user's file")
    log = parent_log(env)
    header = read_header(log)
    same(("moved.mtcap", 5, 120001),
         (log.name, header["stop"], header["events"] + header["dropped"]), "stopped, and counted")
    assert 0 < header["dropped"] < 120000, header
    found = diagnostics(env, log)
    assert "was moved or removed" in found["stopped_early"]["message"], found
