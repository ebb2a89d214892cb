/* api/graph.c -- graphs: work that a stream kept. */
#include "runtime/graphs.h"

#include "api/modules.h"

struct HdGraph {
  HdContext *ctx;
  HdDevice device;
  RtGraph *rt;
};

HdStatus hd_graph_begin(HdStream *stream) {
  if (!stream) return HD_ERR_ARG;
  RtStream *s = stream->rt;
  hdapi_begin(stream->ctx);
  HdStatus status = s->keeping ? hdapi_keeping(stream) : hdrt_graph_new(s->device, &stream->ctx->err, &s->keeping);
  return hdapi_end(stream->ctx, "hd_graph_begin", status);
}

static HdStatus graph_end(HdStream *stream, HdGraph **out) {
  HdContext *ctx = stream->ctx;
  RtGraph *rt = stream->rt->keeping;
  if (!rt) return hdb_fail(&ctx->err, HD_ERR_ARG, "stream", "it keeps no work; hd_graph_begin was not called");
  if (!out) return hdb_fail(&ctx->err, HD_ERR_ARG, "out", "it is NULL");
  stream->rt->keeping = NULL;
  HdGraph *g = rt->failed == HD_OK ? ctx->mem.resize(ctx->mem.user, NULL, 0, sizeof *g) : NULL;
  if (!g) {
    hdrt_graph_free(rt);
    return hdb_fail(&ctx->err, HD_ERR_NOMEM, "", "the graph could not be kept");
  }
  *g = (HdGraph){ctx, stream->device, rt};
  *out = g;
  return HD_OK;
}

HdStatus hd_graph_end(HdStream *stream, HdGraph **out) {
  if (!stream) return HD_ERR_ARG;
  hdapi_begin(stream->ctx);
  return hdapi_end(stream->ctx, "hd_graph_end", graph_end(stream, out));
}

void hd_graph_free(HdGraph *graph) {
  if (!graph) return;
  HdContext *ctx = graph->ctx;
  hdrt_graph_free(graph->rt);
  ctx->mem.resize(ctx->mem.user, graph, sizeof *graph, 0);
}

static HdStatus graph_launch(HdGraph *graph, HdStream *stream) {
  HdContext *ctx = graph->ctx;
  RtFaultCopy fault;
  if (!stream) return hdb_fail(&ctx->err, HD_ERR_ARG, "stream", "it is NULL");
  if (stream->rt->device != graph->rt->device)
    return hdb_fail(&ctx->err, HD_ERR_DEVICE, "stream", "the graph was made for device '%s', the stream for '%s'",
                    hdapi_device_name(graph->device),
                    stream->ctx == ctx ? hdapi_device_name(stream->device) : "another context");
  HD_TRY(hdrt_stream_graph(stream->rt, graph->rt, &ctx->err));
  if (!stream->rt->async) hdapi_take_text(stream);
  if (!stream->rt->faulted) return HD_OK;
  HdStatus status = hdrt_stream_wait(stream->rt, &fault, &ctx->err);
  return fault.status != HD_OK ? hdapi_fault(ctx, &fault) : status;
}

HdStatus hd_graph_launch(HdGraph *graph, HdStream *stream) {
  if (!graph) return HD_ERR_ARG;
  hdapi_begin(graph->ctx);
  return hdapi_end(graph->ctx, "hd_graph_launch", graph_launch(graph, stream));
}

int32_t hd_graph_count(const HdGraph *graph) { return graph ? graph->rt->count : 0; }

static HdStatus set_args(HdGraph *graph, int32_t i, int32_t nargs, const HdArg args[]) {
  _Alignas(64) char block[RT_MAX_ARGS];
  HdError *err = &graph->ctx->err;
  const RtCode *code;
  int variant;
  if (i < 0 || i >= graph->rt->count)
    return hdb_fail(err, HD_ERR_ARG, "i", "wanted 0 to %d, got %d", graph->rt->count - 1, i);
  if (graph->rt->nodes[i].kind != RT_NODE_LAUNCH)
    return hdb_fail(err, HD_ERR_ARG, "i", "piece %d of the graph is no launch", i);
  HdKernel *k = graph->rt->nodes[i].launch.code->owner;
  HD_TRY(hdapi_put_args(k, nargs, args, block, &variant));
  HD_TRY(hdapi_kernel_code(k, variant, &code));
  hdrt_graph_set_launch(graph->rt, i, code, block);
  return HD_OK;
}

HdStatus hd_graph_set_args(HdGraph *graph, int32_t i, int32_t nargs, const HdArg args[]) {
  if (!graph) return HD_ERR_ARG;
  hdapi_begin(graph->ctx);
  return hdapi_end(graph->ctx, "hd_graph_set_args", set_args(graph, i, nargs, args));
}
