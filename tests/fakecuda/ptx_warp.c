/* tests/fakecuda/ptx_warp.c -- one warp: which of its lanes run next, branches, calls, and lanes that wait.
 *
 * Every lane has its own place in the code. In lockstep, the lanes at the deepest call and there at the lowest
 * instruction run as one group, until they part or arrive where others are. Code that waits for a lane which this
 * order holds back would wait for ever: after some turns of a loop that not all living lanes are in, another group gets a turn.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_run.h"

typedef uint32_t u32;
typedef uint64_t u64;

enum { LOOPS_BEFORE_A_TURN = 256, STEPS_OF_A_TURN = 256, MOST_FRAMES = 1 << 16 };

/* --- picking --- */

static u32 running(const Warp *w) {
  u32 m = 0;
  for (int l = 0; l < LANES; l++) m |= (u32)(w->state[l] == LANE_RUN) << l;
  return m;
}

static u32 beside(const Warp *w, u32 among, int lane) {
  u32 m = 0;
  for (u32 rest = among; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (w->pc[l] == w->pc[lane] && w->depth[l] == w->depth[lane]) m |= 1u << l;
  }
  return m;
}

static Group lowest(const Warp *w, u32 run) {
  u32 depth = 0, pc = UINT32_MAX, m = 0, stop = UINT32_MAX;
  for (u32 rest = run; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (w->depth[l] > depth) depth = w->depth[l], pc = UINT32_MAX;
    if (w->depth[l] == depth && w->pc[l] < pc) pc = w->pc[l];
  }
  for (u32 rest = run; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (w->depth[l] != depth) continue;
    if (w->pc[l] == pc)
      m |= 1u << l;
    else if (w->pc[l] < stop)
      stop = w->pc[l];
  }
  return (Group){m, pc, stop, UINT32_MAX};
}

Group ptx_pick(Warp *w) {
  Run *run = w->run;
  u32 may = running(w);
  if (!may) return (Group){0};
  switch (run->launch->schedule) {
  case PTX_THREADS: {
    bool down = run->launch->seed & 1;
    int l = down ? 31 - __builtin_clz(may) : __builtin_ctz(may);
    if (w->loops) { /* it had its time: the next one */
      u32 next = down ? may & ((1u << w->turn) - 1) : may & ~((2u << w->turn) - 1);
      if (next) l = down ? 31 - __builtin_clz(next) : __builtin_ctz(next);
      w->loops = 0;
    } else if (may >> w->turn & 1) {
      l = (int)w->turn;
    }
    w->turn = (u32)l;
    return (Group){1u << l, w->pc[l], UINT32_MAX, 2048};
  }
  case PTX_RANDOM: {
    u32 k = (u32)(ptx_random(&run->random) % (u32)__builtin_popcount(may)), rest = may;
    while (k--) rest &= rest - 1;
    int l = __builtin_ctz(rest);
    u32 m = beside(w, may, l);
    if (ptx_random(&run->random) & 1) m &= (u32)ptx_random(&run->random) | 1u << l;
    return (Group){m, w->pc[l], UINT32_MAX, 1 + (u32)(ptx_random(&run->random) % 64)};
  }
  default: break;
  }
  Group g = lowest(w, may);
  if (w->loops >= LOOPS_BEFORE_A_TURN && g.m != may) {
    u32 others = may & ~g.m, after = others & ~((2u << w->turn) - 1);
    int l = __builtin_ctz(after ? after : others);
    w->loops = 0, w->turn = (u32)l;
    return (Group){beside(w, may, l), w->pc[l], UINT32_MAX, STEPS_OF_A_TURN};
  }
  return g;
}

/* --- places --- */

static void move(Warp *w, u32 m, u32 pc) {
  for (u32 rest = m; rest; rest &= rest - 1) w->pc[__builtin_ctz(rest)] = pc;
}

static void park(Warp *w, u32 m, PtxState state) {
  for (u32 rest = m; rest; rest &= rest - 1) w->state[__builtin_ctz(rest)] = (uint8_t)state;
}

/* --- lanes that meet at a .sync instruction --- */

