/* base/buf.h -- text that grows: dumps, messages, generated code. Lives in an arena. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"
HD_BEGIN_DECLS

typedef struct Buf {
  Arena *arena;
  char  *data; /* zero-terminated once anything was put */
  size_t len, cap;
} Buf;

void hdb_buf_init(Buf *b, Arena *a);
void hdb_put(Buf *b, const char *s);
void hdb_putn(Buf *b, const char *s, size_t n);
void hdb_putc(Buf *b, char c);
void hdb_putf(Buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void hdb_indent(Buf *b, int spaces);

HD_END_DECLS
#endif
