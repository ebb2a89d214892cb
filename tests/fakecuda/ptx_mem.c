/* tests/fakecuda/ptx_mem.c -- memory: spaces, loads, stores, atomics, and addresses of one kind as another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* --- spaces --- */

PtxSpace *ptx_space_new(void) { return calloc(1, sizeof(PtxSpace)); }

void ptx_space_free(PtxSpace *s) {
  if (!s) return;
  free(s->objects);
  free(s->v);
  free(s);
}

/* The first range that ends behind `address`. */
static u32 first_behind(const PtxSpace *s, u64 address) {
  u32 lo = 0, hi = s->n;
  while (lo < hi) {
    u32 mid = (lo + hi) / 2;
    if (s->v[mid].end > address)
      hi = mid;
    else
      lo = mid + 1;
  }
  return lo;
}

int ptx_space_add(PtxSpace *s, u64 address, u64 size, void *host, unsigned flags, const char *what) {
  u64 end;
  if (size == 0 || !host || __builtin_add_overflow(address, size, &end)) return PTX_INVALID;
  u32 k = first_behind(s, address), gone = 0;
  for (u32 j = k; j < s->n && s->v[j].at < end; j++, gone++)
    if (s->v[j].host) return PTX_INVALID;
  if (gone) memmove(s->v + k, s->v + k + gone, (s->n - k - gone) * sizeof *s->v);
  s->n -= gone;
  if (s->n == s->room) {
    s->room = s->room ? 2 * s->room : 64;
    s->v = ptx_realloc(s->v, s->room * sizeof *s->v);
  }
  memmove(s->v + k + 1, s->v + k, (s->n - k) * sizeof *s->v);
  s->v[k] = (PtxRange){.at = address, .end = end, .host = host, .flags = flags};
  snprintf(s->v[k].what, sizeof s->v[k].what, "%s", what ? what : "");
  s->n++;
  return PTX_OK;
}

int ptx_space_drop(PtxSpace *s, u64 address) {
  u32 k = first_behind(s, address);
  if (k == s->n || s->v[k].at != address || !s->v[k].host) return PTX_INVALID;
  s->v[k].host = NULL;
  return PTX_OK;
}

int ptx_space_watch(PtxSpace *s, u64 address, PtxMarks *marks) {
  u32 k = first_behind(s, address);
  if (k == s->n || s->v[k].at != address || !s->v[k].host) return PTX_INVALID;
  s->v[k].marks = marks;
  return PTX_OK;
}

void ptx_mark(PtxMarks *marks, u64 at, u64 size, unsigned how) {
  if (marks->lo >= marks->hi) marks->lo = at, marks->hi = at + size;
  if (at < marks->lo) marks->lo = at;
  if (at + size > marks->hi) marks->hi = at + size;
  for (u64 k = 0; k < size; k++) marks->v[at + k] |= (uint8_t)how;
}

void *ptx_space_at(const PtxSpace *s, u64 address, u64 size) {
  u32 k = first_behind(s, address);
  if (k == s->n || s->v[k].at > address || !s->v[k].host || s->v[k].end - address < size) return NULL;
  return s->v[k].host + (address - s->v[k].at);
}

void ptx_space_describe(const PtxSpace *s, u64 address, char *text, size_t size) {
  u32 k = first_behind(s, address);
  const PtxRange *r = k < s->n ? &s->v[k] : NULL;
  if (r && r->at <= address) {
    snprintf(text, size, "%llu bytes into %s%s%sof %llu bytes", (unsigned long long)(address - r->at),
             r->host ? "memory " : "freed memory ", r->what, *r->what ? " " : "", (unsigned long long)(r->end - r->at));
    return;
  }
  const PtxRange *before = k > 0 ? &s->v[k - 1] : NULL;
  u64 behind = before ? address - before->end : ~0ull, ahead = r ? r->at - address : ~0ull;
  if (before && behind <= ahead && behind < (1u << 24))
    snprintf(text, size, "%llu bytes behind the end of %s%s%sof %llu bytes", (unsigned long long)behind,
             before->host ? "memory " : "freed memory ", before->what, *before->what ? " " : "",
             (unsigned long long)(before->end - before->at));
  else if (r && ahead < (1u << 24))
    snprintf(text, size, "%llu bytes in front of %s%s%sof %llu bytes", (unsigned long long)ahead,
             r->host ? "memory " : "freed memory ", r->what, *r->what ? " " : "", (unsigned long long)(r->end - r->at));
  else
    snprintf(text, size, "far from any memory");
}

