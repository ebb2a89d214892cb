/* api/builder.c -- the public way to make IR: every operand is checked before the IR's own builder, which trusts, sees it.
 *
 * The first mistake is kept and later calls do nothing, so that a caller may build a whole kernel and look once. An
 * instruction's types are checked by the verifier on an instruction that stands nowhere; where its operands are visible is
 * checked here.
 */
#include <stdio.h>

#include "api/library.h"
#include "api/modules.h"
#include "frontend/lang/lang.h"
#include "ir/build.h"

struct HdBuilder {
  HdContext *ctx;
  Arena arena;
  const char *name;
  IrModule *m;
  IrBuilder b; /* fn is NULL between functions */
  IrInst **open;
  uint32_t nopen, cap_open;
  IrInst *closed; /* the control or call whose results hd_build_result reads */
  HdError err;    /* the first mistake */
};

/* The IR ops behind HdOp, in its order. */
static const IrOp op_of[] = {
    IR_add,        IR_sub,        IR_mul,       IR_div,        IR_rem,         IR_neg,        IR_abs,
    IR_min,        IR_max,        IR_mulhi,     IR_fma,        IR_sqrt,        IR_floor,      IR_ceil,
    IR_trunc,      IR_rint,       IR_copysign,  IR_and,        IR_or,          IR_xor,        IR_not,
    IR_shl,        IR_shr,        IR_popcount,  IR_clz,        IR_ctz,         IR_eq,         IR_ne,
    IR_lt,         IR_le,         IR_gt,        IR_ge,         IR_select,      IR_atomic_add, IR_atomic_min,
    IR_atomic_max, IR_atomic_and, IR_atomic_or, IR_atomic_xor, IR_atomic_xchg, IR_atomic_cas,
};
enum { NOPS = sizeof op_of / sizeof *op_of };
_Static_assert((int)NOPS == (int)HD_OP_ATOMIC_CAS + 1, "one row for each HdOp");

/* --- mistakes --- */

static bool broken(const HdBuilder *b) { return b->err.status != HD_OK; }

static HdSpan here(const HdBuilder *b) {
  IrLoc l = b->b.loc;
  if (!l.line || l.file >= b->m->nfiles) return (HdSpan){NULL, 0, 0};
  return (HdSpan){b->m->files[l.file], (int32_t)l.line, (int32_t)l.column};
}

static void mistake(HdBuilder *b, HdStatus status, const char *call, const char *what) {
  if (broken(b)) return;
  const char *fn = b->b.fn ? b->b.fn->name : "";
  hdb_fail_at(&b->err, status, here(b), "%s%s%s%s: %s", *fn ? "@" : "", fn, *fn ? ": " : "", call, what);
}

static void out_of_memory(HdBuilder *b) {
  if (!broken(b)) hdb_fail(&b->err, HD_ERR_NOMEM, "", "the context's allocator has no more");
}

/* Every call that may allocate:   GUARD(b, result = ..);   it does nothing once there was a mistake. */
#define GUARD(b, statement)                                                                                            \
  do {                                                                                                                 \
    jmp_buf jb_;                                                                                                       \
    if ((b) && !broken(b)) {                                                                                           \
      HDB_GUARD(&(b)->arena, jb_) { statement; }                                                                       \
      else out_of_memory(b);                                                                                           \
      (b)->arena.on_oom = NULL;                                                                                        \
    }                                                                                                                  \
  } while (0)

#define VALUE(b, expression)                                                                                           \
  do {                                                                                                                 \
    IrValue *volatile value_ = NULL;                                                                                   \
    GUARD(b, value_ = (expression));                                                                                   \
    return value_;                                                                                                     \
  } while (0)

#define TYPE(b, expression)                                                                                            \
  do {                                                                                                                 \
    const IrType *volatile type_ = NULL;                                                                               \
    GUARD(b, type_ = (expression));                                                                                    \
    return type_;                                                                                                      \
  } while (0)

/* --- life --- */

typedef struct NewBuilder {
  HdBuilder *b;
  const char *name;
} NewBuilder;

static HdStatus fill_builder(void *job) {
  NewBuilder *n = job;
  n->b->name = hdb_strdup(&n->b->arena, n->name);
  n->b->m = hdir_module_new(&n->b->arena, n->b->name);
  return HD_OK;
}

static HdStatus builder_new(HdContext *ctx, const char *name, HdBuilder **out) {
  if (!name || !out) return hdb_fail(&ctx->err, HD_ERR_ARG, name ? "out" : "name", "it is NULL");
  HdBuilder *b = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *b);
  if (!b) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for a builder", sizeof *b);
  memset(b, 0, sizeof *b);
  b->ctx = ctx;
  hdb_arena_init(&b->arena, &ctx->mem);
  NewBuilder n = {b, name};
  HdStatus status = hdapi_guard(ctx, &b->arena, NULL, fill_builder, &n);
  if (status == HD_OK)
    *out = b;
  else
    hd_builder_free(b);
  return status;
}

HdStatus hd_builder_new(HdContext *ctx, const char *name, HdBuilder **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_builder_new", builder_new(ctx, name, out));
}

void hd_builder_free(HdBuilder *b) {
  if (!b) return;
  HdContext *ctx = b->ctx;
  hdapi_keep_where(ctx);
  hdb_arena_free(&b->arena);
  ctx->mem.resize(ctx->mem.user, b, sizeof *b, 0);
}

typedef struct FinishJob {
  HdBuilder *b;
  HdModule *m;
  Arena scratch;
} FinishJob;

static HdStatus finish(void *job) {
  FinishJob *j = job;
  HdModule *m = j->m;
  m->from = MOD_BUILT;
  IrModule *ir = hdir_module_new(&m->arena, m->name);
  for (uint32_t i = 0; i < j->b->m->nfuncs; i++)
    if (j->b->m->funcs[i]->is_kernel) hdir_func_import(ir, j->b->m->funcs[i]);
  for (uint32_t i = 0; m->options.fast && i < ir->nfuncs; i++) ir->funcs[i]->fast = true;
  m->ir = ir;
  return hdapi_module_describe(m, &j->scratch);
}

static HdStatus verify(void *job) {
  HdBuilder *b = job;
  return hdir_verify(b->m, &b->err);
}

