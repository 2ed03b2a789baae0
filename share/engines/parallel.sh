#!/bin/sh
# usage: parallel.sh FOLDER OUT.jsonl     PARALLEL_OPTIONS are passed on, such as --sshloginfile
set -eu
folder=$1 out=$2
# Blocks of 50 files; --keep-order is not needed, and a block that fails is tried again.
# shellcheck disable=SC2086
find "$folder" -type f | parallel ${PARALLEL_OPTIONS:-} --pipe -N 50 --retries 3 \
  "${MEMTOOL:-memtool} index --files-from -" > "$out.part"
mv -- "$out.part" "$out"
