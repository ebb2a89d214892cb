/* tools/npy/outfile.h -- files that appear whole or not at all.
 *
 * Bytes go to a temporary file beside the target; out_commit moves it into place. What is no regular file (a pipe, a
 * terminal, /dev/null) is written to directly, and "-" is standard output.
 */
#ifndef OUTFILE_H
#define OUTFILE_H

#include <stdio.h>

#include "base/fail.h"
HD_BEGIN_DECLS

enum { OUT_WHY = 512 }; /* room for a message */

typedef struct OutFile {
  FILE *file;
  char *path, *temp; /* temp is NULL where the target is written directly */
} OutFile;

/* On failure nothing is left open or behind, and `why` has the path and the system's message. */
HdStatus out_begin(const char *path, OutFile *out, char why[OUT_WHY]);
HdStatus out_close(OutFile *out, char why[OUT_WHY]);  /* all bytes are written: what is left is the rename    */
HdStatus out_commit(OutFile *out, char why[OUT_WHY]); /* closes if need be; the file is in place              */
void     out_abort(OutFile *out);                     /* the target stays as it was; nothing to do after commit */

HD_END_DECLS
#endif