static HdStatus builder_finish(HdBuilder *b, const HdModuleOptions *options, HdModule **out) {
  HdContext *ctx = b->ctx;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  if (!broken(b) && b->b.fn) mistake(b, HD_ERR_IR, "hd_builder_finish", "the function has no hd_build_end");
  /* A verify that runs out of memory is no mistake of the builder's user: another try may succeed. */
  HdStatus status = broken(b) ? b->err.status : hdapi_guard(ctx, &b->arena, NULL, verify, b);
  if (status == HD_ERR_NOMEM && !broken(b)) return status;
  if (broken(b)) {
    ctx->err = b->err;
    hdapi_keep_where(ctx);
    return b->err.status;
  }
  FinishJob j = {.b = b};
  HD_TRY(hdapi_module_new(ctx, b->name, options, &j.m));
  hdb_arena_init(&j.scratch, &ctx->mem);
  status = hdapi_guard(ctx, &j.m->arena, &j.scratch, finish, &j);
  hdb_arena_free(&j.scratch);
  if (status == HD_OK)
    *out = j.m;
  else
    hd_module_free(j.m);
  return status;
}

HdStatus hd_builder_finish(HdBuilder *b, const HdModuleOptions *options, HdModule **out) {
  if (!b) return HD_ERR_ARG;
  hdapi_begin(b->ctx);
  return hdapi_end(b->ctx, "hd_builder_finish", builder_finish(b, options, out));
}

/* --- types --- */

static const IrType *build_type(HdBuilder *b, HdType t) {
  IrTypes *ts = &b->m->types;
  if (!hdapi_type_valid(t) || t.kind == HD_KIND_STRUCT) {
    mistake(b, HD_ERR_TYPE, "hd_build_type", "it is no scalar, vector, matrix, quaternion, transform or spatial type");
    return NULL;
  }
  const IrType *s = hdir_scalar(ts, (IrKind)t.scalar);
  bool is_float = hdir_is_float(s);
  switch ((HdKind)t.kind) {
  case HD_KIND_SCALAR: return s;
  case HD_KIND_VEC: return hdir_vec(ts, s, t.rows);
  case HD_KIND_MAT: return hdir_mat(ts, s, t.rows, t.cols);
  case HD_KIND_QUAT:
    if (is_float) return hdir_quat(ts, s);
    break;
  case HD_KIND_TRANSFORM:
    if (is_float) return hdir_transform(ts, s);
    break;
  case HD_KIND_SPATIAL:
    if (is_float) return hdir_spatial(ts, s);
    break;
  case HD_KIND_STRUCT: break;
  }
  mistake(b, HD_ERR_TYPE, "hd_build_type", "quaternions, transforms and spatials are of floats");
  return NULL;
}

const HdIrType *hd_build_type(HdBuilder *b, HdType type) { TYPE(b, build_type(b, type)); }

static const IrType *build_struct(HdBuilder *b, const char *name, int32_t nfields, const char *const names[],
                                  const IrType *const types[]) {
  if (!name || !*name || nfields < 1 || !names || !types) {
    mistake(b, HD_ERR_ARG, "hd_build_struct", "it needs a name and at least one field");
    return NULL;
  }
  IrField *fields = HDB_NEW_N(&b->arena, IrField, nfields);
  for (int32_t i = 0; i < nfields; i++) {
    if (!names[i] || !types[i] || types[i]->kind == IR_PTR || types[i]->kind == IR_VOID) {
      mistake(b, HD_ERR_TYPE, "hd_build_struct", "a field has no name, or a type that no field can have");
      return NULL;
    }
    fields[i].name = hdb_strdup(&b->arena, names[i]);
    fields[i].type = types[i];
  }
  const IrType *t = hdir_struct(&b->m->types, hdb_strdup(&b->arena, name), (uint32_t)nfields, fields);
  if (!t) mistake(b, HD_ERR_TYPE, "hd_build_struct", "another struct has this name");
  return t;
}

const HdIrType *hd_build_struct(HdBuilder *b, const char *name, int32_t nfields, const char *const names[],
                                const HdIrType *const types[]) {
  TYPE(b, build_struct(b, name, nfields, names, types));
}

enum { MAX_FIXED = 65536 };

static const IrType *build_fixed(HdBuilder *b, const IrType *elem, int32_t n) {
  if (elem && n >= 1 && n <= MAX_FIXED && (hdir_is_scalar(elem) || hdir_is_composite(elem)))
    return hdir_fixed(&b->m->types, elem, (uint32_t)n);
  mistake(b, HD_ERR_TYPE, "hd_build_fixed", "wanted 1 to 65536 elements of a scalar or composite type");
  return NULL;
}

const HdIrType *hd_build_fixed(HdBuilder *b, const HdIrType *elem, int32_t n) { TYPE(b, build_fixed(b, elem, n)); }

static const IrType *build_array(HdBuilder *b, const IrType *elem, int32_t ndim) {
  if (elem && ndim >= 1 && ndim <= HD_MAX_DIMS && (hdir_is_scalar(elem) || hdir_is_composite(elem)))
    return hdir_array(&b->m->types, elem, (uint32_t)ndim);
  mistake(b, HD_ERR_TYPE, "hd_build_array", "wanted 1 to 4 axes of a scalar or composite type");
  return NULL;
}

const HdIrType *hd_build_array(HdBuilder *b, const HdIrType *elem, int32_t ndim) {
  TYPE(b, build_array(b, elem, ndim));
}

const HdIrType *hd_build_type_of(HdBuilder *b, const HdIrValue *v) {
  (void)b;
  return v ? v->type : NULL;
}

/* --- functions --- */

static IrFunc *new_function(HdBuilder *b, const char *call, bool is_kernel, const char *name, int32_t nparams,
                            const IrType *const params[], const char *const names[], int32_t nresults,
                            const IrType *const results[]) {
  const char *why = NULL;
  if (b->b.fn)
    why = "the function before has no hd_build_end";
  else if (!name || !*name)
    why = "it has no name";
  else if (nparams < 0 || nresults < 0 || (nparams && !params) || (nresults && !results))
    why = "a list is missing";
  else if (hdir_func_find(b->m, name))
    why = "another function has this name";
  for (int32_t i = 0; !why && i < nparams; i++)
    if (!params[i]) why = "a parameter has no type";
  for (int32_t i = 0; !why && i < nresults; i++)
    if (!results[i]) why = "a result has no type";
  if (why) {
    mistake(b, HD_ERR_ARG, call, why);
    return NULL;
  }
  IrFunc *fn = hdir_func_new(b->m, hdb_strdup(&b->arena, name), is_kernel, (uint32_t)nparams, params,
                             (uint32_t)nresults, results);
  for (int32_t i = 0; i < nparams; i++)
    fn->body->params[i]->name = names && names[i] ? hdb_strdup(&b->arena, names[i]) : hdb_printf(&b->arena, "p%d", i);
  fn->loc = b->b.loc;
  return fn;
}

