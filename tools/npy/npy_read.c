/* tools/npy/npy_read.c -- reads NumPy's array files.
 *
 * The format is NEP 1: a magic number, a version, the length of a header, and the header, which is a Python dict with the
 * keys descr, fortran_order and shape. Nothing in the file is believed: every length is checked against what is there
 * before memory is asked for. Descriptions of records are read for their size only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/npy/npy.h"

enum { MAX_HEADER = 1 << 20, MAX_NESTING = 16 };

/* The header's text, and what went wrong in it. */
typedef struct Cursor {
  const char *at, *end;
  HdStatus status;
  char why[160];
} Cursor;

static bool bad(Cursor *c, HdStatus status, const char *why) {
  if (c->status == HD_OK) {
    c->status = status;
    snprintf(c->why, sizeof c->why, "%s", why);
  }
  return false;
}

static void skip_space(Cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool peek(Cursor *c, char ch) {
  skip_space(c);
  return c->at < c->end && *c->at == ch;
}

static bool take(Cursor *c, char ch) {
  if (!peek(c, ch)) return false;
  c->at++;
  return true;
}

static bool expect(Cursor *c, char ch) {
  char why[48];
  if (take(c, ch)) return true;
  snprintf(why, sizeof why, "its header lacks a '%c'", ch);
  return bad(c, HD_ERR_FORMAT, why);
}

/* 'text' or "text". NumPy escapes nothing that matters here; a backslash is refused where the text is used. */
static bool string(Cursor *c, const char **s, size_t *n) {
  skip_space(c);
  if (c->at < c->end && *c->at == 'u') c->at++; /* Python 2 wrote u'..' */
  if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return bad(c, HD_ERR_FORMAT, "its header lacks a string");
  char quote = *c->at++;
  *s = c->at;
  while (c->at < c->end && *c->at != quote) c->at += *c->at == '\\' ? 2 : 1;
  if (c->at >= c->end) return bad(c, HD_ERR_FORMAT, "its header ends in a string");
  *n = (size_t)(c->at - *s);
  c->at++;
  return true;
}

static bool integer(Cursor *c, int64_t *x) {
  skip_space(c);
  int64_t v = 0;
  bool any = false;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, any = true)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->at - '0', &v))
      return bad(c, HD_ERR_FORMAT, "a length in its header is out of range");
  if (!any)
    return bad(c, HD_ERR_FORMAT, peek(c, '-') ? "a length in its header is negative" : "its header lacks a number");
  if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 */
  *x = v;
  return true;
}

static bool word(Cursor *c, const char *w) {
  skip_space(c);
  size_t n = strlen(w);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, w, n) != 0) return false;
  c->at += n;
  return true;
}

/* "<f4" and its like. */
static bool simple_type(Cursor *c, const char *s, size_t n, NpyType *t) {
  char why[120];
  size_t i = 0;
  char order = n && strchr("<>=|", s[0]) ? s[i++] : '=';
  if (i >= n) return bad(c, HD_ERR_FORMAT, "its element type is empty");
  t->kind = s[i++];
  uint64_t size = 0;
  for (; i < n && s[i] >= '0' && s[i] <= '9' && size < UINT32_MAX; i++) size = size * 10 + (uint64_t)(s[i] - '0');
  snprintf(why, sizeof why, "its element type '%.*s' is not supported; b1, i1 to i8, u1 to u8, f2 to f8 and V are",
           (int)(n < 40 ? n : 40), s);
  if (t->kind == 'O') return bad(c, HD_ERR_UNSUPPORTED, "it holds Python objects; save it with allow_pickle=False");
  if (i != n || size > UINT32_MAX) return bad(c, HD_ERR_UNSUPPORTED, why);
  if (order == '>' && size > 1)
    return bad(c, HD_ERR_UNSUPPORTED, "it is big-endian; convert it with a.astype(a.dtype.newbyteorder('<'))");
  t->size = (uint32_t)size;
  bool whole = size == 1 || size == 2 || size == 4 || size == 8;
  switch (t->kind) {
  case 'b': return size == 1 || bad(c, HD_ERR_UNSUPPORTED, why);
  case 'i':
  case 'u': return whole || bad(c, HD_ERR_UNSUPPORTED, why);
  case 'f': return (whole && size > 1) || bad(c, HD_ERR_UNSUPPORTED, why);
  case 'V': return true;
  default: return bad(c, HD_ERR_UNSUPPORTED, why);
  }
}

