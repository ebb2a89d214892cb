/* api/stream.c -- streams, and turning what failed on them into the error record. */
#include <stdio.h>

#include "api/api.h"
#include "runtime/graphs.h"

static HdStatus stream_new(HdContext *ctx, HdDevice device, HdStreamMode mode, HdStream **out) {
  RtDevice *d;
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  if (mode != HD_STREAM_SYNC && mode != HD_STREAM_ASYNC)
    return hdb_fail(&ctx->err, HD_ERR_ARG, "mode", "wanted HD_STREAM_SYNC or HD_STREAM_ASYNC, got %d", (int)mode);
  HD_TRY(hdapi_device(ctx, device, "device", &d));
  HdStream *s = ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *s);
  if (!s) return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "%zu bytes for a stream", sizeof *s);
  *s = (HdStream){ctx, device, NULL};
  HdStatus status = hdrt_stream_new(d, mode == HD_STREAM_ASYNC, &ctx->err, &s->rt);
  if (status == HD_OK)
    *out = s;
  else
    ctx->mem.resize(ctx->mem.user, s, sizeof *s, 0);
  return status;
}

HdStatus hd_stream_new(HdContext *ctx, HdDevice device, HdStreamMode mode, HdStream **out) {
  if (!ctx) return HD_ERR_ARG;
  hdapi_begin(ctx);
  return hdapi_end(ctx, "hd_stream_new", stream_new(ctx, device, mode, out));
}

void hd_stream_free(HdStream *stream) {
  if (!stream) return;
  HdContext *ctx = stream->ctx;
  RtFaultCopy fault;
  HdError unheard;
  hdrt_graph_free(stream->rt->keeping);
  if (stream->rt->async) hdrt_stream_wait(stream->rt, &fault, &unheard);
  hdapi_take_text(stream);
  hdrt_stream_free(stream->rt);
  ctx->mem.resize(ctx->mem.user, stream, sizeof *stream, 0);
}

HdDevice hd_stream_device(const HdStream *stream) { return stream ? stream->device : (HdDevice){0}; }

HdStatus hdapi_fault(HdContext *ctx, const RtFaultCopy *f) {
  char at[96] = "";
  for (int32_t k = 0, n = 0; k < f->ndim && n < (int)sizeof at; k++)
    n += snprintf(at + n, sizeof at - (size_t)n, "%s%lld", k ? ", " : "", (long long)f->tid[k]);
  if (f->status != HD_ERR_FAULT) return hdb_fail(&ctx->err, f->status, "", "kernel '%s': %s", f->kernel, f->text);
  snprintf(ctx->where_file, sizeof ctx->where_file, "%s", f->file);
  HdSpan where = {f->line && f->file[0] ? ctx->where_file : NULL, f->line, f->column};
  if (!f->has_index)
    return hdb_fail_at(&ctx->err, f->status, where, "kernel '%s', thread (%s): %s", f->kernel, at, f->text);
  return hdb_fail_at(&ctx->err, f->status, where, "kernel '%s', thread (%s): %s: index %lld, length %lld", f->kernel,
                     at, f->text, (long long)f->index, (long long)f->limit);
}

static void to_stdout(void *user, const char *text, size_t size) {
  (void)user;
  fwrite(text, 1, size, stdout);
  fflush(stdout);
}

void hdapi_take_text(HdStream *s) {
  const HdContext *ctx = s->ctx;
  if (!s->rt->printer.len && !s->rt->printer.lost) return;
  hdrt_printer_take(&s->rt->printer, ctx->print ? ctx->print : to_stdout, ctx->print_user);
}

HdStatus hdapi_keeping(const HdStream *stream) {
  HdStatus status = hdb_fail(&stream->ctx->err, HD_ERR_BUSY, "stream", "it is keeping work for a graph");
  stream->ctx->err.remedy = "end the graph with hd_graph_end first";
  return status;
}

HdStatus hd_stream_wait(HdStream *stream) {
  if (!stream) return HD_ERR_ARG;
  RtFaultCopy fault;
  hdapi_begin(stream->ctx);
  if (stream->rt->keeping) return hdapi_end(stream->ctx, "hd_stream_wait", hdapi_keeping(stream));
  HdStatus status = hdrt_stream_wait(stream->rt, &fault, &stream->ctx->err);
  hdapi_take_text(stream);
  if (fault.status != HD_OK) status = hdapi_fault(stream->ctx, &fault);
  return hdapi_end(stream->ctx, "hd_stream_wait", status);
}
