/* heddle/status.h -- what a call returns, and the record of what went wrong.
 *
 * Every public call that can fail returns an HdStatus. The record behind it lies in the context and is read with
 * hd_context_error (context.h). Nothing in Heddle aborts, exits or prints, but for a kernel's printf. NULL for an object, or for
 * what a call cannot do without, is HD_ERR_ARG from those calls; an object that is NULL has no context, so there is no record.
 */
#ifndef HEDDLE_STATUS_H
#define HEDDLE_STATUS_H

#include "heddle/abi.h"
HD_BEGIN_DECLS

typedef enum HdStatus {
  HD_OK = 0,
#define HD_ERROR(name, number, text, remedy) HD_ERR_##name = number,
#include "heddle/errors.def"
} HdStatus;

/* A place in kernel source; `file` is NULL and `line` 0 where there is none. Lines and columns count from 1. */
typedef struct HdSpan {
  const char *file;
  int32_t     line;
  int32_t     column;
} HdSpan;

typedef struct HdError {
  HdStatus    status;      /* a row of errors.def; its number never changes               */
  const char *call;        /* the public function that failed: "hd_launch"                */
  char        arg[64];     /* what was wrong: "args[2] 'x'"; empty if no argument was     */
  char        detail[512]; /* what was wanted and what was found, in numbers              */
  const char *remedy;      /* what to do next: the row's, or a better one known here      */
  HdSpan      where;       /* file, line and column of kernel source; zero if none        */
} HdError;

/* The row's name ("SHAPE") and its sentence; "UNKNOWN" and "" for a number that is no row. */
HD_API const char *hd_status_name(HdStatus status);
HD_API const char *hd_status_text(HdStatus status);

/* In a function that returns an HdStatus: pass a failure up. */
#define HD_TRY(call)                                                                                           \
  do {                                                                                                         \
    HdStatus try_status_ = (call);                                                                             \
    if (try_status_ != HD_OK) return try_status_;                                                              \
  } while (0)

HD_END_DECLS
#endif
