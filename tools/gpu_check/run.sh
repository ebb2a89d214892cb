#!/bin/sh
# run.sh [REPORT] -- try this machine's NVIDIA GPU: a few minutes, ending in "all is well" or what failed. The report, gpu_check.txt
# unless another file is named, says the same. It needs the driver, and nothing else.
set -u
report=${1:-$PWD/gpu_check.txt}
case $report in /*) ;; *) report=$PWD/$report ;; esac
cd "$(dirname "$0")" || exit 2
exec ./gpu_check run artifacts "$report" --seconds=180
