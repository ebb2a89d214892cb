/* algorithms/solve.c -- the host side of algorithms/solve.hd: the order of the steps, and looks at how it stands. */
#include <math.h>

#include "algorithms/room.h"

/* consts of solve.hd */
enum { STOP, ITERATIONS, COLUMNS, STATES };
enum { TOLERANCE, BB, RR, RZ, RZ_NEW, DIVISOR, ALPHA, BETA, OMEGA, TS, TT, NUMBERS };
enum { CHECK_HOST = 1, CHECK_GPU = 16 };
enum { PITCH = 16 }; /* vectors begin at multiples of it, for aligned loads */

typedef struct Solve {
  HdAlgorithms *a;
  const char *call;
  HdOperator A, M; /* M.apply is NULL without a preconditioner */
  HdArray b, x;
  HdSolveOptions o;
  HdScalar scalar;
  int64_t n, pitch;
  HdArray vectors, s, state; /* vectors: one every `pitch` elements */
  HdArg s_arg, state_arg;
  int32_t state_seen[STATES]; /* when the host last looked */
} Solve;

static HdArg arg(const HdArray *x) { return hd_arg_array(x); }

/* Kernel <name>_<type> on n threads. */
#define STEP(v, name, n, ...)                                                                                          \
  do {                                                                                                                 \
    HdKernel *step_kernel_;                                                                                            \
    HD_TRY(hdalg_number_kernel((v)->a, ALG_SOLVE, (name), (v)->x.type, &step_kernel_));                                \
    HD_TRY(HDHOST_RUN1(step_kernel_, (v)->a->stream, (n), __VA_ARGS__));                                               \
  } while (0)

static HdArray vector(const Solve *v, int64_t i) { return hdalg_part(v->vectors, i * v->pitch, v->n); }

static HdStatus dot(Solve *v, HdArray x, HdArray y, int number) {
  return hdalg_dot(v->a, x, y, hdalg_part(v->s, number, 1));
}

static HdStatus apply(Solve *v, HdArray x, HdArray y) { return v->A.apply(v->A.user, x, y); }

/* *z = M x, in the vector that it is; x itself without a preconditioner. */
static HdStatus precondition(Solve *v, HdArray x, HdArray *z) {
  if (v->M.apply) return v->M.apply(v->M.user, x, *z);
  *z = x;
  return HD_OK;
}

/* r = b - A x */
static HdStatus residual(Solve *v, HdArray r) {
  HD_TRY(apply(v, v->x, r));
  STEP(v, "subtract_from", v->n, arg(&v->b), arg(&r));
  return HD_OK;
}

/* --- beginning and end --- */

static HdStatus check(HdAlgorithms *a, const char *call, HdArray b, HdArray x, const HdSolveOptions *o) {
  char got[64];
  HD_TRY(hdalg_check_array(a, call, "x", x));
  if (!hdalg_is_scalar(x.type, HD_F32) && !hdalg_is_scalar(x.type, HD_F64))
    return hdalg_fail(a, HD_ERR_TYPE, call, "x", "wanted f32 or f64, got %s", hd_type_name(x.type, got));
  if (!hd_array_is_dense(x)) return hdalg_fail(a, HD_ERR_SHAPE, call, "x", "wanted a dense array");
  HD_TRY(hdalg_check_scalar(a, call, "b", b, (HdScalar)x.type.scalar));
  HD_TRY(hdalg_check_length(a, call, "b", b, x.length[0]));
  if (!(o->relative >= 0)) return hdalg_fail(a, HD_ERR_OPTION, call, "options.relative", "wanted 0 or more");
  if (!(o->absolute >= 0)) return hdalg_fail(a, HD_ERR_OPTION, call, "options.absolute", "wanted 0 or more");
  if (o->iterations < 0) return hdalg_fail(a, HD_ERR_OPTION, call, "options.iterations", "wanted 0 or more");
  if (o->restart < 1 || o->restart > 1000)
    return hdalg_fail(a, HD_ERR_OPTION, call, "options.restart", "wanted 1 to 1000, got %d", o->restart);
  if (o->check < 0) return hdalg_fail(a, HD_ERR_OPTION, call, "options.check", "wanted 0 or more");
  return HD_OK;
}

