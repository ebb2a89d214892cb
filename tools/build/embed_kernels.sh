#!/bin/sh
# embed_kernels.sh FUNCTION FILE.hd.. -- writes C: `const char *FUNCTION(const char *name)`, which gives the text of a file by
# its name without the folder and .hd; NULL if there is none.
set -eu
function=$1
shift
printf '#include <string.h>\nconst char *%s(const char *name);\nconst char *%s(const char *name) {\n' "$function" "$function"
for f; do
  printf '  if (strcmp(name, "%s") == 0) return\n' "$(basename "$f" .hd)"
  sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' "$f"
  printf '  ;\n'
done
printf '  return NULL;\n}\n'
