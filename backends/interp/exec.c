/* backends/interp/exec.c -- instructions without control, each as ops.def words it.
 *
 * Scalar arithmetic is hdir_eval, which constant folding uses too; tests/ir holds it against the processor.
 */
#include "backends/interp/exec.h"

HdStatus hdinterp_fault(const InterpThread *t, const IrInst *i, const char *what) {
  const IrModule *m = i->region->fn->module;
  HdSpan where = {i->loc.line && i->loc.file < m->nfiles ? m->files[i->loc.file] : NULL, (int32_t)i->loc.line,
                  (int32_t)i->loc.column};
  return hdb_fail_at(t->err, HD_ERR_FAULT, where, "kernel '%s', thread (%lld, %lld, %lld, %lld), op %s: %s",
                     t->launch->kernel->name, (long long)t->tid[0], (long long)t->tid[1], (long long)t->tid[2],
                     (long long)t->tid[3], hdir_ops[i->op].name, what);
}

static int64_t int_arg(const InterpFrame *f, const IrInst *i, uint32_t k) {
  return hdir_i64_of(i->args[k]->type, *hdinterp_leaves(f, i->args[k]));
}

static void copy(uint64_t *to, const uint64_t *from, uint64_t n) { memcpy(to, from, n * sizeof *to); }

/* --- scalars, and composites of them element by element --- */

static void exec_elementwise(const InterpFrame *f, const IrInst *i) {
  const IrType *res = i->res[0]->type;
  uint64_t *r = hdinterp_leaves(f, i->res[0]);
  for (uint32_t k = 0; k < res->nleaves; k++) {
    uint64_t x[3] = {0, 0, 0};
    for (uint32_t n = 0; n < i->nargs; n++) x[n] = hdinterp_leaves(f, i->args[n])[k];
    r[k] = hdir_eval(i->op, hdir_elem_scalar(i->args[0]->type), hdir_elem_scalar(res), x);
  }
}

static void exec_select(const InterpFrame *f, const IrInst *i) {
  const uint64_t *c = hdinterp_leaves(f, i->args[0]);
  const uint64_t *a = hdinterp_leaves(f, i->args[1]), *b = hdinterp_leaves(f, i->args[2]);
  uint64_t *r = hdinterp_leaves(f, i->res[0]);
  bool one = hdir_is_scalar(i->args[0]->type);
  for (uint32_t k = 0; k < i->res[0]->type->nleaves; k++) r[k] = c[one ? 0 : k] ? a[k] : b[k];
}

/* --- composites --- */

static void exec_make(const InterpFrame *f, const IrInst *i) {
  uint64_t *r = hdinterp_leaves(f, i->res[0]);
  for (uint32_t n = 0; n < i->nargs; n++) {
    uint32_t count = i->args[n]->type->nleaves;
    copy(r, hdinterp_leaves(f, i->args[n]), count);
    r += count;
  }
}

static void exec_extract(const InterpFrame *f, const IrInst *i, int64_t part) {
  const IrType *t = i->args[0]->type;
  if (part < 0 || part >= (int64_t)t->nparts) part = 0;
  copy(hdinterp_leaves(f, i->res[0]), hdinterp_leaves(f, i->args[0]) + hdinterp_part_leaf(t, (uint32_t)part),
       i->res[0]->type->nleaves);
}

static void exec_insert(const InterpFrame *f, const IrInst *i, int64_t part, const IrValue *x) {
  const IrType *t = i->args[0]->type;
  uint64_t *r = hdinterp_leaves(f, i->res[0]);
  copy(r, hdinterp_leaves(f, i->args[0]), t->nleaves);
  if (part < 0 || part >= (int64_t)t->nparts) return;
  copy(r + hdinterp_part_leaf(t, (uint32_t)part), hdinterp_leaves(f, x), x->type->nleaves);
}

/* --- addresses --- */

/* The description of an array: { void *data; int64_t length[ndim]; int64_t stride[ndim]; }. */
static const int64_t *array_lengths(const InterpFrame *f, const IrValue *array) {
  return (const int64_t *)(uintptr_t)(*hdinterp_leaves(f, array) + sizeof(void *));
}