/* Memory for `count` vectors; r = b - A x in the first, and how it stands. */
static HdStatus begin(Solve *v, int64_t count) {
  HdAlgorithms *a = v->a;
  HdType type = v->x.type;
  if (count * v->pitch > INT32_MAX)
    return hdalg_fail(a, HD_ERR_UNSUPPORTED, v->call, "", "%lld vectors have 2^31 elements or more", (long long)count);
  HD_TRY(hdalg_scratch(a, ALG_SO_VECTORS, type, count * v->pitch, &v->vectors));
  HD_TRY(hdalg_scratch(a, ALG_SO_NUMBERS, type, NUMBERS, &v->s));
  HD_TRY(hdalg_scratch(a, ALG_SO_STATE, hd_type_scalar(HD_I32), STATES, &v->state));
  v->s_arg = arg(&v->s);
  v->state_arg = arg(&v->state);
  HD_TRY(hd_array_clear(a->stream, v->state));
  HD_TRY(residual(v, vector(v, 0)));
  HD_TRY(dot(v, v->b, v->b, BB));
  HD_TRY(dot(v, vector(v, 0), vector(v, 0), RR));
  STEP(v, "begin_solve", 1, hdalg_real(v->scalar, v->o.relative), hdalg_real(v->scalar, v->o.absolute),
       hd_arg_i32(v->o.iterations), v->s_arg, v->state_arg);
  return HD_OK;
}

/* Copy the state; waits. */
static HdStatus look(Solve *v) {
  HostView view;
  HD_TRY(hdhost_view(v->a->ctx, v->a->stream, v->state, &view));
  for (int i = 0; i < STATES; i++) v->state_seen[i] = ((int32_t *)view.data)[i];
  return hdhost_unview(v->a->ctx, &view, false);
}

