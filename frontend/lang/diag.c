/* frontend/lang/diag.c -- collects diagnostics, and renders them the way clang does.
 *
 * A diagnostic is reported once for each place: generic code is lowered many times and would repeat itself. After
 * FE_MAX_DIAGS the last one says that there are more.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontend/lang/fe.h"

typedef struct DiagRow {
  const char *id;
  FeSeverity severity;
  const char *message, *hint;
} DiagRow;

static const DiagRow rows[FE_NDIAGS] = {
#define ERROR FE_ERROR
#define WARNING FE_WARNING
#define NOTE FE_NOTE
#define FE_DIAG(id, severity, message, hint) {#id, severity, message, hint},
#include "frontend/lang/diagnostics.def"
#undef ERROR
#undef WARNING
#undef NOTE
};

struct FeReport {
  FeDiagId id;
  const FeUnit *unit;
  FeSpan span;
  const char *message, *hint;
  FeReport *notes, *next; /* notes in order; next of the compilation, or of the notes */
  uint32_t order;
};

static const char *format_args(Arena *a, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  char *s = hdb_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
  if (n > 0) vsnprintf(s, (size_t)n + 1, fmt, ap);
  return s;
}

static FeReport *report_new(FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id, const char *message) {
  FeReport *r = HDB_NEW(fe->arena, FeReport);
  r->id = id;
  r->unit = unit;
  r->span = span;
  r->hint = rows[id].hint;
  r->order = fe->nreports++;
  r->message = message;
  return r;
}

static bool seen_before(const FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id) {
  for (const FeReport *r = fe->reports; r; r = r->next)
    if (r->id == id && r->unit == unit && r->span.line == span.line && r->span.col == span.col) return true;
  return false;
}

static void append(FeCompiler *fe, FeReport *r) {
  if (fe->last_report)
    fe->last_report->next = r;
  else
    fe->reports = r;
  fe->last_report = r;
}

FeReport *hdfe_report_text(FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id, const char *message) {
  bool warning = rows[id].severity == FE_WARNING;
  if (fe->full || (warning && unit->library)) {
    if (!warning) fe->nerrors++;
    return NULL;
  }
  if (seen_before(fe, unit, span, id)) return NULL;
  if (!warning) fe->nerrors++;
  if (fe->nreports >= FE_MAX_DIAGS - 1) { /* one place is left, for saying so */
    fe->full = true;
    fe->nerrors++;
    append(fe, report_new(fe, unit, span, FE_D_too_many_errors, rows[FE_D_too_many_errors].message));
    return NULL;
  }
  FeReport *r = report_new(fe, unit, span, id, message);
  append(fe, r);
  return r;
}

FeReport *hdfe_report(FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id, ...) {
  va_list ap;
  va_start(ap, id);
  const char *message = format_args(fe->arena, rows[id].message, ap);
  va_end(ap);
  return hdfe_report_text(fe, unit, span, id, message);
}

const char *hdfe_format(FeCompiler *fe, FeDiagId id, va_list ap) {
  return format_args(fe->arena, rows[id].message, ap);
}

void hdfe_note(FeCompiler *fe, FeReport *to, const FeUnit *unit, FeSpan span, FeDiagId id, ...) {
  if (!to || fe->nreports >= FE_MAX_DIAGS - 1) return;
  va_list ap;
  va_start(ap, id);
  FeReport *r = report_new(fe, unit, span, id, format_args(fe->arena, rows[id].message, ap));
  va_end(ap);
  FeReport **at = &to->notes;
  while (*at) at = &(*at)->next;
  *at = r;
}

void hdfe_hint(FeCompiler *fe, FeReport *to, const char *fmt, ...) {
  if (!to) return;
  va_list ap;
  va_start(ap, fmt);
  to->hint = format_args(fe->arena, fmt, ap);
  va_end(ap);
}

/* --- did you mean --- */

void hdfe_nearest_begin(FeNearest *n, const char *want) {
  size_t len = strlen(want);
  *n = (FeNearest){.want = want, .distance = len <= 2 ? 2 : len <= 5 ? 3 : 4}; /* must be below this */
}

void hdfe_nearest_offer(FeNearest *n, const char *name) {
  if (!name || name == n->best) return;
  int d = hdb_edit_distance(n->want, name, n->distance);
  if (d > 0 && d < n->distance && d < (int)strlen(name)) {
    n->distance = d;
    n->best = name;
  }
}

void hdfe_nearest_hint(FeCompiler *fe, FeReport *to, const FeNearest *n) {
  if (n->best) hdfe_hint(fe, to, "did you mean '%s'?", n->best);
}

