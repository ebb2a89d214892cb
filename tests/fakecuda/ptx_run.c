/* tests/fakecuda/ptx_run.c -- a launch: blocks, their warps and barriers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_run.h"

typedef uint32_t u32;
typedef uint64_t u64;

enum { SLICE = 4096, UNINITIALISED = 0xcb };
#define BLOCK_BUDGET (1ull << 22) /* instructions after which the next block is started too */
#define DEFAULT_STEPS (1ull << 30)

u64 ptx_random(u64 *state) { /* splitmix64 */
  u64 z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

bool ptx_fault(Warp *w, const Ins *i, int lane, int code, const char *format, ...) {
  PtxError *e = w->run->err;
  const u32 *b = w->run->launch->block, t = w->index * LANES + (u32)lane;
  char what[360];
  va_list args;
  if (e->code) return false;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  e->code = code, e->line = i->line;
  for (int k = 0; k < 3; k++) e->cta[k] = w->cta->at[k];
  e->thread[0] = t % b[0], e->thread[1] = t / b[0] % b[1], e->thread[2] = t / b[0] / b[1];
  snprintf(e->text, sizeof e->text, "kernel '%s', PTX line %u, block (%u,%u,%u), thread (%u,%u,%u): %s",
           w->run->entry->name, e->line, e->cta[0], e->cta[1], e->cta[2], e->thread[0], e->thread[1], e->thread[2],
           what);
  return false;
}

/* --- barriers --- */

static u32 waiting(const Warp *w, u32 barrier) {
  u32 m = 0;
  for (int l = 0; l < LANES; l++) m |= (u32)(w->state[l] == LANE_BAR && w->barrier[l] == barrier) << l;
  return m;
}

/* All that wait go on. An aligned barrier wants the lanes of a warp at one instruction. */
static bool let_go(Cta *c, Run *run, u32 id) {
  Barrier *b = &c->barriers[id];
  for (u32 k = 0; k < c->nwarps; k++) {
    Warp *w = &c->warps[k];
    u32 m = waiting(w, id), place = UINT32_MAX;
    for (u32 rest = m; rest; rest &= rest - 1) {
      int l = __builtin_ctz(rest);
      Ins *i = &run->m->code[w->pc[l]];
      if (i->abs && (m != w->live || (place != UINT32_MAX && place != w->pc[l])))
        return ptx_fault(w, i, l, PTX_TRAP,
                         "an aligned barrier in divergent code: lanes 0x%x of the warp's 0x%x are at it", m, w->live);
      place = w->pc[l];
      if (i->op == 2) COL(u32, i->d)[l] = b->popc;
      if (i->op == 3) *COL(u32, i->d) = (*COL(u32, i->d) & ~(1u << l)) | b->all << l;
      if (i->op == 4) *COL(u32, i->d) = (*COL(u32, i->d) & ~(1u << l)) | b->any << l;
      w->pc[l]++;
      w->state[l] = LANE_RUN;
    }
  }
  *b = (Barrier){.all = 1};
  return true;
}

/* Without a count, all living threads; with one, whole warps, of which lanes that have ended count as there. */
static bool complete(const Cta *c, u32 id) {
  const Barrier *b = &c->barriers[id];
  u32 here = 0, living = 0, full = 0;
  for (u32 k = 0; k < c->nwarps; k++) {
    const Warp *w = &c->warps[k];
    u32 m = waiting(w, id);
    here += (u32)__builtin_popcount(m), living += (u32)__builtin_popcount(w->live);
    if (m) full += LANES - (u32)__builtin_popcount(w->live & ~m);
  }
  if (!here) return false;
  return b->expected ? full + b->arrived >= b->expected : here == living;
}

bool ptx_barriers_check(Cta *c, Run *run) {
  for (u32 id = 0; id < MAX_BARRIERS; id++)
    if (complete(c, id) && !let_go(c, run, id)) return false;
  return true;
}

bool ptx_barrier_arrive(Warp *w, Ins *i, u32 m) {
  Cta *c = w->cta;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u32 id = COL(u32, i->a)[l], count = i->b ? COL(u32, i->b)[l] : 0;
    if (id >= MAX_BARRIERS) return ptx_fault(w, i, l, PTX_ILLEGAL_INSTRUCTION, "barrier %u of %u", id, MAX_BARRIERS);
    if (count % LANES || (i->b && count == 0))
      return ptx_fault(w, i, l, PTX_ILLEGAL_INSTRUCTION, "a barrier for %u threads, which are no whole warps", count);
    Barrier *b = &c->barriers[id];
    if (b->expected && count && b->expected != count)
      return ptx_fault(w, i, l, PTX_TRAP, "barrier %u for %u threads, and others wait for %u", id, count, b->expected);
    if (count) b->expected = count;
    if (i->op == 1) {
      b->arrived++;
      w->pc[l]++;
      continue;
    }
    if (i->op >= 2) {
      u32 p = *COL(u32, i->c) >> l & 1;
      b->popc += p, b->all &= p, b->any |= p;
    }
    w->state[l] = LANE_BAR, w->barrier[l] = (uint8_t)id;
  }
  return ptx_barriers_check(c, w->run);
}