static IrFunc *begin_function(HdBuilder *b, const char *call, bool is_kernel, const char *name, int32_t nparams,
                              const IrType *const params[], const char *const names[], int32_t nresults,
                              const IrType *const results[]) {
  IrFunc *fn = new_function(b, call, is_kernel, name, nparams, params, names, nresults, results);
  if (!fn) return NULL;
  IrLoc loc = b->b.loc;
  hdir_build_begin(&b->b, fn);
  b->b.loc = loc;
  b->nopen = 0;
  b->closed = NULL;
  return fn;
}

HdIrFunc *hd_build_kernel(HdBuilder *b, const char *name, int32_t nparams, const HdIrType *const params[],
                          const char *const names[]) {
  IrFunc *volatile fn = NULL;
  GUARD(b, fn = begin_function(b, "hd_build_kernel", true, name, nparams, params, names, 0, NULL));
  return fn;
}

HdIrFunc *hd_build_function(HdBuilder *b, const char *name, int32_t nparams, const HdIrType *const params[],
                            const char *const names[], int32_t nresults, const HdIrType *const results[]) {
  IrFunc *volatile fn = NULL;
  GUARD(b, fn = begin_function(b, "hd_build_function", false, name, nparams, params, names, nresults, results));
  return fn;
}

static IrFunc *build_extern(HdBuilder *b, const char *name, bool pure, int32_t nparams, const IrType *const params[],
                            const IrType *result) {
  IrFunc *fn = new_function(b, "hd_build_extern", false, name, nparams, params, NULL, result ? 1 : 0, &result);
  if (!fn) return NULL;
  fn->is_extern = true;
  fn->is_pure = pure;
  HdError why = {.status = HD_OK};
  if (hdir_verify_func(fn, &why) == HD_OK) return fn;
  mistake(b, HD_ERR_TYPE, "hd_build_extern", why.detail);
  return NULL;
}

HdIrFunc *hd_build_extern(HdBuilder *b, const char *name, bool pure, int32_t nparams, const HdIrType *const params[],
                          const HdIrType *result) {
  IrFunc *volatile fn = NULL;
  GUARD(b, fn = build_extern(b, name, pure, nparams, params, result));
  return fn;
}

/* --- checks of instructions --- */

static bool in_function(HdBuilder *b, const char *call) {
  const char *why = !b->b.fn ? "no function was begun" : hdir_ended(&b->b) ? "the region has ended already" : NULL;
  if (why) mistake(b, HD_ERR_IR, call, why);
  return !why;
}

/* The value was given, and is defined where the next instruction can see it. */
static bool sees(HdBuilder *b, const char *call, const IrValue *v) {
  const char *why = NULL;
  if (!v) {
    why = "an operand is NULL";
  } else if (!hdir_is_const(v)) {
    const IrRegion *r = v->def ? v->def->region : v->region;
    if (!r || r->fn != b->b.fn)
      why = "an operand belongs to another function";
    else if (!hdir_region_contains(r, b->b.at))
      why = "an operand was defined in a region that is closed or another's";
  }
  if (why) mistake(b, HD_ERR_IR, call, why);
  return !why;
}

/* Constants belong to functions too; one of another function becomes this function's own. */
static IrValue *own(HdBuilder *b, IrValue *v) { return hdir_is_const(v) ? hdir_const(b->b.fn, v->type, v->bits) : v; }

static bool see_all(HdBuilder *b, const char *call, int32_t n, IrValue *const args[], IrValue ***out) {
  if (n < 0 || (n && !args)) {
    mistake(b, HD_ERR_ARG, call, "a list of operands is missing");
    return false;
  }
  *out = HDB_NEW_N(&b->arena, IrValue *, n + 1);
  for (int32_t i = 0; i < n; i++) {
    if (!sees(b, call, args[i])) return false;
    (*out)[i] = own(b, args[i]);
  }
  return true;
}

/* An instruction that is about to be built: does it keep the rules? `result` is NULL for none. */
static bool keeps_rules_of_text(HdBuilder *b, IrOp op, int32_t n, IrValue **args, const IrType *result, int64_t imm,
                                const char *text) {
  IrValue value = {.type = result};
  IrValue *res = &value;
  IrInst i = {.op = op,
              .nargs = (uint32_t)n,
              .args = args,
              .nres = result ? 1 : 0,
              .res = &res,
              .imm = imm,
              .text = text,
              .loc = b->b.loc,
              .region = b->b.at};
  value.def = &i;
  if (hdir_verify_inst(b->b.fn, &i, &b->err) == HD_OK) return true;
  if (b->err.status == HD_ERR_IR) b->err.status = HD_ERR_TYPE;
  return false;
}

static bool keeps_rules(HdBuilder *b, IrOp op, int32_t n, IrValue **args, const IrType *result, int64_t imm) {
  return keeps_rules_of_text(b, op, n, args, result, imm, "");
}

static const IrType *pointer_to(HdBuilder *b, const IrType *elem, IrSpace space) {
  return hdir_ptr(&b->m->types, elem, space);
}

/* --- constants --- */

static IrValue *build_const(HdBuilder *b, const char *call, HdScalar type, bool want_float, int64_t i, double x) {
  if (!b->b.fn) mistake(b, HD_ERR_IR, call, "no function was begun");
  if (type < HD_BOOL || type > HD_F64) mistake(b, HD_ERR_TYPE, call, "it is no scalar type");
  if (broken(b)) return NULL;
  const IrType *t = hdir_scalar(&b->m->types, (IrKind)type);
  if (want_float ? hdir_is_float(t) : hdir_is_int(t))
    return want_float ? hdir_const_float(b->b.fn, t, x) : hdir_const_int(b->b.fn, t, i);
  mistake(b, HD_ERR_TYPE, call, want_float ? "it is no type of floats" : "it is no type of integers");
  return NULL;
}