static void exec_index(const InterpFrame *f, const IrInst *i) {
  const IrType *array = i->args[0]->type;
  const int64_t *stride = array_lengths(f, i->args[0]) + array->rows;
  uint64_t data, elements = 0;
  memcpy(&data, (const void *)(uintptr_t)*hdinterp_leaves(f, i->args[0]), sizeof data);
  for (uint32_t k = 0; k < array->rows; k++) elements += (uint64_t)int_arg(f, i, k + 1) * (uint64_t)stride[k];
  *hdinterp_leaves(f, i->res[0]) = data + elements * array->elem->size;
}

static void exec_length(const InterpFrame *f, const IrInst *i) {
  int64_t n = array_lengths(f, i->args[0])[i->imm];
  *hdinterp_leaves(f, i->res[0]) = i->res[0]->type->kind == IR_I32 ? (uint32_t)n : (uint64_t)n;
}

static void exec_alloca(const InterpFrame *f, const IrInst *i) {
  char *p = f->locals + f->local_at[i->id];
  memset(p, 0, i->res[0]->type->elem->size);
  *hdinterp_leaves(f, i->res[0]) = (uint64_t)(uintptr_t)p;
}

static void exec_shared(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  *hdinterp_leaves(f, i->res[0]) = (uint64_t)(uintptr_t)(t->shared + f->local_at[i->id]);
}

static void exec_member(const InterpFrame *f, const IrInst *i) {
  const IrType *t = i->args[0]->type->elem;
  *hdinterp_leaves(f, i->res[0]) = *hdinterp_leaves(f, i->args[0]) + hdir_part_offset(t, (uint32_t)i->imm);
}

static void exec_elem(const InterpFrame *f, const IrInst *i) {
  uint64_t size = i->res[0]->type->elem->size;
  *hdinterp_leaves(f, i->res[0]) = *hdinterp_leaves(f, i->args[0]) + (uint64_t)int_arg(f, i, 1) * size;
}

/* --- memory --- */

static HdStatus address(const InterpThread *t, const InterpFrame *f, const IrInst *i, void **out) {
  uint64_t p = *hdinterp_leaves(f, i->args[0]);
  const IrType *ptr = i->args[0]->type;
  if (ptr->space == IR_LOCAL) {
    uint64_t at = p - (uint64_t)(uintptr_t)t->frames->locals;
    if (at > t->frames->local_size || t->frames->local_size - at < ptr->elem->size)
      return hdinterp_fault(t, i, "the address is outside the thread's local memory");
  } else if (ptr->space == IR_SHARED) {
    uint64_t at = p - (uint64_t)(uintptr_t)t->shared;
    if (at > t->frames->shared_size || t->frames->shared_size - at < ptr->elem->size)
      return hdinterp_fault(t, i, "the address is outside the group's shared memory");
  } else if (t->launch->may_access && !t->launch->may_access(t->launch->user, (void *)(uintptr_t)p, ptr->elem->size)) {
    return hdinterp_fault(t, i, "the address is outside the arrays of the launch");
  }
  *out = (void *)(uintptr_t)p;
  return HD_OK;
}

static HdStatus exec_load(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  void *p;
  HD_TRY(address(t, f, i, &p));
  hdinterp_read(t->frames, i->res[0]->type, p, hdinterp_leaves(f, i->res[0]));
  return HD_OK;
}

static HdStatus exec_store(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  void *p;
  HD_TRY(address(t, f, i, &p));
  hdinterp_write(t->frames, i->args[1]->type, p, hdinterp_leaves(f, i->args[1]));
  return HD_OK;
}

static uint64_t atomic_new(const IrInst *i, const IrType *s, uint64_t old, uint64_t b, uint64_t c) {
  uint64_t x[2] = {old, b};
  switch (i->op) {
  case IR_atomic_add: return hdir_eval(IR_add, s, s, x);
  case IR_atomic_min: return hdir_eval(IR_min, s, s, x);
  case IR_atomic_max: return hdir_eval(IR_max, s, s, x);
  case IR_atomic_and: return old & b;
  case IR_atomic_or: return old | b;
  case IR_atomic_xor: return old ^ b;
  case IR_atomic_xchg: return b;
  default: return old == b ? c : old; /* cas */
  }
}

