/* tests/fakecuda/ptx_lanes.c -- instructions in which lanes meet. The scheduler has brought them together in m. */
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef uint32_t u32;
typedef uint64_t u64;

static void set_predicate(Warp *w, u32 at, u32 m, u32 value) { *COL(u32, at) = (*COL(u32, at) & ~m) | (value & m); }

/* The manual's formula: c holds the clamp in bits 0-4 and the segments' mask in bits 8-12. */
bool ptx_shfl(Warp *w, Ins *i, u32 m) {
  u32 was[LANES], ok = 0, p = w->run->m->lists[i->list];
  const u32 *a = COL(u32, i->a), *b = COL(u32, i->b), *c = COL(u32, i->c);
  memcpy(was, a, sizeof was);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u32 lane = (u32)l, by = b[l] & 31, clamp = c[l] & 31, segment = c[l] >> 8 & 31;
    u32 most = (lane & segment) | (clamp & ~segment), least = lane & segment, j;
    bool in;
    switch (i->op) {
    case 0: j = lane - by, in = (int32_t)j >= (int32_t)most; break;
    case 1: j = lane + by, in = j <= most; break;
    case 2: j = lane ^ by, in = j <= most; break;
    default: j = least | (by & ~segment), in = j <= most; break;
    }
    if (!in) j = lane;
    if (!(m >> j & 1) && (w->live >> j & 1))
      return ptx_fault(w, i, l, PTX_TRAP, "shfl.sync reads lane %u, which does not take part", j);
    COL(u32, i->d)[l] = was[j];
    ok |= (u32)in << l;
  }
  if (p) set_predicate(w, p, m, ok);
  return true;
}

bool ptx_vote(Warp *w, Ins *i, u32 m) {
  u32 yes = *COL(u32, i->a) & m;
  if (i->op == 3) {
    for (u32 rest = m; rest; rest &= rest - 1) COL(u32, i->d)[__builtin_ctz(rest)] = yes;
    return true;
  }
  bool r = i->op == 0 ? yes == m : i->op == 1 ? yes != 0 : yes == m || yes == 0;
  set_predicate(w, i->d, m, r ? FULL : 0);
  return true;
}

bool ptx_match(Warp *w, Ins *i, u32 m) {
  u32 p = w->run->m->lists[i->list], result[LANES] = {0};
  bool all = true;
  u64 value[LANES] = {0};
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    value[l] = i->size1 == 4 ? COL(u32, i->a)[l] : COL(u64, i->a)[l];
    all &= value[l] == value[__builtin_ctz(m)];
  }
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    for (u32 other = m; other; other &= other - 1)
      if (value[__builtin_ctz(other)] == value[l]) result[l] |= other & -other;
    COL(u32, i->d)[l] = i->op == 0 ? result[l] : all ? m : 0;
  }
  if (p) set_predicate(w, p, m, all ? FULL : 0);
  return true;
}

bool ptx_redux(Warp *w, Ins *i, u32 m) {
  const u32 *a = COL(u32, i->a);
  u32 r = a[__builtin_ctz(m)];
  for (u32 rest = m & (m - 1); rest; rest &= rest - 1) {
    u32 x = a[__builtin_ctz(rest)];
    bool less = i->type == PT_S32 ? (int32_t)x < (int32_t)r : x < r;
    switch (i->op) {
    case 0: r += x; break;
    case 1: r = less ? x : r; break;
    case 2: r = less ? r : x; break;
    case 3: r &= x; break;
    case 4: r |= x; break;
    default: r ^= x; break;
    }
  }
  for (u32 rest = m; rest; rest &= rest - 1) COL(u32, i->d)[__builtin_ctz(rest)] = r;
  return true;
}

bool ptx_elect(Warp *w, Ins *i, u32 m) {
  u32 leader = (u32)__builtin_ctz(m);
  for (u32 rest = m; rest; rest &= rest - 1) COL(u32, i->d)[__builtin_ctz(rest)] = leader;
  set_predicate(w, w->run->m->lists[i->list], m, 1u << leader);
  return true;
}

bool ptx_activemask(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) COL(u32, i->d)[__builtin_ctz(rest)] = m;
  return true;
}
