#!/usr/bin/env python3
"""Digests by the executors of a Spark cluster, which see the same file system.

usage: spark-submit spark_index.py FOLDER OUT.jsonl
"""
import os
import sys
from pathlib import Path

from pyspark import SparkContext

BATCH = 50


def main():
    folder, out = sys.argv[1:]
    context = SparkContext(appName="memtool index")
    paths = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    # One path per line goes in, one digest per line comes out.
    command = f"{os.environ.get('MEMTOOL', 'memtool')} index --files-from -"
    lines = context.parallelize(paths, max(1, len(paths) // BATCH)).pipe(command, checkCode=True)
    with open(out, "w") as file:
        file.writelines(line + "\n" for line in lines.toLocalIterator())


if __name__ == "__main__":
    main()
