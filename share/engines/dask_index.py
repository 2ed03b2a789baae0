#!/usr/bin/env python3
"""Digests by the workers of a Dask cluster, which see the same file system.

usage: dask_index.py SCHEDULER|local FOLDER OUT.jsonl
"""
import os
import subprocess
import sys
from pathlib import Path

from distributed import Client

BATCH = 50


def index(paths):
    done = subprocess.run([os.environ.get("MEMTOOL", "memtool"), "index", "--files-from", "-"],
                          input="\n".join(paths).encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout


def main():
    scheduler, folder, out = sys.argv[1:]
    client = Client(processes=False) if scheduler == "local" else Client(scheduler)
    paths = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    batches = [paths[i:i + BATCH] for i in range(0, len(paths), BATCH)]
    parts = client.gather(client.map(index, batches, retries=3))
    Path(out).write_bytes(b"".join(parts))
    client.close()


if __name__ == "__main__":
    main()
