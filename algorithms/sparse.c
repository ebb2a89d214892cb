/* algorithms/sparse.c -- the host side of algorithms/sparse.hd: making matrices from triplets and from one another. */
#include <stdio.h>

#include "algorithms/room.h"

/* Rows of one thread: on the host enough that starting it costs little beside them. */
enum { ROWS_CPU = 32, ROWS_GPU = 1 };
/* Terms of a product's row up to which it is sorted by itself, by insertion. */
enum { ROW_TERMS = 128 };

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

static HdStatus make(HdAlgorithms *a, const char *call, int64_t rows, int64_t cols, int32_t edge, HdScalar scalar,
                     HdSparse **out) {
  HdSparse *m = hdhost_alloc(a->ctx, sizeof *m);
  if (!m) return hd_context_fail(a->ctx, HD_ERR_NOMEM, call, "", "");
  *m = (HdSparse){.a = a, .call = call, .rows = rows, .cols = cols, .edge = edge, .scalar = scalar};
  *out = m;
  return HD_OK;
}

static HdStatus make_offsets(HdSparse *m) {
  int64_t n = m->rows + 1;
  return hd_array_new(m->a->ctx, m->a->device, hd_type_scalar(HD_I32), 1, &n, &m->offset);
}

static HdStatus make_elements(HdSparse *m, int64_t count) {
  HdAlgorithms *a = m->a;
  int64_t scalars = count * size_of(m);
  m->count = count;
  if (scalars > INT32_MAX)
    return hdalg_fail(a, HD_ERR_UNSUPPORTED, m->call, "", "wanted fewer than 2^31 scalars, got %lld",
                      (long long)scalars);
  HD_TRY(hd_array_new(a->ctx, a->device, hd_type_scalar(HD_I32), 1, &count, &m->column));
  return hd_array_new(a->ctx, a->device, hd_type_scalar(m->scalar), 1, &scalars, &m->value);
}

static int32_t rows_each(const HdAlgorithms *a) { return a->device.kind == HD_DEVICE_CUDA ? ROWS_GPU : ROWS_CPU; }

/* Kernel `name`, for all rows of m: `each` of them by one thread. */
#define BY_ROWS(m, name, ...)                                                                                          \
  do {                                                                                                                 \
    HdKernel *by_rows_kernel_;                                                                                         \
    int32_t each_ = rows_each((m)->a);                                                                                 \
    HD_TRY(kernel((m)->a, (name), &by_rows_kernel_));                                                                  \
    HD_TRY(HDHOST_RUN2(by_rows_kernel_, (m)->a->stream, ((m)->rows + each_ - 1) / each_, 1, __VA_ARGS__));             \
  } while (0)

/* Kernel `name` on n threads. */
#define BY_THREADS(a, name, n, ...)                                                                                    \
  do {                                                                                                                 \
    HdKernel *by_threads_kernel_;                                                                                      \
    HD_TRY(kernel((a), (name), &by_threads_kernel_));                                                                  \
    HD_TRY(HDHOST_RUN1(by_threads_kernel_, (a)->stream, (n), __VA_ARGS__));                                            \
  } while (0)

static HdArg arg(const HdArray *x) { return hd_arg_array(x); }

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

/* A number of the device; waits. */
static HdStatus read_number(HdAlgorithms *a, HdArray x, int64_t *out) {
  HostView v;
  HD_TRY(hdhost_view(a->ctx, a->stream, x, &v));
  *out = x.type.size == 8 ? ((int64_t *)v.data)[0] : ((int32_t *)v.data)[0];
  return hdhost_unview(a->ctx, &v, false);
}

/* For numbers from 0 to below n. */
static int32_t bits_for(int64_t n) {
  int32_t bits = 1;
  while (bits < 32 && (n - 1) >> bits) bits++;
  return bits;
}

/* `count` terms: their keys, what they are, and then, for each element, where its terms begin. */
typedef struct Terms {
  HdArray key, term, start;
  int64_t count;
  int32_t shift; /* bits of a key's column */
} Terms;

static HdStatus make_terms(const HdSparse *m, HdScalar key, HdScalar term, int64_t count, Terms *out) {
  out->count = count;
  out->shift = bits_for(m->cols);
  HD_TRY(hdalg_scratch(m->a, ALG_SP_KEY, hd_type_scalar(key), count, &out->key));
  return hdalg_scratch(m->a, ALG_SP_TERM, hd_type_scalar(term), count, &out->term);
}

