/* algorithms/sparse.c -- the host side of algorithms/sparse.hd: terms are sorted by place, runs of one place become elements. */
#include <stdio.h>

#include "algorithms/room.h"

/* Rows of one thread: on the host enough that starting it costs little beside them. */
enum { ROWS_CPU = 32, ROWS_GPU = 1 };

HdStatus hdalg_sparse_kernel(HdAlgorithms *a, const char *name, int32_t edge, HdScalar scalar, HdKernel **out) {
  char full[64], number[16] = "";
  if (edge) snprintf(number, sizeof number, "_%d", edge);
  snprintf(full, sizeof full, "%s%s_%s", name, number, scalar == HD_F64 ? "f64" : "f32");
  return hdalg_kernel(a, ALG_SPARSE, full, out);
}

static HdStatus kernel(HdAlgorithms *a, const char *name, HdKernel **out) {
  return hdalg_kernel(a, ALG_SPARSE, name, out);
}

static int64_t size_of(const HdSparse *m) { return (int64_t)m->edge * m->edge; }

/* --- making and ending --- */

static HdStatus make(HdAlgorithms *a, int64_t rows, int64_t cols, int32_t edge, HdScalar scalar, HdSparse **out) {
  HdSparse *m = hdhost_alloc(a->ctx, sizeof *m);
  if (!m) return hd_context_fail(a->ctx, HD_ERR_NOMEM, "hd_sparse_new", "", "");
  *m = (HdSparse){.a = a, .rows = rows, .cols = cols, .edge = edge, .scalar = scalar};
  *out = m;
  return HD_OK;
}

static HdStatus make_arrays(HdSparse *m, int64_t count) {
  HdAlgorithms *a = m->a;
  int64_t offsets = m->rows + 1, scalars = count * size_of(m);
  HdType i32 = hd_type_scalar(HD_I32);
  m->count = count;
  if (scalars > INT32_MAX)
    return hdalg_fail(a, HD_ERR_UNSUPPORTED, "hd_sparse_new", "", "wanted fewer than 2^31 scalars, got %lld",
                      (long long)scalars);
  HD_TRY(hd_array_new(a->ctx, a->device, i32, 1, &offsets, &m->offset));
  HD_TRY(hd_array_new(a->ctx, a->device, i32, 1, &count, &m->column));
  return hd_array_new(a->ctx, a->device, hd_type_scalar(m->scalar), 1, &scalars, &m->value);
}

/* Gives the matrix away, or ends it. */
static HdStatus finish(HdSparse *m, HdStatus status, HdSparse **out) {
  if (status == HD_OK)
    *out = m;
  else
    hd_sparse_free(m);
  return status;
}

void hd_sparse_free(HdSparse *m) {
  if (!m) return;
  hd_array_free(m->a->ctx, &m->offset);
  hd_array_free(m->a->ctx, &m->column);
  hd_array_free(m->a->ctx, &m->value);
  hdhost_release(m->a->ctx, m, sizeof *m);
}

int64_t hd_sparse_rows(const HdSparse *m) { return m->rows; }
int64_t hd_sparse_cols(const HdSparse *m) { return m->cols; }
int32_t hd_sparse_block(const HdSparse *m) { return m->edge; }
HdScalar hd_sparse_scalar(const HdSparse *m) { return m->scalar; }
int64_t hd_sparse_count(const HdSparse *m) { return m->count; }

static HdArray lend(HdArray x) {
  x.owner = NULL;
  return x;
}
HdArray hd_sparse_offsets(const HdSparse *m) { return lend(m->offset); }
HdArray hd_sparse_columns(const HdSparse *m) { return lend(m->column); }
HdArray hd_sparse_values(const HdSparse *m) { return lend(m->value); }

/* --- terms to elements --- */

/* `count` terms: their keys, what they are, and then, for each element, where its terms begin. */
typedef struct Terms {
  HdArray key, term, unique, start;
  int64_t count;
} Terms;

static HdStatus make_terms(HdAlgorithms *a, HdScalar term, int64_t count, Terms *out) {
  out->count = count;
  HD_TRY(hdalg_scratch(a, ALG_SP_KEY, hd_type_scalar(HD_U64), count, &out->key));
  return hdalg_scratch(a, ALG_SP_TERM, hd_type_scalar(term), count, &out->term);
}

