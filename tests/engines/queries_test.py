#!/usr/bin/env python3
"""The documented SQL queries to digests give what is in them: in SQLite, and in DuckDB where it is here.

usage: queries_test.py --memtool PATH
"""
import argparse
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve()
ENGINES = HERE.parents[2] / "share/engines"
MAKER = HERE.parents[1] / "bench/make_ranks.py"
DUCKDB = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const [file, digests, parquet] = process.argv.slice(2);
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const fs = require('fs');
  await connection.run(`SET VARIABLE digests = '${digests}'`);
  const answers = [];
  for (const query of fs.readFileSync(file, 'utf8').split(';').filter((text) => /SELECT/.test(text))) {
    answers.push((await connection.runAndReadAll(query)).getRowsJson());
  }
  await connection.run(`COPY (SELECT * FROM read_json('${digests}', format = 'newline_delimited')) TO '${parquet}'`);
  answers.push((await connection.runAndReadAll(
      `SELECT path, peak FROM '${parquet}' WHERE peak IS NOT NULL ORDER BY path`)).getRowsJson());
  console.log(JSON.stringify(answers));
})().catch((error) => { console.error(error); process.exit(1); });
"""


def expected(digests):
    """What the queries ask, asked of the lines in another way."""
    read = [digest for digest in digests if digest.get("peak") is not None]
    largest = sorted(read, key=lambda digest: (-digest["peak"], digest["path"]))[:10]
    rows = {}
    for digest in digests:
        for row in digest.get("rows", []):
            if row["peak"] > 0:
                rows.setdefault((row["name"], row["file"]), []).append(row["peak"])
    failed = [(oom["ns"], digest["path"], oom["asked"], oom["free"])
              for digest in digests for oom in digest.get("ooms", [])]
    return [
        [(d["path"], d["peak"], d["end"], d["devices"][d["fullest"]]["reserved_peak"] - d["peak"]) for d in largest],
        sorted(((*name, len(peaks), min(peaks), max(peaks)) for name, peaks in rows.items()),
               key=lambda row: (-row[4], row[0], row[1]))[:10],
        sorted(failed, key=lambda row: (row[0] is None, row[0] or 0, row[1]))]


def queries(path):
    text = re.sub(r"^--.*$", "", path.read_text(), flags=re.MULTILINE)
    return [query for query in text.split(";") if query.strip()]


def number(value):
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value


def compare(what, want, got):
    got = [tuple(map(number, row)) for row in got]
    if got != want:
        sys.exit(f"FAILED {what}:\nwanted {want}\n   got {got}")
    print(f"{what}: {len(got)} rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, type=lambda path: str(Path(path).resolve()))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        subprocess.run([sys.executable, MAKER, "64", work / "tree", "--stages", "4", "--leak", "21:900", "--missing", "5",
                        "--cut-off", "17", "--oom", "2,50,33"], stdout=subprocess.DEVNULL, check=True)
        job = work / "job.jsonl"
        done = subprocess.run([args.memtool, "index", work / "tree", "-o", job])
        assert done.returncode == 0, done  # the file that was cut off has a line that says so
        lines = job.read_text().splitlines()
        want = expected([json.loads(line) for line in lines])
        assert all(want), want

        base = sqlite3.connect(":memory:")
        base.execute("CREATE TABLE digests(line)")
        base.executemany("INSERT INTO digests VALUES (?)", [(line,) for line in lines])
        for i, query in enumerate(queries(ENGINES / "queries_sqlite.sql")):
            compare(f"SQLite, query {i + 1}", want[i], base.execute(query).fetchall())

        # The report as a table, as any database imports it.
        report = subprocess.run([args.memtool, "ranks", "--format", "csv", job], stdout=subprocess.PIPE, check=True)
        rows = list(csv.DictReader(io.StringIO(report.stdout.decode(), newline="")))
        base.execute("CREATE TABLE ranks(rank INTEGER, peak INTEGER, outlier INTEGER)")
        base.executemany("INSERT INTO ranks VALUES (?, ?, ?)", [(row["rank"], row["peak"] or None, row["outlier"]) for row in rows])
        compare("outliers from CSV", [(21,)], base.execute("SELECT rank FROM ranks WHERE outlier > 0").fetchall())

        found = shutil.which("node") and subprocess.run(["node", "-e", "require.resolve('@duckdb/node-api')"],
                                                        stderr=subprocess.DEVNULL, check=False).returncode == 0
        if not found:
            print("DuckDB: not here")
            return 0
        (work / "ask.js").write_text(DUCKDB)
        done = subprocess.run(["node", work / "ask.js", ENGINES / "queries.sql", job, work / "job.parquet"],
                              stdout=subprocess.PIPE, check=True, env=os.environ)
        answers = json.loads(done.stdout)
        for i, answer in enumerate(answers[:3]):
            compare(f"DuckDB, query {i + 1}", want[i], answer)
        compare("Parquet", sorted((d["path"], d["peak"]) for d in map(json.loads, lines) if d.get("peak") is not None),
                answers[3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