static double number(const Solve *v, const void *data, int i) {
  return v->scalar == HD_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static HdStatus end(Solve *v, HdSolveReport *report) {
  HostView view;
  HD_TRY(residual(v, vector(v, 0)));
  HD_TRY(dot(v, vector(v, 0), vector(v, 0), RR));
  HD_TRY(look(v));
  HD_TRY(hdhost_view(v->a->ctx, v->a->stream, v->s, &view));
  HdSolveReport r = {(HdSolveStop)v->state_seen[STOP], v->state_seen[ITERATIONS], sqrt(number(v, view.data, RR)),
                     sqrt(number(v, view.data, BB))};
  HD_TRY(hdhost_unview(v->a->ctx, &view, false));
  if (report) *report = r;
  return HD_OK;
}

static HdStatus solve(HdAlgorithms *a, const char *call, HdOperator A, HdArray b, HdArray x,
                      const HdSolveOptions *options, HdStatus method(Solve *), HdSolveReport *report) {
  HdSolveOptions defaults = HD_SOLVE_OPTIONS_INIT, o = options ? *options : defaults;
  HD_TRY(check(a, call, b, x, &o));
  if (!A.apply) return hdalg_fail(a, HD_ERR_ARG, call, "A", "its function is NULL");
  if (o.check == 0) o.check = a->device.kind == HD_DEVICE_CUDA ? CHECK_GPU : CHECK_HOST;
  Solve v = {.a = a, .call = call, .A = A, .M = o.precondition, .b = b, .x = x, .o = o};
  v.scalar = (HdScalar)x.type.scalar;
  v.n = x.length[0];
  v.pitch = (v.n + PITCH - 1) / PITCH * PITCH;
  HD_TRY(method(&v));
  return end(&v, report);
}

/* --- CG --- */

static HdStatus cg(Solve *v) {
  enum { R, P, Q, Z, VECTORS };
  HD_TRY(begin(v, VECTORS));
  HdArray r = vector(v, R), p = vector(v, P), q = vector(v, Q), z = vector(v, Z);
  HdArg limit = hd_arg_i32(v->o.iterations), rz = hd_arg_i32(v->M.apply ? RZ_NEW : RR);
  HD_TRY(precondition(v, r, &z));
  if (v->M.apply) HD_TRY(dot(v, r, z, RZ_NEW));
  STEP(v, "cg_begin", 1, rz, v->s_arg);
  HD_TRY(hd_array_copy(v->a->stream, z, p));
  for (;;) {
    HD_TRY(look(v));
    if (v->state_seen[STOP]) return HD_OK;
    for (int32_t i = 0; i < v->o.check; i++) {
      HD_TRY(apply(v, p, q));
      HD_TRY(dot(v, p, q, DIVISOR));
      STEP(v, "cg_alpha", 1, v->s_arg, v->state_arg);
      STEP(v, "cg_update", v->n, v->s_arg, v->state_arg, arg(&p), arg(&q), arg(&v->x), arg(&r));
      HD_TRY(dot(v, r, r, RR));
      HD_TRY(precondition(v, r, &z));
      if (v->M.apply) HD_TRY(dot(v, r, z, RZ_NEW));
      STEP(v, "cg_beta", 1, rz, limit, v->s_arg, v->state_arg);
      STEP(v, "cg_direction", v->n, v->s_arg, v->state_arg, arg(&z), arg(&p));
    }
  }
}

HdStatus hd_solve_cg(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                     HdSolveReport *report) {
  if (!a) return HD_ERR_ARG;
  return solve(a, "hd_solve_cg", A, b, x, options, cg, report);
}

/* --- BiCGSTAB --- */

static HdStatus bicgstab(Solve *v) {
  enum { R, R0, P, V, T, Y, Z, VECTORS };
  HD_TRY(begin(v, VECTORS));
  HdArray r = vector(v, R), r0 = vector(v, R0), p = vector(v, P), w = vector(v, V), t = vector(v, T);
  HdArg limit = hd_arg_i32(v->o.iterations);
  HD_TRY(hd_array_copy(v->a->stream, r, r0));
  HD_TRY(hd_array_clear(v->a->stream, p));
  HD_TRY(hd_array_clear(v->a->stream, w));
  for (;;) {
    HD_TRY(look(v));
    if (v->state_seen[STOP]) return HD_OK;
    for (int32_t i = 0; i < v->o.check; i++) {
      HdArray y = vector(v, Y), z = vector(v, Z);
      HD_TRY(dot(v, r0, r, RZ_NEW));
      STEP(v, "bi_beta", 1, v->s_arg, v->state_arg);
      STEP(v, "bi_direction", v->n, v->s_arg, v->state_arg, arg(&r), arg(&w), arg(&p));
      HD_TRY(precondition(v, p, &y));
      HD_TRY(apply(v, y, w));
      HD_TRY(dot(v, r0, w, DIVISOR));
      STEP(v, "bi_alpha", 1, v->s_arg, v->state_arg);
      STEP(v, "bi_half", v->n, v->s_arg, v->state_arg, arg(&w), arg(&r));
      HD_TRY(precondition(v, r, &z));
      HD_TRY(apply(v, z, t));
      HD_TRY(dot(v, t, r, TS));
      HD_TRY(dot(v, t, t, TT));
      STEP(v, "bi_omega", 1, v->s_arg, v->state_arg);
      STEP(v, "bi_update", v->n, v->s_arg, v->state_arg, arg(&y), arg(&z), arg(&t), arg(&v->x), arg(&r));
      HD_TRY(dot(v, r, r, RR));
      STEP(v, "bi_end", 1, limit, v->s_arg, v->state_arg);
    }
  }
}

HdStatus hd_solve_bicgstab(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                           HdSolveReport *report) {
  if (!a) return HD_ERR_ARG;
  return solve(a, "hd_solve_bicgstab", A, b, x, options, bicgstab, report);
}

/* --- GMRES --- */

/* Vectors: R, W, Z, then the basis. */
enum { GM_R, GM_W, GM_Z, GM_BASIS };

/* Basis vector j + 1, and column j of the triangle. */
static HdStatus gmres_column(Solve *v, HdArray h, int64_t j) {
  int64_t m = v->o.restart;
  HdArray w = vector(v, GM_W), z = vector(v, GM_Z), from = vector(v, GM_BASIS + j), to = vector(v, GM_BASIS + j + 1);
  HdArg h_arg = arg(&h);
  HD_TRY(precondition(v, from, &z));
  HD_TRY(apply(v, z, w));
  for (int64_t i = 0; i <= j; i++) {
    int64_t at = j * (m + 1) + i;
    HdArray u = vector(v, GM_BASIS + i);
    HD_TRY(hdalg_dot(v->a, w, u, hdalg_part(h, at, 1)));
    STEP(v, "gm_remove", v->n, hd_arg_i32((int32_t)at), h_arg, arg(&u), arg(&w));
  }
  HD_TRY(dot(v, w, w, DIVISOR));
  STEP(v, "gm_scale", v->n, hd_arg_i32(DIVISOR), v->s_arg, arg(&w), arg(&to));
  STEP(v, "gm_rotate", 1, hd_arg_i32((int32_t)j), hd_arg_i32((int32_t)m), hd_arg_i32(v->o.iterations), v->s_arg, h_arg,
       v->state_arg);
  return HD_OK;
}

static HdStatus gmres(Solve *v) {
  int64_t m = v->o.restart;
  HdArray h;
  HD_TRY(begin(v, GM_BASIS + m + 1));
  HD_TRY(hdalg_scratch(v->a, ALG_SO_MATRIX, v->x.type, m * (m + 1) + 2 * m + (m + 1) + m, &h));
  HdArray r = vector(v, GM_R), w = vector(v, GM_W), first = vector(v, GM_BASIS);
  HdArray basis = hdalg_part(v->vectors, GM_BASIS * v->pitch, (m + 1) * v->pitch);
  HdArg h_arg = arg(&h), m_arg = hd_arg_i32((int32_t)m), limit = hd_arg_i32(v->o.iterations);
  for (;;) {
    HD_TRY(look(v));
    if (v->state_seen[STOP]) return HD_OK;
    HdArray z = vector(v, GM_Z);
    STEP(v, "gm_begin", 1, limit, m_arg, v->s_arg, h_arg, v->state_arg);
    STEP(v, "gm_scale", v->n, hd_arg_i32(RR), v->s_arg, arg(&r), arg(&first));
    for (int64_t j = 0; j < m && v->state_seen[STOP] == 0; j++) {
      HD_TRY(gmres_column(v, h, j));
      if ((j + 1) % v->o.check == 0) HD_TRY(look(v));
    }
    STEP(v, "gm_solve", 1, m_arg, h_arg, v->state_arg);
    STEP(v, "gm_combine", v->n, m_arg, hd_arg_i32((int32_t)v->pitch), h_arg, v->state_arg, arg(&basis), arg(&w));
    HD_TRY(precondition(v, w, &z));
    STEP(v, "add_to", v->n, arg(&z), arg(&v->x));
    HD_TRY(residual(v, r));
    HD_TRY(dot(v, r, r, RR));
  }
}

HdStatus hd_solve_gmres(HdAlgorithms *a, HdOperator A, HdArray b, HdArray x, const HdSolveOptions *options,
                        HdSolveReport *report) {
  if (!a) return HD_ERR_ARG;
  return solve(a, "hd_solve_gmres", A, b, x, options, gmres, report);
}