/* A number of the device; waits. */
static HdStatus read_number(HdAlgorithms *a, HdArray x, int64_t *out) {
  HostView v;
  HD_TRY(hdhost_view(a->ctx, a->stream, x, &v));
  *out = x.type.size == 8 ? ((int64_t *)v.data)[0] : ((int32_t *)v.data)[0];
  return hdhost_unview(a->ctx, &v, false);
}

static int32_t bits_of(int64_t rows, int64_t cols) {
  uint64_t last = (uint64_t)rows * (uint64_t)cols - 1;
  int32_t bits = 1;
  while (bits < 64 && last >> bits) bits++;
  return bits;
}

/* Sort the terms, and make the matrix's arrays with offsets and columns. */
static HdStatus collect(HdSparse *m, Terms *t) {
  HdAlgorithms *a = m->a;
  HdType i32 = hd_type_scalar(HD_I32);
  HdArray lengths, count;
  HdKernel *offsets, *columns;
  int64_t found = 0;
  HD_TRY(hdalg_scratch(a, ALG_SP_UNIQUE, t->key.type, t->count, &t->unique));
  HD_TRY(hdalg_scratch(a, ALG_SP_LENGTHS, i32, t->count, &lengths));
  HD_TRY(hdalg_scratch(a, ALG_SP_COUNT, i32, 1, &count));
  if (t->count > 0) {
    HdSortOptions o = {0, bits_of(m->rows, m->cols), false};
    HD_TRY(hd_sort_pairs(a, t->key, t->term, &o));
    HD_TRY(hd_run_lengths(a, t->key, t->unique, lengths, count));
    HD_TRY(read_number(a, count, &found));
  }
  HD_TRY(make_arrays(m, found));
  HD_TRY(hdalg_scratch(a, ALG_SP_START, i32, found + 1, &t->start));
  HD_TRY(hdalg_scan(a, HD_SCAN_EXCLUSIVE, hdalg_part(lengths, 0, found), t->start));
  t->unique = hdalg_part(t->unique, 0, found);
  HdArg cols = hd_arg_i32((int32_t)m->cols), unique = hd_arg_array(&t->unique);
  HD_TRY(kernel(a, "row_offsets", &offsets));
  HD_TRY(kernel(a, "key_columns", &columns));
  HD_TRY(HDHOST_RUN1(offsets, a->stream, m->rows + 1, unique, cols, hd_arg_array(&m->offset)));
  return HDHOST_RUN1(columns, a->stream, found, unique, cols, hd_arg_array(&m->column));
}

/* The row of each element. */
static HdStatus element_rows(const HdSparse *m, HdArray *row) {
  HdKernel *k;
  HD_TRY(hdalg_scratch(m->a, ALG_SP_ROW, hd_type_scalar(HD_I32), m->count, row));
  HD_TRY(kernel(m->a, "element_rows", &k));
  return HDHOST_RUN1(k, m->a->stream, m->count, hd_arg_array(&m->offset), hd_arg_array(row));
}

/* --- from triplets --- */

static HdStatus check_triplets(HdAlgorithms *a, int64_t rows, int64_t cols, int32_t block, HdArray row, HdArray col,
                               HdArray values) {
  const char *call = "hd_sparse_new";
  char got[64];
  int64_t n = row.length[0], scalars = n * block * block;
  if (block < 1 || block > HD_SPARSE_MAX_BLOCK)
    return hdalg_fail(a, HD_ERR_ARG, call, "block", "wanted 1 to %d, got %d", HD_SPARSE_MAX_BLOCK, block);
  if (rows < 0 || rows * block >= INT32_MAX || rows >= INT32_MAX)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "rows", "wanted 0 to fewer than 2^31 scalars, got %lld blocks",
                      (long long)rows);
  if (cols < 0 || cols >= INT32_MAX || cols * block >= INT32_MAX)
    return hdalg_fail(a, HD_ERR_SHAPE, call, "cols", "wanted 0 to fewer than 2^31 scalars, got %lld blocks",
                      (long long)cols);
  HD_TRY(hdalg_check_scalar(a, call, "row", row, HD_I32));
  HD_TRY(hdalg_check_scalar(a, call, "col", col, HD_I32));
  HD_TRY(hdalg_check_length(a, call, "col", col, n));
  if (!hdalg_is_scalar(values.type, HD_F32) && !hdalg_is_scalar(values.type, HD_F64))
    return hdalg_fail(a, HD_ERR_TYPE, call, "values", "wanted f32 or f64, got %s", hd_type_name(values.type, got));
  if (hd_array_count(values) != scalars || !hd_array_is_dense(values))
    return hdalg_fail(a, HD_ERR_SHAPE, call, "values", "wanted a dense array of %lld scalars, got %lld",
                      (long long)scalars, (long long)hd_array_count(values));
  values.ndim = 1;
  values.length[0] = scalars;
  values.stride[0] = 1;
  return hdalg_check_array(a, call, "values", values);
}

