#!/bin/sh
# usage: xargs.sh WORKERS FOLDER OUT.jsonl
set -eu
workers=$1 folder=$2 out=$3
parts=$(mktemp -d "$out.parts.XXXXXX")
trap 'rm -rf -- "$parts"' EXIT
seq 0 $((workers - 1)) | xargs -P "$workers" -I {} \
  "${MEMTOOL:-memtool}" index --shard "{}/$workers" -o "$parts/{}.jsonl" "$folder"
cat "$parts"/*.jsonl > "$out"