/* Let go those whose partners are all here. */
static bool meet(Warp *w) {
  for (int l = 0; l < LANES; l++) {
    if (w->state[l] != LANE_SYNC) continue;
    u32 need = w->want[l] & w->live, here = 0;
    for (int k = 0; k < LANES; k++)
      here |= (u32)(w->state[k] == LANE_SYNC && w->key[k] == w->key[l] && w->want[k] == w->want[l]) << k;
    if (need & ~here) continue;
    Ins *i = &w->run->m->code[w->pc[l]];
    park(w, need, LANE_RUN);
    if (i->flow == FLOW_SYNC && !i->fn(w, i, need)) return false;
    for (u32 rest = need; rest; rest &= rest - 1) w->pc[__builtin_ctz(rest)]++;
  }
  return true;
}

static bool arrive(Warp *w, Ins *i, u32 m, u32 pc) {
  const u32 *want = COL(u32, i->e);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (!(want[l] >> l & 1)) return ptx_fault(w, i, l, PTX_TRAP, "a lane that its own mask 0x%x leaves out", want[l]);
    w->want[l] = want[l];
    w->key[l] = i->flow == FLOW_WARPBAR ? UINT32_MAX : pc;
  }
  park(w, m, LANE_SYNC);
  return meet(w);
}

/* --- calls --- */

static uint8_t *frame_of(const Warp *w, int l, u32 sp) { return w->stack + (size_t)l * w->run->stack + sp; }

static u64 column(const Warp *w, u32 at, u32 bytes, int l) {
  switch (bytes) {
  case 0: return *COL(u32, at) >> l & 1;
  case 2: return COL(uint16_t, at)[l];
  case 4: return COL(u32, at)[l];
  default: return COL(u64, at)[l];
  }
}
static void set_column(Warp *w, u32 at, u32 bytes, int l, u64 x) {
  switch (bytes) {
  case 0: *COL(u32, at) = (*COL(u32, at) & ~(1u << l)) | (u32)(x & 1) << l; break;
  case 2: COL(uint16_t, at)[l] = (uint16_t)x; break;
  case 4: COL(u32, at)[l] = (u32)x; break;
  default: COL(u64, at)[l] = x; break;
  }
}

static u32 register_bytes(const PtxFormal *f) { return f->type == PT_PRED ? 0 : f->size == 1 ? 2 : f->size; }

/* A recursive function's registers are those of the call before: put them aside. */
static u32 put_aside(Warp *w, const PtxFunc *f, int l) {
  u32 need = f->nslots * 8;
  if (w->nsaved[l] + need > w->saved_room[l]) {
    w->saved_room[l] = 2 * (w->nsaved[l] + need);
    w->saved[l] = ptx_realloc(w->saved[l], w->saved_room[l]);
  }
  for (u32 k = 0; k < f->nslots; k++) {
    u64 x = column(w, f->slots[k] >> 4, f->slots[k] & 15, l);
    memcpy(w->saved[l] + w->nsaved[l] + 8 * k, &x, 8);
  }
  w->nsaved[l] += need;
  return need;
}

static void take_back(Warp *w, const PtxFunc *f, int l) {
  w->nsaved[l] -= f->nslots * 8;
  for (u32 k = 0; k < f->nslots; k++) {
    u64 x;
    memcpy(&x, w->saved[l] + w->nsaved[l] + 8 * k, 8);
    set_column(w, f->slots[k] >> 4, f->slots[k] & 15, l, x);
  }
}