/* --- blocks --- */

static void fill(Warp *w, PtxSpecial s, u32 part, u64 x) {
  u32 at = ptx_special_at(s, part);
  for (int l = 0; l < LANES; l++) {
    if (ptx_specials[s].bytes == 8)
      COL(u64, at)[l] = x;
    else
      COL(u32, at)[l] = (u32)x;
  }
}

static void fill_constants(Warp *w, const Run *run) {
  const PtxModule *m = run->m;
  for (u32 k = 0; k < m->nconsts; k++) {
    const PtxConst *c = &m->consts[k];
    u32 at = m->const_at + c->at;
    u64 x = c->bits;
    if (c->var != UINT32_MAX)
      x += m->vars[c->var].space == SP_SHARED ? run->entry->shared_at[c->var] : m->vars[c->var].address;
    if (c->func != UINT32_MAX) x += PTX_CODE_WINDOW + 16 * ((u64)c->func + 1);
    if (c->bytes == 0) *COL(u32, at) = (u32)x;
    for (int l = 0; l < LANES; l++) {
      if (c->bytes == 2) COL(uint16_t, at)[l] = (uint16_t)x;
      if (c->bytes == 4) COL(u32, at)[l] = (u32)x;
      if (c->bytes == 8) COL(u64, at)[l] = x;
    }
  }
}

/* What does not change from block to block. */
static void fill_specials(Warp *w, const Run *run) {
  const PtxLaunch *p = run->launch;
  for (u32 k = 0; k < 3; k++) fill(w, SR_NTID, k, p->block[k]), fill(w, SR_NCTAID, k, p->grid[k]);
  fill(w, SR_WARPID, 0, w->index), fill(w, SR_NWARPID, 0, w->cta->nwarps);
  fill(w, SR_SMID, 0, 0), fill(w, SR_NSMID, 0, 1), fill(w, SR_GRIDID, 0, 1), fill(w, SR_ZERO, 0, 0),
      fill(w, SR_ONE, 0, 1);
  fill(w, SR_DYNSMEM, 0, p->shared_bytes), fill(w, SR_ALLSMEM, 0, run->shared_bytes), fill(w, SR_NONE, 0, 0);
  for (u32 l = 0; l < LANES; l++) {
    u32 t = w->index * LANES + l;
    COL(u32, ptx_special_at(SR_TID, 0))[l] = t % p->block[0];
    COL(u32, ptx_special_at(SR_TID, 1))[l] = t / p->block[0] % p->block[1];
    COL(u32, ptx_special_at(SR_TID, 2))[l] = t / p->block[0] / p->block[1];
    COL(u32, ptx_special_at(SR_LANEID, 0))[l] = l;
    COL(u32, ptx_special_at(SR_MASK_EQ, 0))[l] = 1u << l;
    COL(u32, ptx_special_at(SR_MASK_LT, 0))[l] = (1u << l) - 1;
    COL(u32, ptx_special_at(SR_MASK_LE, 0))[l] = (2u << l) - 1;
    COL(u32, ptx_special_at(SR_MASK_GT, 0))[l] = ~((2u << l) - 1);
    COL(u32, ptx_special_at(SR_MASK_GE, 0))[l] = ~((1u << l) - 1);
  }
}

static void *memory(size_t size) {
  void *p = aligned_alloc(64, (size + 127) / 64 * 64);
  memset(p, UNINITIALISED, size);
  return p;
}

static Cta *cta_new(Run *run) {
  Cta *c = calloc(1, sizeof *c);
  c->nwarps = (run->nthreads + LANES - 1) / LANES;
  c->warps = calloc(c->nwarps, sizeof *c->warps);
  c->shared = memory(run->shared_end);
  for (u32 k = 0; k < c->nwarps; k++) {
    Warp *w = &c->warps[k];
    w->cta = c, w->run = run, w->index = k;
    w->reg = memory(run->m->file_bytes);
    w->stack = memory((size_t)run->stack * LANES);
    fill_specials(w, run);
    fill_constants(w, run);
  }
  return c;
}

