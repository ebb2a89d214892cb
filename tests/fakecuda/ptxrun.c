/* tests/fakecuda/ptxrun.c -- runs a kernel of a PTX file on the processor. `ptxrun --help` shows how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fakecuda/ptx.h"

static const char help[] = "usage: ptxrun FILE.ptx [OPTION..] [ARGUMENT..]\n"
                           "  --entry=NAME              the kernel; needed if there are several\n"
                           "  --grid=X[,Y[,Z]]          blocks (1)\n"
                           "  --block=X[,Y[,Z]]         threads of a block (32)\n"
                           "  --shared=BYTES            dynamic shared memory (0)\n"
                           "  --schedule=NAME           lockstep, threads or random (lockstep)\n"
                           "  --seed=N                  of the random schedule and the adversary (0)\n"
                           "  --adversary               move approximate results within their bounds\n"
                           "  --stats                   count instructions and time\n"
                           "  --list                    only show what the file has\n"
                           "An argument is a number for a parameter that is one, or an array: TYPE[N], TYPE[N]=VALUE, "
                           "TYPE[N]=iota, TYPE[N]=@FILE (raw or .npy). Arrays are\n"
                           "printed after the run, up to 256 elements. TYPE: u8 s8 u16 s16 u32 s32 u64 s64 f32 f64.\n";

enum { MOST_SHOWN = 256 }; /* elements of an array */

typedef struct Array {
  char type[4];
  size_t bytes, n;
  void *v;
} Array;

static int complain(const char *what, const char *which) {
  fprintf(stderr, "ptxrun: %s%s%s\n", what, which ? ": " : "", which ? which : "");
  return 2;
}

static void *more(void *p, size_t n) {
  void *q = realloc(p, n);
  if (!q) abort();
  return q;
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  size_t room = 1 << 16, n = 0, got;
  char *text = malloc(room);
  while ((got = fread(text + n, 1, room - n, f)) > 0) {
    n += got;
    if (n == room) text = more(text, room *= 2);
  }
  fclose(f);
  *size = n;
  return text;
}

/* The bits of `x` as a type like "f32". */
static uint64_t bits_as(const char *type, const char *x) {
  uint64_t bits = 0;
  if (type[0] == 'f' && type[1] == '3') {
    float v = strtof(x, NULL);
    memcpy(&bits, &v, 4);
  } else if (type[0] == 'f') {
    double v = strtod(x, NULL);
    memcpy(&bits, &v, 8);
  } else if (x[0] == '-') {
    bits = (uint64_t)strtoll(x, NULL, 0);
  } else {
    bits = strtoull(x, NULL, 0);
  }
  return bits;
}

/* The bytes of a file, behind the header if it is an .npy. */
static bool from_file(Array *a, const char *path) {
  size_t size = 0, at = 0;
  char *text = read_file(path, &size);
  if (!text) return false;
  if (size >= 10 && memcmp(text, "\x93NUMPY", 6) == 0)
    at = text[6] == 1 ? 10 + (size_t)(uint8_t)text[8] + 256 * (size_t)(uint8_t)text[9] : size;
  bool enough = size >= at && size - at >= a->n * a->bytes;
  if (enough) memcpy(a->v, text + at, a->n * a->bytes);
  free(text);
  return enough;
}