static HdStatus from_triplets(HdSparse *m, HdArray row, HdArray col, HdArray values) {
  HdAlgorithms *a = m->a;
  int64_t n = row.length[0], outside = 0;
  Terms t;
  HdArray count;
  HdKernel *keys, *sum;
  HD_TRY(make_terms(a, HD_U32, n, &t));
  HD_TRY(hdalg_scratch(a, ALG_SP_COUNT, hd_type_scalar(HD_I32), 1, &count));
  HD_TRY(hd_array_clear(a->stream, count));
  HD_TRY(kernel(a, "triplet_keys", &keys));
  HD_TRY(HDHOST_RUN1(keys, a->stream, n, hd_arg_array(&row), hd_arg_array(&col), hd_arg_i32((int32_t)m->rows),
                     hd_arg_i32((int32_t)m->cols), hd_arg_array(&t.key), hd_arg_array(&t.term), hd_arg_array(&count)));
  HD_TRY(read_number(a, count, &outside));
  if (outside)
    return hdalg_fail(a, HD_ERR_ARG, "hd_sparse_new", "row, col", "triplet %lld lies outside of %lld x %lld blocks",
                      (long long)(n - outside), (long long)m->rows, (long long)m->cols);
  HD_TRY(collect(m, &t));
  HD_TRY(hdalg_sparse_kernel(a, "gather_sum", 0, m->scalar, &sum));
  return HDHOST_RUN1(sum, a->stream, m->value.length[0], hd_arg_array(&values), hd_arg_array(&t.term),
                     hd_arg_array(&t.start), hd_arg_i32((int32_t)size_of(m)), hd_arg_array(&m->value));
}

HdStatus hd_sparse_new(HdAlgorithms *a, int64_t rows, int64_t cols, int32_t block, HdArray row, HdArray col,
                       HdArray values, HdSparse **out) {
  HdSparse *m;
  HD_TRY(check_triplets(a, rows, cols, block, row, col, values));
  HD_TRY(make(a, rows, cols, block, (HdScalar)values.type.scalar, &m));
  values.length[0] = hd_array_count(values);
  values.ndim = 1;
  values.stride[0] = 1;
  return finish(m, from_triplets(m, row, col, values), out);
}

/* --- from one matrix --- */

static HdStatus transpose(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  Terms t;
  HdArray row;
  HdKernel *keys, *gather;
  HD_TRY(make_terms(a, HD_U32, x->count, &t));
  HD_TRY(element_rows(x, &row));
  HD_TRY(kernel(a, "transposed_keys", &keys));
  HD_TRY(HDHOST_RUN1(keys, a->stream, x->count, hd_arg_array(&row), hd_arg_array(&x->column),
                     hd_arg_i32((int32_t)x->rows), hd_arg_array(&t.key), hd_arg_array(&t.term)));
  HD_TRY(collect(m, &t));
  HD_TRY(hdalg_sparse_kernel(a, "gather_transposed", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], hd_arg_array(&x->value), hd_arg_array(&t.term),
                     hd_arg_i32(m->edge), hd_arg_array(&m->value));
}

HdStatus hd_sparse_transpose(const HdSparse *x, HdSparse **out) {
  HdSparse *m;
  HD_TRY(make(x->a, x->cols, x->rows, x->edge, x->scalar, &m));
  return finish(m, transpose(x, m), out);
}

static HdStatus to_csr(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  HdArray row;
  HdKernel *offsets, *elements;
  HD_TRY(make_arrays(m, x->value.length[0]));
  HD_TRY(element_rows(x, &row));
  HD_TRY(kernel(a, "csr_offsets", &offsets));
  HD_TRY(hdalg_sparse_kernel(a, "csr_elements", 0, m->scalar, &elements));
  if (x->rows == 0) return hd_array_clear(a->stream, m->offset);
  HdArg edge = hd_arg_i32(x->edge), offset = hd_arg_array(&x->offset);
  HD_TRY(HDHOST_RUN1(offsets, a->stream, m->rows + 1, offset, edge, hd_arg_array(&m->offset)));
  return HDHOST_RUN1(elements, a->stream, m->count, offset, hd_arg_array(&row), hd_arg_array(&x->column),
                     hd_arg_array(&x->value), edge, hd_arg_array(&m->column), hd_arg_array(&m->value));
}

