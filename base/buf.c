/* base/buf.c -- text that grows. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

void hdb_buf_init(Buf *b, Arena *a) { *b = (Buf){.arena = a}; }

/* Room for n more characters and the terminator. */
static void reserve(Buf *b, size_t n) {
  if (b->cap - b->len > n) return;
  size_t cap = b->cap ? b->cap * 2 : 256;
  while (cap - b->len <= n) cap *= 2;
  char *data = hdb_alloc(b->arena, cap);
  if (b->len) memcpy(data, b->data, b->len);
  b->data = data;
  b->cap = cap;
}

void hdb_putn(Buf *b, const char *s, size_t n) {
  reserve(b, n);
  if (n) memcpy(b->data + b->len, s, n);
  b->len += n;
  b->data[b->len] = 0;
}

void hdb_put(Buf *b, const char *s) { hdb_putn(b, s, strlen(s)); }

void hdb_putc(Buf *b, char c) { hdb_putn(b, &c, 1); }

void hdb_putf(Buf *b, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  reserve(b, 64);
  int n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
  va_end(ap);
  if (n >= 0 && (size_t)n >= b->cap - b->len) {
    reserve(b, (size_t)n);
    vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
  }
  va_end(again);
  if (n > 0) b->len += (size_t)n;
  b->data[b->len] = 0;
}

void hdb_indent(Buf *b, int spaces) {
  for (; spaces >= 16; spaces -= 16) hdb_putn(b, "                ", 16);
  if (spaces > 0) hdb_putn(b, "                ", (size_t)spaces);
}
