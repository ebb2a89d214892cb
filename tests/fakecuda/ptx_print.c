/* tests/fakecuda/ptx_print.c -- the two functions that a device has without a definition: vprintf and __assertfail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_core.h"

typedef uint32_t u32;
typedef uint64_t u64;

static u64 argument(const Warp *w, const PtxActual *a, int l, u32 bytes) {
  u64 x = 0;
  if (a->kind == 1)
    memcpy(&x, w->stack + (size_t)l * w->run->stack + w->sp[l] + a->at, bytes);
  else if (a->bytes == 4)
    x = COL(u32, a->at)[l];
  else
    x = COL(u64, a->at)[l];
  return x;
}

/* A string of the device, at most `size` bytes of it. */
static bool string_at(Warp *w, const Ins *i, int l, u64 address, char *text, size_t size) {
  Ins one = *i;
  one.space = SP_GENERIC;
  for (size_t k = 0; k + 1 < size; k++) {
    const uint8_t *at = ptx_resolve(w, &one, l, address + k, 1, PTX_READS);
    if (!at) return false;
    text[k] = (char)*at;
    if (!*at) return true;
  }
  text[size - 1] = '\0';
  return true;
}

static void print(const Run *run, const char *text, size_t n) {
  if (run->launch->print)
    run->launch->print(run->launch->user, text, n);
  else
    fwrite(text, 1, n, stdout);
}

typedef struct Text {
  char *v;
  size_t n, room;
} Text;

static void add(Text *t, const char *s, size_t n) {
  if (t->n + n + 1 > t->room) {
    t->room = 2 * (t->n + n + 64);
    t->v = ptx_realloc(t->v, t->room);
  }
  memcpy(t->v + t->n, s, n);
  t->n += n;
}

/* Numbers are laid out like a C struct; those of less than 4 bytes were widened. */
static bool next_number(Warp *w, const Ins *i, int l, u64 *at, u32 bytes, u64 *x) {
  Ins one = *i;
  one.space = SP_GENERIC;
  *at = (*at + bytes - 1) / bytes * bytes;
  const uint8_t *from = ptx_resolve(w, &one, l, *at, bytes, PTX_READS);
  if (!from) return false;
  *x = 0;
  memcpy(x, from, bytes);
  *at += bytes;
  return true;
}

/* One conversion, f at its '%'. Sets *end behind it. */
static bool convert(Warp *w, const Ins *i, int l, const char *f, const char **end, u64 *at, Text *out) {
  char form[40], text[512];
  const char *q = f + 1;
  while (*q && strchr("-+ #0123456789.", *q)) q++;
  size_t flags = (size_t)(q - f);
  bool wide = false;
  while (*q && strchr("lhjzt", *q)) wide |= *q != 'h', q++;
  char c = *q;
  *end = c ? q + 1 : q;
  if (flags > 24 || !c) {
    add(out, f, (size_t)(*end - f));
    return true;
  }
  memcpy(form, f, flags);
  u64 x;
  int n = 0;
  switch (c) {
  case 'd':
  case 'i':
    if (!next_number(w, i, l, at, wide ? 8 : 4, &x)) return false;
    snprintf(form + flags, sizeof form - flags, "lld");
    n = snprintf(text, sizeof text, form, wide ? (long long)x : (long long)(int32_t)x);
    break;
  case 'u':
  case 'x':
  case 'X':
  case 'o':
    if (!next_number(w, i, l, at, wide ? 8 : 4, &x)) return false;
    snprintf(form + flags, sizeof form - flags, "ll%c", c);
    n = snprintf(text, sizeof text, form, (unsigned long long)x);
    break;
  case 'c':
    if (!next_number(w, i, l, at, 4, &x)) return false;
    snprintf(form + flags, sizeof form - flags, "c");
    n = snprintf(text, sizeof text, form, (int)x);
    break;
  case 'p':
    if (!next_number(w, i, l, at, 8, &x)) return false;
    snprintf(form + flags, sizeof form - flags, "p");
    n = snprintf(text, sizeof text, form, (void *)(uintptr_t)x);
    break;
  case 's': {
    char s[400];
    if (!next_number(w, i, l, at, 8, &x) || !string_at(w, i, l, x, s, sizeof s)) return false;
    snprintf(form + flags, sizeof form - flags, "s");
    n = snprintf(text, sizeof text, form, s);
    break;
  }
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
  case 'a':
  case 'A': {
    double v;
    if (!next_number(w, i, l, at, 8, &x)) return false;
    memcpy(&v, &x, 8);
    snprintf(form + flags, sizeof form - flags, "%c", c);
    n = snprintf(text, sizeof text, form, v);
    break;
  }
  default: add(out, f, (size_t)(*end - f)); return true;
  }
  if (n > 0) add(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
  return true;
}

/* *n: how many arguments it took, which is what vprintf returns. */
static bool print_lane(Warp *w, const Ins *i, int l, const PtxCall *c, u32 *n) {
  char format[2048];
  Text out = {0};
  u64 values = argument(w, &c->in[1], l, 8);
  bool ok = string_at(w, i, l, argument(w, &c->in[0], l, 8), format, sizeof format);
  *n = 0;
  for (const char *f = format; ok && *f;) {
    size_t plain = strcspn(f, "%");
    add(&out, f, plain);
    f += plain;
    if (f[0] == '%' && f[1] == '%')
      add(&out, "%", 1), f += 2;
    else if (*f)
      ok = convert(w, i, l, f, &f, &values, &out), ++*n;
  }
  if (ok && out.n) print(w->run, out.v, out.n);
  free(out.v);
  return ok;
}

static bool assert_lane(Warp *w, const Ins *i, int l, const PtxCall *c) {
  char message[200], file[200], function[200], text[700];
  if (!string_at(w, i, l, argument(w, &c->in[0], l, 8), message, sizeof message) ||
      !string_at(w, i, l, argument(w, &c->in[1], l, 8), file, sizeof file) ||
      !string_at(w, i, l, argument(w, &c->in[3], l, 8), function, sizeof function))
    return false;
  u32 t = w->index * LANES + (u32)l;
  const u32 *b = w->run->launch->block;
  int n = snprintf(text, sizeof text, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
                   (u32)argument(w, &c->in[2], l, 4), function, w->cta->at[0], w->cta->at[1], w->cta->at[2], t % b[0],
                   t / b[0] % b[1], t / b[0] / b[1], message);
  print(w->run, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
  return ptx_fault(w, i, l, PTX_ASSERT, "assertion `%s` of %s:%u failed", message, file,
                   (u32)argument(w, &c->in[2], l, 4));
}

bool ptx_call_builtin(Warp *w, Ins *i, u32 m, PtxBuiltin which, const PtxCall *c) {
  u32 want = which == FN_VPRINTF ? 2 : 5;
  for (u32 rest = m; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (c->nin != want) return ptx_fault(w, i, l, PTX_BAD_PC, "a built-in function takes %u arguments", want);
    if (which == FN_ASSERT) return assert_lane(w, i, l, c);
    u32 n;
    if (!print_lane(w, i, l, c, &n)) return false;
    if (c->nout == 1 && c->out[0].kind == 1)
      memcpy(w->stack + (size_t)l * w->run->stack + w->sp[l] + c->out[0].at, &n,
             c->out[0].size < 4 ? c->out[0].size : 4);
    else if (c->nout == 1 && c->out[0].bytes == 4)
      COL(u32, c->out[0].at)[l] = n;
  }
  return true;
}
