/* base/format.h -- the formats of a kernel's printf: what they ask for, and the text that they make.
 *
 * As in C: text with conversions, %[-+ #0][width][.precision] and one of d i, u x X o c, f F e E g G a A; %% is a percent
 * sign. Widths and precisions are numbers up to 999; the types of the arguments are known, so h, l and ll are not taken.
 */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include "heddle/abi.h"
HD_BEGIN_DECLS

typedef enum HdbConversionKind {
  HDB_CONV_END,   /* there is none any more                                          */
  HDB_CONV_INT,   /* d i: an int64_t                                                 */
  HDB_CONV_UINT,  /* u x X o c: a uint64_t                                           */
  HDB_CONV_FLOAT, /* f F e E g G a A: a double                                       */
  HDB_CONV_BAD,   /* a % that begins no conversion                                   */
} HdbConversionKind;

typedef struct HdbConversion {
  HdbConversionKind kind;
  const char       *at;  /* the %, or the format's end */
  size_t            len; /* with the letter            */
} HdbConversion;

/* The first conversion at or behind `format` that takes an argument. */
HdbConversion hdb_conversion(const char *format);
/* How many there are, if none is bad. */
uint32_t hdb_conversions(const char *format);

/* Give the text in pieces to `put`. The bits of argument k are values[k]. Digits depend on neither locale nor platform; a NaN
 * has no sign. */
void hdb_format(const char *format, const uint64_t values[], void (*put)(void *user, const char *s, size_t n), void *user);

HD_END_DECLS
#endif
