/* backends/nvptx/lower_mem.c -- addresses, loads and stores.
 *
 * An index `x + c`, `(x + c) * d` and so on is addressed as x, `x * d`, and the constant goes into the instruction's offset,
 * which is added in 64 bits. With i32 that is right if neither the index nor what is left without the constant leaves the 32
 * bits: the first lies outside of the array otherwise, and the second lies within MOST_PEELED elements of it, for which "small"
 * arrays leave room (nvptx.h). Loads from arrays that nothing in the kernel writes to take the read-only path
 * (ld.global.nc). Two arrays may be the same memory only if their elements have one type (passes/alias.h), so that is
 * known for a type, not for an array.
 *
 * An element of 8 or 16 bytes, or of a multiple, is aligned to as much in dense arrays (nvptx.h), so that LLVM makes one load
 * or store of neighbouring parts.
 */
#include "backends/nvptx/lower.h"

enum { MOST_PEELED = PTX_SMALL_MARGIN, DEEPEST_PEEL = 8 };

static const PtxAddr *of(PtxLower *g, const IrInst *i, const IrValue *v) {
  static const PtxAddr nowhere = {.base = "null"};
  if (g->addr[v->id]) return g->addr[v->id];
  hdptx_fail(g, i, HD_ERR_COMPILE, "an address is used before it is made");
  return &nowhere;
}

static void keep(PtxLower *g, const IrInst *i, PtxAddr a) { g->addr[i->res[0]->id] = hdb_copy(g->a, &a, sizeof a); }

const char *hdptx_space(const PtxAddr *a) {
  return a->space == IR_LOCAL ? "ptr addrspace(5)" : a->space == IR_SHARED ? "ptr addrspace(3)" : "ptr addrspace(1)";
}

static const char *move(PtxLower *g, const PtxAddr *a, const char *bytes) {
  return hdptx_ins(g, "getelementptr i8, %s %s, i64 %s", hdptx_space(a), a->base, bytes);
}

/* --- alignment --- */

static uint32_t low_bit(int64_t x) { return (uint32_t)(x & -x & 0x1f); }
static uint32_t smaller(uint32_t a, uint32_t b) { return b && b < a ? b : a; }

uint32_t hdptx_array_align(uint32_t size) { return smaller(PTX_WIDEST, low_bit(size)); }

/* Of an access of `size` bytes, whose own alignment is sure. */
static uint32_t align_at(const PtxAddr *a, uint32_t size) {
  uint32_t align = smaller(a->align, low_bit(a->off));
  return align > size ? align : size;
}

/* --- indices --- */

/* Of a * b, where b is a constant, and a << b: what a is multiplied by; 0 of all else. */
static int64_t factor(const IrInst *i) {
  if ((i->op != IR_mul && i->op != IR_shl) || !hdir_is_const(i->args[1])) return 0;
  int64_t c = hdir_const_i64(i->args[1]);
  if (i->op == IR_shl) return c >= 0 && c < 20 ? (int64_t)1 << c : 0;
  return c >= -MOST_PEELED && c <= MOST_PEELED ? c : 0;
}

static const char *peel(PtxLower *g, const IrValue *v, int depth, int64_t *sum);

static const char *peel_sum(PtxLower *g, const IrInst *i, int depth, int64_t *sum) {
  int64_t c[2] = {0, 0};
  const char *x = peel(g, i->args[0], depth + 1, &c[0]), *y = peel(g, i->args[1], depth + 1, &c[1]);
  *sum = i->op == IR_add ? c[0] + c[1] : c[0] - c[1];
  if (!y) return x;
  if (!x && i->op == IR_add) return y;
  return hdptx_ins(g, "%s %s %s, %s", i->op == IR_add ? "add" : "sub", hdptx_type(i->res[0]->type), x ? x : "0", y);
}

/* v as a sum of the constant *sum, at most MOST_PEELED in size, and what is returned; NULL for zero. */
static const char *peel(PtxLower *g, const IrValue *v, int depth, int64_t *sum) {
  const IrInst *i = v->def;
  const char *x = NULL;
  *sum = 0;
  if (hdir_is_const(v)) {
    *sum = hdir_const_i64(v);
  } else if (i && depth < DEEPEST_PEEL && (i->op == IR_add || i->op == IR_sub)) {
    x = peel_sum(g, i, depth, sum);
  } else if (i && depth < DEEPEST_PEEL && factor(i)) {
    x = peel(g, i->args[0], depth + 1, sum);
    *sum *= factor(i);
    if (x && *sum) x = hdptx_ins(g, "mul %s %s, %lld", hdptx_type(v->type), x, (long long)factor(i));
  }
  if (*sum && *sum >= -MOST_PEELED && *sum <= MOST_PEELED) return x;
  *sum = 0;
  return hdir_is_const(v) && !v->bits ? NULL : hdptx_get(g, v);
}

static const char *to_i64(PtxLower *g, uint32_t bits, const char *x) {
  return bits == 64 ? x : hdptx_ins(g, "sext i%u %s to i64", bits, x);
}

