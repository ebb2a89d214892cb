/* backends/cpu/widen_c.c -- calls of C functions: one for the gang where the answer is one, else lane after lane.
 *
 * How values travel stands in docs/language.md. Composites come here as `make` of scalars, as parts of parameters, or as
 * results of other C functions, and are looked through to their scalars. The symbol is the function's name behind "c.",
 * which no kernel has; the loader gives it its address.
 */
#include "backends/cpu/widen.h"

/* --- scalars inside of composites --- */

static uint32_t leaf_at(const IrType *t, uint32_t part) {
  if (t->kind != IR_STRUCT) return part * hdir_part(t, 0)->nleaves;
  uint32_t n = 0;
  for (uint32_t k = 0; k < part; k++) n += t->fields[k].type->nleaves;
  return n;
}

typedef void (*Leaf)(void *user, const IrType *t, uint32_t offset);

static void each_leaf(const IrType *t, uint32_t offset, Leaf f, void *user) {
  if (!hdir_is_composite(t)) {
    f(user, t, offset);
    return;
  }
  for (uint32_t k = 0; k < t->nparts; k++) each_leaf(hdir_part(t, k), offset + hdir_part_offset(t, k), f, user);
}

bool hdcpu_c_part(CpuWiden *w, const IrInst *extract) {
  const IrValue *from = extract->args[0], *res = extract->res[0];
  if (!w->leaves[from->id]) return false;
  const char **leaf = w->leaves[from->id] + leaf_at(from->type, (uint32_t)extract->imm);
  if (hdir_is_scalar(res->type))
    hdcpu_set(w, res, *leaf);
  else
    w->leaves[res->id] = leaf;
  return true;
}

/* --- operands --- */

typedef struct Call {
  CpuWiden *w;
  const IrInst *inst;
  const char *lane; /* i32; NULL: one call for all */
  const char *mem;  /* ptr: of the composite at hand */
  const char **leaf;
  uint32_t n, from;
  bool vec; /* results differ by lane */
} Call;

/* One lane of a vector. */
static const char *lane_of(const Call *c, const IrType *t, const char *v) {
  CpuWiden *w = c->w;
  if (t->kind != IR_BOOL) return hdcpu_ins(w, "extractelement %s %s, i32 %s", w->vt[t->kind], v, c->lane);
  return hdcpu_ins(w, "extractelement %s %s, i32 %s", w->bt, hdcpu_i1(w, v), c->lane);
}

static const char *scalar(const Call *c, const IrValue *v) {
  return hdcpu_differs(c->w, v) ? lane_of(c, v->type, hdcpu_v(c->w, v)) : hdcpu_s(c->w, v);
}

static const char *at(const Call *c, const char *base, uint32_t offset) {
  return offset ? hdcpu_ins(c->w, "getelementptr i8, ptr %s, i64 %u", base, offset) : base;
}

static const char *as_byte(CpuWiden *w, const IrType *t, const char *x) {
  return t->kind == IR_BOOL ? hdcpu_ins(w, "zext i1 %s to i8", x) : x;
}

static void put(const Call *c, const IrType *t, uint32_t offset, const char *x) {
  hdcpu_line(c->w, "store %s %s, ptr %s, align %u", hdcpu_mem_type(t), as_byte(c->w, t, x), at(c, c->mem, offset),
             t->align);
}

static void copy_param(void *user, const IrType *t, uint32_t offset) {
  Call *c = user;
  const char *x =
      hdcpu_ins(c->w, "load %s, ptr %s, align %u", hdcpu_mem_type(t), at(c, "%args", c->from + offset), t->align);
  hdcpu_line(c->w, "store %s %s, ptr %s, align %u", hdcpu_mem_type(t), x, at(c, c->mem, c->n + offset), t->align);
}

static void copy_result(void *user, const IrType *t, uint32_t offset) {
  Call *c = user;
  const char *x = *c->leaf++;
  put(c, t, c->n + offset, c->vec ? lane_of(c, t, x) : x);
}

