/* tests/fakecuda/fake_race.c -- finds work that uses the memory of other work with nothing between them that orders them.
 *
 * Every stream counts its work, and each piece of work has a clock: how much of every stream comes before it, by the order
 * of its stream, by events, by the default stream, and by what the host had waited for when it asked for the work. When
 * work has run, each byte that it touched is compared with what others did to it before. If one of the two wrote and
 * neither comes before the other, the context is lost, and both are named. Two atomic operations may meet.
 *
 * What the host itself reads and writes is not seen, and the order of threads on the host is not known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

enum { MOST_ACCESSES = 64, NO_STEP = UINT32_MAX };

bool fk_watches(void) { return fk.config.race && !fk.config.null; }

/* --- clocks --- */

void fk_clock_free(FkClock *c) {
  free(c->v);
  *c = (FkClock){0};
}

static void reach(FkClock *c, uint32_t n) {
  if (c->n >= n) return;
  uint64_t *v = realloc(c->v, n * sizeof *v);
  if (!v) abort();
  memset(v + c->n, 0, (n - c->n) * sizeof *v);
  c->v = v, c->n = n;
}

void fk_clock_join(FkClock *to, const FkClock *from) {
  if (!fk_watches()) return;
  reach(to, from->n);
  for (uint32_t k = 0; k < from->n; k++)
    if (from->v[k] > to->v[k]) to->v[k] = from->v[k];
}

static uint64_t clock_at(const FkClock *c, uint32_t slot) { return slot < c->n ? c->v[slot] : 0; }

void fk_race_submit(FkStream *s, FkOp *op) {
  if (!fk_watches()) return;
  fk_clock_join(&op->clock, &fk.host);
  fk_clock_join(&op->clock, &s->clock);
  reach(&op->clock, s->slot + 1);
  op->clock.v[s->slot] = s->submitted + 1;
  fk_clock_join(&s->clock, &op->clock);
}

void fk_race_host(const FkClock *c) { fk_clock_join(&fk.host, c); }

/* --- what was touched --- */

void fk_race_watch(FkBlock *b) {
  if (!fk_watches()) return;
  b->marks.v = fk_new(b->size);
  for (int k = 0; k < fk.config.devices; k++) (void)ptx_space_watch(fk.device[k].space, b->at, &b->marks);
}

void fk_race_touch(uint64_t address, uint64_t size, unsigned how) {
  FkBlock *b = fk_watches() ? fk_block_at(address, size) : NULL;
  if (b && b->marks.v) ptx_mark(&b->marks, address - b->at, size, how);
}

static void access_free(FkAccess *a) {
  free(a->marks);
  free(a);
}

void fk_race_forget(FkBlock *b) {
  for (FkAccess *a = b->accesses, *next; a; a = next) next = a->next, access_free(a);
  b->accesses = NULL;
  free(b->marks.v);
  b->marks.v = NULL;
}

static bool all_idle(void) {
  for (const FkContext *c = fk.contexts; c; c = c->next) {
    if (c->legacy.first) return false;
    for (const FkStream *s = c->streams; s; s = s->next)
      if (s->first) return false;
  }
  return true;
}

/* What comes later will come after all that the host knows. */
void fk_race_trim(void) {
  if (!fk_watches() || !all_idle()) return;
  for (FkBlock *b = fk.blocks; b; b = b->next)
    for (FkAccess **p = &b->accesses; *p;) {
      FkAccess *a = *p;
      if (clock_at(&fk.host, a->slot) < a->seq) {
        p = &a->next;
        continue;
      }
      *p = a->next;
      access_free(a);
    }
}

/* --- comparing --- */

static uint8_t mark_at(const FkAccess *a, uint64_t k) { return a->marks ? a->marks[k - a->lo] : a->how; }

static bool collide(unsigned x, unsigned y) {
  return x && y && ((x | y) & ~(unsigned)PTX_READS) && !(x == PTX_ATOMICS && y == PTX_ATOMICS);
}

/* How many bytes from *at on two accesses may not share; 0: none. */
static uint64_t shared_bytes(const FkAccess *a, const FkAccess *b, uint64_t *at) {
  uint64_t lo = a->lo > b->lo ? a->lo : b->lo, hi = a->hi < b->hi ? a->hi : b->hi, n = 0;
  if (!collide(a->how, b->how)) return 0;
  while (lo < hi && !collide(mark_at(a, lo), mark_at(b, lo))) lo++;
  while (lo + n < hi && collide(mark_at(a, lo + n), mark_at(b, lo + n))) n++;
  *at = lo;
  return n;
}

static const char *deed(unsigned how) {
  return how == PTX_READS ? "reads" : how == PTX_ATOMICS ? "changes" : how & PTX_READS ? "reads and writes" : "writes";
}

static void report(FkContext *c, const FkBlock *b, const FkAccess *old, const FkAccess *new, uint64_t at, uint64_t n) {
  enum { RACE = 719 };
  char where[160], text[560];
  ptx_space_describe(fk.device[b->device].space, b->at + at, where, sizeof where);
  snprintf(
      text, sizeof text,
      "a race of streams: %s %s, and %s %s %llu bytes at %s; neither waits for the other (no event, no wait of the "
      "host between them)",
      old->who, deed(mark_at(old, at)), new->who, deed(mark_at(new, at)), (unsigned long long)n, where);
  fprintf(stderr, "fakecuda: %s\n", text);
  fk_lose(c, RACE, text);
}