/* --- addresses --- */

static const char *const space_names[] = {"generic", "global", "shared", "local", "constant", "parameter"};

u64 ptx_address(const Warp *w, const Ins *i, int l) {
  u64 offset = (u64)i->imm;
  switch (i->base) {
  case BASE_R64: return COL(u64, i->a)[l] + offset;
  case BASE_R32: return (u32)(COL(u32, i->a)[l] + (u32)offset);
  case BASE_FRAME: return w->sp[l] + offset;
  default: return offset;
  }
}

static uint8_t *outside(Warp *w, const Ins *i, int l, u64 address, u32 bytes, bool write, const char *space, u64 size) {
  w->run->err->address = address;
  ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "%s of %u bytes at %s address %llu, which has %llu bytes",
            write ? "a store" : "a load", bytes, space, (unsigned long long)address, (unsigned long long)size);
  return NULL;
}

static uint8_t *global_at(Warp *w, Ins *i, int l, u64 address, u32 bytes, unsigned how) {
  bool write = how != PTX_READS;
  const PtxSpace *s = w->run->m->space;
  const PtxRange *r = i->hint < s->n ? &s->v[i->hint] : NULL;
  if (!r || address < r->at || address >= r->end) {
    i->hint = first_behind(s, address);
    r = i->hint < s->n ? &s->v[i->hint] : NULL;
  }
  if (r && address >= r->at && r->host && r->end - address >= bytes && !(write && (r->flags & PTX_READ_ONLY))) {
    if (r->marks) ptx_mark(r->marks, address - r->at, bytes, how);
    return r->host + (address - r->at);
  }
  char near[160];
  ptx_space_describe(s, address, near, sizeof near);
  w->run->err->address = address;
  ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "%s of %u bytes at address 0x%llx: %s%s", write ? "a store" : "a load", bytes,
            (unsigned long long)address, near,
            r && r->host && (r->flags & PTX_READ_ONLY) && write ? ", which is read-only" : "");
  return NULL;
}

uint8_t *ptx_resolve(Warp *w, Ins *i, int l, u64 address, u32 bytes, unsigned how) {
  bool write = how != PTX_READS;
  PtxWhere space = (PtxWhere)i->space;
  const Run *run = w->run;
  if (address & (bytes - 1)) {
    w->run->err->address = address;
    ptx_fault(w, i, l, PTX_MISALIGNED, "%s of %u bytes at %s address 0x%llx, which is no multiple of %u",
              write ? "a store" : "a load", bytes, space_names[space], (unsigned long long)address, bytes);
    return NULL;
  }
  if (space == SP_GENERIC) {
    u64 window = address & PTX_WINDOW_MASK;
    if (window == PTX_SHARED_WINDOW || window == PTX_LOCAL_WINDOW || window == PTX_PARAM_WINDOW) {
      space = window == PTX_SHARED_WINDOW ? SP_SHARED : window == PTX_LOCAL_WINDOW ? SP_LOCAL : SP_PARAM;
      address -= window;
    }
  }
  switch (space) {
  case SP_SHARED:
    if (address >= run->shared_end || run->shared_end - address < bytes)
      return outside(w, i, l, address, bytes, write, "shared", run->shared_bytes);
    return w->cta->shared + address;
  case SP_PARAM:
    if (address >= PTX_KERNEL_PARAMS) {
      address -= PTX_KERNEL_PARAMS;
      if (write || address >= run->param_bytes || run->param_bytes - address < bytes)
        return outside(w, i, l, address, bytes, write, "parameter", run->param_bytes);
      return run->params + address;
    } /* fall through */
  case SP_LOCAL:
    if (address >= w->top[l] || w->top[l] - address < bytes)
      return outside(w, i, l, address, bytes, write, "local", w->top[l]);
    return w->stack + (size_t)l * run->stack + address;
  default: return global_at(w, i, l, address, bytes, how);
  }
}

/* --- loads and stores --- */

static u64 peek(const uint8_t *from, u32 bytes, bool sign) {
  u64 x = 0;
  memcpy(&x, from, bytes);
  return sign && bytes < 8 ? (u64)((int64_t)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes)) : x;
}
static void put(const Warp *w, u32 at, u32 bytes, int l, u64 x) {
  if (bytes == 2)
    COL(u16, at)[l] = (u16)x;
  else if (bytes == 4)
    COL(u32, at)[l] = (u32)x;
  else
    COL(u64, at)[l] = x;
}
static u64 get(const Warp *w, u32 at, u32 bytes, int l) {
  return bytes == 2 ? COL(u16, at)[l] : bytes == 4 ? COL(u32, at)[l] : COL(u64, at)[l];
}