HdIrValue *hd_build_int(HdBuilder *b, HdScalar type, int64_t x) {
  VALUE(b, build_const(b, "hd_build_int", type, false, x, 0));
}

HdIrValue *hd_build_float(HdBuilder *b, HdScalar type, double x) {
  VALUE(b, build_const(b, "hd_build_float", type, true, 0, x));
}

static IrValue *build_bool(HdBuilder *b, bool x) {
  if (b->b.fn) return hdir_const_bool(b->b.fn, x);
  mistake(b, HD_ERR_IR, "hd_build_bool", "no function was begun");
  return NULL;
}

HdIrValue *hd_build_bool(HdBuilder *b, bool x) { VALUE(b, build_bool(b, x)); }

/* --- operations --- */

static const IrType *op_result(HdBuilder *b, IrOp op, int32_t n, IrValue *const args[]) {
  char rule = hdir_ops[op].result[0];
  if (rule >= '1' && rule <= '9' && rule - '0' <= n) return args[rule - '1']->type;
  if (rule == 'b' && n && hdir_elem_scalar(args[0]->type))
    return hdir_with_elem(&b->m->types, args[0]->type, hdir_scalar(&b->m->types, IR_BOOL));
  return hdir_scalar(&b->m->types, IR_VOID); /* the operands are wrong, and the rules will say so */
}

static IrValue *build_op(HdBuilder *b, HdOp hd, int32_t n, IrValue *const given[]) {
  IrValue **args;
  if ((int)hd < 0 || hd >= HD_OP_ATOMIC_ADD) {
    mistake(b, HD_ERR_ARG, "hd_build_op", "it is no such op; atomics are built with hd_build_atomic");
    return NULL;
  }
  IrOp op = op_of[hd];
  if (!in_function(b, "hd_build_op") || !see_all(b, "hd_build_op", n, given, &args)) return NULL;
  if (!keeps_rules(b, op, n, args, op_result(b, op, n, args), 0)) return NULL;
  if (op == IR_select) return hdir_select(&b->b, args[0], args[1], args[2]);
  if (op == IR_fma) return hdir_fma(&b->b, args[0], args[1], args[2]);
  return n == 1 ? hdir_un(&b->b, op, args[0]) : hdir_bin(&b->b, op, args[0], args[1]);
}

HdIrValue *hd_build_op(HdBuilder *b, HdOp op, int32_t n, HdIrValue *const args[]) {
  VALUE(b, build_op(b, op, n, args));
}

HdIrValue *hd_build_op1(HdBuilder *b, HdOp op, HdIrValue *x) { return hd_build_op(b, op, 1, &x); }

HdIrValue *hd_build_op2(HdBuilder *b, HdOp op, HdIrValue *x, HdIrValue *y) {
  IrValue *args[] = {x, y};
  return hd_build_op(b, op, 2, args);
}

HdIrValue *hd_build_op3(HdBuilder *b, HdOp op, HdIrValue *x, HdIrValue *y, HdIrValue *z) {
  IrValue *args[] = {x, y, z};
  return hd_build_op(b, op, 3, args);
}

/* The many that take one to three operands: the operands made ours, or false. */
static bool take(HdBuilder *b, const char *call, int32_t n, IrValue *args[]) {
  if (!in_function(b, call)) return false;
  for (int32_t i = 0; i < n; i++) {
    if (!sees(b, call, args[i])) return false;
    args[i] = own(b, args[i]);
  }
  return true;
}

static IrValue *build_convert(HdBuilder *b, const IrType *to, IrValue *x, IrOp op) {
  const char *call = op == IR_cvt ? "hd_build_convert" : "hd_build_bitcast";
  if (!to) mistake(b, HD_ERR_ARG, call, "there is no type to convert to");
  if (broken(b) || !take(b, call, 1, &x)) return NULL;
  if (!keeps_rules(b, op, 1, &x, to, 0)) return NULL;
  return op == IR_cvt ? hdir_cvt(&b->b, to, x) : hdir_bitcast(&b->b, to, x);
}

HdIrValue *hd_build_convert(HdBuilder *b, const HdIrType *to, HdIrValue *x) {
  VALUE(b, build_convert(b, to, x, IR_cvt));
}

HdIrValue *hd_build_bitcast(HdBuilder *b, const HdIrType *to, HdIrValue *x) {
  VALUE(b, build_convert(b, to, x, IR_bitcast));
}

/* --- composites --- */

static IrValue *build_make(HdBuilder *b, const IrType *t, int32_t n, IrValue *const parts[]) {
  IrValue **args;
  if (!t) mistake(b, HD_ERR_ARG, "hd_build_make", "there is no type to make");
  if (broken(b) || !in_function(b, "hd_build_make") || !see_all(b, "hd_build_make", n, parts, &args)) return NULL;
  return keeps_rules(b, IR_make, n, args, t, 0) ? hdir_make(&b->b, t, args) : NULL;
}

HdIrValue *hd_build_make(HdBuilder *b, const HdIrType *type, int32_t n, HdIrValue *const parts[]) {
  VALUE(b, build_make(b, type, n, parts));
}

/* The type of a part; some scalar if there is none, of which the rules will say so. */
static const IrType *part_type(HdBuilder *b, const IrType *t, int64_t part) {
  bool ok = hdir_is_composite(t) && part >= 0 && part < (int64_t)t->nparts;
  return ok ? hdir_part(t, (uint32_t)part) : hdir_scalar(&b->m->types, IR_I32);
}

static IrValue *build_extract(HdBuilder *b, IrValue *x, int32_t part) {
  if (!take(b, "hd_build_extract", 1, &x)) return NULL;
  if (!keeps_rules(b, IR_extract, 1, &x, part_type(b, x->type, part), part)) return NULL;
  return hdir_extract(&b->b, x, (uint32_t)part);
}

HdIrValue *hd_build_extract(HdBuilder *b, HdIrValue *x, int32_t part) { VALUE(b, build_extract(b, x, part)); }