/* Sort the terms by u64 keys, and make the matrix's arrays with offsets and columns. */
static HdStatus collect(HdSparse *m, Terms *t) {
  HdAlgorithms *a = m->a;
  HdType i32 = hd_type_scalar(HD_I32);
  HdArray unique, lengths, count;
  int64_t found = 0;
  HD_TRY(hdalg_scratch(a, ALG_SP_UNIQUE, t->key.type, t->count, &unique));
  HD_TRY(hdalg_scratch(a, ALG_SP_LENGTHS, i32, t->count, &lengths));
  HD_TRY(hdalg_scratch(a, ALG_SP_COUNT, i32, 1, &count));
  if (t->count > 0) {
    HdSortOptions o = {0, t->shift + bits_for(m->rows), false};
    HD_TRY(hd_sort_pairs(a, t->key, t->term, &o));
    HD_TRY(hd_run_lengths(a, t->key, unique, lengths, count));
    HD_TRY(read_number(a, count, &found));
  }
  HD_TRY(make_offsets(m));
  HD_TRY(make_elements(m, found));
  HD_TRY(hdalg_scratch(a, ALG_SP_START, i32, found + 1, &t->start));
  HD_TRY(hdalg_scan(a, HD_SCAN_EXCLUSIVE, hdalg_part(lengths, 0, found), t->start));
  if (found == 0) return hd_array_clear(a->stream, m->offset);
  HdArray key = hdalg_part(unique, 0, found);
  BY_THREADS(a, "key_offsets", found, arg(&key), hd_arg_i32(t->shift), arg(&m->offset));
  BY_THREADS(a, "key_columns", found, arg(&key), hd_arg_i32(t->shift), arg(&m->column));
  return HD_OK;
}

/* The row of each element. */
static HdStatus element_rows(const HdSparse *m, HdArray *row) {
  HD_TRY(hdalg_scratch(m->a, ALG_SP_ROW, hd_type_scalar(HD_I32), m->count, row));
  BY_ROWS(m, "element_rows", arg(&m->offset), hd_arg_i32(each_), arg(row));
  return HD_OK;
}

/* Counts of all rows to offsets, and room for the elements; waits. */
static HdStatus make_counted(HdSparse *m, HdArray counts) {
  int64_t count = 0;
  HD_TRY(hdalg_scan(m->a, HD_SCAN_EXCLUSIVE, counts, m->offset));
  HD_TRY(read_number(m->a, hdalg_part(m->offset, m->rows, 1), &count));
  return make_elements(m, count);
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
  HdKernel *sum;
  HD_TRY(make_terms(m, HD_U64, HD_U32, n, &t));
  HD_TRY(hdalg_scratch(a, ALG_SP_COUNT, hd_type_scalar(HD_I32), 1, &count));
  HD_TRY(hd_array_clear(a->stream, count));
  BY_THREADS(a, "triplet_keys", n, arg(&row), arg(&col), hd_arg_i32((int32_t)m->rows), hd_arg_i32((int32_t)m->cols),
             hd_arg_i32(t.shift), arg(&t.key), arg(&t.term), arg(&count));
  HD_TRY(read_number(a, count, &outside));
  if (outside)
    return hdalg_fail(a, HD_ERR_ARG, "hd_sparse_new", "row, col", "triplet %lld lies outside of %lld x %lld blocks",
                      (long long)(n - outside), (long long)m->rows, (long long)m->cols);
  HD_TRY(collect(m, &t));
  HD_TRY(hdalg_sparse_kernel(a, "gather_sum", 0, m->scalar, &sum));
  return HDHOST_RUN1(sum, a->stream, m->value.length[0], arg(&values), arg(&t.term), arg(&t.start),
                     hd_arg_i32((int32_t)size_of(m)), arg(&m->value));
}

HdStatus hd_sparse_new(HdAlgorithms *a, int64_t rows, int64_t cols, int32_t block, HdArray row, HdArray col,
                       HdArray values, HdSparse **out) {
  if (!a) return HD_ERR_ARG;
  if (!out) return hd_context_fail(a->ctx, HD_ERR_ARG, "hd_sparse_new", "out", "it is NULL");
  HdSparse *m;
  HD_TRY(check_triplets(a, rows, cols, block, row, col, values));
  HD_TRY(make(a, "hd_sparse_new", rows, cols, block, (HdScalar)values.type.scalar, &m));
  values.length[0] = hd_array_count(values);
  values.ndim = 1;
  values.stride[0] = 1;
  return finish(m, from_triplets(m, row, col, values), out);
}