static bool load(Warp *w, Ins *i, u32 m) {
  const u32 *list = w->run->m->lists + i->list;
  u32 n = i->nlist, bytes = i->size1;
  bool sign = ptx_types[i->type].kind == 's';
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    const uint8_t *at = ptx_resolve(w, i, l, ptx_address(w, i, l), bytes * n, PTX_READS);
    if (!at) return false;
    for (u32 k = 0; k < n; k++)
      if (list[k] != UINT32_MAX) put(w, list[k], i->size2, l, peek(at + bytes * k, bytes, sign));
  }
  return true;
}

static bool store(Warp *w, Ins *i, u32 m) {
  const u32 *list = w->run->m->lists + i->list;
  u32 n = i->nlist, bytes = i->size1;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint8_t *at = ptx_resolve(w, i, l, ptx_address(w, i, l), bytes * n, PTX_WRITES);
    if (!at) return false;
    for (u32 k = 0; k < n; k++) {
      u64 x = get(w, list[k], i->size2, l);
      memcpy(at + bytes * k, &x, bytes);
    }
  }
  return true;
}

/* All lanes in one range of global memory, which is nearly always so: one look-up for the warp. NULL: do it slowly. */
static uint8_t *whole_range(Warp *w, Ins *i, u32 m, u32 bytes, bool write, u64 *at) {
  const PtxSpace *s = w->run->m->space;
  const u64 *a = COL(u64, i->a);
  u64 offset = (u64)i->imm, first = a[__builtin_ctz(m)] + offset;
  const PtxRange *r = i->hint < s->n ? &s->v[i->hint] : NULL;
  if (!r || first < r->at || first >= r->end) {
    i->hint = first_behind(s, first);
    if (i->hint >= s->n) return NULL;
    r = &s->v[i->hint];
  }
  u64 size = r->end - r->at;
  if (!r->host || size < bytes || (write && (r->flags & PTX_READ_ONLY))) return NULL;
  u64 most = size - bytes, bad = 0, base = r->at - offset;
  if (m == FULL) {
    for (int l = 0; l < LANES; l++) bad |= (u64)(a[l] - base > most) | ((a[l] + offset) & (bytes - 1));
  } else {
    for (u32 rest = m; rest; rest &= rest - 1) {
      int l = __builtin_ctz(rest);
      bad |= (u64)(a[l] - base > most) | ((a[l] + offset) & (bytes - 1));
    }
  }
  *at = base;
  if (bad) return NULL;
  for (u32 rest = r->marks ? m : 0; rest; rest &= rest - 1)
    ptx_mark(r->marks, a[__builtin_ctz(rest)] - base, bytes, write ? PTX_WRITES : PTX_READS);
  return r->host;
}

#define GLOBAL_LOAD(name, T)                                                                                           \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    u64 base;                                                                                                          \
    const uint8_t *host = whole_range(w, i, m, sizeof(T), false, &base);                                               \
    if (!host) return load(w, i, m);                                                                                   \
    const u64 *a = COL(u64, i->a);                                                                                     \
    T *d = COL(T, i->d);                                                                                               \
    if (m == FULL)                                                                                                     \
      for (int l = 0; l < LANES; l++) memcpy(&d[l], host + (a[l] - base), sizeof(T));                                  \
    else                                                                                                               \
      for (u32 rest = m; rest; rest &= rest - 1) {                                                                     \
        int l = __builtin_ctz(rest);                                                                                   \
        memcpy(&d[l], host + (a[l] - base), sizeof(T));                                                                \
      }                                                                                                                \
    return true;                                                                                                       \
  }
#define GLOBAL_STORE(name, T)                                                                                          \
  static bool name(Warp *w, Ins *i, u32 m) {                                                                           \
    u64 base;                                                                                                          \
    uint8_t *host = whole_range(w, i, m, sizeof(T), true, &base);                                                      \
    if (!host) return store(w, i, m);                                                                                  \
    const u64 *a = COL(u64, i->a);                                                                                     \
    const T *d = COL(T, i->d);                                                                                         \
    for (u32 rest = m; rest; rest &= rest - 1) {                                                                       \
      int l = __builtin_ctz(rest);                                                                                     \
      memcpy(host + (a[l] - base), &d[l], sizeof(T));                                                                  \
    }                                                                                                                  \
    return true;                                                                                                       \
  }