static IrValue *build_insert(HdBuilder *b, IrValue *x, int32_t part, IrValue *y) {
  IrValue *args[] = {x, y};
  if (!take(b, "hd_build_insert", 2, args)) return NULL;
  if (!keeps_rules(b, IR_insert, 2, args, args[0]->type, part)) return NULL;
  return hdir_insert(&b->b, args[0], (uint32_t)part, args[1]);
}

HdIrValue *hd_build_insert(HdBuilder *b, HdIrValue *x, int32_t part, HdIrValue *y) {
  VALUE(b, build_insert(b, x, part, y));
}

static IrValue *build_extract_at(HdBuilder *b, IrValue *x, IrValue *i) {
  IrValue *args[] = {x, i};
  if (!take(b, "hd_build_extract_at", 2, args)) return NULL;
  if (!keeps_rules(b, IR_extract_at, 2, args, part_type(b, args[0]->type, 0), 0)) return NULL;
  return hdir_extract_at(&b->b, args[0], args[1]);
}

HdIrValue *hd_build_extract_at(HdBuilder *b, HdIrValue *x, HdIrValue *i) { VALUE(b, build_extract_at(b, x, i)); }

static IrValue *build_insert_at(HdBuilder *b, IrValue *x, IrValue *i, IrValue *y) {
  IrValue *args[] = {x, i, y};
  if (!take(b, "hd_build_insert_at", 3, args)) return NULL;
  if (!keeps_rules(b, IR_insert_at, 3, args, args[0]->type, 0)) return NULL;
  return hdir_insert_at(&b->b, args[0], args[1], args[2]);
}

HdIrValue *hd_build_insert_at(HdBuilder *b, HdIrValue *x, HdIrValue *i, HdIrValue *y) {
  VALUE(b, build_insert_at(b, x, i, y));
}

/* --- calls --- */

static bool takes(const IrFunc *fn, int32_t n, IrValue *const args[]) {
  if (fn->is_kernel || fn->body->nparams != (uint32_t)n) return false;
  for (int32_t i = 0; i < n; i++)
    if (fn->body->params[i]->type != args[i]->type) return false;
  return true;
}

static IrFunc *find_callee(HdBuilder *b, const char *name, int32_t n, IrValue *const args[]) {
  IrFunc *fn = hdir_func_find(b->m, name);
  if (fn && takes(fn, n, args)) return fn;
  FeOptions o = {.library = hdapi_library_module, .library_index = hdapi_library_index};
  const IrType **types = HDB_NEW_N(&b->arena, const IrType *, n + 1);
  for (int32_t i = 0; i < n; i++) types[i] = args[i]->type;
  HdError why = {.status = HD_OK};
  IrFunc *lib = hdfe_library_function(b->m, name, (uint32_t)n, types, &o, &why);
  if (!lib)
    mistake(b, HD_ERR_NOT_FOUND, "hd_build_call",
            why.detail[0] ? why.detail : "no function has this name and takes these operands");
  return lib;
}

static IrValue *build_call(HdBuilder *b, const char *name, int32_t n, IrValue *const given[]) {
  IrValue **args;
  if (!name) mistake(b, HD_ERR_ARG, "hd_build_call", "there is no name");
  if (broken(b) || !in_function(b, "hd_build_call") || !see_all(b, "hd_build_call", n, given, &args)) return NULL;
  IrFunc *fn = find_callee(b, name, n, args);
  if (!fn) return NULL;
  if (fn == b->b.fn) {
    mistake(b, HD_ERR_IR, "hd_build_call", "a function cannot call itself");
    return NULL;
  }
  b->closed = hdir_call(&b->b, fn, args);
  return b->closed->nres ? b->closed->res[0] : NULL;
}

HdIrValue *hd_build_call(HdBuilder *b, const char *name, int32_t n, HdIrValue *const args[]) {
  VALUE(b, build_call(b, name, n, args));
}

/* --- memory --- */

static IrValue *build_length(HdBuilder *b, IrValue *array, int32_t axis) {
  const IrType *i32 = hdir_scalar(&b->m->types, IR_I32);
  if (!take(b, "hd_build_length", 1, &array) || !keeps_rules(b, IR_length, 1, &array, i32, axis)) return NULL;
  return hdir_length(&b->b, array, (uint32_t)axis, i32);
}

HdIrValue *hd_build_length(HdBuilder *b, HdIrValue *array, int32_t axis) { VALUE(b, build_length(b, array, axis)); }

static IrValue *build_index(HdBuilder *b, IrValue *array, int32_t n, IrValue *const at[]) {
  IrValue **args;
  if (n < 0 || n > HD_MAX_DIMS || (n && !at)) {
    mistake(b, HD_ERR_ARG, "hd_build_index", "wanted 1 to 4 indices");
    return NULL;
  }
  IrValue *all[1 + HD_MAX_DIMS] = {array};
  for (int32_t i = 0; i < n; i++) all[1 + i] = at[i];
  if (!in_function(b, "hd_build_index") || !see_all(b, "hd_build_index", n + 1, all, &args)) return NULL;
  const IrType *t = args[0]->type, *elem = t->kind == IR_ARRAY ? t->elem : hdir_scalar(&b->m->types, IR_I32);
  if (!keeps_rules(b, IR_index, n + 1, args, pointer_to(b, elem, IR_GLOBAL), 0)) return NULL;
  return hdir_index(&b->b, args[0], (uint32_t)n, args + 1);
}

HdIrValue *hd_build_index(HdBuilder *b, HdIrValue *array, int32_t n, HdIrValue *const at[]) {
  VALUE(b, build_index(b, array, n, at));
}

static IrValue *build_alloca(HdBuilder *b, const IrType *t) {
  if (!t) mistake(b, HD_ERR_ARG, "hd_build_alloca", "there is no type");
  if (broken(b) || !in_function(b, "hd_build_alloca")) return NULL;
  return keeps_rules(b, IR_alloca, 0, NULL, pointer_to(b, t, IR_LOCAL), 0) ? hdir_alloca(&b->b, t) : NULL;
}

HdIrValue *hd_build_alloca(HdBuilder *b, const HdIrType *type) { VALUE(b, build_alloca(b, type)); }

/* What an address leads to; some scalar if it is no address, of which the rules will say so. */
static const IrType *pointee(HdBuilder *b, const IrType *t) {
  return t->kind == IR_PTR ? t->elem : hdir_scalar(&b->m->types, IR_I32);
}

