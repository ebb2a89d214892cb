/* passes/approx.c -- in fast code, library functions become a GPU's approximations of them.
 *
 * A call of exp, exp2, exp10, log, log2, log10, pow, sin, cos, sincos, tan, tanh or rsqrt on f32 becomes calls of what the
 * hardware has: the pure C functions __gpu_ex2, __gpu_lg2, __gpu_sin, __gpu_cos, __gpu_tanh and __gpu_rsqrt, which stand for one
 * instruction each and which the backend knows by name (backends/nvptx/lower_approx.c, where their accuracy stands). Code is fast in
 * a function that is `fast`, and everywhere if all kernels of the module are. The library's other functions need the exact ones:
 * in lib/math only a function for vectors or halves gets its own f32 function's approximation.
 *
 *     exp(x)     ex2(x * log2(e))         log(x)    lg2(x) * ln(2)         tan(x)    sin(x) / cos(x)
 *     pow(x, y)  ex2(y * lg2(|x|)), with pow's sign, its NaN for x < 0 and broken y, and pow(x, 0) = 1; products for y = 2, 3, 4
 *
 * needs   calls, as the front end makes them; places in the source, by which library functions are known
 * keeps   every result bit of code that is not fast
 * breaks  nothing        cost    linear
 */
#include "passes/passes.h"
#include "passes/rebuild.h"

#include <math.h>

/* --- which --- */

static const char library[] = "lib/math/";

static bool in_library(const IrFunc *fn) {
  const IrModule *m = fn->module;
  return fn->loc.line && fn->loc.file < m->nfiles && strncmp(m->files[fn->loc.file], library, sizeof library - 1) == 0;
}

static bool same_stem(const char *a, const char *b) {
  size_t n = strcspn(a, ".");
  return n == strcspn(b, ".") && strncmp(a, b, n) == 0;
}

static bool is_fast(const IrFunc *fn) {
  uint32_t kernels = 0;
  for (uint32_t k = 0; k < fn->module->nfuncs; k++) {
    if (!fn->module->funcs[k]->is_kernel) continue;
    if (!fn->module->funcs[k]->fast) return fn->fast;
    kernels++;
  }
  return fn->fast || kernels > 0;
}

/* --- what becomes of them --- */

static const IrType *f32_of(OptRebuild *rb) { return hdir_scalar(&rb->fn->module->types, IR_F32); }

static IrValue *number(OptRebuild *rb, double x) { return hdir_const_float(rb->fn, f32_of(rb), x); }

static IrValue *hardware(OptRebuild *rb, const char *name, IrValue *x) {
  IrModule *m = rb->fn->module;
  const IrType *t = f32_of(rb);
  IrFunc *f = hdir_func_find(m, name);
  if (!f) {
    f = hdir_func_new(m, name, false, 1, &t, 1, &t);
    f->is_extern = f->is_pure = true;
    f->body->params[0]->name = "x";
  }
  return hdir_call(&rb->b, f, &x)->res[0];
}

static IrValue *times(OptRebuild *rb, IrValue *x, double by) { return hdir_bin(&rb->b, IR_mul, x, number(rb, by)); }

static IrValue *zero_test(OptRebuild *rb, IrOp op, IrValue *x) { return hdir_bin(&rb->b, op, x, number(rb, 0)); }

/* x^y for y = 2, 3 and 4. */
static IrValue *product(OptRebuild *rb, IrValue *x, double y) {
  IrValue *square = hdir_bin(&rb->b, IR_mul, x, x);
  return y == 2 ? square : hdir_bin(&rb->b, IR_mul, square, y == 3 ? x : square);
}