HdStatus hd_sparse_to_csr(const HdSparse *x, HdSparse **out) {
  HdSparse *m;
  HD_TRY(make(x->a, x->rows * x->edge, x->cols * x->edge, 1, x->scalar, &m));
  return finish(m, to_csr(x, m), out);
}

static HdStatus jacobi(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  HdKernel *count, *invert;
  HD_TRY(make_arrays(m, x->rows));
  HD_TRY(kernel(a, "count_up", &count));
  HD_TRY(hdalg_sparse_kernel(a, "invert", m->edge, m->scalar, &invert));
  HD_TRY(HDHOST_RUN1(count, a->stream, m->rows + 1, hd_arg_array(&m->offset)));
  return HDHOST_RUN1(invert, a->stream, m->rows, hd_arg_array(&x->offset), hd_arg_array(&x->column),
                     hd_arg_array(&x->value), hd_arg_array(&m->column), hd_arg_array(&m->value));
}

HdStatus hd_sparse_jacobi(const HdSparse *x, HdSparse **out) {
  HdSparse *m;
  if (x->rows != x->cols)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_jacobi", "m", "wanted a square matrix, got %lld x %lld blocks",
                      (long long)x->rows, (long long)x->cols);
  HD_TRY(make(x->a, x->rows, x->rows, x->edge, x->scalar, &m));
  return finish(m, jacobi(x, m), out);
}

/* --- from two --- */

static HdStatus check_two(const HdSparse *x, const HdSparse *y, const char *call) {
  if (x->scalar != y->scalar) return hdalg_fail(x->a, HD_ERR_TYPE, call, "y", "one matrix is of f32, one of f64");
  if (x->edge != y->edge)
    return hdalg_fail(x->a, HD_ERR_SHAPE, call, "y", "wanted blocks of %d x %d, got %d x %d", x->edge, x->edge, y->edge,
                      y->edge);
  if (x->a != y->a) return hdalg_fail(x->a, HD_ERR_ARG, call, "y", "it was made with another HdAlgorithms");
  return HD_OK;
}

static HdStatus element_keys(const HdSparse *x, int64_t first, const Terms *t) {
  HdArray row, key = hdalg_part(t->key, first, x->count), term = hdalg_part(t->term, first, x->count);
  HdKernel *keys;
  HD_TRY(element_rows(x, &row));
  HD_TRY(kernel(x->a, "element_keys", &keys));
  return HDHOST_RUN1(keys, x->a->stream, x->count, hd_arg_array(&row), hd_arg_array(&x->column),
                     hd_arg_i32((int32_t)x->cols), hd_arg_i32((int32_t)first), hd_arg_array(&key), hd_arg_array(&term));
}

static HdStatus add(double alpha, const HdSparse *x, double beta, const HdSparse *y, HdSparse *m) {
  HdAlgorithms *a = m->a;
  Terms t;
  HdKernel *gather;
  HD_TRY(make_terms(a, HD_U32, x->count + y->count, &t));
  HD_TRY(element_keys(x, 0, &t));
  HD_TRY(element_keys(y, x->count, &t));
  HD_TRY(collect(m, &t));
  HD_TRY(hdalg_sparse_kernel(a, "gather_scaled", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], hd_arg_array(&x->value), hd_arg_array(&y->value),
                     hd_arg_array(&t.term), hd_arg_array(&t.start), hd_arg_i32((int32_t)x->value.length[0]),
                     hd_arg_i32((int32_t)size_of(m)), hdalg_real(m->scalar, alpha), hdalg_real(m->scalar, beta),
                     hd_arg_array(&m->value));
}

HdStatus hd_sparse_add(double alpha, const HdSparse *x, double beta, const HdSparse *y, HdSparse **out) {
  HdSparse *m;
  HD_TRY(check_two(x, y, "hd_sparse_add"));
  if (x->rows != y->rows || x->cols != y->cols)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_add", "y", "wanted %lld x %lld blocks, got %lld x %lld",
                      (long long)x->rows, (long long)x->cols, (long long)y->rows, (long long)y->cols);
  if ((x->count + y->count) * size_of(x) > INT32_MAX)
    return hdalg_fail(x->a, HD_ERR_UNSUPPORTED, "hd_sparse_add", "", "both have 2^31 scalars or more");
  HD_TRY(make(x->a, x->rows, x->cols, x->edge, x->scalar, &m));
  return finish(m, add(alpha, x, beta, y, m), out);
}

