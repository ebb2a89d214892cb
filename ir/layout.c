/* ir/layout.c -- where kernel parameters stand in the argument block, and what a kernel asks of its launch. */
#include "ir/layout.h"

uint32_t hdir_args_layout(const IrFunc *kernel, uint32_t offset[]) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < kernel->body->nparams; i++) {
    const IrType *t = kernel->body->params[i]->type;
    at = (at + t->align - 1) / t->align * t->align;
    offset[i] = at;
    at += t->size;
  }
  return (at + 7) / 8 * 8;
}

typedef struct Reached { /* functions to look through, each once */
  Arena *arena;
  Map seen;
  const IrFunc **list;
  uint32_t n, cap;
} Reached;

static void reach(Reached *r, const IrFunc *fn) {
  MapSlot *slot = hdb_map_slot(&r->seen, &fn, sizeof fn);
  if (slot->value) return;
  slot->value = r;
  HDB_PUSH(r->arena, r->list, r->n, r->cap, fn);
}

/* A function and all that it calls. */
static void reach_all(Reached *r, const IrFunc *fn) {
  *r = (Reached){.arena = fn->module->arena};
  hdb_map_init(&r->seen, r->arena);
  reach(r, fn);
  for (uint32_t at = 0; at < r->n; at++)
    for (const IrInst *i = r->list[at]->body->first; i; i = hdir_inst_next(i))
      if (i->op == IR_call) reach(r, i->callee);
}

int32_t hdir_seen_rank(const IrFunc *kernel) {
  ArenaMark mark = hdb_mark(kernel->module->arena);
  Reached r;
  int32_t rank = kernel->group ? 1 : 0;
  reach_all(&r, kernel);
  for (uint32_t at = 0; at < r.n; at++)
    for (const IrInst *i = r.list[at]->body->first; i; i = hdir_inst_next(i))
      if ((i->op == IR_tid || i->op == IR_dim) && i->imm >= rank) rank = (int32_t)i->imm + 1;
  hdb_reset(kernel->module->arena, mark);
  return rank;
}

static bool is_of_group(const IrInst *i) {
  if (hdir_ops[i->op].effect == FX_GROUP) return true;
  return i->op == IR_ltid || i->op == IR_gid || i->op == IR_gdim || i->op == IR_shared || i->op == IR_threads;
}

bool hdir_needs_group(const IrFunc *fn) {
  ArenaMark mark = hdb_mark(fn->module->arena);
  Reached r;
  bool needs = false;
  reach_all(&r, fn);
  for (uint32_t at = 0; at < r.n; at++)
    for (const IrInst *i = r.list[at]->body->first; i && !needs; i = hdir_inst_next(i)) needs = is_of_group(i);
  hdb_reset(fn->module->arena, mark);
  return needs;
}

bool hdir_is_split(const IrFunc *fn) {
  const IrInst *i = fn->group ? fn->body->first : NULL;
  while (i && i->op != IR_threads) i = hdir_inst_next(i);
  return i;
}

int32_t hdir_launch_rank(const IrFunc *kernel) {
  int32_t seen = hdir_seen_rank(kernel);
  return seen > kernel->rank ? seen : kernel->rank;
}

void hdir_keep_rank(IrFunc *kernel) { kernel->rank = hdir_launch_rank(kernel); }
