/* api/signature.c -- what the runtime must know of a kernel, read off its IR. */
#include "api/modules.h"
#include "ir/layout.h"
#include "runtime/hash.h"

HdType hdapi_type_of(const IrType *t) {
  HdScalar s = t->elem && hdir_is_packed(t) ? (HdScalar)t->elem->kind : (HdScalar)t->kind;
  switch (t->kind) {
  case IR_VEC: return hd_type_vec(s, (int32_t)t->rows);
  case IR_MAT: return hd_type_mat(s, (int32_t)t->rows, (int32_t)t->cols);
  case IR_QUAT: return hd_type_quat(s);
  case IR_TRANSFORM: return hd_type_transform(s);
  case IR_SPATIAL: return hd_type_spatial(s);
  case IR_STRUCT:
  case IR_FIXED: return hd_type_struct(t->size);
  default: return hd_type_scalar(s);
  }
}

/* --- which arrays are written --- */

/* A place in a function's parameters: which one, and how many bytes into it. */
typedef struct Place {
  uint32_t param, offset;
} Place;

typedef struct Writes {
  Place *list;
  uint32_t n, cap;
} Writes;

/* The parameter that an array or address comes from; false for memory of the thread. Arrays and pointers never pass
 * through selects, regions or memory, so their definitions lead straight to it. */
static bool root(const IrValue *v, Place *out) {
  out->offset = 0;
  while (v->def) {
    const IrInst *i = v->def;
    if (i->op == IR_extract)
      out->offset += hdir_part_offset(i->args[0]->type, (uint32_t)i->imm);
    else if (i->op != IR_index && i->op != IR_member && i->op != IR_elem)
      return false;
    v = i->args[0];
    /* Below an index, extracts and members count within the element; only those above it lead to the array. */
    if (i->op != IR_extract) out->offset = 0;
  }
  out->param = v->index;
  return v->region != NULL;
}

static const Writes *writes_of(const IrFunc *fn, Arena *a, Map *known);

static void add_write(Writes *w, Arena *a, Place p) {
  for (uint32_t i = 0; i < w->n; i++)
    if (w->list[i].param == p.param && w->list[i].offset == p.offset) return;
  HDB_PUSH(a, w->list, w->n, w->cap, p);
}

/* C may write to the arrays that it is given. */
static void add_c_call(Writes *w, const IrInst *call, Arena *a) {
  for (uint32_t i = 0; i < call->nargs; i++) {
    Place p;
    if (call->args[i]->type->kind == IR_ARRAY && root(call->args[i], &p)) add_write(w, a, p);
  }
}

static void add_call(Writes *w, const IrInst *call, Arena *a, Map *known) {
  const Writes *callee = writes_of(call->callee, a, known);
  for (uint32_t i = 0; i < callee->n; i++) {
    Place p;
    if (!root(call->args[callee->list[i].param], &p)) continue;
    p.offset += callee->list[i].offset;
    add_write(w, a, p);
  }
}

static const Writes *writes_of(const IrFunc *fn, Arena *a, Map *known) {
  MapSlot *slot = hdb_map_slot(known, &fn, sizeof fn);
  if (slot->value) return slot->value;
  Writes *w = HDB_NEW(a, Writes);
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    Place p;
    IrEffect e = hdir_ops[i->op].effect;
    if (hdir_calls_c(i))
      add_c_call(w, i, a);
    else if (i->op == IR_call)
      add_call(w, i, a, known);
    else if ((e == FX_WRITES || e == FX_ATOMIC) && root(i->args[0], &p))
      add_write(w, a, p);
  }
  hdb_map_slot(known, &fn, sizeof fn)->value = w; /* the table may have grown meanwhile */
  return w;
}

/* --- parameters --- */

static bool has_arrays(const IrType *t) {
  if (t->kind == IR_ARRAY) return true;
  if (t->kind != IR_STRUCT) return false;
  for (uint32_t i = 0; i < t->nparts; i++)
    if (has_arrays(hdir_part(t, i))) return true;
  return false;
}

typedef struct Params {
  Arena *arena;
  RtParam *list;
  uint32_t n, cap;
  const Writes *writes;
} Params;

static bool is_written(const Writes *w, uint32_t param, uint32_t offset) {
  for (uint32_t i = 0; i < w->n; i++)
    if (w->list[i].param == param && w->list[i].offset == offset) return true;
  return false;
}

/* `base` is where the parameter stands in the block, `offset` where this part stands in the parameter. */
static void add_param(Params *ps, const char *name, const IrType *t, uint32_t param, uint32_t base, uint32_t offset) {
  if (t->kind == IR_STRUCT && has_arrays(t)) {
    for (uint32_t i = 0; i < t->nparts; i++)
      add_param(ps, hdb_printf(ps->arena, "%s.%s", name, t->fields[i].name), hdir_part(t, i), param, base,
                offset + hdir_part_offset(t, i));
    return;
  }
  RtParam p = {.name = hdb_strdup(ps->arena, name), .offset = base + offset};
  bool array = t->kind == IR_ARRAY;
  p.type = hdapi_type_of(array ? t->elem : t);
  p.ndim = array ? (int32_t)t->rows : 0;
  p.writes = array && is_written(ps->writes, param, offset);
  HDB_PUSH(ps->arena, ps->list, ps->n, ps->cap, p);
}

void hdapi_signature(const IrFunc *kernel, Arena *a, RtSignature *out) {
  const IrRegion *body = kernel->body;
  Params ps = {.arena = a};
  Map known;
  uint32_t *offset = HDB_NEW_N(a, uint32_t, body->nparams + 1);
  hdb_map_init(&known, a);
  ps.writes = writes_of(kernel, a, &known);
  uint32_t size = hdir_args_layout(kernel, offset);
  for (uint32_t i = 0; i < body->nparams; i++) {
    const IrValue *v = body->params[i];
    add_param(&ps, v->name ? v->name : hdb_printf(a, "%u", i), v->type, i, offset[i], 0);
  }
  *out = (RtSignature){hdb_strdup(a, kernel->name), ps.n, ps.list, size, hdir_launch_rank(kernel), kernel->group};
}

/* --- identity --- */

IrFunc *hdapi_alone(const IrFunc *kernel, Arena *a) {
  IrModule *m = hdir_module_new(a, kernel->module->name);
  return hdir_func_import(m, kernel);
}

/* Places in the source are part of the code only where it can report a failure. */
static bool reports(const IrModule *m) {
  for (uint32_t f = 0; f < m->nfuncs; f++)
    for (const IrInst *i = m->funcs[f]->body->first; i; i = hdir_inst_next(i))
      if (hdir_ops[i->op].effect == FX_REPORT) return true;
  return false;
}

void hdapi_ir_hash(const IrFunc *kernel, Arena *scratch, char out[33]) {
  ArenaMark mark = hdb_mark(scratch);
  IrFunc *alone = hdapi_alone(kernel, scratch);
  IrPrint how = {.locations = reports(alone->module)};
  Buf b;
  hdb_buf_init(&b, scratch);
  hdir_print_module(&b, alone->module, &how);
  hdrt_hash_hex(b.data, b.len, out);
  hdb_reset(scratch, mark);
}