static HdStatus multiply(const HdSparse *x, const HdSparse *y, HdSparse *m) {
  HdAlgorithms *a = m->a;
  Terms t;
  HdArray row, first;
  HdKernel *counts, *keys, *gather;
  int64_t terms = 0;
  HD_TRY(hdalg_scratch(a, ALG_SP_FIRST, hd_type_scalar(HD_I64), x->count + 1, &first));
  HdArray count = hdalg_part(first, 0, x->count);
  HD_TRY(element_rows(x, &row));
  HD_TRY(kernel(a, "product_counts", &counts));
  HD_TRY(HDHOST_RUN1(counts, a->stream, x->count, hd_arg_array(&x->column), hd_arg_array(&y->offset),
                     hd_arg_array(&count)));
  HD_TRY(hdalg_scan(a, HD_SCAN_EXCLUSIVE, count, first));
  HD_TRY(read_number(a, hdalg_part(first, x->count, 1), &terms));
  if (terms > INT32_MAX)
    return hdalg_fail(a, HD_ERR_UNSUPPORTED, "hd_sparse_multiply", "", "the product has %lld terms, 2^31 or more",
                      (long long)terms);
  HD_TRY(make_terms(a, HD_U64, terms, &t));
  HD_TRY(kernel(a, "product_keys", &keys));
  HD_TRY(HDHOST_RUN1(keys, a->stream, x->count, hd_arg_array(&row), hd_arg_array(&x->column), hd_arg_array(&y->offset),
                     hd_arg_array(&y->column), hd_arg_array(&first), hd_arg_i32((int32_t)y->cols), hd_arg_array(&t.key),
                     hd_arg_array(&t.term)));
  HD_TRY(collect(m, &t));
  HD_TRY(hdalg_sparse_kernel(a, "gather_products", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], hd_arg_array(&x->value), hd_arg_array(&y->value),
                     hd_arg_array(&t.term), hd_arg_array(&t.start), hd_arg_i32(m->edge), hd_arg_array(&m->value));
}

HdStatus hd_sparse_multiply(const HdSparse *x, const HdSparse *y, HdSparse **out) {
  HdSparse *m;
  HD_TRY(check_two(x, y, "hd_sparse_multiply"));
  if (x->cols != y->rows)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_multiply", "y", "wanted %lld rows of blocks, got %lld",
                      (long long)x->cols, (long long)y->rows);
  HD_TRY(make(x->a, x->rows, y->cols, x->edge, x->scalar, &m));
  return finish(m, multiply(x, y, m), out);
}

/* --- times a vector --- */

HdStatus hd_sparse_apply(double alpha, const HdSparse *m, HdArray x, double beta, HdArray y) {
  HdAlgorithms *a = m->a;
  const char *call = "hd_sparse_apply";
  HdKernel *k;
  HD_TRY(hdalg_check_scalar(a, call, "x", x, m->scalar));
  HD_TRY(hdalg_check_length(a, call, "x", x, m->cols * m->edge));
  HD_TRY(hdalg_check_scalar(a, call, "y", y, m->scalar));
  HD_TRY(hdalg_check_length(a, call, "y", y, m->rows * m->edge));
  HD_TRY(hdalg_sparse_kernel(a, "apply", m->edge, m->scalar, &k));
  int32_t each = a->device.kind == HD_DEVICE_CUDA ? ROWS_GPU : ROWS_CPU;
  return HDHOST_RUN2(k, a->stream, (m->rows + each - 1) / each, 1, hd_arg_array(&m->offset), hd_arg_array(&m->column),
                     hd_arg_array(&m->value), hd_arg_array(&x), hdalg_real(m->scalar, alpha),
                     hdalg_real(m->scalar, beta), hd_arg_i32(each), hd_arg_array(&y));
}

static HdStatus apply_operator(void *user, HdArray x, HdArray y) { return hd_sparse_apply(1, user, x, 0, y); }

HdOperator hd_sparse_operator(const HdSparse *m) { return (HdOperator){apply_operator, (void *)m}; }
