/* tests/fakecuda/fake_stream.c -- streams as queues, and the order in which work is done.
 *
 * A call that waits for a stream first lets others go on, at random: what no event orders comes in any order. The default
 * stream and the streams that were not made non-blocking wait for each other, as they do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/fake.h"

/* --- queues --- */

FkStream *fk_stream(FkContext *c, void *handle) {
  if ((uintptr_t)handle <= 2) return &c->legacy;
  for (FkStream *s = c->streams; s; s = s->next)
    if (s == handle && !s->dead) return s;
  return NULL;
}

FkStream *fk_stream_of_any(FkContext *c, void *handle) {
  FkStream *s = fk_stream(c, handle);
  for (FkContext *o = fk.contexts; o && !s; o = o->next) s = fk_stream(o, handle);
  return s;
}

FkOp *fk_op(FkWork work) {
  FkOp *op = FK_NEW(FkOp);
  op->work = work;
  return op;
}

void fk_op_free(FkOp *op) {
  free(op->staged);
  free(op->params);
  free(op->deps);
  if (op->steps) fk_steps_free(op->steps);
  fk_clock_free(&op->clock);
  free(op);
}

FkOp *fk_op_copy(const FkOp *op) {
  FkOp *copy = fk_op(op->work);
  *copy = *op;
  copy->next = NULL, copy->deps = NULL, copy->ndeps = 0, copy->staged = NULL, copy->steps = NULL, copy->params = NULL;
  copy->clock = (FkClock){0};
  if (op->params) {
    copy->params = fk_new(op->launch.param_bytes + 1);
    memcpy(copy->params, op->params, op->launch.param_bytes);
  }
  return copy;
}

void fk_depend(FkOp *op, FkStream *s, uint64_t seq) {
  if (s->done >= seq) return;
  FkDep *more = realloc(op->deps, (op->ndeps + 1) * sizeof *more);
  if (!more) abort();
  op->deps = more;
  op->deps[op->ndeps++] = (FkDep){s, seq};
}

static FkNodeType node_type(FkWork work) {
  switch (work) {
  case FK_COPY: return NODE_COPY;
  case FK_SET: return NODE_SET;
  case FK_LAUNCH: return NODE_KERNEL;
  case FK_CALL: return NODE_HOST;
  default: return NODE_EMPTY;
  }
}

int fk_submit(FkStream *s, FkOp *op) {
  enum { NON_BLOCKING = 1 };
  FkContext *c = s->context;
  if (s->capture) return fk_capture_op(s, op, node_type(op->work));
  if (s == &c->legacy && op->work != FK_POISON && fk_capture_legacy(c)) {
    fk_op_free(op);
    return fk_capture_blocks(s);
  }
  if (s == &c->legacy) {
    for (FkStream *o = c->streams; o; o = o->next)
      if (!(o->flags & NON_BLOCKING)) fk_depend(op, o, o->submitted), fk_clock_join(&op->clock, &o->clock);
  } else if (!(s->flags & NON_BLOCKING)) {
    fk_depend(op, &c->legacy, c->legacy.submitted), fk_clock_join(&op->clock, &c->legacy.clock);
  }
  if (s->last)
    s->last->next = op;
  else
    s->first = op;
  s->last = op;
  fk_race_submit(s, op);
  s->submitted++;
  if (fk.config.eager) fk_drain(s, s->submitted);
  return CU_OK;
}

void fk_stream_end(FkStream *s) {
  fk_capture_end_of(s);
  free(s->tail);
  s->tail = NULL;
  fk_clock_free(&s->clock);
  while (s->first) {
    FkOp *op = s->first;
    s->first = op->next;
    fk_op_free(op);
  }
  s->last = NULL;
}

/* --- doing --- */

void fk_lose(FkContext *c, int code, const char *why) {
  if (c->lost) return;
  c->lost = code;
  snprintf(fk.fault, sizeof fk.fault, "%s", why);
  fk_log("the context is lost: %d, %s", code, why);
}

