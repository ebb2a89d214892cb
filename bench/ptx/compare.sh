#!/usr/bin/env bash
# bench/ptx/compare.sh [SM] -- registers and SASS instructions of kernels of bench/workloads beside the same kernels in
# CUDA C by nvcc -O3. Wants ptxas, nvcc and nvdisasm (in PATH, or named by $NVDISASM), and $HEDDLE, the tool.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sm=${1:-sm_90}
heddle=${HEDDLE:-heddle} nvdisasm=${NVDISASM:-nvdisasm}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
PATH=$PATH:/usr/local/cuda/bin

# count CUBIN NAME -- SASS instructions of a function, without the padding behind its last branch.
count() { "$nvdisasm" -c "$1" | awk -v want=".text.$2:" '$1 == want { on = 1; next } /^\.text\./ { on = 0 } on && /\/\*[0-9a-f]+\*\// && !/NOP/ { n++ } END { print n + 0 }'; }
# registers LOG NAME
registers() { awk -v want="'$2'" '/Compiling entry/ { on = index($0, want) } on && /Used/ { print $5; exit }' "$1"; }

nvcc -O3 -arch="$sm" -cubin -Xptxas -v -o "$tmp/twins.cubin" "$here/twins.cu" 2>"$tmp/twins.log"
printf '%-12s %9s %9s %7s   %9s %9s %7s\n' "$sm" registers nvcc ratio instrs nvcc ratio
for k in saxpy nbody mandelbrot jacobi transforms histogram sdf density; do
  file=$k
  [ $k = density ] && file=particles
  "$heddle" compile "$here/../workloads/$file.hd" --kernel=$k --emit=ptx --target="$sm" -o "$tmp/k.ptx"
  ptxas -v -arch="$sm" "$tmp/k.ptx" -o "$tmp/k.cubin" 2>"$tmp/k.log"
  r=$(registers "$tmp/k.log" hd_$k) rn=$(registers "$tmp/twins.log" $k)
  i=$(count "$tmp/k.cubin" hd_$k) in=$(count "$tmp/twins.cubin" $k)
  awk -v k=$k -v r="$r" -v rn="$rn" -v i="$i" -v n="$in" 'BEGIN { printf "%-12s %9d %9d %7.2f   %9d %9d %7.2f\n", k, r, rn, r / rn, i, n, i / n }'
done
