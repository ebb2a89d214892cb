/* api/api.h -- what the public functions share: the objects behind the handles, and how a call begins and ends.
 *
 * Each public function that can fail runs
 *     hdapi_begin(ctx);  ... HdStatus status = ...;  return hdapi_end(ctx, "hd_noun_verb", status);
 * and what lies between writes the record with hdb_fail(&ctx->err, ..).
 */
#ifndef HDAPI_API_H
#define HDAPI_API_H

#include "backends/cpu/cpu.h"
#include "base/fail.h"
#include "heddle/heddle.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/disk_cache.h"
#include "runtime/streams.h"
HD_BEGIN_DECLS

enum { API_NHOST = 2, API_NCUDA = CUDA_DEVICES }; /* devices on the host, whose index is kind - 1; the most GPUs */

/* The GPUs, once someone has asked for them. */
typedef struct ApiCuda {
  bool       tried;
  HdError    why; /* there are none */
  CuDriver   driver;
  int64_t    keep;  /* HdContextOptions.gpu_keep  */
  int64_t    print; /* HdContextOptions.gpu_print */
  char       ptxas[256], ptxas_id[320]; /* its file, and what identifies it; "": the driver assembles */
  int32_t    count;
  CudaDevice device[API_NCUDA];
} ApiCuda;

struct HdContext {
  HdAllocator mem;
  HdError     err;
  char        where_file[256]; /* what err.where.file points to, once its owner is gone */
  char       *diagnostics;     /* NULL or zero-terminated                               */
  size_t      diagnostics_size;
  RtThreads  *threads;
  RtDevice    device[API_NHOST];
  ApiCuda     cuda;
  RtCache     cache;
  void      (*log)(void *user, HdLogLevel level, const char *message);
  void       *log_user;
  void      (*print)(void *user, const char *text, size_t size); /* NULL: standard output */
  void       *print_user;
  Arena       arena; /* texts that live as long as the context */
  CpuTarget   host;  /* triple NULL until it was asked for      */
  const char *cpu_text;
  const char *llvm_id;
};

struct HdStream {
  HdContext *ctx;
  HdDevice   device;
  RtStream  *rt;
};

/* --- calls --- */
static inline void hdapi_begin(HdContext *ctx) { ctx->err.status = HD_OK; }
/* Stamp the record with the call; a status without a record gets its row's words. */
HdStatus hdapi_end(HdContext *ctx, const char *call, HdStatus status);
/* The record's file name is about to be freed: keep it. */
void     hdapi_keep_where(HdContext *ctx);
/* Run fn(job) with the arenas' memory guarded: when it runs out, HD_ERR_NOMEM. `b` may be NULL. */
HdStatus hdapi_guard(HdContext *ctx, Arena *a, Arena *b, HdStatus (*fn)(void *job), void *job);
void     hdapi_log(HdContext *ctx, HdLogLevel level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* --- parts of a context --- */
HdStatus    hdapi_device(HdContext *ctx, HdDevice device, const char *arg, RtDevice **out); /* checks */
const char *hdapi_device_name(HdDevice device);
int32_t     hdapi_gpu_level(const HdContext *ctx, HdDevice device); /* 90 for sm_90 */
HdStatus    hdapi_host(HdContext *ctx, const CpuTarget **out); /* what this machine is */
/* What library a compile would load, without loading it: a part of every cache key. */
HdStatus    hdapi_llvm_id(HdContext *ctx, const char **out);
/* Fill in the record from a stream's fault. */
HdStatus    hdapi_fault(HdContext *ctx, const RtFaultCopy *f);
/* Give what the stream's kernels printed to the context's function; the stream has no work. */
void        hdapi_take_text(HdStream *s);
/* HD_ERR_BUSY: the stream is keeping work for a graph. */
HdStatus    hdapi_keeping(const HdStream *stream);

/* --- arrays --- */
bool        hdapi_type_valid(HdType t);
/* Checks, and what the runtime knows it as. */
HdStatus    hdapi_array_view(HdContext *ctx, const HdArray *a, const char *arg, RtView *out);
/* "f32[1024, 3]" */
const char *hdapi_shape_text(HdType type, int32_t ndim, const int64_t length[], char *out, size_t size);

HD_END_DECLS
#endif
