/* passes/alias.c -- which addresses may be the same memory (alias.h).
 *
 * An address is a root (an alloca, an array parameter with an index, a pointer parameter) and a chain of parts. Chains
 * are short, so they are compared as they stand; nothing is kept between questions.
 */
#include "passes/alias.h"

enum { MAX_CHAIN = 16 }; /* a longer one is taken to alias */

typedef struct Chain {
  const IrValue *root;           /* the array, alloca or parameter                 */
  const IrInst *index;           /* the index op on an array, or NULL              */
  const IrInst *step[MAX_CHAIN]; /* member and elem, from the address inwards to the root*/
  uint32_t n;
  bool whole; /* all steps were taken in */
} Chain;

bool hdopt_is_local(const IrValue *p) { return p->type->space == IR_LOCAL; }

static void read_chain(Chain *c, const IrValue *p) {
  *c = (Chain){.whole = true};
  while (p->def && (p->def->op == IR_member || p->def->op == IR_elem)) {
    if (c->n < MAX_CHAIN)
      c->step[c->n++] = p->def;
    else
      c->whole = false;
    p = p->def->args[0];
  }
  if (p->def && p->def->op == IR_index) {
    c->index = p->def;
    p = p->def->args[0];
  }
  c->root = p;
}

/* x and y are certainly different numbers. */
static bool differ(const IrValue *x, const IrValue *y) {
  if (x->type != y->type) return false;
  int64_t a = 0, b = 0;
  if (hdir_is_const(x) && hdir_is_const(y)) return x->bits != y->bits;
  if (x->def && x->def->op == IR_add && hdir_is_const(x->def->args[1])) {
    a = hdir_const_i64(x->def->args[1]);
    x = x->def->args[0];
  }
  if (y->def && y->def->op == IR_add && hdir_is_const(y->def->args[1])) {
    b = hdir_const_i64(y->def->args[1]);
    y = y->def->args[0];
  }
  return x == y && a != b; /* modulo 2^bits, where the constants are still different */
}

typedef enum Relation { SAME, APART, UNSURE } Relation;

static Relation relate_index(const IrInst *i, const IrInst *j) {
  Relation r = SAME;
  for (uint32_t k = 1; k < i->nargs; k++) {
    if (i->args[k] == j->args[k]) continue;
    if (differ(i->args[k], j->args[k])) return APART;
    r = UNSURE;
  }
  return r;
}

/* Two parts of one object. */
static Relation relate_step(const IrInst *i, const IrInst *j) {
  const bool known_i = i->op == IR_member || hdir_is_const(i->args[1]);
  const bool known_j = j->op == IR_member || hdir_is_const(j->args[1]);
  if (known_i && known_j) {
    const int64_t a = i->op == IR_member ? i->imm : hdir_const_i64(i->args[1]);
    const int64_t b = j->op == IR_member ? j->imm : hdir_const_i64(j->args[1]);
    return a == b ? SAME : APART;
  }
  if (known_i || known_j) return UNSURE;
  return i->args[1] == j->args[1] ? SAME : differ(i->args[1], j->args[1]) ? APART : UNSURE;
}

/* The element at a chain's root, as far as its type is known. */
static const IrType *root_element(const Chain *c) { return c->index ? c->root->type->elem : NULL; }

bool hdopt_may_alias(const IrValue *p, const IrValue *q) {
  if (p == q) return true;
  if (p->type->space != q->type->space) return false;
  Chain a, b;
  read_chain(&a, p);
  read_chain(&b, q);
  if (a.root != b.root) {
    const bool object_a = a.root->def && hdir_ops[a.root->def->op].effect == FX_LOCAL;
    const bool object_b = b.root->def && hdir_ops[b.root->def->op].effect == FX_LOCAL;
    const IrType *s = root_element(&a), *t = root_element(&b);
    if (object_a || object_b) return false; /* a new object: nothing that was there before points to it */
    return !s || !t || s == t;
  }
  if (!a.whole || !b.whole) return true;
  Relation r = SAME;
  if (a.index && b.index) r = relate_index(a.index, b.index);
  if (r == APART) return false;
  /* Where elements may be different ones, different parts are apart all the same: whole elements coincide or not. */
  for (uint32_t k = 1; k <= a.n && k <= b.n; k++) {
    if (relate_step(a.step[a.n - k], b.step[b.n - k]) == APART) return false;
  }
  return true;
}
