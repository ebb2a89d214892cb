/* runtime/printer.h -- what kernels print: records in any order become text in the order of the launch's threads.
 *
 * Threads of the pool add records while a launch runs; when it is over, whoever ran it makes text of them, and the text waits
 * for the program to take it. The memory is the C library's: a context's allocator is not for the pool's threads.
 */
#ifndef RT_PRINTER_H
#define RT_PRINTER_H

#include <pthread.h>

#include "runtime/artifact.h"
HD_BEGIN_DECLS

struct RtPrinter {
  pthread_mutex_t lock; /* of the records */
  uint64_t *words;      /* thread, format, number of values, values; again and again */
  size_t    nwords, cap_words;
  int64_t   records;
  int64_t   lost; /* records for which there was no room */
  char     *text;
  size_t    len, cap;
};

void hdrt_printer_init(RtPrinter *p); /* allocates nothing */
void hdrt_printer_end(RtPrinter *p);

/* The printf of one thread, by its place in the order of the launch; `format` must live until the text is made. */
void hdrt_printer_add(RtPrinter *p, int64_t thread, const char *format, uint32_t n, const uint64_t values[]);
/* The same from code that runs `span`, of the thread with the innermost coordinate x: an RtPrint. */
void hdrt_print(const RtSpan *span, int64_t x, const char *format, int32_t n, const uint64_t values[]);

/* The launch is over: its records become text, behind what there is; a thread's own keep their order. */
void hdrt_printer_launch_ends(RtPrinter *p);

/* Give what there is to `sink`, and a line about what was lost. */
void hdrt_printer_take(RtPrinter *p, void (*sink)(void *user, const char *text, size_t size), void *user);

HD_END_DECLS
#endif