/* Threads run one after the other, so an atomic is a load and a store. */
static HdStatus exec_atomic(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  const IrType *s = i->args[1]->type;
  uint64_t old, b = *hdinterp_leaves(f, i->args[1]);
  uint64_t c = i->nargs > 2 ? *hdinterp_leaves(f, i->args[2]) : 0;
  void *p;
  HD_TRY(address(t, f, i, &p));
  hdinterp_read(t->frames, s, p, &old);
  uint64_t now = atomic_new(i, s, old, b, c);
  hdinterp_write(t->frames, s, p, &now);
  *hdinterp_leaves(f, i->res[0]) = old;
  return HD_OK;
}

/* --- the launch --- */

static void exec_tid(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  *hdinterp_leaves(f, i->res[0]) = i->imm < t->launch->ndim ? (uint32_t)t->tid[i->imm] : 0;
}

/* The group's place and the thread's in it, along the innermost axis, and the group's size. */
static void exec_group_id(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  int64_t x = t->tid[t->launch->ndim - 1], size = t->launch->kernel->group;
  *hdinterp_leaves(f, i->res[0]) = (uint32_t)(i->op == IR_ltid ? x % size : i->op == IR_gid ? x / size : size);
}

static void exec_dim(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  *hdinterp_leaves(f, i->res[0]) = i->imm < t->launch->ndim ? (uint32_t)t->launch->dim[i->imm] : 1;
}

static void exec_report(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  if (*hdinterp_leaves(f, i->args[0]) || !t->launch->report) return;
  bool has_index = i->op == IR_check;
  t->launch->report(t->launch->user, i, t->tid, has_index ? int_arg(f, i, 1) : 0, has_index ? int_arg(f, i, 2) : 0);
}

static void exec_print(const InterpThread *t, const InterpFrame *f, const IrInst *i) {
  uint64_t values[IR_MAX_PRINT];
  if (!t->launch->print) return;
  for (uint32_t k = 0; k < i->nargs; k++) values[k] = *hdinterp_leaves(f, i->args[k]);
  t->launch->print(t->launch->user, i->text, t->tid, i->nargs, values);
}

/* Each thread runs alone here. */
static void exec_gang(const InterpFrame *f, const IrInst *i) {
  *hdinterp_leaves(f, i->res[0]) = *hdinterp_leaves(f, i->args[0]);
}

static void exec_table(const InterpFrame *f, const IrInst *i) {
  int64_t at = int_arg(f, i, 0);
  *hdinterp_leaves(f, i->res[0]) = i->args[at >= 0 && at < (int64_t)i->nargs - 1 ? at + 1 : 1]->bits;
}

HdStatus hdinterp_exec(InterpThread *t, InterpFrame *f, const IrInst *i) {
  switch (i->op) {
  case IR_select: exec_select(f, i); break;
  case IR_make: exec_make(f, i); break;
  case IR_extract: exec_extract(f, i, i->imm); break;
  case IR_insert: exec_insert(f, i, i->imm, i->args[1]); break;
  case IR_extract_at: exec_extract(f, i, int_arg(f, i, 1)); break;
  case IR_insert_at: exec_insert(f, i, int_arg(f, i, 1), i->args[2]); break;
  case IR_table: exec_table(f, i); break;
  case IR_length: exec_length(f, i); break;
  case IR_index: exec_index(f, i); break;
  case IR_alloca: exec_alloca(f, i); break;
  case IR_member: exec_member(f, i); break;
  case IR_elem: exec_elem(f, i); break;
  case IR_load: return exec_load(t, f, i);
  case IR_store: return exec_store(t, f, i);
  case IR_tid: exec_tid(t, f, i); break;
  case IR_dim: exec_dim(t, f, i); break;
  case IR_has:
  case IR_tex: *hdinterp_leaves(f, i->res[0]) = 0; break; /* there are no units */
  case IR_ltid:
  case IR_gid:
  case IR_gdim: exec_group_id(t, f, i); break;
  case IR_shared: exec_shared(t, f, i); break;
  case IR_gang_min:
  case IR_gang_max:
  case IR_gang_count: exec_gang(f, i); break;
  case IR_assert:
  case IR_check: exec_report(t, f, i); break;
  case IR_print: exec_print(t, f, i); break;
  default:
    if (hdir_ops[i->op].effect == FX_ATOMIC) return exec_atomic(t, f, i);
    if (hdir_ops[i->op].effect != FX_PURE) return hdinterp_fault(t, i, "the interpreter does not know this op");
    exec_elementwise(f, i);
  }
  return HD_OK;
}