/* The scalars of `v` into memory. */
static void put_parts(Call *c, const IrValue *v, uint32_t offset) {
  CpuWiden *w = c->w;
  c->n = offset;
  if (hdir_is_scalar(v->type)) {
    put(c, v->type, offset, scalar(c, v));
  } else if (v->def && v->def->op == IR_make) {
    for (uint32_t k = 0; k < v->type->nparts; k++) put_parts(c, v->def->args[k], offset + hdir_part_offset(v->type, k));
  } else if (w->leaves[v->id]) {
    c->leaf = w->leaves[v->id];
    c->vec = hdcpu_is_vec(w, v);
    each_leaf(v->type, 0, copy_result, c);
  } else if (w->place[v->id] != UINT32_MAX) {
    c->from = w->place[v->id];
    each_leaf(v->type, 0, copy_param, c);
  } else {
    hdcpu_fail(w, c->inst, HD_ERR_COMPILE, "a composite that passes should have taken apart");
  }
}

/* What differs by lane is made before the loop over lanes. */
static void make_vectors(CpuWiden *w, const IrValue *v) {
  if (hdir_is_scalar(v->type)) {
    if (hdcpu_differs(w, v)) hdcpu_v(w, v);
  } else if (v->def && v->def->op == IR_make) {
    for (uint32_t k = 0; k < v->type->nparts; k++) make_vectors(w, v->def->args[k]);
  }
}

static const char *memory_for(CpuWiden *w, const IrType *t) {
  return hdcpu_entry(w, "alloca [%u x i8], align %u", t->size, t->align < 8 ? 8 : t->align);
}

/* Small integers are widened to 32 bits: C compilers do so, or count on it. */
static const char *param_type(const IrType *t) {
  if (!hdir_is_scalar(t)) return "ptr";
  if (t->kind == IR_I8) return "i8 signext";
  if (t->kind == IR_I16) return "i16 signext";
  if (hdir_bits(t) <= 8) return "i8 zeroext";
  return hdir_bits(t) == 16 ? "i16 zeroext" : hdcpu_mem_type(t);
}

static const char *argument(Call *c, const IrValue *v, const char *mem) {
  CpuWiden *w = c->w;
  if (hdir_is_scalar(v->type)) return as_byte(w, v->type, scalar(c, v));
  if (!mem) return at(c, "%args", w->place[v->id]);
  c->mem = mem;
  put_parts(c, v, 0);
  return mem;
}

/* --- the call --- */

/* The call of one thread, or of all; the result, if it is a scalar. */
static const char *emit(Call *c, const char *const mem[], const char *out) {
  CpuWiden *w = c->w;
  const IrFunc *fn = c->inst->callee;
  const IrType *result = fn->nresults ? fn->results[0] : NULL;
  const char *ret = result && !out ? hdcpu_mem_type(result) : "void", *name = hdcpu_fmt(w, "c.%s", fn->name);
  Buf params, args;
  hdb_buf_init(&params, w->a);
  hdb_buf_init(&args, w->a);
  for (uint32_t k = 0; k < c->inst->nargs; k++) {
    const char *type = param_type(c->inst->args[k]->type), *x = argument(c, c->inst->args[k], mem[k]);
    hdb_putf(&params, "%s%s", k ? ", " : "", type);
    hdb_putf(&args, "%s%s %s", k ? ", " : "", type, x);
  }
  if (out) {
    hdb_putf(&params, "%sptr", params.len ? ", " : "");
    hdb_putf(&args, "%sptr %s", args.len ? ", " : "", out);
  }
  const char *r = hdcpu_call(w, ret, name, params.len ? params.data : "", "%s", args.len ? args.data : "");
  return r && result->kind == IR_BOOL ? hdcpu_ins(w, "icmp ne i8 %s, 0", r) : r;
}

/* --- results --- */

static void load_leaf(void *user, const IrType *t, uint32_t offset) {
  Call *c = user;
  const char *x = hdcpu_ins(c->w, "load %s, ptr %s, align %u", hdcpu_mem_type(t), at(c, c->mem, offset), t->align);
  *c->leaf++ = t->kind == IR_BOOL ? hdcpu_ins(c->w, "icmp ne i8 %s, 0", x) : x;
}