/* Elements from neighbour to neighbour along axis k; NULL for 1. */
static const char *axis_stride(PtxLower *g, const IrInst *i, uint32_t k, uint32_t bits) {
  uint32_t n = i->args[0]->type->rows, at = g->place[i->args[0]->id] + 8 + 8 * n + 8 * k;
  if (k + 1 == n && g->options.dense) return NULL;
  return hdptx_param(g, bits == 64 ? "i64" : "i32", bits / 8, at);
}

void hdptx_index(PtxLower *g, const IrInst *i) {
  uint32_t at = g->place[i->args[0]->id], n = i->args[0]->type->rows, bits = g->options.small ? 32 : 64;
  int64_t size = i->res[0]->type->elem->size, fixed = 0;
  const char *sum = NULL;
  if (at == UINT32_MAX) {
    hdptx_fail(g, i, HD_ERR_COMPILE, "an array that is no parameter");
    return;
  }
  if (n == 1 && g->options.dense) bits = hdir_bits(i->args[1]->type); /* nothing to multiply: extend last */
  for (uint32_t k = 0; k < n; k++) {
    const IrValue *v = i->args[1 + k];
    const char *stride = axis_stride(g, i, k, bits);
    const char *x = stride ? (hdir_is_const(v) && !v->bits ? NULL : hdptx_get(g, v)) : peel(g, v, 0, &fixed);
    if (!x) continue;
    if (bits < hdir_bits(v->type))
      x = hdptx_ins(g, "trunc i64 %s to i32", x);
    else if (bits > hdir_bits(v->type))
      x = to_i64(g, 32, x);
    if (stride) x = hdptx_ins(g, "mul i%u %s, %s", bits, x, stride);
    sum = sum ? hdptx_ins(g, "add i%u %s, %s", bits, sum, x) : x;
  }
  PtxAddr a = {.base = hdptx_param(g, "ptr addrspace(1)", 8, at), .off = fixed * size};
  if (g->options.dense) a.align = hdptx_array_align((uint32_t)size);
  if (sum) {
    const char *bytes = to_i64(g, bits, sum);
    if (size != 1) bytes = hdptx_ins(g, "mul i64 %s, %lld", bytes, (long long)size);
    a.base = move(g, &a, bytes);
  }
  keep(g, i, a);
}

void hdptx_member(PtxLower *g, const IrInst *i) {
  PtxAddr a = *of(g, i, i->args[0]);
  a.off += hdir_part_offset(i->args[0]->type->elem, (uint32_t)i->imm);
  keep(g, i, a);
}

void hdptx_elem(PtxLower *g, const IrInst *i) {
  PtxAddr a = *of(g, i, i->args[0]);
  int64_t size = i->res[0]->type->elem->size, fixed = 0;
  const char *x = peel(g, i->args[1], 0, &fixed);
  a.off += fixed * size;
  if (x) {
    a.align = smaller(a.align, low_bit(size));
    x = to_i64(g, hdir_bits(i->args[1]->type), x);
    a.base = move(g, &a, size == 1 ? x : hdptx_ins(g, "mul i64 %s, %lld", x, (long long)size));
  }
  keep(g, i, a);
}

/* --- tables --- */

/* One constant of the module for all tables of a kernel that are equal. It lies in global memory: constant memory is slow
 * where the threads of a warp read at different places. */
static const char *table_global(PtxLower *g, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  const char *st = hdptx_mem_type(t);
  Buf b;
  hdb_buf_init(&b, g->a);
  for (uint32_t k = 1; k < i->nargs; k++) {
    const char *x = t->kind == IR_BOOL ? i->args[k]->bits ? "1" : "0" : hdptx_const(g, t, i->args[k]->bits);
    hdb_putf(&b, "%s%s %s", k > 1 ? ", " : "", st, x);
  }
  const char *key = hdptx_fmt(g, "table %s", b.data), *have = hdb_map_get_str(&g->declared, key);
  if (have) return have;
  have = hdptx_fmt(g, "@\"%s$%u\"", hdptx_symbol(g->fn, g->a), i->id);
  hdb_putf(&g->decls, "%s = internal addrspace(1) constant [%u x %s] [%s], align %u\n", have, i->nargs - 1, st, b.data,
           t->size);
  hdb_map_set_str(&g->declared, key, (void *)(uintptr_t)have);
  return have;
}

void hdptx_table(PtxLower *g, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  uint32_t bits = hdir_bits(i->args[0]->type);
  const char *x = hdptx_get(g, i->args[0]), *st = hdptx_mem_type(t);
  const char *in = hdptx_ins(g, "icmp ult i%u %s, %u", bits, x, i->nargs - 1);
  x = to_i64(g, bits, hdptx_ins(g, "select i1 %s, i%u %s, i%u 0", in, bits, x, bits));
  x = hdptx_ins(g, "getelementptr %s, ptr addrspace(1) %s, i64 %s", st, table_global(g, i), x);
  x = hdptx_ins(g, "load %s, ptr addrspace(1) %s, align %u, !invariant.load !2", st, x, t->size);
  hdptx_set(g, i->res[0], t->kind == IR_BOOL ? hdptx_ins(g, "icmp ne i8 %s, 0", x) : x);
}