static IrValue *build_member(HdBuilder *b, IrValue *p, int32_t part) {
  if (!take(b, "hd_build_member", 1, &p)) return NULL;
  const IrType *to = part_type(b, pointee(b, p->type), part);
  if (!keeps_rules(b, IR_member, 1, &p, pointer_to(b, to, p->type->space), part)) return NULL;
  return hdir_member(&b->b, p, (uint32_t)part);
}

HdIrValue *hd_build_member(HdBuilder *b, HdIrValue *address, int32_t part) { VALUE(b, build_member(b, address, part)); }

static IrValue *build_elem(HdBuilder *b, IrValue *p, IrValue *i) {
  IrValue *args[] = {p, i};
  if (!take(b, "hd_build_elem", 2, args)) return NULL;
  const IrType *to = part_type(b, pointee(b, args[0]->type), 0);
  if (!keeps_rules(b, IR_elem, 2, args, pointer_to(b, to, args[0]->type->space), 0)) return NULL;
  return hdir_elem(&b->b, args[0], args[1]);
}

HdIrValue *hd_build_elem(HdBuilder *b, HdIrValue *address, HdIrValue *i) { VALUE(b, build_elem(b, address, i)); }

static IrValue *build_load(HdBuilder *b, IrValue *p) {
  if (!take(b, "hd_build_load", 1, &p)) return NULL;
  return keeps_rules(b, IR_load, 1, &p, pointee(b, p->type), 0) ? hdir_load(&b->b, p) : NULL;
}

HdIrValue *hd_build_load(HdBuilder *b, HdIrValue *address) { VALUE(b, build_load(b, address)); }

static void build_store(HdBuilder *b, IrValue *p, IrValue *x) {
  IrValue *args[] = {p, x};
  if (take(b, "hd_build_store", 2, args) && keeps_rules(b, IR_store, 2, args, NULL, 0))
    hdir_store(&b->b, args[0], args[1]);
}

void hd_build_store(HdBuilder *b, HdIrValue *address, HdIrValue *x) { GUARD(b, build_store(b, address, x)); }

static IrValue *build_atomic(HdBuilder *b, HdOp op, IrValue *p, IrValue *x, IrValue *y) {
  IrValue *args[] = {p, x, y};
  if (op < HD_OP_ATOMIC_ADD || op > HD_OP_ATOMIC_CAS) {
    mistake(b, HD_ERR_ARG, "hd_build_atomic", "it is no atomic op");
    return NULL;
  }
  int32_t n = op == HD_OP_ATOMIC_CAS ? 3 : 2;
  if (n == 2 && y) mistake(b, HD_ERR_ARG, "hd_build_atomic", "only cas takes a third operand");
  if (broken(b) || !take(b, "hd_build_atomic", n, args)) return NULL;
  if (!keeps_rules(b, op_of[op], n, args, args[1]->type, 0)) return NULL;
  return hdir_atomic(&b->b, op_of[op], args[0], args[1], n == 3 ? args[2] : NULL);
}

HdIrValue *hd_build_atomic(HdBuilder *b, HdOp op, HdIrValue *address, HdIrValue *x, HdIrValue *y) {
  VALUE(b, build_atomic(b, op, address, x, y));
}

/* --- the launch --- */

static IrValue *build_launch(HdBuilder *b, IrOp op, int32_t axis) {
  const char *call = op == IR_tid ? "hd_build_tid" : "hd_build_dim";
  if (!in_function(b, call) || !keeps_rules(b, op, 0, NULL, hdir_scalar(&b->m->types, IR_I32), axis)) return NULL;
  return op == IR_tid ? hdir_tid(&b->b, (uint32_t)axis) : hdir_dim(&b->b, (uint32_t)axis);
}

HdIrValue *hd_build_tid(HdBuilder *b, int32_t axis) { VALUE(b, build_launch(b, IR_tid, axis)); }
HdIrValue *hd_build_dim(HdBuilder *b, int32_t axis) { VALUE(b, build_launch(b, IR_dim, axis)); }

static void build_assert(HdBuilder *b, IrValue *c, const char *message) {
  if (!message) mistake(b, HD_ERR_ARG, "hd_build_assert", "there is no message");
  if (broken(b) || !take(b, "hd_build_assert", 1, &c)) return;
  if (keeps_rules(b, IR_assert, 1, &c, NULL, 0)) hdir_assert(&b->b, c, message);
}

static void build_printf(HdBuilder *b, const char *format, int32_t n, IrValue *const given[]) {
  const char *call = "hd_build_printf";
  IrValue **args;
  if (!format) mistake(b, HD_ERR_ARG, call, "there is no format");
  if (broken(b) || !in_function(b, call) || !see_all(b, call, n, given, &args)) return;
  if (keeps_rules_of_text(b, IR_print, n, args, NULL, 0, format)) hdir_printf(&b->b, format, (uint32_t)n, args);
}

void hd_build_printf(HdBuilder *b, const char *format, int32_t n, HdIrValue *const args[]) {
  GUARD(b, build_printf(b, format, n, args));
}

void hd_build_assert(HdBuilder *b, HdIrValue *c, const char *message) { GUARD(b, build_assert(b, c, message)); }

/* --- groups --- */

static void build_group(HdBuilder *b, int32_t threads) {
  if (!in_function(b, "hd_build_group")) return;
  if (!b->b.fn->is_kernel)
    mistake(b, HD_ERR_ARG, "hd_build_group", "a function has no groups of its own");
  else if (!hdir_is_group_size(threads))
    mistake(b, HD_ERR_ARG, "hd_build_group", "a group has 32, 64, .. 1024 threads");
  else
    b->b.fn->group = threads;
}

void hd_build_group(HdBuilder *b, int32_t threads) { GUARD(b, build_group(b, threads)); }

static IrValue *build_group_part(HdBuilder *b, IrOp op, const char *call) {
  if (!in_function(b, call) || !keeps_rules(b, op, 0, NULL, hdir_scalar(&b->m->types, IR_I32), 0)) return NULL;
  return op == IR_ltid ? hdir_ltid(&b->b) : op == IR_gid ? hdir_gid(&b->b) : hdir_gdim(&b->b);
}

