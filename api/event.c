/* api/event.c -- events. */
#include "api/api.h"

struct HdEvent {
  HdContext *ctx;
  HdDevice device;
  RtEvent *rt;
};

static HdStatus event_new(HdContext *ctx, HdDevice device, HdEvent **out) {
  RtDevice *d;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  HdEvent *e = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *e);
  if (!e) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for an event", sizeof *e);
  *e = (HdEvent){ctx, device, NULL};
  HdStatus status = d->ops->event_new(d, &ctx->err, &e->rt);
  if (status == HD_OK)
    *out = e;
  else
    ctx->mem.resize(ctx->mem.user, e, sizeof *e, 0);
  return status;
}

HdStatus hd_event_new(HdContext *ctx, HdDevice device, HdEvent **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_event_new", event_new(ctx, device, out));
}

void hd_event_free(HdEvent *event) {
  if (!event) return;
  HdContext *ctx = event->ctx;
  event->rt->ops->free(event->rt);
  ctx->mem.resize(ctx->mem.user, event, sizeof *event, 0);
}

static HdStatus check(const HdEvent *event, const HdStream *stream) {
  HdContext *ctx = stream->ctx;
  if (!event) return hdb_fail(&ctx->err, HD_ERR_ARG, "event", "it is NULL");
  if (event->ctx != ctx) return hdb_fail(&ctx->err, HD_ERR_DEVICE, "event", "it belongs to another context");
  return stream->rt->keeping ? hdapi_keeping(stream) : HD_OK;
}

static HdStatus record(HdEvent *event, HdStream *stream) {
  HD_TRY(check(event, stream));
  if (event->device.kind != stream->device.kind || event->device.index != stream->device.index)
    return hdb_fail(&stream->ctx->err, HD_ERR_DEVICE, "event", "it was made for device '%s', the stream for '%s'",
                    hdapi_device_name(event->device), hdapi_device_name(stream->device));
  return stream->rt->ops->record(stream->rt, event->rt, &stream->ctx->err);
}

HdStatus hd_event_record(HdEvent *event, HdStream *stream) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_event_record", record(event, stream));
}

static HdStatus stream_wait_event(HdStream *stream, HdEvent *event) {
  HdError *err = &stream->ctx->err;
  HD_TRY(check(event, stream));
  bool one_kind = (event->device.kind == HD_DEVICE_CUDA) == (stream->device.kind == HD_DEVICE_CUDA);
  return one_kind ? stream->rt->ops->await(stream->rt, event->rt, err) : event->rt->ops->wait(event->rt, err);
}

HdStatus hd_stream_wait_event(HdStream *stream, HdEvent *event) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_stream_wait_event", stream_wait_event(stream, event));
}

HdStatus hd_event_wait(HdEvent *event) {
  if (!event) return HD_ERR_ARG;
  hdapi_begin(event->ctx);
  return hdapi_end(event->ctx, "hd_event_wait", event->rt->ops->wait(event->rt, &event->ctx->err));
}

static HdStatus elapsed(HdEvent *from, HdEvent *to, double *ms) {
  HdError *err = &from->ctx->err;
  if (!to || !ms) return hdb_fail(err, HD_ERR_ARG, to ? "ms" : "to", "it is NULL");
  if (to->rt->device != from->rt->device)
    return hdb_fail(err, HD_ERR_DEVICE, "to", "it was made for device '%s', the other for '%s'",
                    hdapi_device_name(to->device), hdapi_device_name(from->device));
  return from->rt->ops->elapsed(from->rt, to->rt, ms, err);
}

HdStatus hd_event_elapsed(HdEvent *from, HdEvent *to, double *ms) {
  if (!from) return HD_ERR_ARG;
  hdapi_begin(from->ctx);
  return hdapi_end(from->ctx, "hd_event_elapsed", elapsed(from, to, ms));
}