/* --- from one matrix --- */

/* Elements stand by rows already: a stable sort by columns is all. */
static HdStatus transpose(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  Terms t;
  HdArray row;
  HdKernel *gather;
  HD_TRY(make_offsets(m));
  HD_TRY(make_elements(m, x->count));
  if (x->count == 0) return hd_array_clear(a->stream, m->offset);
  HD_TRY(make_terms(m, HD_I32, HD_I32, x->count, &t));
  HD_TRY(element_rows(x, &row));
  HD_TRY(hd_array_copy(a->stream, x->column, t.key));
  BY_THREADS(a, "count_up", x->count, arg(&t.term));
  t.key.type = t.term.type = hd_type_scalar(HD_U32);
  HdSortOptions o = {0, bits_for(x->cols), false};
  HD_TRY(hd_sort_pairs(a, t.key, t.term, &o));
  BY_THREADS(a, "row_offsets", x->count, arg(&t.key), arg(&m->offset));
  BY_THREADS(a, "picked_columns", x->count, arg(&row), arg(&t.term), arg(&m->column));
  HD_TRY(hdalg_sparse_kernel(a, "gather_transposed", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], arg(&x->value), arg(&t.term), hd_arg_i32(m->edge),
                     arg(&m->value));
}

HdStatus hd_sparse_transpose(const HdSparse *x, HdSparse **out) {
  if (!x) return HD_ERR_ARG;
  if (!out) return hd_context_fail(x->a->ctx, HD_ERR_ARG, "hd_sparse_transpose", "out", "it is NULL");
  HdSparse *m;
  HD_TRY(make(x->a, "hd_sparse_transpose", x->cols, x->rows, x->edge, x->scalar, &m));
  return finish(m, transpose(x, m), out);
}

static HdStatus to_csr(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  HdArray row;
  HdKernel *elements;
  HD_TRY(make_offsets(m));
  HD_TRY(make_elements(m, x->value.length[0]));
  HD_TRY(element_rows(x, &row));
  if (x->rows == 0) return hd_array_clear(a->stream, m->offset);
  HdArg edge = hd_arg_i32(x->edge);
  BY_THREADS(a, "csr_offsets", m->rows + 1, arg(&x->offset), edge, arg(&m->offset));
  HD_TRY(hdalg_sparse_kernel(a, "csr_elements", 0, m->scalar, &elements));
  return HDHOST_RUN1(elements, a->stream, m->count, arg(&x->offset), arg(&row), arg(&x->column), arg(&x->value), edge,
                     arg(&m->column), arg(&m->value));
}

HdStatus hd_sparse_to_csr(const HdSparse *x, HdSparse **out) {
  if (!x) return HD_ERR_ARG;
  if (!out) return hd_context_fail(x->a->ctx, HD_ERR_ARG, "hd_sparse_to_csr", "out", "it is NULL");
  HdSparse *m;
  HD_TRY(make(x->a, "hd_sparse_to_csr", x->rows * x->edge, x->cols * x->edge, 1, x->scalar, &m));
  return finish(m, to_csr(x, m), out);
}

static HdStatus jacobi(const HdSparse *x, HdSparse *m) {
  HdAlgorithms *a = m->a;
  HdKernel *invert;
  HD_TRY(make_offsets(m));
  HD_TRY(make_elements(m, x->rows));
  BY_THREADS(a, "count_up", m->rows + 1, arg(&m->offset));
  HD_TRY(hdalg_sparse_kernel(a, "invert", m->edge, m->scalar, &invert));
  return HDHOST_RUN1(invert, a->stream, m->rows, arg(&x->offset), arg(&x->column), arg(&x->value), arg(&m->column),
                     arg(&m->value));
}

HdStatus hd_sparse_jacobi(const HdSparse *x, HdSparse **out) {
  if (!x) return HD_ERR_ARG;
  if (!out) return hd_context_fail(x->a->ctx, HD_ERR_ARG, "hd_sparse_jacobi", "out", "it is NULL");
  HdSparse *m;
  if (x->rows != x->cols)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_jacobi", "m", "wanted a square matrix, got %lld x %lld blocks",
                      (long long)x->rows, (long long)x->cols);
  HD_TRY(make(x->a, "hd_sparse_jacobi", x->rows, x->rows, x->edge, x->scalar, &m));
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

