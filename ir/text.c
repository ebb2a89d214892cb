/* ir/text.c -- names, quoted texts and numbers, as the printer writes and the parser reads them. */
#include "ir/text.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/ir.h"

bool hdir_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

bool hdir_name_is_plain(const char *name) {
  if (!*name) return false;
  while (hdir_name_char(*name)) name++;
  return !*name;
}

void hdir_put_text(Buf *b, const char *text) {
  hdb_putc(b, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      hdb_putf(b, "\\%c", c);
    else if (c == '\n')
      hdb_put(b, "\\n");
    else if (c == '\t')
      hdb_put(b, "\\t");
    else if (c < 32 || c == 127)
      hdb_putf(b, "\\x%02x", c);
    else
      hdb_putc(b, (char)c);
  }
  hdb_putc(b, '"');
}

void hdir_put_name(Buf *b, char sigil, const char *name) {
  if (sigil) hdb_putc(b, sigil);
  /* A bare digit would begin a number, and after '@' a location; only a value's name may begin with one. */
  bool number = *name >= '0' && *name <= '9' && sigil != '%';
  if (hdir_name_is_plain(name) && !number)
    hdb_put(b, name);
  else
    hdir_put_text(b, name);
}

bool hdir_parse_float(const IrType *t, bool negative, const char *digits, int n, int exponent, uint64_t *bits) {
  char text[HDIR_LONGEST_NUMBER + 32];
  if (n > HDIR_LONGEST_NUMBER) return false;
  snprintf(text, sizeof text, "%s%.*se%d", negative ? "-" : "", n, digits, exponent); /* no point: no locale */
  double x = t->kind == IR_F64 ? strtod(text, NULL) : (double)strtof(text, NULL);
  *bits = hdir_bits_of(t, x);
  double back = hdir_f64_of(t, *bits);
  return back - back == 0;
}
