/* tools/heddle/report.c -- errors in one line, diagnostics in colour, and a sign of life in long work. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/heddle/cli.h"

static const char bold[] = "\033[1m", red[] = "\033[1;31m", magenta[] = "\033[1;35m", cyan[] = "\033[1;36m",
                  green[] = "\033[1;32m", plain[] = "\033[0m";

/* A terminal that takes escapes: to overwrite a line, to colour one. */
static bool takes_escapes(FILE *f) {
  const char *term = getenv("TERM");
  return isatty(fileno(f)) && term && *term && strcmp(term, "dumb") != 0;
}

bool cli_color(FILE *f) {
  const char *no = getenv("NO_COLOR");
  return takes_escapes(f) && !(no && *no);
}

/* --- errors --- */

int cli_report(const Cli *cli, const HdError *error) {
  char line[2048];
  HdError own = *error;
  char remedy[64];
  if (!own.call || !*own.call) own.call = cli->call;
  /* The library's remedy is its header; the user of the tool has another manual. */
  if (own.status == HD_ERR_ARG || own.status == HD_ERR_OPTION || own.status == HD_ERR_COUNT) {
    snprintf(remedy, sizeof remedy, "see '%s --help'", cli->call);
    own.remedy = remedy;
  }
  if (own.status == HD_ERR_UNSUPPORTED) own.remedy = NULL; /* the detail says what to do */
  hd_error_format(&own, line, sizeof line);
  if (cli_color(stderr))
    fprintf(stderr, "%serror:%s %s%s%s\n", red, plain, bold, line, plain);
  else
    fprintf(stderr, "error: %s\n", line);
  return 1;
}

int cli_fail(const Cli *cli, HdStatus status, const char *arg, const char *fmt, ...) {
  HdError error;
  va_list list;
  char detail[sizeof error.detail];
  va_start(list, fmt);
  vsnprintf(detail, sizeof detail, fmt, list);
  va_end(list);
  hdb_error_clear(&error);
  hdb_fail(&error, status, arg, "%s", detail);
  return cli_report(cli, &error);
}

/* "file:3:9: error: text": the place and the text bold, the word between them in its colour. */
static bool put_heading(const char *s, size_t n) {
  static const struct {
    const char *word, *color;
  } kinds[] = {{": error: ", red}, {": warning: ", magenta}, {": note: ", cyan}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const char *at = memmem(s, n, kinds[k].word, strlen(kinds[k].word));
    if (!at || *s == ' ') continue;
    const char *text = at + strlen(kinds[k].word);
    fprintf(stderr, "%s%.*s:%s%.*s%s%.*s%s\n", bold, (int)(at - s), s, kinds[k].color, (int)(text - at - 1), at + 1,
            bold, (int)(s + n - text), text, plain);
    return true;
  }
  return false;
}

static void put_diagnostics(const char *s) {
  bool color = cli_color(stderr);
  while (*s) {
    size_t n = strcspn(s, "\n");
    bool caret = memchr(s, '^', n) && strspn(s, " \t^~|") >= n;
    if (!color)
      fprintf(stderr, "%.*s\n", (int)n, s);
    else if (caret)
      fprintf(stderr, "%s%.*s%s\n", green, (int)n, s, plain);
    else if (!put_heading(s, n))
      fprintf(stderr, "%.*s\n", (int)n, s);
    s += n + (s[n] == '\n');
  }
}

int cli_failed(const Cli *cli, HdContext *ctx, HdStatus status) {
  cli_progress_end();
  if (!ctx) return cli_fail(cli, status, "", "a context could not be made");
  const char *diagnostics = hd_context_diagnostics(ctx);
  if (status == HD_ERR_SOURCE && *diagnostics) return put_diagnostics(diagnostics), 1;
  return cli_report(cli, hd_context_error(ctx));
}

void cli_log(void *user, HdLogLevel level, const char *message) {
  (void)user;
  if (level != HD_LOG_WARNING) return;
  cli_progress_end();
  if (strstr(message, ": warning: "))
    put_diagnostics(message);
  else if (cli_color(stderr))
    fprintf(stderr, "%swarning:%s %s%s%s\n", magenta, plain, bold, message, plain);
  else
    fprintf(stderr, "warning: %s\n", message);
}

/* --- progress --- */

static struct {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool on, done;
  char what[128];
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void *tick(void *unused) {
  (void)unused;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  bool shown = false;
  pthread_mutex_lock(&progress.lock);
  for (int seconds = 1;; seconds++) {
    until.tv_sec++;
    while (!progress.done && pthread_cond_timedwait(&progress.wake, &progress.lock, &until) == 0) {}
    if (progress.done) break;
    fprintf(stderr, "\r%s .. %d s", progress.what, seconds);
    fflush(stderr);
    shown = true;
  }
  if (shown) fprintf(stderr, "\r\033[K");
  pthread_mutex_unlock(&progress.lock);
  return NULL;
}

void cli_progress_begin(const char *what) {
  cli_progress_end();
  if (!takes_escapes(stderr)) return;
  snprintf(progress.what, sizeof progress.what, "%s", what);
  progress.done = false;
  progress.on = pthread_create(&progress.thread, NULL, tick, NULL) == 0;
}

void cli_progress_end(void) {
  if (!progress.on) return;
  pthread_mutex_lock(&progress.lock);
  progress.done = true;
  pthread_cond_signal(&progress.wake);
  pthread_mutex_unlock(&progress.lock);
  pthread_join(progress.thread, NULL);
  progress.on = false;
}
