/* tests/fakecuda/fake_event.c -- events: recording, waiting, the time between two. */
#include <stdlib.h>

#include "tests/fakecuda/fake.h"

FkEvent *fk_event(void *handle) {
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
static void forget_in(FkOp *op, const FkEvent *e) {
  for (; op; op = op->next) {
    if (op->event == e) op->event = NULL;
    for (uint32_t k = 0; op->steps && k < op->steps->n; k++) forget_in(op->steps->v[k].op, e);
  }
}
void fk_event_forget(FkContext *c, const FkEvent *e) {
  forget_in(c->legacy.first, e);
  for (FkStream *s = c->streams; s; s = s->next) forget_in(s->first, e);
}

FK_API int cuEventDestroy_v2(void *event) {
  ENTER(true);
  FkEvent *e = fk_event(event);
  if (!e) return CU_INVALID_HANDLE;
  for (FkContext *c = fk.contexts; c; c = c->next) fk_event_forget(c, e);
  for (FkEvent **p = &e->context->events; *p; p = &(*p)->next)
    if (*p == e) {
      *p = e->next;
      break;
    }
  free(e->nodes);
  fk_clock_free(&e->clock);
  free(e);
  return CU_OK;
}

static int record(FkContext *ctx, FkStream *s, void *event, bool external) {
  FkEvent *e = fk_event(event);
  if (!e || e->context != ctx) return CU_INVALID_HANDLE;
  if (s->capture && external) {
    FkOp *op = fk_op(FK_RECORD);
    op->event = e;
    return fk_capture_op(s, op, NODE_RECORD);
  }
  if (s->capture) return fk_capture_record(s, e);
  if (external) return CU_ILLEGAL_STATE;
  FkOp *op = fk_op(FK_RECORD);
  fk_event_forget(ctx, e);
  op->event = e;
  e->done = false;
  int code = fk_submit(s, op);
  if (code) return code;
  e->captured = 0;
  fk_clock_free(&e->clock);
  fk_clock_join(&e->clock, &s->clock);
  e->stream = s;
  e->seq = s->submitted;
  return CU_OK;
}
FK_API int cuEventRecord(void *event, void *stream) {
  ENTER_STREAM(stream);
  return record(ctx, s, event, false);
}
FK_API int cuEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  ENTER_STREAM(stream);
  return flags > 1 ? CU_INVALID_VALUE : record(ctx, s, event, flags == 1);
}

static int wait_event(FkStream *s, void *event, unsigned flags) {
  FkEvent *e = fk_event(event);
  if (!e || flags > 1) return e ? CU_INVALID_VALUE : CU_INVALID_HANDLE;
  if (s->capture || e->captured) return fk_capture_wait(s, e, flags == 1);
  if (flags == 1) return CU_ILLEGAL_STATE;
  if (!e->stream) return CU_OK;
  FkOp *op = fk_op(FK_NOTHING);
  fk_depend(op, e->stream, e->seq), fk_clock_join(&op->clock, &e->clock);
  return fk_submit(s, op);
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
  FkEvent *e = fk_event(event);
  if (!e) return CU_INVALID_HANDLE;
  if (e->captured) return CU_CAPTURED_EVENT;
  if (!e->stream) return CU_OK;
  int code = fk_drain(e->stream, e->seq);
  fk_race_host(&e->clock);
  return code;
}
FK_API int cuEventQuery(void *event) {
  ENTER_CONTEXT();
  FkEvent *e = fk_event(event);
  if (!e) return CU_INVALID_HANDLE;
  if (e->captured) return CU_CAPTURED_EVENT;
  if (e->done) fk_race_host(&e->clock);
  if (!e->stream || e->done) return CU_OK;
  fk_wander(e->stream->context);
  return CU_NOT_READY;
}
static int elapsed(float *ms, void *from, void *to) {
  enum { DISABLE_TIMING = 2 };
  FkEvent *a = fk_event(from), *b = fk_event(to);
  if (a && b && (a->captured || b->captured)) return CU_CAPTURED_EVENT;
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
