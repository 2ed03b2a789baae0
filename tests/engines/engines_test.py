#!/usr/bin/env python3
"""Digests that an engine's workers make are those of one process, whoever was killed or ran twice.

usage: engines_test.py --memtool PATH --engine xargs|parallel|mpirun|srun|sbatch|dask   (exit 77: not here)
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
ENGINES = HERE.parents[2] / "share/engines"
MAKER = HERE.parents[1] / "bench/make_ranks.py"
RANKS = 608
NEEDS = {"xargs": "xargs", "parallel": "parallel", "mpirun": "mpirun", "srun": "slurmctld",
         "sbatch": "slurmctld"}


def run(words, env, code=0):
    done = subprocess.run([str(word) for word in words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    if done.returncode != code:
        sys.exit(f"FAILED {words}: ended with {done.returncode}\n{done.stderr.decode()[-2000:]}")
    return done.stdout


def lines_of(engine, folder, out, env):
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "MPIRUN_OPTIONS": "--oversubscribe"} if engine == "mpirun" else {}
    words = {"xargs": ["xargs.sh", 4, folder, out], "parallel": ["parallel.sh", folder, out],
             "mpirun": ["mpirun.sh", 4, folder, out], "srun": ["srun.sh", folder, out],
             "sbatch": ["slurm.sbatch", folder, out], "dask": ["dask_index.py", "local", folder, out]}[engine]
    slurm = [HERE.parent / "with_slurm.sh", 4]
    program = {"dask": [sys.executable], "srun": [*slurm, "salloc", "-n", 4],
               "sbatch": [*slurm, "sbatch", "--wait", "-n", 4, "-o", out.with_suffix(".log")]}.get(engine, [])
    run([*program, ENGINES / words[0], *words[1:]], {**env, **root})
    return out.read_bytes()


def killed_worker(memtool, folder, work):
    """A worker that is killed leaves whole lines or none; the shard that is run again completes the set."""
    part = work / "killed.jsonl"
    with part.open("wb") as out:
        worker = subprocess.Popen([memtool, "index", "-j", "1", str(folder)], stdout=out, stderr=subprocess.DEVNULL)
        time.sleep(0.05)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    return part.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--engine", required=True)
    args = parser.parse_args()
    if args.engine == "dask":
        try:
            import distributed  # noqa: F401
        except ImportError:
            print("skipped: Dask distributed is not installed")
            return 77
    elif shutil.which(NEEDS[args.engine]) is None:
        print(f"skipped: {NEEDS[args.engine]} is not installed")
        return 77
    elif NEEDS[args.engine] == "slurmctld" and os.geteuid() != 0:
        print("skipped: only root starts Slurm")
        return 77
    env = {**os.environ, "MEMTOOL": args.memtool}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        tree = work / "tree"
        run([sys.executable, MAKER, RANKS, tree, "--stages", 8, "--leak", "21:900", "--missing", 5, "--cut-off", 17,
             "--empty", 40, "--oom", "2,50"], env)
        truth = run([args.memtool, "index", tree], env)
        report = run([args.memtool, "ranks", tree], env)
        lines = lines_of(args.engine, tree, work / "out.jsonl", env)
        if sorted(lines.splitlines()) != sorted(truth.splitlines()):
            sys.exit(f"FAILED {args.engine}: other digests than one process makes")
        # What a killed worker left, without the line that it was writing, changes nothing.
        left = killed_worker(args.memtool, tree, work)
        left = left[:left.rfind(b"\n") + 1]
        (work / "more.jsonl").write_bytes(left)
        both = [work / "out.jsonl"] + ([work / "more.jsonl"] if left else [])
        if run([args.memtool, "ranks", *both], env) != report:
            sys.exit(f"FAILED {args.engine}: another report than from the files")
    print(f"{args.engine}: {RANKS - 1} files, the same digests and report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