static bool call_lane(Warp *w, const Ins *i, int l, const PtxCall *c, u32 func, u32 pc) {
  const PtxFunc *f = &w->run->m->funcs[func];
  u32 sp = w->top[l], top = sp + f->frame;
  u64 values[64];
  if (top > w->run->stack || w->nframes[l] >= MOST_FRAMES)
    return ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "the call of '%s' overflows the thread's stack of %u bytes", f->name,
                     w->run->stack);
  for (u32 k = 0; k < c->nin; k++) {
    const PtxActual *a = &c->in[k];
    const PtxFormal *to = &f->in[k];
    if (a->kind == 1) {
      if (to->is_reg) return ptx_fault(w, i, l, PTX_BAD_PC, "argument %u of '%s' is a register", k + 1, f->name);
      memmove(frame_of(w, l, sp + to->at), frame_of(w, l, w->sp[l] + a->at), to->size);
      continue;
    }
    values[k] = column(w, a->at, a->bytes, l);
    if (!to->is_reg) memcpy(frame_of(w, l, sp + to->at), &values[k], to->size < 8 ? to->size : 8);
  }
  if (w->nframes[l] == w->room[l]) {
    w->room[l] = w->room[l] ? 2 * w->room[l] : 8;
    w->frames[l] = ptx_realloc(w->frames[l], w->room[l] * sizeof *w->frames[l]);
  }
  PtxFrame *frame = &w->frames[l][w->nframes[l]++];
  *frame = (PtxFrame){pc + 1, w->sp[l], w->top[l], func, i->target, 0};
  if (f->recursive) frame->saved = put_aside(w, f, l);
  for (u32 k = 0; k < c->nin; k++)
    if (c->in[k].kind == 0 && f->in[k].is_reg) set_column(w, f->in[k].at, register_bytes(&f->in[k]), l, values[k]);
  w->sp[l] = sp, w->top[l] = top, w->pc[l] = f->pc;
  w->depth[l]++;
  return true;
}

/* A call of the lanes m; through a register, only those with the target of the first go now. */
static bool call(Warp *w, Ins *i, u32 m, u32 pc) {
  PtxModule *mod = w->run->m;
  const PtxCall *c = &mod->calls[i->target];
  u32 func = c->func;
  if (func == UINT32_MAX) {
    int first = __builtin_ctz(m);
    u64 to = COL(u64, i->a)[first], index = (to - PTX_CODE_WINDOW) / 16 - 1;
    if (to < PTX_CODE_WINDOW || to % 16 || index >= mod->nfuncs || mod->funcs[index].is_entry ||
        !mod->funcs[index].defined)
      return ptx_fault(w, i, first, PTX_BAD_PC, "a call of 0x%llx, which is no function", (unsigned long long)to);
    func = (u32)index;
    if (mod->funcs[func].nin != c->nin || mod->funcs[func].nout != c->nout)
      return ptx_fault(w, i, first, PTX_BAD_PC, "'%s' takes other arguments than the call has", mod->funcs[func].name);
    for (u32 rest = m; rest; rest &= rest - 1)
      if (COL(u64, i->a)[__builtin_ctz(rest)] != to) m &= ~(rest & -rest);
  }
  if (!mod->funcs[func].defined) {
    if (!ptx_call_builtin(w, i, m, mod->funcs[func].builtin, c)) return false;
    move(w, m, pc + 1);
    return true;
  }
  for (u32 rest = m; rest; rest &= rest - 1)
    if (!call_lane(w, i, __builtin_ctz(rest), c, func, pc)) return false;
  return true;
}

static void return_lane(Warp *w, int l) {
  PtxFrame frame = w->frames[l][--w->nframes[l]];
  const PtxModule *m = w->run->m;
  const PtxFunc *f = &m->funcs[frame.func];
  const PtxCall *c = &m->calls[frame.call];
  u64 values[64];
  u32 sp = w->sp[l];
  for (u32 k = 0; k < c->nout; k++) {
    values[k] = 0;
    if (f->out[k].is_reg)
      values[k] = column(w, f->out[k].at, register_bytes(&f->out[k]), l);
    else
      memcpy(&values[k], frame_of(w, l, sp + f->out[k].at), f->out[k].size < 8 ? f->out[k].size : 8);
  }
  if (frame.saved) take_back(w, f, l);
  w->sp[l] = frame.sp, w->top[l] = frame.top, w->pc[l] = frame.ret;
  w->depth[l]--;
  for (u32 k = 0; k < c->nout; k++) {
    const PtxActual *a = &c->out[k];
    if (a->kind == 0)
      set_column(w, a->at, a->bytes, l, values[k]);
    else if (f->out[k].is_reg)
      memcpy(frame_of(w, l, frame.sp + a->at), &values[k], f->out[k].size);
    else
      memmove(frame_of(w, l, frame.sp + a->at), frame_of(w, l, sp + f->out[k].at), f->out[k].size);
  }
}

/* --- the end of lanes --- */

static bool leave(Warp *w, u32 m) {
  w->live &= ~m;
  park(w, m, LANE_OFF);
  if (!w->live) w->cta->nlive--;
  return meet(w) && ptx_barriers_check(w->cta, w->run);
}

