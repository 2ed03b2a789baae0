#!/bin/sh
# usage: xargs.sh WORKERS FOLDER OUT.jsonl
set -eu
workers=$1 folder=$2 out=$3
parts=$(mktemp -d "$out.parts.XXXXXX")
trap 'rm -rf -- "$parts"' EXIT
# shellcheck disable=SC2016
seq 0 $((workers - 1)) | xargs -P "$workers" -I {} sh -c '"$@" || [ $? -eq 4 ]' - \
  "${MEMTOOL:-memtool}" index --shard "{}/$workers" -o "$parts/{}.jsonl" "$folder"
cat "$parts"/*.jsonl > "$out"
