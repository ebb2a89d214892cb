/* ir/layout.c -- where kernel parameters stand in the argument block, and how many axes a kernel asks for. */
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

int32_t hdir_seen_rank(const IrFunc *kernel) {
  Arena *a = kernel->module->arena;
  ArenaMark mark = hdb_mark(a);
  Reached r = {.arena = a};
  int32_t rank = 0;
  hdb_map_init(&r.seen, a);
  reach(&r, kernel);
  for (uint32_t at = 0; at < r.n; at++) {
    for (const IrInst *i = r.list[at]->body->first; i; i = hdir_inst_next(i)) {
      if ((i->op == IR_tid || i->op == IR_dim) && i->imm >= rank) rank = (int32_t)i->imm + 1;
      if (i->op == IR_call) reach(&r, i->callee);
    }
  }
  hdb_reset(a, mark);
  return rank;
}

int32_t hdir_launch_rank(const IrFunc *kernel) {
  int32_t seen = hdir_seen_rank(kernel);
  return seen > kernel->rank ? seen : kernel->rank;
}

void hdir_keep_rank(IrFunc *kernel) { kernel->rank = hdir_launch_rank(kernel); }
