/* tools/heddle/value.c -- values of kernel types, as text and as .npy items. */
#include "tools/heddle/value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ScalarRow {
  const char *name;
  char kind; /* as NpyType */
  uint8_t size;
} ScalarRow;

static const ScalarRow scalars[] = {
    [HD_BOOL] = {"bool", 'b', 1}, [HD_I8] = {"i8", 'i', 1},   [HD_I16] = {"i16", 'i', 2},   [HD_I32] = {"i32", 'i', 4},
    [HD_I64] = {"i64", 'i', 8},   [HD_U8] = {"u8", 'u', 1},   [HD_U16] = {"u16", 'u', 2},   [HD_U32] = {"u32", 'u', 4},
    [HD_U64] = {"u64", 'u', 8},   [HD_F16] = {"f16", 'f', 2}, [HD_BF16] = {"bf16", 'V', 2}, [HD_F32] = {"f32", 'f', 4},
    [HD_F64] = {"f64", 'f', 8},
};

bool value_scalar(const char *name, size_t n, HdScalar *out) {
  for (int s = HD_BOOL; s <= HD_F64; s++)
    if (strlen(scalars[s].name) == n && memcmp(scalars[s].name, name, n) == 0) return *out = (HdScalar)s, true;
  return false;
}

int32_t value_count(HdType t) {
  switch ((HdKind)t.kind) {
  case HD_KIND_SCALAR: return 1;
  case HD_KIND_VEC: return t.rows;
  case HD_KIND_MAT: return t.rows * t.cols;
  case HD_KIND_QUAT: return 4;
  case HD_KIND_TRANSFORM: return 7;
  case HD_KIND_SPATIAL: return 6;
  case HD_KIND_STRUCT: return 0;
  }
  return 0;
}

/* --- text --- */

/* x as a small float with `mant` stored bits and the exponent bias of its `emin` = 1 - bias, to nearest, ties to even. */
static uint16_t small_float(double x, int mant, int emin, double limit) {
  int e;
  double a = fabs(x);
  unsigned sign = signbit(x) ? 0x8000u : 0, inf = (unsigned)(2 * (1 - emin) + 1) << mant;
  if (isnan(x)) return (uint16_t)(sign | inf | 1u << (mant - 1));
  if (a >= limit) return (uint16_t)(sign | inf);
  frexp(a, &e);
  e = a == 0 || e - 1 < emin ? emin : e - 1;
  /* An integer count of units in the last place; with the exponent field added its carry moves up by itself. */
  unsigned units = (unsigned)nearbyint(ldexp(a, mant - e));
  return (uint16_t)(sign | (((unsigned)(e - emin) << mant) + units));
}

static bool parse_float(HdScalar s, const char *text, void *out) {
  char *end;
  errno = 0;
  double d = strtod(text, &end);
  if (end == text || *end) return false;
  float f = s == HD_F64 ? 0 : strtof(text, NULL); /* not (float)d, which would round twice */
  uint16_t h;
  switch (s) {
  case HD_F64: memcpy(out, &d, 8); break;
  case HD_F32: memcpy(out, &f, 4); break;
  case HD_F16: h = small_float(f, 10, -14, 65520.0), memcpy(out, &h, 2); break;
  default: h = small_float(f, 7, -126, ldexp(511, 119)), memcpy(out, &h, 2); break; /* the middle beyond the largest */
  }
  return true;
}

static bool parse_int(const ScalarRow *row, const char *text, void *out) {
  char *end;
  int bits = row->size * 8;
  bool minus = *text == '-';
  errno = 0;
  if (!strchr("0123456789+-", *text)) return false;
  int base = strncmp(text + minus, "0x", 2) == 0 ? 16 : 10;
  if (row->kind == 'u') {
    unsigned long long x = strtoull(text, &end, base);
    if (errno || end == text || *end || minus || (bits < 64 && x >> bits)) return false;
    memcpy(out, &x, row->size); /* little-endian: the low bytes come first */
    return true;
  }
  long long x = strtoll(text, &end, base);
  if (errno || end == text || *end || (bits < 64 && (x < -(1LL << (bits - 1)) || x >= 1LL << (bits - 1)))) return false;
  memcpy(out, &x, row->size);
  return true;
}

