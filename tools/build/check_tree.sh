#!/usr/bin/env bash
# check_tree.sh -- rules of the tree that no compiler checks: arrows between rooms, doors to foreign libraries, words, sizes.
# Prints what is wrong as FILE:LINE: text, and fails if anything is. A long file is only pointed out.
set -u
shopt -s lastpipe # complain runs in this shell, and so can set bad
bad=0
complain() {
  local lines
  lines=$(cat)
  [ -z "$lines" ] || { echo "$lines" >&2; bad=1; }
}

# room: the rooms that it may include (STYLE: Rooms). A path's room is its first folder.
declare -A may=(
  [base]="base heddle"
  [ir]="ir base heddle"
  [frontend]="frontend ir base heddle"
  [passes]="passes ir base heddle"
  [backends]="backends ir base heddle"
  [runtime]="runtime base heddle"
  [include]="heddle"
  [host]="host heddle"
  [algorithms]="algorithms host heddle"
  [geometry]="geometry host heddle"
  [texture]="texture host heddle"
  [sim]="sim host heddle"
  [examples]="sim examples heddle"
  [api]="api runtime backends passes frontend ir base heddle"
)
rooms="algorithms|base|ir|frontend|geometry|host|passes|backends|runtime|api|sim|texture|tools|tests|bench|examples|heddle"
for room in "${!may[@]}"; do
  [ -d "$room" ] || continue
  allowed=${may[$room]// /|}
  grep -rnE --include='*.[ch]' --include='*.def' "^ *# *include \"($rooms)/" "$room" | grep -vE "include \"($allowed)/" |
    sed "s|\$|   <- $room may not include this|" | complain
done
# The backends are siblings; llvm is the door that cpu goes through.
grep -rnE --include='*.[ch]' '^ *# *include "backends/(cpu|interp)/' backends/llvm |
  sed 's/$/   <- the door knows no backend/' | complain
grep -rnE --include='*.[ch]' '^ *# *include "backends/cpu/' backends/interp |
  sed 's/$/   <- the interpreter stands alone/' | complain

# One door for each foreign library.
grep -rnE --include='*.[ch]' --include='*.cc' '^ *# *include [<"]llvm-c/' . | grep -v '^\./backends/llvm/' | grep -v '^\./bazel-' |
  sed 's/$/   <- only backends\/llvm includes LLVM/' | complain

# Words that mean unfinished work, or somebody's machine.
git grep -nIwP 'TODO|FIXME|(?<!")XXX|HACK' -- . ':!tools/build/check_tree.sh' | sed 's/$/   <- finish it, or file it/' | complain
git grep -nIE '(^|[^A-Za-z0-9_./])/(home|root|work)/[a-z]' -- . ':!tools/build/check_tree.sh' | sed 's/$/   <- a path of one machine/' | complain

# Each C file opens with a comment that begins with its own path, as headers and sources here do.
git ls-files -- '*.c' '*.h' '*.def' | grep -v '^tests/' | while read -r f; do
  head -n 3 "$f" | grep -qF "$f" || head -n 3 "$f" | grep -qF "${f#include/}" || echo "$f:1: the first comment does not name the file"
done | complain

git ls-files -- '*.c' '*.h' '*.cc' '*.hd' | while read -r f; do
  n=$(wc -l <"$f")
  [ "$n" -le 1000 ] || echo "$f:1: warning: $n lines; look for the seam" >&2
done
exit $bad
