/* ir/text.h -- what the printer and the parser must agree on. */
#ifndef IR_TEXT_H
#define IR_TEXT_H

#include "ir/ir.h"
HD_BEGIN_DECLS

/* A character of a name that needs no quotes: letters, digits, '_', '.', '$'. */
bool hdir_name_char(char c);

/* digits[0..n) x 10^exponent, rounded to the float type (f16 and bf16 by way of f32). Whatever the locale. False if it
 * overflows to infinity. */
bool hdir_parse_float(const IrType *t, bool negative, const char *digits, int n, int exponent, uint64_t *bits);

HD_END_DECLS
#endif
