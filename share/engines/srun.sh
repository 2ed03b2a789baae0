#!/bin/sh
# usage: srun.sh FOLDER OUT.jsonl     inside an allocation (salloc, sbatch)
# Each task indexes its part of the files; a task that fails is named by srun, and the script ends with
# its status.
set -eu
folder=$1 out=$2
parts=$(mktemp -d "$out.parts.XXXXXX")
trap 'rm -rf -- "$parts"' EXIT
srun --label "${MEMTOOL:-memtool}" index --shard auto -o "$parts/%s.jsonl" "$folder"
cat "$parts"/*.jsonl > "$out"
