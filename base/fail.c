/* base/fail.c -- filling in the error record. */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_record(HdError *err, HdStatus status, const char *arg, HdSpan where, const char *fmt, va_list ap) {
  if (!err) return;
  HdError r;
  memset(&r, 0, sizeof r);
  r.status = status;
  r.where = where;
  r.remedy = hdb_status_remedy(status);
  if (arg) snprintf(r.arg, sizeof r.arg, "%s", arg);
  vsnprintf(r.detail, sizeof r.detail, fmt, ap); /* before *err changes: it may be an argument */
  *err = r;
}

HdStatus hdb_fail(HdError *err, HdStatus status, const char *arg, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  put_record(err, status, arg, (HdSpan){NULL, 0, 0}, fmt, ap);
  va_end(ap);
  return status;
}

HdStatus hdb_fail_at(HdError *err, HdStatus status, HdSpan where, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  put_record(err, status, NULL, where, fmt, ap);
  va_end(ap);
  return status;
}

void hdb_error_clear(HdError *err) { memset(err, 0, sizeof *err); }
