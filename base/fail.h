/* base/fail.h -- filling in the error record.
 *
 * The record is an HdError that somebody above owns (the context's). A function that fails writes it with
 * hdb_fail where the cause is known, and returns the status; callers pass it up with HD_TRY. `api/` stamps
 * `call` into it.
 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include "heddle/status.h"
HD_BEGIN_DECLS

HdStatus hdb_fail(HdError *err, HdStatus status, const char *arg, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
HdStatus hdb_fail_at(HdError *err, HdStatus status, HdSpan where, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void     hdb_error_clear(HdError *err);

/* The row's remedy; NULL for HD_OK and for a number that is no row. */
const char *hdb_status_remedy(HdStatus status);

HD_END_DECLS
#endif