/* --- local objects --- */

enum {
  LOCAL_MOST = 1 << 19,
  ZERO_AT_ONCE = 16
}; /* bytes of local memory a thread may have; stores of 16 bytes in a row */

static void zero_loop(PtxLower *g, const char *base, uint32_t chunks) {
  const char *head = hdptx_label(g), *done = hdptx_label(g), *from = g->block, *k = hdptx_name(g),
             *next = hdptx_name(g);
  hdptx_line(g, "br label %%%s", head);
  hdptx_open(g, head);
  hdptx_line(g, "%s = phi i32 [ 0, %%%s ], [ %s, %%%s ]", k, from, next, head);
  const char *p = hdptx_ins(g, "getelementptr <2 x i64>, ptr addrspace(5) %s, i32 %s", base, k);
  hdptx_line(g, "store <2 x i64> zeroinitializer, ptr addrspace(5) %s, align 16", p);
  hdptx_line(g, "%s = add i32 %s, 1", next, k);
  const char *more = hdptx_ins(g, "icmp ult i32 %s, %u", next, chunks);
  hdptx_line(g, "br i1 %s, label %%%s, label %%%s", more, head, done);
  hdptx_open(g, done);
}

void hdptx_alloca(PtxLower *g, const IrInst *i) {
  uint32_t size = i->res[0]->type->elem->size, chunks = (size + 15) / 16;
  if (size > LOCAL_MOST) {
    hdptx_fail(g, i, HD_ERR_UNSUPPORTED, "a local variable of more than 512 KiB");
    return;
  }
  const char *object = hdptx_name(g), *base = hdptx_name(g);
  hdb_putf(&g->allocas, "  %s = alloca [%u x i8], align 16\n", object, chunks * 16);
  hdb_putf(&g->allocas, "  %s = addrspacecast ptr %s to ptr addrspace(5)\n", base, object);
  keep(g, i, (PtxAddr){.space = IR_LOCAL, .base = base});
  if (chunks > ZERO_AT_ONCE) {
    zero_loop(g, base, chunks);
    return;
  }
  for (uint32_t k = 0; k < chunks; k++) {
    const char *p = k ? hdptx_ins(g, "getelementptr i8, ptr addrspace(5) %s, i64 %u", base, 16 * k) : base;
    hdptx_line(g, "store <2 x i64> zeroinitializer, ptr addrspace(5) %s, align 16", p);
  }
}

/* --- loads and stores --- */

const char *hdptx_point(PtxLower *g, const IrInst *i, const PtxAddr **addr) {
  const PtxAddr *a = *addr = of(g, i, i->args[0]);
  return a->off ? hdptx_ins(g, "getelementptr i8, %s %s, i64 %lld", hdptx_space(a), a->base, (long long)a->off)
                : a->base;
}

/* The type of the array that a global address lies in. */
static const IrType *root_type(const IrValue *p) {
  while (p->def && (p->def->op == IR_member || p->def->op == IR_elem)) p = p->def->args[0];
  return p->def && p->def->op == IR_index ? p->def->args[0]->type->elem : p->type->elem;
}

void hdptx_writes(PtxLower *g) {
  for (const IrInst *i = g->fn->body->first; i; i = hdir_inst_next(i))
    if ((i->op == IR_store || hdir_ops[i->op].effect == FX_ATOMIC) && i->args[0]->type->space == IR_GLOBAL)
      g->written[root_type(i->args[0])->id] = true;
}

void hdptx_load(PtxLower *g, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  const PtxAddr *a;
  const char *p = hdptx_point(g, i, &a);
  if (!hdir_is_scalar(t)) {
    hdptx_fail(g, i, HD_ERR_COMPILE, "a load of a composite");
    return;
  }
  bool fixed = a->space == IR_GLOBAL && !g->written[root_type(i->args[0])->id];
  const char *x = hdptx_ins(g, "load %s, %s %s, align %u%s", hdptx_mem_type(t), hdptx_space(a), p, align_at(a, t->size),
                            fixed ? ", !invariant.load !2" : "");
  hdptx_set(g, i->res[0], t->kind == IR_BOOL ? hdptx_ins(g, "icmp ne i8 %s, 0", x) : x);
}

void hdptx_store(PtxLower *g, const IrInst *i) {
  const IrType *t = i->args[1]->type;
  const PtxAddr *a;
  const char *p = hdptx_point(g, i, &a), *x = hdptx_get(g, i->args[1]);
  if (t->kind == IR_BOOL) x = hdptx_ins(g, "zext i1 %s to i8", x);
  hdptx_line(g, "store %s %s, %s %s, align %u", hdptx_mem_type(t), x, hdptx_space(a), p, align_at(a, t->size));
}