static IrValue *power(OptRebuild *rb, IrValue *x, IrValue *y) {
  IrBuilder *b = &rb->b;
  if (hdir_is_const(y)) {
    double c = hdir_const_f64(y);
    if (c == 2 || c == 3 || c == 4) return product(rb, x, c);
  }
  IrValue *lg = hardware(rb, "__gpu_lg2", hdir_un(b, IR_abs, x));
  IrValue *r = hardware(rb, "__gpu_ex2", hdir_bin(b, IR_mul, y, lg));
  IrValue *broken = hdir_bin(b, IR_ne, hdir_un(b, IR_trunc, y), y), *half = times(rb, y, 0.5);
  IrValue *odd = hdir_bin(b, IR_ne, hdir_un(b, IR_trunc, half), half); /* of a y that is not broken */
  IrValue *minus = hdir_select(b, broken, number(rb, NAN), hdir_select(b, odd, hdir_un(b, IR_neg, r), r));
  r = hdir_select(b, zero_test(rb, IR_lt, x), minus, r);
  return hdir_select(b, zero_test(rb, IR_eq, y), number(rb, 1), r);
}

static IrValue *tangent(OptRebuild *rb, IrValue *x) {
  return hdir_bin(&rb->b, IR_div, hardware(rb, "__gpu_sin", x), hardware(rb, "__gpu_cos", x));
}

/* Names of f32 functions, the hardware's for them, and factors before and behind it. */
static const struct Row {
  const char *name, *with;
  double before, behind;
} rows[] = {
    {"exp.f32", "__gpu_ex2", 1.4426950408889634, 1},
    {"exp2.f32", "__gpu_ex2", 1, 1},
    {"exp10.f32", "__gpu_ex2", 3.321928094887362, 1},
    {"log.f32", "__gpu_lg2", 1, 0.6931471805599453},
    {"log2.f32", "__gpu_lg2", 1, 1},
    {"log10.f32", "__gpu_lg2", 1, 0.30102999566398120},
    {"sin.f32", "__gpu_sin", 1, 1},
    {"cos.f32", "__gpu_cos", 1, 1},
    {"tanh.f32", "__gpu_tanh", 1, 1},
    {"rsqrt.f32", "__gpu_rsqrt", 1, 1},
};
enum { NROWS = sizeof rows / sizeof *rows };

static bool replace(OptRebuild *rb, const IrInst *call, IrValue *x) {
  const char *name = call->callee->name;
  for (uint32_t k = 0; k < NROWS; k++) {
    if (strcmp(name, rows[k].name) != 0) continue;
    hdopt_set(rb, call->res[0], times(rb, hardware(rb, rows[k].with, times(rb, x, rows[k].before)), rows[k].behind));
    return true;
  }
  if (strcmp(name, "tan.f32") == 0) {
    hdopt_set(rb, call->res[0], tangent(rb, x));
  } else if (strcmp(name, "pow.f32.f32") == 0) {
    hdopt_set(rb, call->res[0], power(rb, x, hdopt_get(rb, call->args[1])));
  } else if (strcmp(name, "sincos.f32") == 0 && call->nres == 2) {
    hdopt_set(rb, call->res[0], hardware(rb, "__gpu_sin", x));
    hdopt_set(rb, call->res[1], hardware(rb, "__gpu_cos", x));
  } else {
    return false;
  }
  return true;
}

static bool visit(OptRebuild *rb, IrInst *i) {
  if (i->op != IR_call || !in_library(i->callee)) return false;
  if (in_library(rb->fn) && !same_stem(rb->fn->name, i->callee->name)) return false;
  if (!replace(rb, i, hdopt_get(rb, i->args[0]))) return false;
  rb->changed = true;
  return true;
}

static const OptHooks hooks = {.visit = visit};

static bool has_calls(const IrFunc *fn) {
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    if (i->op == IR_call && in_library(i->callee)) return true;
  return false;
}

bool hdopt_approx(IrFunc *fn, OptContext *cx) {
  if (!has_calls(fn) || !is_fast(fn)) return false;
  OptRebuild rb = {.hooks = &hooks};
  hdopt_rebuild(&rb, fn, cx->scratch);
  return rb.changed;
}
