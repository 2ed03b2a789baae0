#!/bin/sh
# usage: mpirun.sh TASKS FOLDER OUT.jsonl     MPIRUN_OPTIONS are passed on
set -eu
tasks=$1 folder=$2 out=$3
parts=$(mktemp -d "$out.parts.XXXXXX")
trap 'rm -rf -- "$parts"' EXIT
# mpirun kills all tasks when one ends with another status than 0; 4 is none of its business.
# shellcheck disable=SC2086,SC2016
mpirun -n "$tasks" ${MPIRUN_OPTIONS:-} sh -c '"$@" || [ $? -eq 4 ]' - \
  "${MEMTOOL:-memtool}" index --shard auto -o "$parts/%s.jsonl" "$folder"
cat "$parts"/*.jsonl > "$out"