/* Rows are sorted: merge them, once to count and once to place. */
static HdStatus add(double alpha, const HdSparse *x, double beta, const HdSparse *y, HdSparse *m) {
  HdAlgorithms *a = m->a;
  HdType i32 = hd_type_scalar(HD_I32);
  HdArray counts, x_from, y_from;
  HdKernel *gather;
  HdArg xo = arg(&x->offset), xc = arg(&x->column), yo = arg(&y->offset), yc = arg(&y->column);
  HD_TRY(make_offsets(m));
  HD_TRY(hdalg_scratch(a, ALG_SP_LENGTHS, i32, m->rows, &counts));
  BY_ROWS(m, "union_counts", xo, xc, yo, yc, hd_arg_i32(each_), arg(&counts));
  HD_TRY(make_counted(m, counts));
  HD_TRY(hdalg_scratch(a, ALG_SP_KEY, i32, m->count, &x_from));
  HD_TRY(hdalg_scratch(a, ALG_SP_TERM, i32, m->count, &y_from));
  BY_ROWS(m, "union_rows", xo, xc, yo, yc, hd_arg_i32(each_), arg(&m->offset), arg(&m->column), arg(&x_from),
          arg(&y_from));
  HD_TRY(hdalg_sparse_kernel(a, "gather_union", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], arg(&x->value), arg(&y->value), arg(&x_from), arg(&y_from),
                     hd_arg_i32((int32_t)size_of(m)), hdalg_real(m->scalar, alpha), hdalg_real(m->scalar, beta),
                     arg(&m->value));
}

HdStatus hd_sparse_add(double alpha, const HdSparse *x, double beta, const HdSparse *y, HdSparse **out) {
  if (!x || !y) return HD_ERR_ARG;
  if (!out) return hd_context_fail(x->a->ctx, HD_ERR_ARG, "hd_sparse_add", "out", "it is NULL");
  HdSparse *m;
  HD_TRY(check_two(x, y, "hd_sparse_add"));
  if (x->rows != y->rows || x->cols != y->cols)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_add", "y", "wanted %lld x %lld blocks, got %lld x %lld",
                      (long long)x->rows, (long long)x->cols, (long long)y->rows, (long long)y->cols);
  if (x->count + y->count > INT32_MAX)
    return hdalg_fail(x->a, HD_ERR_UNSUPPORTED, "hd_sparse_add", "", "both have 2^31 blocks or more");
  HD_TRY(make(x->a, "hd_sparse_add", x->rows, x->cols, x->edge, x->scalar, &m));
  return finish(m, add(alpha, x, beta, y, m), out);
}

/* Where the terms of each element of x begin, how many there are, and of the row with most; waits. */
static HdStatus count_terms(const HdSparse *x, const HdSparse *y, HdArray *first, int64_t *terms, int64_t *longest) {
  HdAlgorithms *a = x->a;
  HdType i64 = hd_type_scalar(HD_I64);
  HdArray of_row, most;
  HD_TRY(hdalg_scratch(a, ALG_SP_FIRST, i64, x->count + 1, first));
  HD_TRY(hdalg_scratch(a, ALG_SP_UNIQUE, i64, x->rows + 1, &of_row));
  HdArray count = hdalg_part(*first, 0, x->count);
  BY_THREADS(a, "product_counts", x->count, arg(&x->column), arg(&y->offset), arg(&count));
  HD_TRY(hdalg_scan(a, HD_SCAN_EXCLUSIVE, count, *first));
  most = hdalg_part(of_row, x->rows, 1);
  of_row = hdalg_part(of_row, 0, x->rows);
  BY_THREADS(a, "row_terms", x->rows, arg(&x->offset), arg(first), arg(&of_row));
  HD_TRY(hd_reduce(a, HD_REDUCE_MAX, of_row, most));
  HD_TRY(read_number(a, most, longest));
  return read_number(a, hdalg_part(*first, x->count, 1), terms);
}

