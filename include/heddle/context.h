/* heddle/context.h -- the object that everything starts from. */
#ifndef HEDDLE_CONTEXT_H
#define HEDDLE_CONTEXT_H

#include "heddle/status.h"
#include "heddle/types.h"
HD_BEGIN_DECLS

typedef struct HdContext HdContext;

typedef enum HdLogLevel { HD_LOG_ERROR = 1, HD_LOG_WARNING, HD_LOG_INFO } HdLogLevel;

typedef struct HdContextOptions {
  const HdAllocator *allocator; /* NULL: malloc and its kin                                                  */
  int32_t     threads;          /* that run a CPU launch, the caller's included; 0: one for each core        */
  const char *cache_dir;        /* NULL: $HEDDLE_CACHE, else $XDG_CACHE_HOME/heddle, else ~/.cache/heddle    */
  bool        no_cache;         /* neither read nor write compiled code                                      */
  void      (*log)(void *user, HdLogLevel level, const char *message); /* NULL: silent                       */
  void       *log_user;
  int64_t     gpu_keep;             /* bytes of each GPU's memory that are kept for reuse when arrays are freed; 0: a
                                       quarter of it; -1: none                                               */
  const char *ptxas;                /* the CUDA toolkit's assembler, a path or a name in PATH, that makes a GPU's machine code of
                                       kernels instead of the driver; NULL: $HEDDLE_PTXAS, else the driver; "": the driver */
  void      (*print)(void *user, const char *text, size_t size); /* takes what kernels printf; NULL: standard output */
  void       *print_user;
  int64_t     gpu_print;            /* bytes of a GPU's memory in which each stream keeps what kernels printf until it is waited for; 0:
                                       1 MiB; at least 4 KiB, at most 1 GiB                                  */
} HdContextOptions;
#define HD_CONTEXT_OPTIONS_INIT { NULL, 0, NULL, false, NULL, NULL, 0, NULL, NULL, NULL, 0 }

/* Make a context. `options` may be NULL and is copied.
 *
 * Ownership  the caller owns *out, until hd_context_free, which must come after the end of all made from it.
 * Threads    a context and what is made from it are used by one thread at a time.
 * Errors     HD_ERR_NOMEM; HD_ERR_OPTION for a negative thread count, a `gpu_keep` below -1, or a `gpu_print` out of its
 *            range; HD_ERR_SYSTEM if no thread can be had.
 *            There is no context to hold a record then: the status is all.
 */
HD_API HdStatus hd_context_new(const HdContextOptions *options, HdContext **out);
HD_API void     hd_context_free(HdContext *ctx); /* NULL is fine */

/* The record of the last call that failed on this context, lent until the next call on it. After no failure its status
 * is HD_OK. Never NULL. */
HD_API const HdError *hd_context_error(const HdContext *ctx);

/* The record as one line of text, "call: argument: detail; remedy", into `out`; returns `out`. */
HD_API const char *hd_error_format(const HdError *error, char *out, size_t size);

/* The diagnostics of the last module that did not compile, as clang prints them; "" if there are none. Lent until the
 * next call on the context. */
HD_API const char *hd_context_diagnostics(const HdContext *ctx);

/* For libraries on top of this one: write the record as a public call of theirs, and return `status`. `arg` may be "". */
HD_API HdStatus hd_context_fail(HdContext *ctx, HdStatus status, const char *call, const char *arg, const char *detail);
/* The allocator the context was made with, lent for its life. */
HD_API const HdAllocator *hd_context_allocator(const HdContext *ctx);

/* "0.1.0". */
HD_API const char *hd_version(void);

HD_END_DECLS
#endif
