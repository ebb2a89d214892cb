/* backends/interp/frame.c -- frames: a place for every value, every local object and every constant. */
#include "backends/interp/frame.h"

uint64_t hdinterp_part_leaf(const IrType *t, uint32_t i) {
  if (t->kind == IR_FIXED) return (uint64_t)i * t->elem->nleaves;
  if (t->kind != IR_STRUCT) return i;
  uint64_t n = 0;
  for (uint32_t k = 0; k < i; k++) n += t->fields[k].type->nleaves;
  return n;
}

/* --- memory --- */

/* Leaf k of a type: down the parts until one is no composite. */
static InterpLeaf leaf_of(const IrType *t, uint64_t k) {
  uint64_t offset = 0;
  while (hdir_is_composite(t)) {
    uint32_t i = 0;
    if (t->kind == IR_STRUCT)
      while (k >= t->fields[i].type->nleaves) k -= t->fields[i++].type->nleaves;
    else if (t->kind == IR_FIXED)
      i = (uint32_t)(k / t->elem->nleaves), k %= t->elem->nleaves;
    else
      i = (uint32_t)k, k = 0;
    offset += hdir_part_offset(t, i);
    t = hdir_part(t, i);
  }
  return (InterpLeaf){offset, t};
}

static void read_leaf(const IrType *t, const char *from, uint64_t *leaf) {
  uint64_t x = 0;
  if (t->kind == IR_ARRAY)
    x = (uint64_t)(uintptr_t)from;
  else if (t->kind == IR_BOOL)
    x = *from != 0;
  else
    memcpy(&x, from, t->size); /* little endian: the low bytes come first */
  *leaf = x;
}

static void write_leaf(const IrType *t, char *to, uint64_t leaf) {
  if (t->kind == IR_ARRAY)
    memmove(to, (const void *)(uintptr_t)leaf, t->size);
  else
    memcpy(to, &leaf, t->size);
}

void hdinterp_read(const InterpFrames *fs, const IrType *t, const void *from, uint64_t *leaves) {
  if (!hdir_is_composite(t)) {
    read_leaf(t, from, leaves);
    return;
  }
  const InterpLeaf *shape = fs->shape[t->id];
  for (uint32_t k = 0; k < t->nleaves; k++) read_leaf(shape[k].type, (const char *)from + shape[k].offset, &leaves[k]);
}

void hdinterp_write(const InterpFrames *fs, const IrType *t, void *to, const uint64_t *leaves) {
  if (!hdir_is_composite(t)) {
    write_leaf(t, to, *leaves);
    return;
  }
  const InterpLeaf *shape = fs->shape[t->id];
  for (uint32_t k = 0; k < t->nleaves; k++) write_leaf(shape[k].type, (char *)to + shape[k].offset, leaves[k]);
}

/* --- preparation --- */

void hdinterp_shape(InterpFrames *fs, const IrType *t) {
  if (!hdir_is_composite(t) || fs->shape[t->id]) return;
  InterpLeaf *shape = HDB_NEW_N(fs->arena, InterpLeaf, t->nleaves);
  for (uint32_t k = 0; k < t->nleaves; k++) shape[k] = leaf_of(t, k);
  fs->shape[t->id] = shape;
}

static InterpFrame *frame_for(InterpFrames *fs, const IrFunc *fn) {
  MapSlot *slot = hdb_map_slot(&fs->by_fn, &fn, sizeof fn);
  if (!slot->value) {
    InterpFrame *f = HDB_NEW(fs->arena, InterpFrame);
    f->fn = fn;
    slot->value = f;
    HDB_PUSH(fs->arena, fs->all, fs->count, fs->cap, f);
  }
  return slot->value;
}

/* Leaves are handed out in two rounds over the function: places first, then, when there is memory, the constants. */
static uint64_t place(InterpFrame *f, const IrValue *v, uint64_t next) {
  f->first[v->id] = next;
  return next + v->type->nleaves;
}

static uint64_t place_params(InterpFrame *f, const IrRegion *r, uint64_t next) {
  for (uint32_t k = 0; k < r->nparams; k++) next = place(f, r->params[k], next);
  return next;
}

