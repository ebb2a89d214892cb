/* tools/npy/npy.h -- NumPy's array files, versions 1.0 to 3.0: reading them as untrusted input, and writing them.
 *
 * An array is described in NumPy's terms: kind, item size, lengths. Data is always given and taken in C order; a file in
 * Fortran order is turned on the way in. Files in big-endian order, with Python objects or of unknown make are refused
 * with a message that says so.
 */
#ifndef NPY_H
#define NPY_H

#include "tools/npy/outfile.h"
HD_BEGIN_DECLS

enum { NPY_MAX_DIMS = 8 };

typedef struct NpyType {
  char     kind; /* 'b' bool, 'i', 'u', 'f', or 'V' for bytes of any other meaning (a record) */
  uint32_t size; /* of one item [bytes]                                                        */
} NpyType;

typedef struct NpyReader {
  NpyType type;
  int32_t ndim;
  int64_t length[NPY_MAX_DIMS];
  bool    fortran;
  int64_t count; /* items                     */
  size_t  size;  /* of all items [bytes]      */
  FILE   *file;
} NpyReader;

/* Read the header, and check that the file has just as many bytes as it says. On failure nothing stays open.
 * HD_ERR_IO, HD_ERR_FORMAT, HD_ERR_UNSUPPORTED, HD_ERR_NOMEM; `why` has the path and what was wanted and found. */
HdStatus npy_open(const char *path, NpyReader *r, char why[OUT_WHY]);
/* The items, r->size bytes in C order. */
HdStatus npy_read(NpyReader *r, const char *path, void *data, char why[OUT_WHY]);
void     npy_close(NpyReader *r);

/* Version 1.0: the header always fits. `out` was begun by the caller. */
HdStatus npy_write(OutFile *out, NpyType type, int32_t ndim, const int64_t length[], const void *data,
                   char why[OUT_WHY]);

/* "f32[1024, 3]", for messages; records are "V12". */
const char *npy_describe(NpyType type, int32_t ndim, const int64_t length[], char out[160]);

HD_END_DECLS
#endif
