#!/bin/sh
# usage: mpirun.sh TASKS FOLDER OUT.jsonl     MPIRUN_OPTIONS are passed on
set -eu
tasks=$1 folder=$2 out=$3
parts=$(mktemp -d "$out.parts.XXXXXX")
trap 'rm -rf -- "$parts"' EXIT
# shellcheck disable=SC2086
mpirun -n "$tasks" ${MPIRUN_OPTIONS:-} \
  "${MEMTOOL:-memtool}" index --shard auto -o "$parts/%s.jsonl" "$folder"
cat "$parts"/*.jsonl > "$out"
