#!/bin/sh
# pack.sh GPU_CHECK FOLDER [ARG..] -- put all that a far machine needs into a new FOLDER. Run in the tree's root; ARGs are those of
# `gpu_check make`. KERNELS names the kernels' files, all of them unless it is set.
set -eu
program=$1 folder=$2
shift 2
mkdir -p "$folder/tests/diff/kernels"
cp "$program" "$folder/gpu_check"
chmod u+w "$folder/gpu_check"
strip "$folder/gpu_check" 2>/dev/null || true
cp tools/gpu_check/run.sh "$folder/run.sh"
chmod +x "$folder/run.sh"
for file in ${KERNELS:-tests/diff/kernels/*.hd}; do cp "$file" "$folder/tests/diff/kernels/"; done
find lib -name '*.hd' | while read -r file; do
  mkdir -p "$folder/$(dirname "$file")"
  cp "$file" "$folder/$file"
done
"$program" make "$folder/artifacts" "$@"