HdIrValue *hd_build_group_tid(HdBuilder *b) { VALUE(b, build_group_part(b, IR_ltid, "hd_build_group_tid")); }
HdIrValue *hd_build_group_id(HdBuilder *b) { VALUE(b, build_group_part(b, IR_gid, "hd_build_group_id")); }
HdIrValue *hd_build_group_size(HdBuilder *b) { VALUE(b, build_group_part(b, IR_gdim, "hd_build_group_size")); }

static IrValue *build_shared(HdBuilder *b, const IrType *t) {
  if (!t) mistake(b, HD_ERR_ARG, "hd_build_shared", "there is no type");
  if (broken(b) || !in_function(b, "hd_build_shared")) return NULL;
  return keeps_rules(b, IR_shared, 0, NULL, pointer_to(b, t, IR_SHARED), 0) ? hdir_shared(&b->b, t) : NULL;
}

HdIrValue *hd_build_shared(HdBuilder *b, const HdIrType *type) { VALUE(b, build_shared(b, type)); }

static void build_barrier(HdBuilder *b) {
  if (in_function(b, "hd_build_barrier") && keeps_rules(b, IR_barrier, 0, NULL, NULL, 0)) hdir_barrier(&b->b);
}

void hd_build_barrier(HdBuilder *b) { GUARD(b, build_barrier(b)); }

static IrValue *build_shuffle(HdBuilder *b, IrValue *x, IrValue *lane) {
  IrValue *args[] = {x, lane};
  if (!take(b, "hd_build_shuffle", 2, args)) return NULL;
  if (!keeps_rules(b, IR_shuffle, 2, args, args[0]->type, 0)) return NULL;
  return hdir_shuffle(&b->b, args[0], args[1]);
}

HdIrValue *hd_build_shuffle(HdBuilder *b, HdIrValue *x, HdIrValue *lane) { VALUE(b, build_shuffle(b, x, lane)); }

static IrValue *build_ballot(HdBuilder *b, IrValue *c) {
  if (!take(b, "hd_build_ballot", 1, &c)) return NULL;
  return keeps_rules(b, IR_ballot, 1, &c, hdir_scalar(&b->m->types, IR_U32), 0) ? hdir_ballot(&b->b, c) : NULL;
}

HdIrValue *hd_build_ballot(HdBuilder *b, HdIrValue *c) { VALUE(b, build_ballot(b, c)); }

static IrValue *build_mma(HdBuilder *b, IrValue *x, IrValue *y, IrValue *z) {
  IrValue *args[3] = {x, y, z};
  if (!take(b, "hd_build_mma", 3, args)) return NULL;
  if (!keeps_rules(b, IR_mma, 3, args, args[2]->type, 0)) return NULL;
  return hdir_mma(&b->b, args[0], args[1], args[2]);
}

HdIrValue *hd_build_mma(HdBuilder *b, HdIrValue *x, HdIrValue *y, HdIrValue *z) { VALUE(b, build_mma(b, x, y, z)); }

static void build_at(HdBuilder *b, const char *file, int32_t line, int32_t column) {
  if (!file || line < 1) {
    b->b.loc = (IrLoc){0, 0, 0};
    return;
  }
  b->b.loc = (IrLoc){hdir_file(b->m, file), (uint32_t)line, column > 0 ? (uint32_t)column : 1};
}

void hd_build_at(HdBuilder *b, const char *file, int32_t line, int32_t column) {
  GUARD(b, build_at(b, file, line, column));
}

/* --- control --- */

static bool check_types(HdBuilder *b, const char *call, int32_t n, const IrType *const types[]) {
  bool ok = n >= 0 && (n == 0 || types);
  for (int32_t i = 0; ok && i < n; i++) ok = types[i] != NULL;
  if (!ok) mistake(b, HD_ERR_ARG, call, "a type of a result is missing");
  return ok;
}

static void open_control(HdBuilder *b, IrInst *i) { HDB_PUSH(&b->arena, b->open, b->nopen, b->cap_open, i); }

static void build_if(HdBuilder *b, IrValue *c, int32_t nres, const IrType *const res[]) {
  if (!check_types(b, "hd_build_if", nres, res) || !take(b, "hd_build_if", 1, &c)) return;
  if (c->type->kind != IR_BOOL)
    mistake(b, HD_ERR_TYPE, "hd_build_if", "the condition must be a bool");
  else
    open_control(b, hdir_if_begin(&b->b, c, (uint32_t)nres, res));
}

void hd_build_if(HdBuilder *b, HdIrValue *c, int32_t nres, const HdIrType *const res[]) {
  GUARD(b, build_if(b, c, nres, res));
}

static void build_loop(HdBuilder *b, int32_t n, IrValue *const init[], int32_t nres, const IrType *const res[]) {
  IrValue **args;
  if (!in_function(b, "hd_build_loop") || !check_types(b, "hd_build_loop", nres, res)) return;
  if (see_all(b, "hd_build_loop", n, init, &args))
    open_control(b, hdir_loop_begin(&b->b, (uint32_t)n, args, (uint32_t)nres, res));
}

void hd_build_loop(HdBuilder *b, int32_t n, HdIrValue *const init[], int32_t nres, const HdIrType *const res[]) {
  GUARD(b, build_loop(b, n, init, nres, res));
}

HdIrValue *hd_build_carried(HdBuilder *b, int32_t i) {
  if (!b || broken(b)) return NULL;
  uint32_t k = b->nopen;
  while (k && b->open[k - 1]->op != IR_loop) k--;
  const IrRegion *r = k ? b->open[k - 1]->sub[0] : NULL;
  if (r && i >= 0 && (uint32_t)i < r->nparams) return r->params[i];
  mistake(b, HD_ERR_IR, "hd_build_carried", r ? "the loop carries fewer values" : "no loop is open");
  return NULL;
}

/* Whether anything leaves a control instruction for what follows it. */
static bool completes(const IrInst *i) {
  if (i->op == IR_if) {
    for (uint32_t s = 0; s < i->nsubs; s++)
      if (i->sub[s]->last && i->sub[s]->last->op == IR_yield) return true;
    return i->nsubs < 2;
  }
  for (const IrInst *k = i->sub[0]->first; k && k != i->next; k = hdir_inst_next(k)) {
    if (k->op != IR_break && k->op != IR_leave) continue;
    const IrInst *p = k->region->parent;
    while (p && p->op == IR_if) p = p->region->parent;
    if (p == i) return true;
  }
  return i->op != IR_loop && i->sub[0]->last && i->sub[0]->last->op == IR_yield;
}