/* The device whose memory is at an address, -1 if it is none's. */
static int device_at(uint64_t at) {
  for (int k = 0; k < fk.config.devices; k++)
    if (at >= fk.device[k].base && at < fk.device[k].end) return k;
  return -1;
}

/* A machine whose bus stands between devices that see each other, and says nothing. */
static bool arrives_damaged(const FkContext *c, const FkOp *op) {
  int from = device_at(op->from), to = device_at(op->to);
  return fk.config.peer_wrong && from >= 0 && to >= 0 && from != to && (c->peers[from] || c->peers[to]);
}

static int copy_rows(const FkContext *c, const FkOp *op) {
  bool damaged = arrives_damaged(c, op);
  for (uint64_t z = 0; z < op->depth; z++)
    for (uint64_t y = 0; y < op->height; y++) {
      uint64_t at = z * op->from_slice + y * op->from_pitch;
      const uint8_t *from = op->staged ? op->staged + at : fk_host_of(op->from + at, op->width);
      uint8_t *to = fk_host_of(op->to + z * op->to_slice + y * op->to_pitch, op->width);
      if (!from || !to) return CU_ILLEGAL_ADDRESS;
      memmove(to, from, op->width);
      fk_race_touch(op->to + z * op->to_slice + y * op->to_pitch, op->width, PTX_WRITES);
      if (!op->staged) fk_race_touch(op->from + at, op->width, PTX_READS);
      for (uint64_t x = 0; damaged && x < op->width; x++) to[x] ^= 0x55;
    }
  return CU_OK;
}

static int set_rows(const FkOp *op) {
  for (uint64_t k = 0; k < op->height; k++) {
    uint8_t *to = fk_host_of(op->to + k * op->to_pitch, op->width * op->value_bytes);
    if (!to) return CU_ILLEGAL_ADDRESS;
    fk_race_touch(op->to + k * op->to_pitch, op->width * op->value_bytes, PTX_WRITES);
    for (uint64_t i = 0; i < op->width; i++) memcpy(to + i * op->value_bytes, &op->value, op->value_bytes);
  }
  return CU_OK;
}

void fk_run_op(FkContext *c, const FkOp *op) {
  int code = CU_OK;
  if (op->work == FK_RECORD) {
    if (op->event) op->event->time = fk_now(), op->event->done = true;
    return;
  }
  if (c->lost) return;
  switch (op->work) {
  case FK_COPY: code = copy_rows(c, op); break;
  case FK_SET: code = set_rows(op); break;
  case FK_LAUNCH: code = fk_run_launch(c, op); break;
  case FK_CALL:
    fk.in_callback = true;
    op->call(op->user);
    fk.in_callback = false;
    return;
  case FK_FREE: {
    FkBlock *b = fk_block_at(op->to, 1);
    if (!b || b->at != op->to) return;
    fk_race_touch(b->at, b->size, PTX_WRITES);
    fk_race_settle(c, op);
    fk_block_free(b);
    return;
  }
  case FK_STEPS: fk_steps_run(c, op->steps); return;
  case FK_POISON: fk_lose(c, op->code, "as a rule asked for"); return;
  default: return;
  }
  if (code) fk_lose(c, code, "a copy of memory that was freed");
  fk_race_settle(c, op);
}

/* False: it waits for a stream that itself waits here, further out. */
static bool step(FkStream *s) {
  FkOp *op = s->first;
  bool may = true;
  if (s->running) return false;
  s->running = true;
  for (uint32_t k = 0; k < op->ndeps && may; k++) {
    fk_drain(op->deps[k].stream, op->deps[k].seq);
    may = op->deps[k].stream->done >= op->deps[k].seq;
  }
  s->running = false;
  if (!may) return false;
  s->first = op->next;
  if (!s->first) s->last = NULL;
  fk.now.stream = s, fk.now.op = op, fk.now.seq = s->done + 1, fk.now.steps = NULL;
  fk_run_op(s->context, op);
  s->done++;
  fk_op_free(op);
  return true;
}

