/* base/program.h -- other programs: found, given files, run, and what they print read. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "base/fail.h"
HD_BEGIN_DECLS

/* The file that may be run as `name`: itself if it has a '/', else the first in `folders`, which ':' separates (NULL:
 * none). False, and an empty path, where there is none. */
bool hdb_program_find(const char *name, const char *folders, char *path, size_t size);

/* Run argv[0] to its end. What it prints, on either stream, goes to `said` as far as there is room, ended by a zero.
 * Its exit status; -1: it could not be started, or a signal ended it. */
int hdb_program_run(char *const argv[], char *said, size_t size);

/* Make a file in TMPDIR, or /tmp, that holds `data`; its name goes to `path`, and the caller unlinks it. */
HdStatus hdb_program_file(const void *data, size_t n, char *path, size_t size, HdError *err);

HD_END_DECLS
#endif