/* The region must have its ender. After something that nothing leaves there is no place for one: `unreachable` stands there. */
static bool end_region(HdBuilder *b, const char *call) {
  if (hdir_ended(&b->b)) return true;
  const IrInst *last = b->b.at->last;
  if (last && hdir_ops[last->op].effect == FX_CONTROL && !completes(last)) {
    hdir_ender(&b->b, IR_unreachable, 0, NULL);
    return true;
  }
  mistake(b, HD_ERR_IR, call, "the region needs a yield, break, continue or return at its end");
  return false;
}

static void build_else(HdBuilder *b) {
  IrInst *i = b->nopen ? b->open[b->nopen - 1] : NULL;
  if (!b->b.fn || !i || i->op != IR_if || i->nsubs != 1)
    mistake(b, HD_ERR_IR, "hd_build_else", "no 'if' without an else is open");
  else if (end_region(b, "hd_build_else"))
    hdir_if_else(&b->b, i);
}

void hd_build_else(HdBuilder *b) { GUARD(b, build_else(b)); }

static const IrInst *innermost(const HdBuilder *b, IrOp op) {
  uint32_t k = b->nopen;
  while (k && b->open[k - 1]->op != op) k--;
  return k ? b->open[k - 1] : NULL;
}

static bool passes(HdBuilder *b, const char *call, uint32_t n, IrValue *const args[], uint32_t wanted,
                   IrValue *const to[], const IrType *const types[]) {
  char text[160];
  if (n != wanted) {
    snprintf(text, sizeof text, "%u values are wanted, and %u given", wanted, n);
    mistake(b, HD_ERR_IR, call, text);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) {
    const IrType *t = to ? to[i]->type : types[i];
    if (args[i]->type == t) continue;
    snprintf(text, sizeof text, "value %u must be %.50s, and is %.50s", i + 1, hdir_type_name(&b->arena, t),
             hdir_type_name(&b->arena, args[i]->type));
    mistake(b, HD_ERR_TYPE, call, text);
    return false;
  }
  return true;
}

static void build_ender(HdBuilder *b, const char *call, IrOp op, int32_t n, IrValue *const given[]) {
  IrValue **args;
  if (!in_function(b, call) || !see_all(b, call, n, given, &args)) return;
  const IrInst *loop = innermost(b, IR_loop), *top = b->nopen ? b->open[b->nopen - 1] : NULL;
  bool ok = true;
  switch (op) {
  case IR_yield:
    if (!top || top->op != IR_if)
      mistake(b, HD_ERR_IR, call, "no 'if' is innermost: a loop ends with break or continue");
    else
      ok = passes(b, call, (uint32_t)n, args, top->nres, top->res, NULL);
    break;
  case IR_break:
  case IR_continue:
    if (!loop)
      mistake(b, HD_ERR_IR, call, "no loop is open");
    else if (op == IR_break)
      ok = passes(b, call, (uint32_t)n, args, loop->nres, loop->res, NULL);
    else
      ok = passes(b, call, (uint32_t)n, args, loop->sub[0]->nparams, loop->sub[0]->params, NULL);
    break;
  default: ok = passes(b, call, (uint32_t)n, args, b->b.fn->nresults, NULL, b->b.fn->results);
  }
  if (ok && !broken(b)) hdir_ender(&b->b, op, (uint32_t)n, args);
}

void hd_build_yield(HdBuilder *b, int32_t n, HdIrValue *const args[]) {
  GUARD(b, build_ender(b, "hd_build_yield", IR_yield, n, args));
}
void hd_build_break(HdBuilder *b, int32_t n, HdIrValue *const args[]) {
  GUARD(b, build_ender(b, "hd_build_break", IR_break, n, args));
}
void hd_build_continue(HdBuilder *b, int32_t n, HdIrValue *const args[]) {
  GUARD(b, build_ender(b, "hd_build_continue", IR_continue, n, args));
}
void hd_build_return(HdBuilder *b, int32_t n, HdIrValue *const args[]) {
  GUARD(b, build_ender(b, "hd_build_return", IR_return, n, args));
}

static void build_close(HdBuilder *b) {
  IrInst *i = b->nopen ? b->open[b->nopen - 1] : NULL;
  if (!b->b.fn || !i) {
    mistake(b, HD_ERR_IR, "hd_build_close", "no region is open");
    return;
  }
  if (i->op == IR_if && i->nsubs == 1 && i->nres) {
    mistake(b, HD_ERR_IR, "hd_build_close", "an 'if' with results needs an else");
    return;
  }
  if (!end_region(b, "hd_build_close")) return;
  hdir_end(&b->b, i);
  b->nopen--;
  b->closed = i;
}

void hd_build_close(HdBuilder *b) { GUARD(b, build_close(b)); }

HdIrValue *hd_build_result(HdBuilder *b, int32_t i) {
  if (!b || broken(b)) return NULL;
  if (b->closed && i >= 0 && (uint32_t)i < b->closed->nres) return b->closed->res[i];
  mistake(b, HD_ERR_IR, "hd_build_result",
          b->closed ? "the region closed last has fewer results" : "no region was closed");
  return NULL;
}

HdIrValue *hd_build_param(HdBuilder *b, int32_t i) {
  if (!b || broken(b)) return NULL;
  const IrRegion *body = b->b.fn ? b->b.fn->body : NULL;
  if (body && i >= 0 && (uint32_t)i < body->nparams) return body->params[i];
  mistake(b, HD_ERR_ARG, "hd_build_param", body ? "the function has fewer parameters" : "no function was begun");
  return NULL;
}

static void build_end(HdBuilder *b) {
  if (!b->b.fn)
    mistake(b, HD_ERR_IR, "hd_build_end", "no function was begun");
  else if (b->nopen)
    mistake(b, HD_ERR_IR, "hd_build_end", "a region is open: hd_build_close ends it");
  else if (end_region(b, "hd_build_end"))
    b->b.fn = NULL;
}

void hd_build_end(HdBuilder *b) { GUARD(b, build_end(b)); }
