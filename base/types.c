/* base/types.c -- the descriptions of element types. */
#include "heddle/types.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  uint32_t size;
} scalars[] = {
    {"?", 0},   {"bool", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4},  {"i64", 8}, {"u8", 1},
    {"u16", 2}, {"u32", 4},  {"u64", 8}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8},
};

/* Row 0 stands for what is no scalar: its size is 0. */
static uint32_t row_of(unsigned scalar) { return scalar <= HD_F64 ? scalar : 0; }

static HdType packed(HdKind kind, HdScalar scalar, int32_t rows, int32_t cols, uint32_t count) {
  HdType t;
  memset(&t, 0, sizeof t);
  if (rows < 1 || rows > 255 || cols < 1 || cols > 255) return t;
  t.kind = (uint8_t)kind;
  t.scalar = (uint8_t)row_of(scalar);
  t.rows = (uint8_t)rows;
  t.cols = (uint8_t)cols;
  t.size = scalars[t.scalar].size * count;
  return t;
}

HdType hd_type_scalar(HdScalar scalar) { return packed(HD_KIND_SCALAR, scalar, 1, 1, 1); }

HdType hd_type_vec(HdScalar scalar, int32_t n) { return packed(HD_KIND_VEC, scalar, n, 1, (uint32_t)n); }

HdType hd_type_mat(HdScalar scalar, int32_t rows, int32_t cols) {
  return packed(HD_KIND_MAT, scalar, rows, cols, (uint32_t)rows * (uint32_t)cols);
}

HdType hd_type_quat(HdScalar scalar) { return packed(HD_KIND_QUAT, scalar, 1, 1, 4); }

HdType hd_type_transform(HdScalar scalar) { return packed(HD_KIND_TRANSFORM, scalar, 1, 1, 7); }

HdType hd_type_spatial(HdScalar scalar) { return packed(HD_KIND_SPATIAL, scalar, 1, 1, 6); }

HdType hd_type_struct(uint32_t size) {
  HdType t = packed(HD_KIND_STRUCT, (HdScalar)0, 1, 1, 0);
  t.size = size;
  return t;
}

bool hd_type_equal(HdType a, HdType b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.rows == b.rows && a.cols == b.cols && a.size == b.size;
}

const char *hd_type_name(HdType type, char out[64]) {
  const char *s = scalars[row_of(type.scalar)].name;
  switch ((HdKind)type.kind) {
  case HD_KIND_SCALAR: snprintf(out, 64, "%s", s); return out;
  case HD_KIND_VEC: snprintf(out, 64, "vec<%s, %d>", s, type.rows); return out;
  case HD_KIND_MAT: snprintf(out, 64, "mat<%s, %d, %d>", s, type.rows, type.cols); return out;
  case HD_KIND_QUAT: snprintf(out, 64, "quat<%s>", s); return out;
  case HD_KIND_TRANSFORM: snprintf(out, 64, "transform<%s>", s); return out;
  case HD_KIND_SPATIAL: snprintf(out, 64, "spatial<%s>", s); return out;
  case HD_KIND_STRUCT: snprintf(out, 64, "struct of %u bytes", type.size); return out;
  }
  snprintf(out, 64, "no type");
  return out;
}