static bool comes_before(const FkAccess *old, const FkAccess *new) {
  if (old->slot == new->slot && old->seq == new->seq)
    return old->step == NO_STEP || old->step == new->step || fk.now.steps->v[new->step].before[old->step];
  return clock_at(&fk.now.op->clock, old->slot) >= old->seq;
}

/* Does `new` say all that `old` does, and as late? Then whoever meets the old one meets the new one too. */
static bool covers(const FkAccess *new, const FkAccess *old) {
  if (old->slot != new->slot || old->step != new->step || old->lo < new->lo || old->hi > new->hi) return false;
  if (!new->marks && !old->marks) return new->how == old->how || new->how == PTX_WRITES;
  for (uint64_t k = old->lo; k < old->hi; k++) {
    unsigned x = mark_at(old, k), y = mark_at(new, k);
    if (x && !(y & PTX_WRITES) && (x & ~y)) return false;
  }
  return true;
}

static void add(FkBlock *b, FkAccess *a) {
  uint32_t n = 0;
  a->next = b->accesses;
  b->accesses = a;
  for (FkAccess **p = &a->next; *p;) {
    FkAccess *old = *p;
    if (++n < MOST_ACCESSES && !covers(a, old)) {
      p = &old->next;
      continue;
    }
    *p = old->next;
    access_free(old);
  }
}

static void name_work(char *to, size_t room, const FkOp *op) {
  const char *graph = fk.now.steps ? " of a graph" : "";
  int id = (int)fk.now.stream->id;
  switch (op->work) {
  case FK_LAUNCH:
    snprintf(to, room, "kernel '%s'%s (work %llu of stream %d)", op->launch.entry, graph,
             (unsigned long long)fk.now.seq, id);
    break;
  case FK_FREE:
    snprintf(to, room, "cuMemFreeAsync (work %llu of stream %d)", (unsigned long long)fk.now.seq, id);
    break;
  default:
    snprintf(to, room, "a %s%s (work %llu of stream %d)", op->work == FK_SET ? "memset" : "copy", graph,
             (unsigned long long)fk.now.seq, id);
  }
}

static FkAccess *take(FkBlock *b, const FkOp *op) {
  FkAccess *a = FK_NEW(FkAccess);
  uint64_t n = b->marks.hi - b->marks.lo;
  uint8_t *v = b->marks.v + b->marks.lo;
  bool even = true;
  *a = (FkAccess){.slot = fk.now.stream->slot,
                  .seq = fk.now.seq,
                  .step = fk.now.steps ? fk.now.step : NO_STEP,
                  .lo = b->marks.lo,
                  .hi = b->marks.hi};
  for (uint64_t k = 0; k < n; k++) a->how |= v[k], even &= v[k] == v[0];
  if (!even) a->marks = fk_new(n), memcpy(a->marks, v, n);
  name_work(a->who, sizeof a->who, op);
  memset(v, 0, n);
  b->marks.lo = b->marks.hi = 0;
  return a;
}

void fk_race_settle(FkContext *c, const FkOp *op) {
  if (!fk_watches()) return;
  for (FkBlock *b = fk.blocks; b; b = b->next) {
    if (b->marks.lo >= b->marks.hi) continue;
    FkAccess *a = take(b, op);
    for (const FkAccess *old = b->accesses; old; old = old->next) {
      uint64_t at, n = comes_before(old, a) ? 0 : shared_bytes(old, a, &at);
      if (n) report(c, b, old, a, at, n);
    }
    add(b, a);
  }
}

void fk_race_whole(FkStream *s, FkBlock *b, const char *who) {
  if (!fk_watches()) return;
  FkAccess *a = FK_NEW(FkAccess);
  *a = (FkAccess){
      .slot = s->slot, .step = NO_STEP, .seq = s->submitted, .hi = b->size, .how = PTX_WRITES, .next = b->accesses};
  snprintf(a->who, sizeof a->who, "%s (work %llu of stream %d)", who, (unsigned long long)s->submitted, (int)s->id);
  b->accesses = a;
}

/* --- graphs --- */

void fk_race_steps(FkSteps *s) {
  if (!fk_watches()) return;
  for (uint32_t k = 0; k < s->n; k++) s->v[k].before = fk_new(s->n + 1);
  for (bool more = true; more;) { /* edges may point anywhere in the list */
    more = false;
    for (uint32_t k = 0; k < s->n; k++)
      for (uint32_t d = 0; d < s->v[k].ndeps; d++) {
        uint32_t dep = s->v[k].deps[d];
        for (uint32_t j = 0; j < s->n; j++) {
          uint8_t on = (uint8_t)(j == dep) | s->v[dep].before[j];
          more |= on && !s->v[k].before[j];
          s->v[k].before[j] |= on;
        }
      }
  }
}
