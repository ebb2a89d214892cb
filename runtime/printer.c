/* runtime/printer.c -- what kernels print. */
#include "runtime/printer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"

void hdrt_printer_init(RtPrinter *p) {
  memset(p, 0, sizeof *p);
  pthread_mutex_init(&p->lock, NULL);
}

void hdrt_printer_end(RtPrinter *p) {
  pthread_mutex_destroy(&p->lock);
  free(p->words);
  free(p->text);
}

/* --- records --- */

enum { HEAD = 3 }; /* words before the values */

static bool room_for(RtPrinter *p, size_t more) {
  if (p->nwords + more <= p->cap_words) return true;
  size_t cap = p->cap_words ? 2 * p->cap_words : 1024;
  uint64_t *words = realloc(p->words, cap * sizeof *words);
  if (!words) return false;
  p->words = words;
  p->cap_words = cap;
  return true;
}

void hdrt_printer_add(RtPrinter *p, int64_t thread, const char *format, uint32_t n, const uint64_t values[]) {
  pthread_mutex_lock(&p->lock);
  if (room_for(p, HEAD + n)) {
    uint64_t *w = p->words + p->nwords;
    w[0] = (uint64_t)thread;
    w[1] = (uint64_t)(uintptr_t)format;
    w[2] = n;
    if (n) memcpy(w + HEAD, values, n * sizeof *values);
    p->nwords += HEAD + n;
    p->records++;
  } else {
    p->lost++;
  }
  pthread_mutex_unlock(&p->lock);
}

void hdrt_print(const RtSpan *span, int64_t x, const char *format, int32_t n, const uint64_t values[]) {
  int64_t thread = 0;
  if (!span->printer) return;
  for (int32_t k = 0; k < span->ndim - 1; k++) thread = thread * span->dim[k] + span->at[k];
  hdrt_printer_add(span->printer, thread * span->dim[span->ndim - 1] + x, format, (uint32_t)n, values);
}

/* --- text --- */

static void put(void *user, const char *s, size_t n) {
  RtPrinter *p = user;
  if (p->len + n > p->cap) {
    size_t cap = 2 * (p->len + n) + 256;
    char *text = realloc(p->text, cap);
    if (!text) {
      p->lost++;
      return;
    }
    p->text = text;
    p->cap = cap;
  }
  memcpy(p->text + p->len, s, n);
  p->len += n;
}

static void put_record(RtPrinter *p, const uint64_t *w) { hdb_format((const char *)(uintptr_t)w[1], w + HEAD, put, p); }

/* By thread, then as they came. */
static int compare(const void *a, const void *b) {
  const uint64_t *x = *(const uint64_t *const *)a, *y = *(const uint64_t *const *)b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return x < y ? -1 : x > y;
}

void hdrt_printer_launch_ends(RtPrinter *p) {
  if (p->records == 0) return;
  const uint64_t **list = malloc((size_t)p->records * sizeof *list), *w = p->words;
  if (list) {
    for (int64_t i = 0; i < p->records; i++, w += HEAD + w[2]) list[i] = w;
    qsort(list, (size_t)p->records, sizeof *list, compare);
    for (int64_t i = 0; i < p->records; i++) put_record(p, list[i]);
    free(list);
  } else {
    p->lost += p->records;
  }
  p->nwords = 0;
  p->records = 0;
}

void hdrt_printer_take(RtPrinter *p, void (*sink)(void *user, const char *text, size_t size), void *user) {
  char lost[160];
  int n =
      snprintf(lost, sizeof lost, "(%lld more printf of kernels are lost: there was no room)\n", (long long)p->lost);
  if (p->len) sink(user, p->text, p->len);
  if (p->lost) sink(user, lost, (size_t)n);
  p->len = 0;
  p->lost = 0;
}
