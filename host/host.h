/* host/host.h -- what host code on top of the public API shares: opening modules that are embedded in the program, launching
 * with a list of arguments, memory, and a look at a device's arrays. Its user's room embeds its own kernels.
 */
#ifndef HOST_HOST_H
#define HOST_HOST_H

#include "heddle/heddle.h"
HD_BEGIN_DECLS

/* A module whose text is in the program. `name` stands for the file in messages; `options` may be NULL. */
HdStatus hdhost_open(HdContext *ctx, const char *name, const char *text, const HdModuleOptions *options, HdModule **out);
/* The same, without options and with all its kernels by number: names end with NULL, kernels has as many entries. */
HdStatus hdhost_load(HdContext *ctx, const char *name, const char *text, HdDevice device, const char *const names[],
                     HdModule **module, HdKernel *kernels[]);

/* hd_launch with dimensions and arguments written in the call. */
#define HDHOST_RUN1(kernel, stream, n, ...)                                                                            \
  hd_launch((kernel), (stream), 1, (const int64_t[]){(n)},                                                             \
            (int32_t)(sizeof((const HdArg[]){__VA_ARGS__}) / sizeof(HdArg)), (const HdArg[]){__VA_ARGS__})
#define HDHOST_RUN2(kernel, stream, rows, cols, ...)                                                                   \
  hd_launch((kernel), (stream), 2, (const int64_t[]){(rows), (cols)},                                                  \
            (int32_t)(sizeof((const HdArg[]){__VA_ARGS__}) / sizeof(HdArg)), (const HdArg[]){__VA_ARGS__})

static inline HdArg hdhost_vec(int32_t n, const float *x) { return hd_arg_value(hd_type_vec(HD_F32, n), x); }

/* Between view and unview the elements of `a` (dense) lie at *data for the host: where they are, or, if that is a GPU's
 * memory, in a copy. Both wait for the stream. A view that fails needs no unview. */
typedef struct HostView {
  HdStream *stream;
  HdArray   of, host;
  void     *data;
} HostView;
HdStatus hdhost_view(HdContext *ctx, HdStream *stream, HdArray a, HostView *out);
HdStatus hdhost_unview(HdContext *ctx, HostView *v, bool changed);

/* What a call that makes an object is given: HD_ERR_ARG if any of these is NULL. */
HdStatus hdhost_check_new(HdContext *ctx, const HdStream *stream, const char *call, const void *out);

void *hdhost_alloc(HdContext *ctx, size_t size); /* zeroed; NULL if there is none */
void  hdhost_release(HdContext *ctx, void *p, size_t size);

HD_END_DECLS
#endif
