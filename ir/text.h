/* ir/text.h -- what the printer and the parser must agree on: names, quoted texts, numbers. */
#ifndef IR_TEXT_H
#define IR_TEXT_H

#include "ir/ir_type.h"
HD_BEGIN_DECLS

/* A character of a name that needs no quotes: letters, digits, '_', '.', '$'. */
bool hdir_name_char(char c);
bool hdir_name_is_plain(const char *name);

/* The sigil, if not 0, and the name, in quotes where it would not be read back as one. */
void hdir_put_name(Buf *b, char sigil, const char *name);
void hdir_put_text(Buf *b, const char *text); /* in quotes, with escapes */

enum { HDIR_LONGEST_NUMBER = 800 }; /* digits; an exact f64 needs 767 */

/* digits[0..n) x 10^exponent, rounded to the float type (f16 and bf16 by way of f32). Whatever the locale. False if there
 * are too many digits or it overflows to infinity. */
bool hdir_parse_float(const IrType *t, bool negative, const char *digits, int n, int exponent, uint64_t *bits);

HD_END_DECLS
#endif