/* The scalars of a composite result, in the order of its parts. */
static void load_result(Call *c, const IrType *t, const char *out, const char **leaf) {
  c->mem = out;
  c->leaf = leaf;
  each_leaf(t, 0, load_leaf, c);
}

static void collect_type(void *user, const IrType *t, uint32_t offset) {
  const IrType ***next = user;
  (void)offset;
  *(*next)++ = t;
}

static void once(Call *c, const char *const mem[], const char *out) {
  CpuWiden *w = c->w;
  const char *r = emit(c, mem, out);
  if (!c->inst->nres) return;
  const IrValue *res = c->inst->res[0];
  if (!out) {
    hdcpu_set(w, res, r);
    return;
  }
  w->leaves[res->id] = HDB_NEW_N(w->a, const char *, res->type->nleaves);
  load_result(c, res->type, out, w->leaves[res->id]);
}

/* Each lane puts what it got into rows in memory; the lanes that are off have zeros there. */
static void each_lane(Call *c, const char *const mem[], const char *out) {
  CpuWiden *w = c->w;
  const IrValue *res = c->inst->nres && w->uses[c->inst->res[0]->id] ? c->inst->res[0] : NULL;
  uint32_t n = res ? res->type->nleaves : 0;
  const IrType **type = HDB_NEW_N(w->a, const IrType *, n + 1), **next = type;
  const char **row = HDB_NEW_N(w->a, const char *, n + 1), **leaf = HDB_NEW_N(w->a, const char *, n + 1);
  if (res) each_leaf(res->type, 0, collect_type, &next);
  for (uint32_t k = 0; k < n; k++) {
    row[k] = hdcpu_entry(w, "alloca [%u x i64], align 64", w->width);
    hdcpu_line(w, "store <%u x %s> zeroinitializer, ptr %s, align 64", w->width, hdcpu_mem_type(type[k]), row[k]);
  }
  for (uint32_t k = 0; k < c->inst->nargs; k++) make_vectors(w, c->inst->args[k]);
  CpuLanes l = hdcpu_lanes_begin(w, hdcpu_bits(w, hdcpu_on(w)));
  c->lane = l.lane;
  leaf[0] = emit(c, mem, out);
  if (res && out) load_result(c, res->type, out, leaf);
  for (uint32_t k = 0; k < n; k++) {
    const char *to = hdcpu_ins(w, "getelementptr %s, ptr %s, i32 %s", hdcpu_mem_type(type[k]), row[k], l.lane);
    hdcpu_line(w, "store %s %s, ptr %s, align %u", hdcpu_mem_type(type[k]), as_byte(w, type[k], leaf[k]), to,
               type[k]->align);
  }
  hdcpu_lanes_end(w, &l);
  for (uint32_t k = 0; k < n; k++) {
    const char *v = hdcpu_ins(w, "load <%u x %s>, ptr %s, align 64", w->width, hdcpu_mem_type(type[k]), row[k]);
    leaf[k] = hdcpu_from_mem(w, type[k], v);
  }
  if (res && out)
    w->leaves[res->id] = leaf;
  else if (res)
    hdcpu_set(w, res, leaf[0]);
}

void hdcpu_c_call(CpuWiden *w, const IrInst *i) {
  const IrType *result = i->nres ? i->res[0]->type : NULL;
  const char **mem = HDB_NEW_N(w->a, const char *, i->nargs + 1);
  const char *out = result && hdir_is_composite(result) ? memory_for(w, result) : NULL;
  for (uint32_t k = 0; k < i->nargs; k++) { /* what stands in the argument block is passed from there */
    const IrValue *v = i->args[k];
    bool in_block = !hdir_is_scalar(v->type) && !hdir_is_const(v) && w->place[v->id] != UINT32_MAX;
    if (!hdir_is_scalar(v->type) && !in_block) mem[k] = memory_for(w, v->type);
  }
  Call c = {.w = w, .inst = i};
  if (hdir_calls_pure(i) && !hdcpu_is_vec(w, i->res[0]))
    once(&c, mem, out);
  else
    each_lane(&c, mem, out);
}