/* --- flow: where the lanes of a group are after an instruction of the scheduler's own --- */

static bool jump_by_index(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u32 k = COL(u32, i->a)[l];
    if (k >= i->nlist) return ptx_fault(w, i, l, PTX_TRAP, "brx.idx with index %u of %u", k, i->nlist);
    w->pc[l] = w->run->m->lists[i->list + k];
  }
  return true;
}

static bool flow(Warp *w, Ins *i, u32 m, u32 pc) {
  switch (i->flow) {
  case FLOW_BRX: return jump_by_index(w, i, m);
  case FLOW_CALL: return call(w, i, m, pc);
  case FLOW_RET:
    for (u32 rest = m; rest; rest &= rest - 1) return_lane(w, __builtin_ctz(rest));
    return true;
  case FLOW_EXIT: return leave(w, m);
  case FLOW_SYNC:
  case FLOW_WARPBAR: return arrive(w, i, m, pc);
  case FLOW_BAR: return ptx_barrier_arrive(w, i, m);
  case FLOW_YIELD: move(w, m, pc + 1); return true;
  default: return ptx_fault(w, i, __builtin_ctz(m), PTX_TRAP, i->op ? "a breakpoint" : "trap");
  }
}

/* --- the loop --- */

/* Runs g until it parts, meets others, has to wait, or has had its time. */
static bool run_group(Warp *w, Group g, u64 *budget) {
  Ins *code = w->run->m->code;
  PtxStats *stats = &w->run->stats;
  u32 pc = g.pc, m = g.m, limit = g.limit < *budget ? g.limit : (u32)*budget, left = limit;
  u32 n = (u32)__builtin_popcount(m);
  bool whole = m == w->live, ok = true, parted = false;
  bool counts = !whole && w->run->launch->schedule == PTX_LOCKSTEP;
  while (left > 0 && !parted) {
    Ins *i = &code[pc];
    u32 on = m;
    left--;
    if (i->guard) on &= i->guard_not ? ~*COL(u32, i->guard) : *COL(u32, i->guard);
    if (!i->flow) {
      if (on && !i->fn(w, i, i->wide && whole && on == m ? FULL : on)) {
        ok = false;
        break;
      }
      if (++pc == g.stop) break;
      continue;
    }
    if (i->flow == FLOW_BRA) {
      if (on == m) {
        if (i->target <= pc && counts && ++w->loops >= LOOPS_BEFORE_A_TURN) left = 0;
        pc = i->target;
        if (pc >= g.stop) break;
      } else if (on == 0) {
        if (++pc == g.stop) break;
      } else {
        move(w, on, i->target);
        move(w, m & ~on, pc + 1);
        if (i->target <= pc && counts) w->loops++;
        parted = true;
      }
      continue;
    }
    /* A common case without a meeting: all that are named are here. */
    if (i->flow == FLOW_SYNC && on == m && whole && on) {
      const u32 *want = COL(u32, i->e);
      u32 different = 0;
      for (u32 rest = m; rest; rest &= rest - 1) different |= want[__builtin_ctz(rest)] ^ want[__builtin_ctz(m)];
      if (!different && (want[__builtin_ctz(m)] & w->live) == m) {
        if (!i->fn(w, i, m)) {
          ok = false;
          break;
        }
        if (++pc == g.stop) break;
        continue;
      }
    }
    if (!on) {
      if (++pc == g.stop) break;
      continue;
    }
    move(w, m & ~on, pc + 1);
    move(w, on, pc);
    parted = true;
    ok = flow(w, i, on, pc);
    if (i->flow == FLOW_YIELD) *budget = limit - left; /* ends the warp's time */
    if (!ok) break;
  }
  u32 done = limit - left;
  if (!parted && ok) move(w, m, pc);
  if (left == 0 && w->run->launch->schedule == PTX_THREADS) w->loops = 1;
  stats->steps += done, stats->threads += (u64)done * n;
  if (!whole) stats->split += done;
  *budget = done < *budget ? *budget - done : 0;
  return ok;
}

bool ptx_warp_run(Warp *w, u64 budget) {
  while (budget > 0) {
    Group g = ptx_pick(w);
    if (!g.m) return true;
    if (!run_group(w, g, &budget)) return false;
  }
  return true;
}