static void cta_free(Cta *c) {
  for (u32 k = 0; k < c->nwarps; k++) {
    Warp *w = &c->warps[k];
    free(w->reg), free(w->stack);
    for (int l = 0; l < LANES; l++) free(w->frames[l]), free(w->saved[l]);
  }
  free(c->warps), free(c->shared), free(c);
}

static void cta_start(Cta *c, const Run *run, u64 index) {
  const u32 *g = run->launch->grid;
  c->at[0] = (u32)(index % g[0]), c->at[1] = (u32)(index / g[0] % g[1]), c->at[2] = (u32)(index / g[0] / g[1]);
  c->busy = true, c->nlive = c->nwarps;
  memset(c->shared, UNINITIALISED, run->shared_end);
  for (u32 b = 0; b < MAX_BARRIERS; b++) c->barriers[b] = (Barrier){.all = 1};
  for (u32 k = 0; k < c->nwarps; k++) {
    Warp *w = &c->warps[k];
    u32 threads = run->nthreads - k * LANES;
    w->live = threads >= LANES ? FULL : (1u << threads) - 1;
    w->carry = 0, w->turn = 0, w->loops = 0;
    for (u32 d = 0; d < 3; d++) fill(w, SR_CTAID, d, c->at[d]);
    for (int l = 0; l < LANES; l++) {
      w->state[l] = w->live >> l & 1 ? LANE_RUN : LANE_OFF;
      w->pc[l] = run->entry->pc, w->depth[l] = 0, w->sp[l] = 0, w->top[l] = run->entry->frame;
      w->nframes[l] = w->nsaved[l] = 0;
    }
  }
}

/* Threads wait, and nobody is left who could come. */
static bool deadlock(Cta *c, const Run *run) {
  for (u32 k = 0; k < c->nwarps; k++)
    for (int l = 0; l < LANES; l++) {
      Warp *w = &c->warps[k];
      if (w->state[l] != LANE_BAR && w->state[l] != LANE_SYNC) continue;
      const Ins *i = &run->m->code[w->pc[l]];
      if (w->state[l] == LANE_SYNC)
        return ptx_fault(w, i, l, PTX_TIMEOUT, "waits for ever for lanes 0x%x, of which some never come",
                         w->want[l] & w->live);
      return ptx_fault(w, i, l, PTX_TIMEOUT, "waits for ever at barrier %u: some threads never come", w->barrier[l]);
    }
  return false;
}

static bool can_run(const Warp *w) {
  for (int l = 0; l < LANES; l++)
    if (w->state[l] == LANE_RUN) return true;
  return false;
}

/* Run a block until it ends or has used about `budget` instructions. */
static bool cta_run(Cta *c, Run *run, u64 budget) {
  u64 end = run->stats.steps + budget;
  while (c->nlive && run->stats.steps < end) {
    bool any = false, random = run->launch->schedule == PTX_RANDOM,
         down = run->launch->schedule == PTX_THREADS && run->launch->seed & 1;
    u32 start = random ? (u32)(ptx_random(&run->random) % c->nwarps) : 0;
    for (u32 k = 0; k < c->nwarps; k++) {
      Warp *w = &c->warps[down ? c->nwarps - 1 - k : (start + k) % c->nwarps];
      if (!w->live || !can_run(w)) continue;
      any = true;
      if (!ptx_warp_run(w, random ? 1 + ptx_random(&run->random) % 128 : SLICE)) return false;
      if (random) break;
    }
    if (!any && c->nlive) return deadlock(c, run);
  }
  if (!c->nlive) c->busy = false;
  return true;
}

static bool all_blocks(Run *run) {
  const PtxLaunch *p = run->launch;
  u64 total = (u64)p->grid[0] * p->grid[1] * p->grid[2], next = 0, last = 0;
  u64 limit = p->max_steps ? p->max_steps : DEFAULT_STEPS;
  u32 room = 0, n = 0, turn = 0, wanted = p->cooperative ? (u32)total : p->schedule == PTX_RANDOM ? 4 : 1;
  Cta **active = NULL, *spare = NULL;
  bool ok = true;
  while (ok && (next < total || n)) {
    while (next < total && n < wanted) {
      if (n == room) {
        room = room ? 2 * room : 4;
        active = ptx_realloc(active, room * sizeof *active);
      }
      active[n] = spare ? spare : cta_new(run);
      spare = NULL;
      cta_start(active[n++], run, next++);
    }
    if (p->schedule == PTX_RANDOM) turn = (u32)(ptx_random(&run->random) % n);
    turn = turn < n ? turn : 0;
    Cta *c = active[turn];
    ok = cta_run(c, run, n > 1 || wanted > 1 ? SLICE : BLOCK_BUDGET);
    if (ok && c->busy) {
      turn++;
      if (n == 1 && wanted == 1 && next < total)
        wanted = 2; /* it may wait for another one */
      else if (turn >= n && wanted > 1 && wanted < total && wanted < 64 &&
               run->stats.steps - last > BLOCK_BUDGET * wanted)
        wanted++;
      if (run->stats.steps - last > limit) {
        ok = ptx_fault(&c->warps[0], &run->m->code[run->entry->pc], 0, PTX_TIMEOUT,
                       "no block ended within %llu instructions", (unsigned long long)limit);
      }
    } else if (ok) {
      last = run->stats.steps;
      active[turn] = active[--n];
      if (spare) cta_free(spare);
      spare = c;
    }
  }
  for (u32 k = 0; k < n; k++) cta_free(active[k]);
  if (spare) cta_free(spare);
  free(active);
  return ok;
}