static bool array_of(const char *text, Array *a) {
  static const char *const types[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"};
  static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  const char *open = strchr(text, '[');
  if (!open) return false;
  for (int t = 0; t < 10; t++) {
    if (strlen(types[t]) != (size_t)(open - text) || memcmp(types[t], text, (size_t)(open - text)) != 0) continue;
    char *end;
    snprintf(a->type, sizeof a->type, "%s", types[t]);
    a->bytes = bytes[t], a->n = strtoull(open + 1, &end, 0);
    if (*end != ']' || a->n == 0 || a->n > 1u << 28) return false;
    a->v = calloc(a->n, a->bytes);
    if (end[1] == '=' && end[2] == '@') return from_file(a, end + 3);
    for (size_t i = 0; end[1] == '=' && i < a->n; i++) {
      char number[32];
      snprintf(number, sizeof number, "%zu", i);
      uint64_t x = bits_as(a->type, strcmp(end + 2, "iota") == 0 ? number : end + 2);
      memcpy((char *)a->v + i * a->bytes, &x, a->bytes);
    }
    return true;
  }
  return false;
}

static void show(const Array *a, int index) {
  printf("%d: %s[%zu]", index, a->type, a->n);
  for (size_t i = 0; i < a->n && i < MOST_SHOWN; i++) {
    uint64_t x = 0;
    memcpy(&x, (char *)a->v + i * a->bytes, a->bytes);
    float f;
    double d;
    memcpy(&f, &x, 4), memcpy(&d, &x, 8);
    if (a->type[0] == 'f')
      printf(" %.*g", a->bytes == 4 ? 9 : 17, a->bytes == 4 ? (double)f : d);
    else if (a->type[0] == 's')
      printf(" %lld", (long long)((int64_t)(x << (64 - 8 * a->bytes)) >> (64 - 8 * a->bytes)));
    else
      printf(" %llu", (unsigned long long)x);
  }
  printf(a->n > MOST_SHOWN ? " ..\n" : "\n");
}

static void list(const PtxModule *m) {
  for (uint32_t i = 0; i < ptx_entry_count(m); i++) {
    const PtxEntry *e = ptx_entry_at(m, i);
    printf("entry %s(", e->name);
    for (uint32_t k = 0; k < e->nparams; k++)
      printf("%s%s %s[%u]@%u", k ? ", " : "", e->params[k].type, e->params[k].name, e->params[k].size,
             e->params[k].offset);
    printf("): %u registers, shared %u, local %u bytes\n", e->nregs, e->shared_bytes, e->local_bytes);
  }
  for (uint32_t i = 0; i < ptx_global_count(m); i++) {
    const PtxGlobal *g = ptx_global_at(m, i);
    printf("%s %s: %llu bytes\n", g->constant ? "const" : "global", g->name, (unsigned long long)g->size);
  }
}

static void triple(const char *text, uint32_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  char *end = (char *)text;
  for (int k = 0; k < 3 && *end; k++) {
    out[k] = (uint32_t)strtoul(end, &end, 0);
    if (*end == ',') end++;
  }
}

static const char *value_of(const char *arg, const char *name) {
  size_t n = strlen(name);
  return strncmp(arg, name, n) == 0 ? arg + n : NULL;
}

typedef struct Options {
  const char *file, *args[64];
  int nargs;
  bool stats, list;
} Options;

static int options(int argc, char **argv, Options *o, PtxLaunch *p) {
  for (int k = 1; k < argc; k++) {
    const char *a = argv[k], *v;
    if ((v = value_of(a, "--entry=")))
      p->entry = v;
    else if ((v = value_of(a, "--grid=")))
      triple(v, p->grid);
    else if ((v = value_of(a, "--block=")))
      triple(v, p->block);
    else if ((v = value_of(a, "--shared=")))
      p->shared_bytes = (uint32_t)strtoul(v, NULL, 0);
    else if ((v = value_of(a, "--seed=")))
      p->seed = strtoull(v, NULL, 0);
    else if ((v = value_of(a, "--schedule="))) {
      if (strcmp(v, "lockstep") == 0)
        p->schedule = PTX_LOCKSTEP;
      else if (strcmp(v, "threads") == 0)
        p->schedule = PTX_THREADS;
      else if (strcmp(v, "random") == 0)
        p->schedule = PTX_RANDOM;
      else
        return complain("no such schedule", v);
    } else if (strcmp(a, "--adversary") == 0)
      p->adversary = true;
    else if (strcmp(a, "--stats") == 0)
      o->stats = true;
    else if (strcmp(a, "--list") == 0)
      o->list = true;
    else if (strcmp(a, "--help") == 0)
      return fputs(help, stdout), -1;
    else if (a[0] == '-' && a[1] == '-')
      return complain("no such option", a);
    else if (!o->file)
      o->file = a;
    else if (o->nargs == 64)
      return complain("more than 64 arguments", NULL);
    else
      o->args[o->nargs++] = a;
  }
  return o->file ? 0 : complain("a file is missing; see --help", NULL);
}

static int launch(PtxModule *m, PtxSpace *s, const Options *o, PtxLaunch *p, PtxError *err) {
  const PtxEntry *e = p->entry ? ptx_entry(m, p->entry) : ptx_entry_count(m) == 1 ? ptx_entry_at(m, 0) : NULL;
  if (!e) return complain("which kernel? see --list and --entry", p->entry);
  if ((uint32_t)o->nargs != e->nparams)
    return complain("the kernel has another number of parameters; see --list", e->name);
  uint8_t *params = calloc(1, e->param_bytes + 8);
  Array arrays[64] = {0};
  for (int k = 0; k < o->nargs; k++) {
    uint64_t x;
    if (array_of(o->args[k], &arrays[k])) {
      x = (uint64_t)(uintptr_t)arrays[k].v;
      ptx_space_add(s, x, arrays[k].n * arrays[k].bytes, arrays[k].v, 0, e->params[k].name);
    } else if (strchr(o->args[k], '[')) {
      for (int j = 0; j <= k; j++) free(arrays[j].v);
      free(params);
      return complain("no array, or its file is missing or too short", o->args[k]);
    } else {
      x = bits_as(e->params[k].type, o->args[k]);
    }
    memcpy(params + e->params[k].offset, &x, e->params[k].size < 8 ? e->params[k].size : 8);
  }
  p->entry = e->name, p->params = params, p->param_bytes = e->param_bytes;
  PtxStats stats;
  clock_t start = clock();
  int rc = ptx_run(m, p, &stats, err);
  double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  fflush(stdout);
  if (rc) fprintf(stderr, "ptxrun: error %d: %s\n", rc, err->text);
  for (int k = 0; k < o->nargs; k++) {
    if (!arrays[k].v) continue;
    if (!o->stats) show(&arrays[k], k);
    free(arrays[k].v);
  }
  if (o->stats)
    printf("%llu instructions of threads in %llu steps (%.1f%% split), %.3f s: %.0f million a second\n",
           (unsigned long long)stats.threads, (unsigned long long)stats.steps,
           stats.steps ? 100.0 * (double)stats.split / (double)stats.steps : 0.0, seconds,
           seconds > 0 ? (double)stats.threads / seconds / 1e6 : 0.0);
  free(params);
  return rc ? 1 : 0;
}

int main(int argc, char **argv) {
  Options o = {0};
  PtxLaunch p = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  PtxError err;
  int rc = options(argc, argv, &o, &p);
  if (rc) return rc < 0 ? 0 : rc;
  size_t size = 0;
  char *text = read_file(o.file, &size);
  if (!text) return complain("cannot read", o.file);
  PtxModule *m = ptx_parse(text, size, &err);
  free(text);
  if (!m) return complain(err.text, NULL);
  PtxSpace *s = ptx_space_new();
  if (o.list)
    list(m);
  else if (ptx_link(m, s, NULL, NULL, &err))
    rc = complain(err.text, NULL);
  else
    rc = launch(m, s, &o, &p, &err);
  ptx_module_free(m);
  ptx_space_free(s);
  return rc;
}