GLOBAL_LOAD(load_global_32, u32)
GLOBAL_LOAD(load_global_64, u64)
GLOBAL_STORE(store_global_32, u32)
GLOBAL_STORE(store_global_64, u64)

/* Shared memory by words. */
static bool load_shared_32(Warp *w, Ins *i, u32 m) {
  u32 end = w->run->shared_end, *d = COL(u32, i->d);
  const uint8_t *shared = w->cta->shared;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 a = ptx_address(w, i, l);
    if ((a & 3) || a >= end || end - a < 4) return load(w, i, rest);
    memcpy(&d[l], shared + a, 4);
  }
  return true;
}
static bool store_shared_32(Warp *w, Ins *i, u32 m) {
  u32 end = w->run->shared_end;
  const u32 *d = COL(u32, i->d);
  uint8_t *shared = w->cta->shared;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 a = ptx_address(w, i, l);
    if ((a & 3) || a >= end || end - a < 4) return store(w, i, rest);
    memcpy(shared + a, &d[l], 4);
  }
  return true;
}

/* A kernel's parameter: one value for all lanes. */
static bool load_param(Warp *w, Ins *i, u32 m) {
  u64 at = (u64)i->imm - PTX_KERNEL_PARAMS;
  if ((at & (i->size1 - 1)) || at >= w->run->param_bytes || w->run->param_bytes - at < i->size1) return load(w, i, m);
  u64 x = peek(w->run->params + at, i->size1, ptx_types[i->type].kind == 's');
  for (u32 rest = m; rest; rest &= rest - 1) put(w, i->d, i->size2, __builtin_ctz(rest), x);
  return true;
}

PtxFn *ptx_load(const Ins *i) {
  bool plain = i->nlist == 1 && i->size1 == i->size2 && i->d != UINT32_MAX;
  bool global = (i->space == SP_GLOBAL || i->space == SP_GENERIC) && i->base == BASE_R64;
  if (plain && global && i->size1 == 4) return load_global_32;
  if (plain && global && i->size1 == 8) return load_global_64;
  if (plain && i->space == SP_SHARED && i->size1 == 4) return load_shared_32;
  if (i->nlist == 1 && i->d != UINT32_MAX && i->space == SP_PARAM && i->base == BASE_NONE) return load_param;
  return load;
}

PtxFn *ptx_store(const Ins *i) {
  bool plain = i->nlist == 1 && i->size1 == i->size2;
  bool global = (i->space == SP_GLOBAL || i->space == SP_GENERIC) && i->base == BASE_R64;
  if (plain && global && i->size1 == 4) return store_global_32;
  if (plain && global && i->size1 == 8) return store_global_64;
  if (plain && i->space == SP_SHARED && i->size1 == 4) return store_shared_32;
  return store;
}

bool ptx_prefetch(Warp *w, Ins *i, u32 m) {
  (void)w, (void)i, (void)m; /* a prefetch of a bad address is harmless */
  return true;
}

/* --- atomics: one lane after another --- */

static float float_of(u64 b) {
  u32 c = (u32)b;
  float x;
  memcpy(&x, &c, 4);
  return x;
}
static double double_of(u64 b) {
  double x;
  memcpy(&x, &b, 8);
  return x;
}
static u64 bits_of(float x) {
  u32 b;
  if (x != x) return 0x7fffffff;
  memcpy(&b, &x, 4);
  return b;
}
static u64 bits_of_double(double x) {
  u64 b;
  memcpy(&b, &x, 8);
  return b;
}

static u16 half_sum(u16 a, u16 b, bool bf) {
  /* Exact in a double for f16; for bf16 nearly so, and both are far wider than the result. */
  double x = bf ? ptx_bf16_value(a) + ptx_bf16_value(b) : ptx_f16_value(a) + ptx_f16_value(b);
  return (u16)ptx_convert(bf ? ptx_bf16 : ptx_f16, ptx_f64, bits_of_double(x), RN);
}

static u64 sum(PtxType t, u64 a, u64 b) {
  switch (t) {
  case PT_F32: return bits_of(float_of(a) + float_of(b));
  case PT_F64: return bits_of_double(double_of(a) + double_of(b));
  case PT_F16: return half_sum((u16)a, (u16)b, false);
  case PT_BF16: return half_sum((u16)a, (u16)b, true);
  case PT_F16X2:
  case PT_BF16X2:
    return half_sum((u16)a, (u16)b, t == PT_BF16X2) | (u64)half_sum((u16)(a >> 16), (u16)(b >> 16), t == PT_BF16X2)
                                                          << 16;
  default: return a + b;
  }
}