static uint64_t place_inst(InterpFrame *f, const IrInst *i, uint64_t next) {
  for (uint32_t k = 0; k < i->nargs; k++)
    if (hdir_is_const(i->args[k])) next = place(f, i->args[k], next); /* once a use: simple, and small */
  for (uint32_t k = 0; k < i->nres; k++) next = place(f, i->res[k], next);
  for (uint32_t k = 0; k < i->nsubs; k++) next = place_params(f, i->sub[k], next);
  return next;
}

static void place_local(InterpFrame *f, const IrInst *i) {
  const IrType *t = i->res[0]->type->elem;
  f->local_size = (f->local_size + 15) & ~(uint64_t)15;
  f->local_at[i->id] = f->local_size;
  f->local_size += t->size;
}

static void place_shared(InterpFrames *fs, InterpFrame *f, const IrInst *i) {
  f->local_at[i->id] = fs->shared_size;
  fs->shared_size += (i->res[0]->type->elem->size + 15) & ~(uint64_t)15;
}

static void prepare_inst(InterpFrames *fs, InterpFrame *f, const IrInst *i) {
  if (i->op == IR_load) hdinterp_shape(fs, i->res[0]->type);
  if (i->op == IR_store) hdinterp_shape(fs, i->args[1]->type);
  if (i->op == IR_alloca) place_local(f, i);
  if (i->op == IR_shared) place_shared(fs, f, i);
  if (i->op == IR_call) f->callee[i->id] = frame_for(fs, i->callee);
}

/* Returns the most leaves that one instruction has as operands. */
static uint64_t prepare_frame(InterpFrames *fs, InterpFrame *f) {
  const IrFunc *fn = f->fn;
  f->first = HDB_NEW_N(fs->arena, uint64_t, fn->nvalues + 1);
  f->local_at = HDB_NEW_N(fs->arena, uint64_t, fn->ninsts + 1);
  f->callee = HDB_NEW_N(fs->arena, InterpFrame *, fn->ninsts + 1);
  uint64_t next = place_params(f, fn->body, 0), widest = 0;
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i)) {
    next = place_inst(f, i, next);
    prepare_inst(fs, f, i);
    uint64_t wide = 0;
    for (uint32_t k = 0; k < i->nargs; k++) wide += i->args[k]->type->nleaves;
    if (wide > widest) widest = wide;
  }
  f->leaves = HDB_NEW_N(fs->arena, uint64_t, next + 1);
  for (const IrInst *i = fn->body->first; i; i = hdir_inst_next(i))
    for (uint32_t k = 0; k < i->nargs; k++)
      if (hdir_is_const(i->args[k])) *hdinterp_leaves(f, i->args[k]) = i->args[k]->bits;
  return widest;
}

void hdinterp_frames_init(InterpFrames *fs, const IrFunc *kernel, Arena *a) {
  memset(fs, 0, sizeof *fs);
  fs->arena = a;
  fs->shape = HDB_NEW_N(a, InterpLeaf *, kernel->module->types.count + 1);
  hdb_map_init(&fs->by_fn, a);
  frame_for(fs, kernel);
  for (uint32_t k = 0; k < kernel->body->nparams; k++) hdinterp_shape(fs, kernel->body->params[k]->type);
  uint64_t widest = 0;
  for (uint32_t n = 0; n < fs->count; n++) { /* grows as calls are found */
    uint64_t wide = prepare_frame(fs, fs->all[n]);
    if (wide > widest) widest = wide;
    fs->local_size += (fs->all[n]->local_size + 15) & ~(uint64_t)15;
  }
  fs->scratch = HDB_NEW_N(a, uint64_t, widest + 1);
  fs->locals = hdb_alloc(a, fs->local_size + 16);
  char *at = fs->locals;
  for (uint32_t n = 0; n < fs->count; n++) {
    fs->all[n]->locals = at;
    at += (fs->all[n]->local_size + 15) & ~(uint64_t)15;
  }
}