/* (a, b,) -- a tuple of lengths, or one bare number. */
static bool tuple(Cursor *c, int32_t *ndim, int64_t length[NPY_MAX_DIMS]) {
  *ndim = 0;
  if (!take(c, '(')) return integer(c, &length[(*ndim)++]);
  while (!take(c, ')')) {
    if (*ndim == NPY_MAX_DIMS) return bad(c, HD_ERR_UNSUPPORTED, "it has more than 8 dimensions");
    if (!integer(c, &length[(*ndim)++])) return false;
    if (!peek(c, ')') && !expect(c, ',')) return false;
  }
  return true;
}

static bool size_of_shape(int32_t ndim, const int64_t length[], uint64_t item, int64_t *count, size_t *size) {
  int64_t n = 1, bytes;
  for (int32_t k = 0; k < ndim; k++)
    if (length[k] == 0) return *count = 0, *size = 0, true;
  for (int32_t k = 0; k < ndim; k++)
    if (__builtin_mul_overflow(n, length[k], &n)) return false;
  if (__builtin_mul_overflow(n, (int64_t)item, &bytes)) return false;
  *count = n;
  *size = (size_t)bytes;
  return true;
}

static bool type(Cursor *c, int depth, NpyType *t);

/* [('x', '<f4', (3,)), ('r', '<f4')]: bytes are all that is kept. A name may be a (title, name) pair. */
static bool record(Cursor *c, int depth, NpyType *t) {
  uint64_t total = 0;
  if (depth > MAX_NESTING) return bad(c, HD_ERR_UNSUPPORTED, "its records are nested too deeply");
  if (!expect(c, '[')) return false;
  while (!take(c, ']')) {
    const char *s;
    size_t n;
    NpyType field = {0};
    int32_t ndim = 0;
    int64_t length[NPY_MAX_DIMS] = {0}, count;
    size_t size;
    if (!expect(c, '(')) return false;
    if (take(c, '(')) {
      if (!string(c, &s, &n) || !expect(c, ',') || !string(c, &s, &n) || !expect(c, ')')) return false;
    } else if (!string(c, &s, &n)) {
      return false;
    }
    if (!expect(c, ',') || !type(c, depth + 1, &field)) return false;
    if (take(c, ',') && !peek(c, ')') && !tuple(c, &ndim, length)) return false;
    if (!expect(c, ')')) return false;
    if (!size_of_shape(ndim, length, field.size, &count, &size) || (total += size) > UINT32_MAX)
      return bad(c, HD_ERR_FORMAT, "its records are too large");
    if (!peek(c, ']') && !expect(c, ',')) return false;
  }
  t->kind = 'V';
  t->size = (uint32_t)total;
  return true;
}

static bool type(Cursor *c, int depth, NpyType *t) {
  const char *s;
  size_t n;
  if (peek(c, '[')) return record(c, depth, t);
  return string(c, &s, &n) && simple_type(c, s, n, t);
}

static bool header(Cursor *c, NpyReader *r) {
  bool has_type = false, has_order = false, has_shape = false;
  if (!expect(c, '{')) return false;
  while (!take(c, '}')) {
    const char *key;
    size_t n;
    if (!string(c, &key, &n) || !expect(c, ':')) return false;
    if (n == 5 && memcmp(key, "descr", 5) == 0) {
      if (!type(c, 0, &r->type)) return false;
      has_type = true;
    } else if (n == 13 && memcmp(key, "fortran_order", 13) == 0) {
      if (word(c, "True"))
        r->fortran = true;
      else if (word(c, "False"))
        r->fortran = false;
      else
        return bad(c, HD_ERR_FORMAT, "its fortran_order is neither True nor False");
      has_order = true;
    } else if (n == 5 && memcmp(key, "shape", 5) == 0) {
      if (!peek(c, '(')) return bad(c, HD_ERR_FORMAT, "its shape is not a tuple");
      if (!tuple(c, &r->ndim, r->length)) return false;
      has_shape = true;
    } else {
      return bad(c, HD_ERR_FORMAT, "its header has an unknown key");
    }
    if (!peek(c, '}') && !expect(c, ',')) return false;
  }
  if (!has_type || !has_order || !has_shape)
    return bad(c, HD_ERR_FORMAT, "its header lacks descr, fortran_order or shape");
  if (!size_of_shape(r->ndim, r->length, r->type.size, &r->count, &r->size))
    return bad(c, HD_ERR_FORMAT, "its shape overflows");
  return true;
}