/* --- results --- */

static int by_place(const void *a, const void *b) {
  const FeReport *x = *(FeReport *const *)a, *y = *(FeReport *const *)b;
  if (x->id == FE_D_too_many_errors || y->id == FE_D_too_many_errors)
    return (x->id == FE_D_too_many_errors) - (y->id == FE_D_too_many_errors);
  if (x->unit->index != y->unit->index) return x->unit->index < y->unit->index ? -1 : 1;
  if (x->span.line != y->span.line) return x->span.line < y->span.line ? -1 : 1;
  if (x->span.col != y->span.col) return x->span.col < y->span.col ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* The text of a line, without its end; control characters become spaces so that the caret stands right. */
static const char *line_text(FeCompiler *fe, const FeUnit *u, uint32_t line) {
  uint32_t at = 0, n = 1;
  while (n < line && at < u->len)
    if (u->text[at++] == '\n') n++;
  uint32_t end = at;
  while (end < u->len && u->text[end] != '\n' && u->text[end] != '\r' && end - at < 400) end++;
  char *s = hdb_strndup(fe->arena, u->text + at, end - at);
  for (char *p = s; p < s + (end - at); p++)
    if ((unsigned char)*p < ' ') *p = ' ';
  return s;
}

static FeDiag diag_of(FeCompiler *fe, const FeReport *r) {
  FeDiag d = {.severity = rows[r->id].severity, .id = rows[r->id].id, .message = r->message, .hint = r->hint};
  d.where = (HdSpan){r->unit->path, (int32_t)r->span.line, (int32_t)r->span.col};
  d.length = r->span.len ? (int32_t)r->span.len : 1;
  d.line = line_text(fe, r->unit, r->span.line);
  return d;
}

/* What may be so only because of an error elsewhere. */
static bool is_leftover(FeDiagId id) { return id == FE_D_unused_variable || id == FE_D_unused_result; }

void hdfe_reports_finish(FeCompiler *fe, FeResult *out) {
  uint32_t n = 0;
  for (FeReport *r = fe->reports; r; r = r->next) n++;
  FeReport **sorted = HDB_NEW_N(fe->arena, FeReport *, n + 1);
  n = 0;
  for (FeReport *r = fe->reports; r; r = r->next) sorted[n++] = r;
  qsort(sorted, n, sizeof *sorted, by_place);
  FeDiag *diags = HDB_NEW_N(fe->arena, FeDiag, fe->nreports + 1);
  out->ndiags = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (fe->nerrors && is_leftover(sorted[i]->id)) continue;
    diags[out->ndiags++] = diag_of(fe, sorted[i]);
    for (FeReport *note = sorted[i]->notes; note; note = note->next) diags[out->ndiags++] = diag_of(fe, note);
  }
  out->diags = diags;
}

/* --- rendering --- */

static void color(Buf *b, bool on, const char *code) {
  if (on) hdb_putf(b, "\033[%sm", code);
}

static void render_source(Buf *b, const FeDiag *d, bool colored) {
  int32_t width = (int32_t)strlen(d->line);
  if (d->where.column > width + 1) return; /* beyond what line_text keeps */
  hdb_putf(b, "  %s\n", d->line);
  hdb_indent(b, 2 + d->where.column - 1);
  color(b, colored, "1;32");
  hdb_putc(b, '^');
  for (int32_t i = 1; i < d->length && d->where.column + i <= width; i++) hdb_putc(b, '~');
  color(b, colored, "0");
  hdb_putc(b, '\n');
}

void hdfe_render(Buf *b, const FeResult *r, bool colored) {
  static const char *const words[] = {"error", "warning", "note"}, *const colors[] = {"1;31", "1;35", "1;36"};
  for (uint32_t i = 0; i < r->ndiags; i++) {
    const FeDiag *d = &r->diags[i];
    color(b, colored, "1");
    hdb_putf(b, "%s:%d:%d: ", d->where.file, d->where.line, d->where.column);
    color(b, colored, colors[d->severity]);
    hdb_putf(b, "%s: ", words[d->severity]);
    color(b, colored, "0");
    color(b, colored, "1");
    hdb_put(b, d->message);
    color(b, colored, "0");
    if (d->severity != FE_NOTE) hdb_putf(b, " [%s]", d->id);
    hdb_putc(b, '\n');
    render_source(b, d, colored);
    if (d->hint) hdb_putf(b, "  hint: %s\n", d->hint);
  }
}
