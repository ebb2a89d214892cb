/* backends/nvptx/lower_group.c -- groups: a group is a block, its 32 neighbours are a warp.
 *
 * All threads of a group come to a barrier, a shuffle or a ballot (passes/groups.h), so each names the whole warp.
 */
#include "backends/nvptx/lower.h"

static const char *sreg(PtxLower *g, const char *name) {
  return hdptx_call(g, "i32", hdptx_fmt(g, "llvm.nvvm.read.ptx.sreg.%s", name), "", "%s", "");
}

/* Rows are whole groups, so no group lies across two. */
void hdptx_group_id(PtxLower *g, const IrInst *i) {
  if (i->op == IR_gdim)
    hdptx_set(g, i->res[0], hdptx_int(g, 32, g->fn->group));
  else if (i->op == IR_ltid)
    hdptx_set(g, i->res[0], sreg(g, "tid.x"));
  else if (g->rank == 1)
    hdptx_set(g, i->res[0], sreg(g, "ctaid.x"));
  else
    hdptx_set(g, i->res[0], hdptx_ins(g, "udiv i32 %s, %d", hdptx_tid(g, g->rank - 1), g->fn->group));
}

/* Objects begin at multiples of 16. */
static uint32_t room_of(const IrInst *shared) { return (shared->res[0]->type->elem->size + 15) & ~15u; }

uint32_t hdptx_shared_size(const IrFunc *kernel) {
  uint32_t size = 0;
  for (const IrInst *i = kernel->body->first; i; i = hdir_inst_next(i))
    if (i->op == IR_shared) size += room_of(i);
  return size;
}

/* Parts of the one object whose size the launch states. */
static void shared_part(PtxLower *g, const IrInst *i) {
  const char *name = hdptx_fmt(g, "@\"%s$shared\"", hdptx_symbol(g->fn, g->a));
  if (!g->shared_at) hdb_putf(&g->decls, "%s = external addrspace(3) global [0 x i8], align 16\n", name);
  PtxAddr a = {.space = IR_SHARED, .base = name, .off = g->shared_at};
  g->shared_at += room_of(i);
  g->addr[i->res[0]->id] = hdb_copy(g->a, &a, sizeof a);
}

void hdptx_shared(PtxLower *g, const IrInst *i) {
  uint32_t size = i->res[0]->type->elem->size;
  if (hdptx_shared_size(g->fn) > PTX_STATIC_SHARED) {
    shared_part(g, i);
    return;
  }
  const char *name = hdptx_fmt(g, "@\"%s$%u\"", hdptx_symbol(g->fn, g->a), i->id);
  hdb_putf(&g->decls, "%s = internal addrspace(3) global [%u x i8] undef, align 16\n", name, size ? size : 1);
  PtxAddr a = {.space = IR_SHARED, .base = name};
  g->addr[i->res[0]->id] = hdb_copy(g->a, &a, sizeof a);
}

/* The 32 bits x of thread `lane` mod 32 of the warp. */
static const char *shuffle_word(PtxLower *g, const char *x, const char *lane) {
  return hdptx_call(g, "i32", "llvm.nvvm.shfl.sync.idx.i32", "i32, i32, i32, i32", "i32 -1, i32 %s, i32 %s, i32 %d", x,
                    lane, IR_NEIGHBOURS - 1);
}

static const char *shuffle_wide(PtxLower *g, const char *x, const char *lane) {
  const char *half[2] = {hdptx_ins(g, "trunc i64 %s to i32", x),
                         hdptx_ins(g, "trunc i64 %s to i32", hdptx_ins(g, "lshr i64 %s, 32", x))};
  for (int k = 0; k < 2; k++) half[k] = hdptx_ins(g, "zext i32 %s to i64", shuffle_word(g, half[k], lane));
  return hdptx_ins(g, "or i64 %s, %s", half[0], hdptx_ins(g, "shl i64 %s, 32", half[1]));
}

static void shuffle(PtxLower *g, const IrInst *i) {
  const IrType *t = i->res[0]->type, *of_lane = i->args[1]->type;
  const char *ty = hdptx_type(t), *x = hdptx_get(g, i->args[0]), *lane = hdptx_get(g, i->args[1]);
  uint32_t bits = hdir_bits(t), lane_bits = hdir_bits(of_lane);
  bool real = t->kind == IR_F32 || t->kind == IR_F64;
  if (lane_bits != 32) lane = hdptx_ins(g, "%s i%u %s to i32", lane_bits < 32 ? "zext" : "trunc", lane_bits, lane);
  lane = hdptx_ins(g, "and i32 %s, %d", lane, IR_NEIGHBOURS - 1);
  if (real) x = hdptx_ins(g, "bitcast %s %s to i%u", ty, x, bits);
  if (bits < 32) x = hdptx_ins(g, "zext %s %s to i32", ty, x);
  x = bits == 64 ? shuffle_wide(g, x, lane) : shuffle_word(g, x, lane);
  if (bits < 32) x = hdptx_ins(g, "trunc i32 %s to %s", x, ty);
  if (real) x = hdptx_ins(g, "bitcast i%u %s to %s", bits, x, ty);
  hdptx_set(g, i->res[0], x);
}

void hdptx_group(PtxLower *g, const IrInst *i) {
  switch (i->op) {
  case IR_barrier:
    hdptx_declare(g, "void", "llvm.nvvm.barrier0", "");
    hdptx_line(g, "call void @llvm.nvvm.barrier0()");
    break;
  case IR_shuffle: shuffle(g, i); break;
  case IR_mma: hdptx_mma(g, i); break;
  default:
    hdptx_set(g, i->res[0],
              hdptx_call(g, "i32", "llvm.nvvm.vote.ballot.sync", "i32, i1", "i32 -1, i1 %s", hdptx_get(g, i->args[0])));
  }
}