static HdStatus fail(NpyReader *r, const char *path, HdStatus status, const char *what, char why[OUT_WHY]) {
  snprintf(why, OUT_WHY, "'%s': %s", path, what);
  npy_close(r);
  return status;
}

static HdStatus fail_read(NpyReader *r, const char *path, const char *what, char why[OUT_WHY]) {
  if (ferror(r->file)) return fail(r, path, HD_ERR_IO, strerror(errno), why);
  return fail(r, path, HD_ERR_FORMAT, what, why);
}

/* A regular file must have just r->size bytes from here on: asked before memory of that size is. */
static HdStatus check_length(NpyReader *r, const char *path, char why[OUT_WHY]) {
  struct stat st;
  char what[160], shape[160];
  long at = ftell(r->file);
  if (at < 0 || fstat(fileno(r->file), &st) != 0 || !S_ISREG(st.st_mode)) return HD_OK;
  uint64_t have = (uint64_t)(st.st_size - at);
  if (have == r->size) return HD_OK;
  snprintf(what, sizeof what, "%s wants %zu bytes after the header, the file has %" PRIu64,
           npy_describe(r->type, r->ndim, r->length, shape), r->size, have);
  return fail(r, path, HD_ERR_FORMAT, what, why);
}

HdStatus npy_open(const char *path, NpyReader *r, char why[OUT_WHY]) {
  unsigned char head[12];
  memset(r, 0, sizeof *r);
  errno = 0;
  r->file = fopen(path, "rb");
  if (!r->file) return fail(r, path, HD_ERR_IO, strerror(errno), why);
  if (fread(head, 1, 8, r->file) != 8 || memcmp(head, "\x93NUMPY", 6) != 0)
    return fail_read(r, path, "it is no .npy file: it does not begin with \\x93NUMPY", why);
  if (head[6] < 1 || head[6] > 3 || head[7] != 0)
    return fail(r, path, HD_ERR_UNSUPPORTED, "its version is not 1.0, 2.0 or 3.0", why);
  size_t wide = head[6] == 1 ? 2 : 4;
  if (fread(head + 8, 1, wide, r->file) != wide) return fail_read(r, path, "it ends in its header", why);
  uint32_t n = (uint32_t)head[8] | (uint32_t)head[9] << 8;
  if (wide == 4) n |= (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
  if (n > MAX_HEADER) return fail(r, path, HD_ERR_FORMAT, "its header is longer than 1 MiB", why);
  char *text = malloc(n + 1u);
  if (!text) return fail(r, path, HD_ERR_NOMEM, "no memory for its header", why);
  if (fread(text, 1, n, r->file) != n) {
    free(text);
    return fail_read(r, path, "it ends in its header", why);
  }
  text[n] = 0;
  Cursor c = {text, text + n, HD_OK, ""};
  bool good = header(&c, r);
  skip_space(&c);
  if (good && c.at != c.end) good = bad(&c, HD_ERR_FORMAT, "there is something after its header's dict");
  free(text);
  if (!good) return fail(r, path, c.status, c.why, why);
  return check_length(r, path, why);
}

/* dst in C order from src in Fortran order: the index counts up in C order, its place in src moves along. */
static void from_fortran(const NpyReader *r, const char *src, char *dst) {
  size_t item = r->type.size;
  int64_t step[NPY_MAX_DIMS], at[NPY_MAX_DIMS] = {0}, place = 0, s = 1;
  for (int32_t k = 0; k < r->ndim; k++) step[k] = s, s *= r->length[k];
  for (int64_t i = 0; i < r->count; i++) {
    memcpy(dst + (size_t)i * item, src + (size_t)place * item, item);
    for (int32_t k = r->ndim - 1; k >= 0; k--) {
      place += step[k];
      if (++at[k] < r->length[k]) break;
      place -= step[k] * r->length[k];
      at[k] = 0;
    }
  }
}

HdStatus npy_read(NpyReader *r, const char *path, void *data, char why[OUT_WHY]) {
  if (r->size == 0) return HD_OK;
  bool turn = r->fortran && r->ndim > 1;
  void *raw = turn ? malloc(r->size) : data;
  if (!raw) return fail(r, path, HD_ERR_NOMEM, "no memory for its data", why);
  errno = 0;
  size_t got = fread(raw, 1, r->size, r->file);
  if (got == r->size && turn) from_fortran(r, raw, data);
  if (turn) free(raw);
  if (got != r->size) return fail_read(r, path, "it ends in its data", why);
  return HD_OK;
}

void npy_close(NpyReader *r) {
  if (r->file) fclose(r->file);
  r->file = NULL;
}