/* Short rows are sorted by themselves, by columns. */
static HdStatus sort_rows(const HdSparse *x, const HdSparse *y, HdArray first, HdSparse *m, Terms *t) {
  HdAlgorithms *a = m->a;
  HdArray counts;
  HD_TRY(hdalg_scratch(a, ALG_SP_LENGTHS, hd_type_scalar(HD_I32), m->rows, &counts));
  BY_THREADS(a, "product_columns", x->count, arg(&x->column), arg(&y->offset), arg(&y->column), arg(&first),
             arg(&t->key), arg(&t->term));
  BY_ROWS(m, "sort_rows", arg(&x->offset), arg(&first), hd_arg_i32(each_), arg(&t->key), arg(&t->term), arg(&counts));
  HD_TRY(make_offsets(m));
  HD_TRY(make_counted(m, counts));
  HD_TRY(hdalg_scratch(a, ALG_SP_START, hd_type_scalar(HD_I32), m->count + 1, &t->start));
  BY_ROWS(m, "place_rows", arg(&x->offset), arg(&first), hd_arg_i32(each_), arg(&t->key), arg(&m->offset),
          arg(&m->column), arg(&t->start));
  return HD_OK;
}

static HdStatus multiply(const HdSparse *x, const HdSparse *y, HdSparse *m) {
  HdAlgorithms *a = m->a;
  Terms t;
  HdArray row, first;
  HdKernel *gather;
  int64_t terms = 0, longest = 0;
  HD_TRY(count_terms(x, y, &first, &terms, &longest));
  if (terms > INT32_MAX)
    return hdalg_fail(a, HD_ERR_UNSUPPORTED, "hd_sparse_multiply", "", "the product has %lld terms, 2^31 or more",
                      (long long)terms);
  if (longest <= ROW_TERMS) {
    HD_TRY(make_terms(m, HD_U32, HD_U64, terms, &t));
    HD_TRY(sort_rows(x, y, first, m, &t));
  } else {
    HD_TRY(make_terms(m, HD_U64, HD_U64, terms, &t));
    HD_TRY(element_rows(x, &row));
    BY_THREADS(a, "product_keys", x->count, arg(&row), arg(&x->column), arg(&y->offset), arg(&y->column), arg(&first),
               hd_arg_i32(t.shift), arg(&t.key), arg(&t.term));
    HD_TRY(collect(m, &t));
  }
  HD_TRY(hdalg_sparse_kernel(a, "gather_products", 0, m->scalar, &gather));
  return HDHOST_RUN1(gather, a->stream, m->value.length[0], arg(&x->value), arg(&y->value), arg(&t.term), arg(&t.start),
                     hd_arg_i32(m->edge), arg(&m->value));
}

HdStatus hd_sparse_multiply(const HdSparse *x, const HdSparse *y, HdSparse **out) {
  if (!x || !y) return HD_ERR_ARG;
  if (!out) return hd_context_fail(x->a->ctx, HD_ERR_ARG, "hd_sparse_multiply", "out", "it is NULL");
  HdSparse *m;
  HD_TRY(check_two(x, y, "hd_sparse_multiply"));
  if (x->cols != y->rows)
    return hdalg_fail(x->a, HD_ERR_SHAPE, "hd_sparse_multiply", "y", "wanted %lld rows of blocks, got %lld",
                      (long long)x->cols, (long long)y->rows);
  HD_TRY(make(x->a, "hd_sparse_multiply", x->rows, y->cols, x->edge, x->scalar, &m));
  return finish(m, multiply(x, y, m), out);
}

/* --- times a vector --- */

HdStatus hd_sparse_apply(double alpha, const HdSparse *m, HdArray x, double beta, HdArray y) {
  if (!m) return HD_ERR_ARG;
  HdAlgorithms *a = m->a;
  const char *call = "hd_sparse_apply";
  HdKernel *k;
  HD_TRY(hdalg_check_scalar(a, call, "x", x, m->scalar));
  HD_TRY(hdalg_check_length(a, call, "x", x, m->cols * m->edge));
  HD_TRY(hdalg_check_scalar(a, call, "y", y, m->scalar));
  HD_TRY(hdalg_check_length(a, call, "y", y, m->rows * m->edge));
  HD_TRY(hdalg_sparse_kernel(a, "apply", m->edge, m->scalar, &k));
  int32_t each = rows_each(a);
  return HDHOST_RUN2(k, a->stream, (m->rows + each - 1) / each, 1, hd_arg_array(&m->offset), hd_arg_array(&m->column),
                     hd_arg_array(&m->value), hd_arg_array(&x), hdalg_real(m->scalar, alpha),
                     hdalg_real(m->scalar, beta), hd_arg_i32(each), hd_arg_array(&y));
}

static HdStatus apply_operator(void *user, HdArray x, HdArray y) { return hd_sparse_apply(1, user, x, 0, y); }

HdOperator hd_sparse_operator(const HdSparse *m) { return (HdOperator){apply_operator, (void *)m}; }
