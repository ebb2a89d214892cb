/* tests/fakecuda/fake_event.c -- events: recording, waiting, the time between two. */
#include <stdlib.h>

#include "tests/fakecuda/fake.h"

static FkEvent *event_of(void *handle) {
  for (FkContext *c = fk.contexts; c; c = c->next)
    for (FkEvent *e = c->events; e; e = e->next)
      if (e == handle) return e;
  return NULL;
}

FK_API int cuEventCreate(void **out, unsigned flags) {
  ENTER_CONTEXT();
  if (!out || flags > 7) return CU_INVALID_VALUE;
  FkEvent *e = FK_NEW(FkEvent);
  *e = (FkEvent){.kind = FK_EVENT, .context = ctx, .flags = flags, .next = ctx->events};
  ctx->events = e;
  *out = e;
  return CU_OK;
}

/* Work that would record it records nothing then. */
static void forget(FkContext *c, const FkEvent *e) {
  for (FkOp *op = c->legacy.first; op; op = op->next)
    if (op->event == e) op->event = NULL;
  for (FkStream *s = c->streams; s; s = s->next)
    for (FkOp *op = s->first; op; op = op->next)
      if (op->event == e) op->event = NULL;
}

FK_API int cuEventDestroy_v2(void *event) {
  ENTER(true);
  FkEvent *e = event_of(event);
  if (!e) return CU_INVALID_HANDLE;
  for (FkContext *c = fk.contexts; c; c = c->next) forget(c, e);
  for (FkEvent **p = &e->context->events; *p; p = &(*p)->next)
    if (*p == e) {
      *p = e->next;
      break;
    }
  free(e);
  return CU_OK;
}

static int record(FkContext *ctx, FkStream *s, void *event) {
  FkEvent *e = event_of(event);
  if (!e || e->context != ctx) return CU_INVALID_HANDLE;
  FkOp *op = fk_op(FK_RECORD);
  forget(ctx, e);
  op->event = e;
  e->done = false;
  fk_submit(s, op);
  e->stream = s;
  e->seq = s->submitted;
  return CU_OK;
}
FK_API int cuEventRecord(void *event, void *stream) {
  ENTER_STREAM(stream);
  return record(ctx, s, event);
}
FK_API int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  ENTER_STREAM(stream);
  return flags > 1 ? CU_INVALID_VALUE : record(ctx, s, event);
}

static int wait_event(FkStream *s, void *event, unsigned flags) {
  FkEvent *e = event_of(event);
  if (!e || flags > 1) return e ? CU_INVALID_VALUE : CU_INVALID_HANDLE;
  if (!e->stream) return CU_OK;
  FkOp *op = fk_op(FK_NOTHING);
  fk_depend(op, e->stream, e->seq);
  fk_submit(s, op);
  return CU_OK;
}
FK_API int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  ENTER_ANY_STREAM(stream);
  return wait_event(s, event, flags);
}
FK_API int cuStreamWaitEvent_ptsz(void *stream, void *event, unsigned flags) {
  ENTER_ANY_STREAM(stream);
  return wait_event(s, event, flags);
}

FK_API int cuEventSynchronize(void *event) {
  ENTER_CONTEXT();
  FkEvent *e = event_of(event);
  if (!e) return CU_INVALID_HANDLE;
  return e->stream ? fk_drain(e->stream, e->seq) : CU_OK;
}
FK_API int cuEventQuery(void *event) {
  ENTER_CONTEXT();
  FkEvent *e = event_of(event);
  if (!e) return CU_INVALID_HANDLE;
  if (!e->stream || e->done) return CU_OK;
  fk_wander(e->stream->context);
  return CU_NOT_READY;
}
static int elapsed(float *ms, void *from, void *to) {
  enum { DISABLE_TIMING = 2 };
  FkEvent *a = event_of(from), *b = event_of(to);
  if (!a || !b || !a->stream || !b->stream || !ms) return a && b && !ms ? CU_INVALID_VALUE : CU_INVALID_HANDLE;
  if (((a->flags | b->flags) & DISABLE_TIMING) || a->context->device != b->context->device) return CU_INVALID_HANDLE;
  if (!a->done || !b->done) return CU_NOT_READY;
  *ms = (float)(b->time - a->time);
  return CU_OK;
}
FK_API int cuEventElapsedTime(float *ms, void *from, void *to) {
  ENTER_CONTEXT();
  return elapsed(ms, from, to);
}
FK_API int cuEventElapsedTime_v2(float *ms, void *from, void *to) {
  ENTER_CONTEXT();
  return elapsed(ms, from, to);
}