uint32_t fk_random(void) {
  fk.random = fk.random * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(fk.random >> 33);
}

void fk_wander(const FkContext *c) {
  for (FkStream *o = c->streams; o; o = o->next)
    while (o->first && !o->running && fk_random() % 3 == 0)
      if (!step(o)) break;
}

int fk_drain(FkStream *s, uint64_t seq) {
  while (s->done < seq && s->first && !s->running) {
    fk_wander(s->context);
    if (s->done < seq && s->first && !s->running && !step(s)) break;
  }
  FkContext *c = s->context;
  while (c->legacy.first && c->legacy.first->work == FK_POISON && step(&c->legacy)) { /* whoever waits learns of it */
  }
  return c->lost;
}

/* One who waits: knows afterwards what was done. */
static int wait_for(FkStream *s) {
  int code = fk_drain(s, s->submitted);
  fk_race_host(&s->clock);
  fk_race_trim();
  return code;
}

int fk_drain_all(FkContext *c) {
  fk_drain(&c->legacy, c->legacy.submitted);
  for (FkStream *s = c->streams; s; s = s->next) fk_drain(s, s->submitted);
  return c->lost;
}

/* --- streams --- */

static int stream_new(FkContext *c, void **out, unsigned flags, int priority) {
  enum { LEAST = 0, GREATEST = -5 };
  if (!out || flags > 1) return CU_INVALID_VALUE;
  priority = priority > LEAST ? LEAST : priority < GREATEST ? GREATEST : priority;
  FkStream *s = FK_NEW(FkStream);
  *s = (FkStream){.kind = FK_STREAM,
                  .context = c,
                  .flags = flags,
                  .priority = priority,
                  .id = ++fk.ids,
                  .slot = fk.slots++,
                  .next = c->streams};
  c->streams = s;
  *out = s;
  return CU_OK;
}
FK_API int cuStreamCreate(void **out, unsigned flags) {
  ENTER_CONTEXT();
  return stream_new(ctx, out, flags, 0);
}
FK_API int cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  ENTER_CONTEXT();
  return stream_new(ctx, out, flags, priority);
}

/* What is queued is still done. */
FK_API int cuStreamDestroy_v2(void *stream) {
  ENTER_ANY_STREAM(stream);
  if (s == &s->context->legacy) return CU_INVALID_HANDLE;
  fk_capture_end_of(s);
  fk_drain(s, s->submitted);
  s->dead = true;
  return CU_OK;
}
FK_API int cuStreamSynchronize(void *stream) {
  ENTER_ANY_STREAM(stream);
  int code = fk_capture_blocks(s);
  return code ? code : wait_for(s);
}
FK_API int cuStreamQuery(void *stream) {
  ENTER_ANY_STREAM(stream);
  int code = fk_capture_blocks(s);
  if (!code && s->done == s->submitted) fk_race_host(&s->clock);
  if (code || s->done == s->submitted) return code;
  fk_wander(s->context);
  return s->context->lost ? s->context->lost : CU_NOT_READY;
}
FK_API int cuLaunchHostFunc(void *stream, void (*call)(void *), void *user) {
  ENTER_STREAM(stream);
  if (!call) return CU_INVALID_VALUE;
  FkOp *op = fk_op(FK_CALL);
  op->call = call, op->user = user;
  return fk_submit(s, op);
}

FK_API int cuStreamGetPriority(void *stream, int *out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  *out = s->priority;
  return CU_OK;
}
FK_API int cuStreamGetFlags(void *stream, unsigned *out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  *out = s->flags;
  return CU_OK;
}
FK_API int cuStreamGetCtx(void *stream, void **out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  *out = s->context;
  return CU_OK;
}
FK_API int cuStreamGetId(void *stream, unsigned long long *out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  *out = s->id;
  return CU_OK;
}
FK_API int cuStreamGetDevice(void *stream, CuDevice *out) {
  ENTER_ANY_STREAM(stream);
  if (!out) return CU_INVALID_VALUE;
  *out = s->context->device;
  return CU_OK;
}