/* --- launches --- */

static int check(PtxModule *m, const PtxLaunch *p, PtxFunc **entry, PtxError *err) {
  const u32 *b = p->block, *g = p->grid;
  *entry = NULL;
  if (!m->space) return ptx_fail(err, PTX_INVALID, 0, "the module is not linked");
  for (u32 i = 0; i < m->nentries; i++)
    if (p->entry && strcmp(m->funcs[m->entries[i]].name, p->entry) == 0) *entry = &m->funcs[m->entries[i]];
  if (!*entry) return ptx_fail(err, PTX_NOT_FOUND, 0, "the module has no kernel '%s'", p->entry ? p->entry : "");
  const PtxEntry *e = &(*entry)->info;
  u64 threads = (u64)b[0] * b[1] * b[2];
  if (b[0] > 1024 || b[1] > 1024 || b[2] > 64 || threads == 0 || threads > 1024)
    return ptx_fail(err, PTX_INVALID, 0, "kernel '%s': a block of %ux%ux%u threads", e->name, b[0], b[1], b[2]);
  if (!g[0] || !g[1] || !g[2] || g[0] > 0x7fffffff || g[1] > 65535 || g[2] > 65535)
    return ptx_fail(err, PTX_INVALID, 0, "kernel '%s': a grid of %ux%ux%u blocks", e->name, g[0], g[1], g[2]);
  if (p->param_bytes < e->param_bytes)
    return ptx_fail(err, PTX_INVALID, 0, "kernel '%s': %zu bytes of parameters, it has %u", e->name, p->param_bytes,
                    e->param_bytes);
  const u32 *most = e->maxntid, *exact = e->reqntid;
  if (exact[0] && (exact[0] != b[0] || exact[1] != b[1] || exact[2] != b[2]))
    return ptx_fail(err, PTX_INVALID, 0, "kernel '%s' wants blocks of %ux%ux%u threads", e->name, exact[0], exact[1],
                    exact[2]);
  if (most[0] && threads > (u64)most[0] * most[1] * most[2])
    return ptx_fail(err, PTX_OUT_OF_RESOURCES, 0, "kernel '%s' takes blocks of at most %llu threads", e->name,
                    (unsigned long long)most[0] * most[1] * most[2]);
  if ((u64)p->shared_bytes + e->shared_bytes > (1u << 20))
    return ptx_fail(err, PTX_INVALID, 0, "kernel '%s': %u bytes of shared memory", e->name, p->shared_bytes);
  return PTX_OK;
}

int ptx_run(PtxModule *m, const PtxLaunch *p, PtxStats *stats, PtxError *err) {
  PtxError unused;
  if (!err) err = &unused;
  *err = (PtxError){0};
  Run run = {.m = m, .launch = p, .err = err, .random = p->seed};
  int rc = check(m, p, &run.entry, err);
  if (!rc && run.entry) {
    const PtxEntry *e = &run.entry->info;
    bool known = run.entry->deepest != UINT64_MAX;
    u32 stack = known ? (u32)run.entry->deepest : p->stack_bytes ? p->stack_bytes : 65536;
    run.stack = ((stack < run.entry->frame ? run.entry->frame : stack) + 63) / 64 * 64;
    run.nthreads = p->block[0] * p->block[1] * p->block[2];
    run.shared_bytes = e->shared_bytes + p->shared_bytes;
    run.shared_end = p->exact_shared ? run.shared_bytes : (run.shared_bytes + 255) / 256 * 256;
    run.param_bytes = e->param_bytes;
    run.params = malloc(e->param_bytes + 16);
    if (e->param_bytes) memcpy(run.params, p->params, e->param_bytes);
    all_blocks(&run);
    free(run.params);
    rc = err->code;
  }
  snprintf(err->kernel, sizeof err->kernel, "%s", p->entry ? p->entry : "");
  if (stats) *stats = run.stats;
  return rc;
}
