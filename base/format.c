/* base/format.c -- the formats of a kernel's printf. */
#include "base/format.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const char *digits(const char *s) {
  int n = 0;
  while (*s >= '0' && *s <= '9' && n < 4) s++, n++;
  return n < 4 ? s : "";
}

static HdbConversionKind kind_of(char letter) {
  if (letter == 0) return HDB_CONV_BAD;
  if (strchr("di", letter)) return HDB_CONV_INT;
  if (strchr("uxXoc", letter)) return HDB_CONV_UINT;
  return strchr("fFeEgGaA", letter) ? HDB_CONV_FLOAT : HDB_CONV_BAD;
}

HdbConversion hdb_conversion(const char *format) {
  const char *s = format;
  while ((s = strchr(s, '%')) && s[1] == '%') s += 2;
  if (!s) return (HdbConversion){HDB_CONV_END, format + strlen(format), 0};
  const char *end = s + 1;
  for (int n = 0; n < 8 && *end && strchr("-+ #0", *end); n++) end++;
  end = digits(end);
  if (*end == '.') end = digits(end + 1);
  HdbConversionKind kind = kind_of(*end);
  return (HdbConversion){kind, s, (size_t)(end - s) + (*end > ' ')};
}

uint32_t hdb_conversions(const char *format) {
  uint32_t n = 0;
  HdbConversion c = hdb_conversion(format);
  for (; c.kind != HDB_CONV_END && c.kind != HDB_CONV_BAD; c = hdb_conversion(c.at + c.len)) n++;
  return n;
}

/* --- text --- */

/* What stands between conversions, where %% is a percent sign. */
static void put_text(const char *s, const char *end, void (*put)(void *user, const char *s, size_t n), void *user) {
  while (s < end) {
    const char *percent = memchr(s, '%', (size_t)(end - s));
    const char *stop = percent ? percent + 1 : end;
    put(user, s, (size_t)(stop - s));
    s = percent ? percent + 2 : end;
  }
}

static double as_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x != x ? __builtin_nan("") : x;
}

/* Of at most 999 digits before the point and 999 behind it, as hdb_conversion lets through. */
enum { MOST_CHARS = 2048, MOST_FORMAT = 24 };

static int print_one(char out[MOST_CHARS], const HdbConversion *c, uint64_t bits) {
  char letter = c->at[c->len - 1], format[MOST_FORMAT];
  bool byte = letter == 'c';
  memcpy(format, c->at, c->len - 1);
  snprintf(format + c->len - 1, 4, "%s%c", c->kind == HDB_CONV_FLOAT || byte ? "" : "ll", letter);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  if (c->kind == HDB_CONV_FLOAT) return snprintf(out, MOST_CHARS, format, as_double(bits));
  if (byte) return snprintf(out, MOST_CHARS, format, (int)(unsigned char)bits);
  return c->kind == HDB_CONV_INT ? snprintf(out, MOST_CHARS, format, (long long)bits)
                                 : snprintf(out, MOST_CHARS, format, (unsigned long long)bits);
#pragma GCC diagnostic pop
}

void hdb_format(const char *format, const uint64_t values[], void (*put)(void *user, const char *s, size_t n),
                void *user) {
  char out[MOST_CHARS];
  locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0),
           before = c_locale ? uselocale(c_locale) : (locale_t)0;
  for (;;) {
    HdbConversion c = hdb_conversion(format);
    put_text(format, c.at, put, user);
    if (c.kind == HDB_CONV_END || c.kind == HDB_CONV_BAD) break;
    int n = print_one(out, &c, *values++);
    if (n > 0) put(user, out, n < MOST_CHARS ? (size_t)n : MOST_CHARS - 1);
    format = c.at + c.len;
  }
  if (!c_locale) return;
  uselocale(before);
  freelocale(c_locale);
}