static bool parse_scalar(HdScalar s, const char *text, void *out) {
  const ScalarRow *row = &scalars[s];
  if (s == HD_BOOL) {
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0) return false;
    memcpy(out, &yes, 1);
    return true;
  }
  return s >= HD_F16 ? parse_float(s, text, out) : parse_int(row, text, out);
}

bool value_parse(HdType t, const char *text, void *out, char *why, size_t why_size) {
  char name[64], word[64];
  int32_t count = value_count(t), n = 0;
  const char *at = text;
  size_t left = strlen(text);
  hd_type_name(t, name);
  if (count == 0) return snprintf(why, why_size, "wanted %s, which only @FILE.npy can give", name), false;
  if (left >= 2 && strchr("([{", *at) && strchr(")]}", at[left - 1])) at++, left -= 2;
  const char *end = at + left;
  for (;; n++) {
    at += strspn(at, " ");
    size_t k = strcspn(at, ",");
    if (k > (size_t)(end - at)) k = (size_t)(end - at);
    size_t trimmed = k;
    while (trimmed && at[trimmed - 1] == ' ') trimmed--;
    if (n < count) {
      snprintf(word, sizeof word, "%.*s", (int)(trimmed < sizeof word ? trimmed : sizeof word - 1), at);
      if (trimmed >= sizeof word ||
          !parse_scalar((HdScalar)t.scalar, word, (char *)out + n * (int)scalars[t.scalar].size))
        return snprintf(why, why_size, "wanted %s, got '%s', which is no %s", name, text, scalars[t.scalar].name),
               false;
    }
    at += k;
    if (at >= end) break;
    at++;
  }
  n++;
  if (n != count)
    return snprintf(why, why_size, "wanted %s as %d number%s, got %d in '%s'", name, count, count == 1 ? "" : "s", n,
                    text),
           false;
  return true;
}

/* --- .npy --- */

NpyType value_npy_type(HdType t) {
  if (t.kind == HD_KIND_STRUCT) return (NpyType){'V', t.size};
  return (NpyType){scalars[t.scalar].kind, scalars[t.scalar].size};
}

int32_t value_axes(HdType t, int64_t axes[2]) {
  if (t.kind == HD_KIND_SCALAR || t.kind == HD_KIND_STRUCT) return 0;
  axes[0] = t.kind == HD_KIND_MAT ? t.rows : value_count(t);
  axes[1] = t.cols;
  return t.kind == HD_KIND_MAT ? 2 : 1;
}

bool value_fits(HdType t, int32_t ndim, NpyType item, int32_t npy_ndim, const int64_t npy_length[], int64_t length[]) {
  int64_t axes[2];
  int32_t extra = value_axes(t, axes);
  NpyType own = value_npy_type(t);
  if (t.kind == HD_KIND_STRUCT && item.kind != 'V') {
    extra = 1;
    if (item.size == 0 || t.size % item.size) return false;
    axes[0] = t.size / item.size;
  } else {
    bool raw = t.scalar == HD_BF16 && item.kind == 'u';
    if ((item.kind != own.kind && !raw) || item.size != own.size) return false;
  }
  if (npy_ndim != ndim + extra) return false;
  for (int32_t k = 0; k < extra; k++)
    if (npy_length[ndim + k] != axes[k]) return false;
  for (int32_t k = 0; k < ndim; k++) length[k] = npy_length[k];
  return true;
}

const char *value_wanted(HdType t, int32_t ndim, char out[96]) {
  int64_t axes[2];
  int32_t extra = value_axes(t, axes);
  int n;
  if (t.kind == HD_KIND_STRUCT)
    n = snprintf(out, 96, "records of %u bytes [", t.size);
  else
    n = snprintf(out, 96, "%s[", scalars[t.scalar].name);
  for (int32_t k = 0; k < ndim; k++) n += snprintf(out + n, 96 - (size_t)n, "%s%c", k ? ", " : "", "nmkl"[k & 3]);
  for (int32_t k = 0; k < extra; k++)
    n += snprintf(out + n, 96 - (size_t)n, "%s%" PRId64, ndim + k ? ", " : "", axes[k]);
  snprintf(out + n, 96 - (size_t)n, "]");
  return out;
}
