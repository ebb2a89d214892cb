/* tools/npy/npy_write.c -- writes NumPy's array files, little-endian and in C order. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/npy/npy.h"

/* Items stand aligned to 64 bytes in the file, as NumPy puts them, so that it can be mapped. */
enum { ALIGN = 64, PREFIX = 10 };

static int shape_text(int32_t ndim, const int64_t length[], char *out, size_t size) {
  int n = snprintf(out, size, "(");
  for (int32_t k = 0; k < ndim; k++) n += snprintf(out + n, size - (size_t)n, k ? ", %" PRId64 : "%" PRId64, length[k]);
  return n + snprintf(out + n, size - (size_t)n, ndim == 1 ? ",)" : ")");
}

HdStatus npy_write(OutFile *out, NpyType type, int32_t ndim, const int64_t length[], const void *data,
                   char why[OUT_WHY]) {
  char shape[NPY_MAX_DIMS * 24], header[512];
  size_t size = type.size;
  for (int32_t k = 0; k < ndim; k++) size *= (size_t)length[k];
  shape_text(ndim, length, shape, sizeof shape);
  int n = snprintf(header, sizeof header, "{'descr': '%c%c%" PRIu32 "', 'fortran_order': False, 'shape': %s, }",
                   type.size == 1 || type.kind == 'V' ? '|' : '<', type.kind, type.size, shape);
  while ((PREFIX + n + 1) % ALIGN) header[n++] = ' ';
  header[n++] = '\n';
  unsigned char head[PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n, (unsigned char)(n >> 8)};
  errno = 0;
  bool good = fwrite(head, 1, PREFIX, out->file) == PREFIX && fwrite(header, 1, (size_t)n, out->file) == (size_t)n &&
              (size == 0 || fwrite(data, 1, size, out->file) == size);
  if (good) return HD_OK;
  snprintf(why, OUT_WHY, "'%s': cannot write: %s", out->path ? out->path : "standard output",
           strerror(errno ? errno : EIO));
  return HD_ERR_IO;
}

const char *npy_describe(NpyType type, int32_t ndim, const int64_t length[], char out[160]) {
  int n = type.kind == 'b'   ? snprintf(out, 160, "bool")
          : type.kind == 'V' ? snprintf(out, 160, "V%" PRIu32, type.size)
                             : snprintf(out, 160, "%c%" PRIu32, type.kind, type.size * 8);
  n += snprintf(out + n, 160 - (size_t)n, "[");
  for (int32_t k = 0; k < ndim && n < 150; k++)
    n += snprintf(out + n, 160 - (size_t)n, k ? ", %" PRId64 : "%" PRId64, length[k]);
  if (n < 159) snprintf(out + n, 160 - (size_t)n, "]");
  return out;
}
