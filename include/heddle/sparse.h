/* heddle/sparse.h -- sparse matrices of square blocks on a device, and iterative solvers for linear systems.
 *
 * A matrix is kept as block compressed rows (BSR): rows, columns and counts are in blocks of 1 x 1 to 6 x 6 scalars, f32 or
 * f64; blocks of 1 x 1 make it CSR. In a row the columns ascend, each once; an element may be zero. All sums have a fixed
 * order, so results have the same bits for any threads, width and device. Work goes to the stream of the HdAlgorithms that
 * a matrix was made with; a call that must know a count of the device, or how far a solver is, says that it waits.
 */
#ifndef HEDDLE_SPARSE_H
#define HEDDLE_SPARSE_H

#include "heddle/algorithms.h"
HD_BEGIN_DECLS

typedef struct HdSparse HdSparse;

enum { HD_SPARSE_MAX_BLOCK = 6 };

/* A matrix of rows x cols blocks of block x block scalars, from `n` triplets; waits for the stream. Triplets at one place
 * are summed in the order in which they stand. No triplets make a matrix of zeros.
 *
 * Shapes     row, col (n) i32; values: dense, n * block * block scalars f32 or f64, block after block, its rows one after
 *            another.
 * Ownership  the caller owns *out, until hd_sparse_free, at which the stream must have done its work; `a` must outlive it.
 * Errors     HD_ERR_ARG names a triplet that lies outside; HD_ERR_SHAPE; HD_ERR_TYPE; HD_ERR_DEVICE; HD_ERR_NOMEM;
 *            HD_ERR_UNSUPPORTED for 2^31 scalars or more. */
HD_API HdStatus hd_sparse_new(HdAlgorithms *a, int64_t rows, int64_t cols, int32_t block, HdArray row, HdArray col,
                              HdArray values, HdSparse **out);
HD_API void     hd_sparse_free(HdSparse *m); /* NULL is fine */

HD_API int64_t  hd_sparse_rows(const HdSparse *m);
HD_API int64_t  hd_sparse_cols(const HdSparse *m);
HD_API int32_t  hd_sparse_block(const HdSparse *m);
HD_API HdScalar hd_sparse_scalar(const HdSparse *m);
HD_API int64_t  hd_sparse_count(const HdSparse *m); /* blocks that are kept */
/* Lent for the matrix's life: where each row begins, i32 (rows + 1); the blocks' columns, i32 (count); their scalars
 * (count * block * block), which may be changed in place. */
HD_API HdArray hd_sparse_offsets(const HdSparse *m);
HD_API HdArray hd_sparse_columns(const HdSparse *m);
HD_API HdArray hd_sparse_values(const HdSparse *m);

/* New matrices from old ones; the caller owns *out. Those of two matrices want equal blocks and scalars, and wait for the
 * stream. A sum or product has an element where its terms have one, even if it is zero.
 *
 * Errors     HD_ERR_SHAPE, HD_ERR_TYPE say what differs; HD_ERR_NOMEM; HD_ERR_UNSUPPORTED for a product of 2^31 terms or
 *            more. */
HD_API HdStatus hd_sparse_transpose(const HdSparse *m, HdSparse **out);
HD_API HdStatus hd_sparse_to_csr(const HdSparse *m, HdSparse **out); /* with blocks of 1 x 1 */
HD_API HdStatus hd_sparse_add(double alpha, const HdSparse *x, double beta, const HdSparse *y, HdSparse **out);
HD_API HdStatus hd_sparse_multiply(const HdSparse *x, const HdSparse *y, HdSparse **out);
/* A matrix with the inverses of m's diagonal blocks, and nothing else: Jacobi's preconditioner. A block that is missing, or
 * has no finite inverse, becomes the identity. `m` is square. */
HD_API HdStatus hd_sparse_jacobi(const HdSparse *m, HdSparse **out);

/* y = alpha m x + beta y. With beta = 0 the old y is not read. The order of a row's sum is that of its columns.
 *
 * Shapes     x (cols * block), y (rows * block), of the matrix's scalars; x and y must not overlap. */
HD_API HdStatus hd_sparse_apply(double alpha, const HdSparse *m, HdArray x, double beta, HdArray y);

/* --- solvers of A x = b --- */

/* A linear map: `apply` gives the stream work that makes y = A x, for dense x and y that do not overlap. What it returns
 * but HD_OK ends a solver, which passes it on. It may call all functions above with the solver's HdAlgorithms, but no
 * solver. */
typedef struct HdOperator {
  HdStatus (*apply)(void *user, HdArray x, HdArray y);
  void *user;
} HdOperator;
HD_API HdOperator hd_sparse_operator(const HdSparse *m); /* borrows m */

typedef struct HdSolveOptions {
  double     relative;     /* stop when |b - A x| <= max(relative * |b|, absolute)                            */
  double     absolute;
  int32_t    iterations;   /* at most; GMRES counts the inner ones                                            */
  int32_t    restart;      /* GMRES: vectors that are kept                                                    */
  int32_t    check;        /* iterations given to the stream between two waits; 0: 1 on the host, 16 on a GPU.
                            * The result does not depend on it.                                               */
  HdOperator precondition; /* about A's inverse; for CG symmetric and positive definite. apply NULL: none     */
} HdSolveOptions;
#define HD_SOLVE_OPTIONS_INIT { 1e-6, 0, 1000, 30, 0, { NULL, NULL } }

typedef enum HdSolveStop {
  HD_SOLVE_CONVERGED = 1, /* by the residual that the method carries along: `residual` below may be a little larger */
  HD_SOLVE_LIMIT,      /* options.iterations were not enough                                                  */
  HD_SOLVE_BREAKDOWN,  /* a divisor is 0, or for CG not positive: A or the preconditioner is not what the method wants */
  HD_SOLVE_NOT_FINITE, /* an infinity or a NaN came up, and may be in x                                       */
} HdSolveStop;

typedef struct HdSolveReport {
  HdSolveStop stop;
  int32_t     iterations;
  double      residual; /* |b - A x| of the x that was given back, computed anew                              */
  double      rhs;      /* |b|                                                                                */
} HdSolveReport;

/* Solve A x = b from the x that is given, and leave the last x there; wait for the stream. CG wants a symmetric positive
 * definite A; BiCGSTAB and GMRES take any square one, preconditioned from the right. `options` and `report` may be NULL.
 * Not to converge is no error: the report says so.
 *
 * Shapes     b, x: n scalars f32 or f64, all work is done in their type; x dense, not overlapping b.
 * Errors     HD_ERR_TYPE, HD_ERR_SHAPE, HD_ERR_DEVICE, HD_ERR_OPTION; HD_ERR_NOMEM; HD_ERR_BUSY while a graph is recorded;
 *            those of the operators. */
HD_API HdStatus hd_solve_cg(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                            HdSolveReport *report);
HD_API HdStatus hd_solve_bicgstab(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                                  HdSolveReport *report);
HD_API HdStatus hd_solve_gmres(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                               HdSolveReport *report);

HD_END_DECLS
#endif