static bool less(PtxType t, u64 a, u64 b) {
  switch (t) {
  case PT_S32: return (int32_t)a < (int32_t)b;
  case PT_S64: return (int64_t)a < (int64_t)b;
  case PT_U32: return (u32)a < (u32)b;
  default: return a < b;
  }
}

static u64 combined(const Ins *i, u64 old, u64 b, u64 c) {
  PtxType t = (PtxType)i->type;
  switch (i->op) {
  case AT_ADD: return sum(t, old, b);
  case AT_MIN: return less(t, b, old) ? b : old;
  case AT_MAX: return less(t, old, b) ? b : old;
  case AT_AND: return old & b;
  case AT_OR: return old | b;
  case AT_XOR: return old ^ b;
  case AT_EXCH: return b;
  case AT_CAS: return old == b ? c : old;
  case AT_INC: return old >= b ? 0 : old + 1;
  default: return old == 0 || old > b ? b : old - 1;
  }
}

bool ptx_atom(Warp *w, Ins *i, u32 m) {
  u32 bytes = i->size1;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    uint8_t *at = ptx_resolve(w, i, l, ptx_address(w, i, l), bytes, PTX_ATOMICS);
    if (!at) return false;
    u64 old = peek(at, bytes, false), b = get(w, i->b, bytes, l), c = i->c ? get(w, i->c, bytes, l) : 0;
    u64 now = combined(i, old, b, c);
    memcpy(at, &now, bytes);
    if (i->d) put(w, i->d, bytes, l, old);
  }
  return true;
}

/* --- one kind of address as another --- */

static u64 window_of(u32 space) {
  return space == SP_SHARED  ? PTX_SHARED_WINDOW
         : space == SP_LOCAL ? PTX_LOCAL_WINDOW
         : space == SP_PARAM ? PTX_PARAM_WINDOW
                             : 0;
}

bool ptx_cvta_from(Warp *w, Ins *i, u32 m) {
  u64 window = window_of(i->space);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    COL(u64, i->d)[l] = COL(u64, i->a)[l] + window;
  }
  return true;
}
bool ptx_cvta_to(Warp *w, Ins *i, u32 m) {
  u64 window = window_of(i->space);
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    COL(u64, i->d)[l] = COL(u64, i->a)[l] - window;
  }
  return true;
}

bool ptx_isspacep(Warp *w, Ins *i, u32 m) {
  const PtxSpace *s = w->run->m->space;
  u32 yes = 0;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 a = COL(u64, i->a)[l], window = a & PTX_WINDOW_MASK;
    u32 k = first_behind(s, a);
    bool constant = k < s->n && s->v[k].at <= a && s->v[k].host && (s->v[k].flags & PTX_READ_ONLY), in = false;
    switch (i->space) {
    case SP_GLOBAL:
      in = window != PTX_SHARED_WINDOW && window != PTX_LOCAL_WINDOW && window != PTX_PARAM_WINDOW && !constant;
      break;
    case SP_CONST: in = constant; break;
    default: in = window == window_of(i->space); break;
    }
    yes |= (u32)in << l;
  }
  *COL(u32, i->d) = (*COL(u32, i->d) & ~m) | yes;
  return true;
}

/* --- memory of a frame whose size is known when it runs --- */

bool ptx_alloca(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 size = COL(u64, i->a)[l], align = (u64)i->imm < 16 ? 16 : (u64)i->imm;
    u64 at = (w->top[l] + align - 1) / align * align, end = at + (size + 15) / 16 * 16;
    if (size > w->run->stack || end > w->run->stack)
      return ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "alloca of %llu bytes: the thread's stack has %u",
                       (unsigned long long)size, w->run->stack);
    COL(u64, i->d)[l] = at;
    w->top[l] = (u32)end;
  }
  return true;
}
bool ptx_stacksave(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) COL(u64, i->d)[__builtin_ctz(rest)] = w->top[__builtin_ctz(rest)];
  return true;
}
bool ptx_stackrestore(Warp *w, Ins *i, u32 m) {
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    u64 to = COL(u64, i->a)[l];
    if (to > w->top[l]) return ptx_fault(w, i, l, PTX_ILLEGAL_ADDRESS, "stackrestore to an address above the stack");
    w->top[l] = (u32)to;
  }
  return true;
}
