"""Runs pprof (with a cache on disk) and memtool for pprof_habits_oracle.py."""
import hashlib
import os
import pickle
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from habits_cases import PROFILES, spelled, to_file

LIMIT_S = 120


def environment(scratch):
    """The same for both, whatever the user's own looks like."""
    env = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", ""), "HOME": str(scratch),
           "PPROF_TMPDIR": str(scratch), "GOMAXPROCS": "1"}
    env.update((k, v) for k, v in os.environ.items() if k.endswith("SAN_OPTIONS"))
    return env


def go_pprof():
    """The program that `go tool pprof` starts: started directly, it needs half the time."""
    told = subprocess.run(["go", "tool", "-n", "pprof"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    path = told.stdout.decode().strip()
    return [path] if told.returncode == 0 and os.access(path, os.X_OK) else ["go", "tool", "pprof"]


class Peers:
    """pprof and memtool, each in this process' own scratch folder."""

    def __init__(self, memtool, cache, scratch):
        self.memtool, self.cache = os.path.abspath(memtool), cache
        self.scratch = Path(tempfile.mkdtemp(dir=scratch))
        self.env = environment(self.scratch)
        self.go = go_pprof() + ["-symbolize=none"]
        status = os.stat(shutil.which(self.go[0]))
        self.version = status.st_size, status.st_mtime_ns
        self.hashes = {}
        self.go_runs = self.cached = 0

    def start(self, command):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.env, cwd=self.scratch, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            return "no end", b"", f"stopped after {LIMIT_S} s"
        return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()

    def written(self, program, words, case):
        """Exit code and output; that of -proto is what pprof reads back from it."""
        out = self.scratch / "out.pb.gz"
        out.unlink(missing_ok=True)
        if to_file(case):
            words = [f"-output={out}", *words]
        code, data, told = self.start([*program, *words])
        if code == 0 and to_file(case):
            if data or not out.exists():
                return "-output: nothing written, or not only there", b"", told
            data = out.read_bytes()
        if code == 0 and case.command in PROFILES:
            out.write_bytes(data)
            data = self.read_back(out, data)
        return code, data, told

    def read_back(self, path, data):
        def read():
            code, text, told = self.start([*self.go, "-raw", str(path)])
            self.go_runs += 1
            return text if code == 0 else f"pprof cannot read it: {told}".encode()
        return self.remembered(("read back", hashlib.sha256(data).hexdigest()), read)

    def digest(self, word):
        """Names of files stand for their content in the cache."""
        head, mark, tail = word.rpartition("=")
        if "/" not in tail or not os.path.isfile(tail):
            return word
        if tail not in self.hashes:
            self.hashes[tail] = hashlib.sha256(Path(tail).read_bytes()).hexdigest()
        return head + mark + self.hashes[tail]

    def remembered(self, key, make):
        name = hashlib.sha256(repr((self.version, key)).encode()).hexdigest()
        at = self.cache / name[:2] / name
        try:
            value = pickle.loads(zlib.decompress(at.read_bytes()))
            self.cached += 1
            return value
        except (OSError, zlib.error, pickle.PickleError, EOFError):
            pass
        value = make()
        self.keep(at, value)
        return value

    def keep(self, at, value):
        at.parent.mkdir(exist_ok=True)
        part = at.with_name(f"{at.name}.{os.getpid()}")
        part.write_bytes(zlib.compress(pickle.dumps(value), 1))
        os.replace(part, at)

    def pprof(self, case, run=0):
        """What pprof printed the `run`th time: it orders some things anew every time."""
        options, sources = spelled(case)
        words = options + sources

        def make():
            self.go_runs += 1
            return self.written(self.go, words, case)
        return self.remembered(("run", run, case.command, [self.digest(w) for w in words]), make)

    def ours(self, case):
        options, sources = spelled(case)
        words = sources + options if case.after else options + sources
        return self.written([self.memtool, "pprof"], words, case)


def make_cache(folder):
    """Private to the user, because what lies there is unpickled."""
    path = Path(folder or Path(tempfile.gettempdir()) / f"pprof_habits_cache.{os.getuid()}")
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        path = Path(tempfile.mkdtemp(prefix="pprof_habits_cache."))
    return path


def readable(output):
    return output.decode(errors="surrogateescape")
