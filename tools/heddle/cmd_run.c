/* tools/heddle/cmd_run.c -- heddle run: one launch of a kernel, on values and .npy files.
 *
 * Arguments are bound to parameters by name and checked before anything is allocated for the result. Results are written
 * to temporary files first and renamed when all of them are whole, so a failure leaves every file as it was.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/heddle/cli.h"
#include "tools/heddle/value.h"

static const CliOption options[] = {
    {"kernel", 'k', "NAME", "which kernel; may be left out if the file has just one"},
    {"dim", 'd', "N[,M..]", "threads of the launch along each axis, the last one fastest"},
    {"device", 0, "NAME", "cpu (the default), interp (the reference interpreter), or a GPU: cuda:0"},
    {"time", 0, NULL, "print how long compiling and running took, to standard error"},
    CLI_MODULE_OPTIONS,
    CLI_NO_BOUNDS,
    CLI_CONTEXT_OPTIONS,
    {0}};

static const char details[] =
    "Each argument is NAME=VALUE, NAME a parameter of the kernel:\n"
    "  a=2.5  g=0,-9.8,0  on=true   a number, or all numbers of a vector, matrix, ..\n"
    "  x=@in.npy                    an array (or a value) from a file; the kernel may only read it\n"
    "  x=@out.npy:f32[100,3]        an array of zeros, written to the file when the kernel is done\n"
    "  x=@out.npy:[100]             the same, in elements of the parameter's own type\n"
    "  'x=@in.npy>out.npy'          read from one file and written to the other when done; they may be the same\n"
    "A file of vec3 x[] has shape [n,3], of a matrix [n,rows,columns], of a struct a record of its size. Lengths may "
    "also\n"
    "be names that -D gives. const parameters are given by -D.\n";

typedef struct RunArg {
  HdParam param;
  char place[80];   /* "args[2] 'x'", for messages             */
  const char *text; /* after the '='; NULL until it was found  */
  char *in, *out;   /* files, or NULL                          */
  NpyType item;     /* of the file                             */
  int32_t ndim;     /* of the file                             */
  int64_t file_length[NPY_MAX_DIMS], length[HD_MAX_DIMS];
  HdArray array; /* of an array parameter, on the host       */
  HdArray own;   /* the same on a GPU                        */
  void *value;   /* of the others                            */
  OutFile file;
} RunArg;

typedef struct Run {
  Cli *cli;
  HdContext *ctx;
  HdModule *module;
  HdDevice device, host; /* `host` is where arrays are read and written: the device itself, unless it is a GPU */
  HdStream *stream;
  HdKernel *kernel;
  RunArg *args;
  int32_t nargs, ndim;
  int64_t dim[HD_MAX_DIMS];
  double compile_ms, run_ms;
} Run;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool failed(const Run *r, HdStatus status) { return cli_failed(r->cli, r->ctx, status), false; }

/* --- what is launched --- */

static bool parse_dims(Run *r) {
  const char *s = cli_get(r->cli, "dim");
  if (!s) return cli_fail(r->cli, HD_ERR_OPTION, "--dim", "it was not given: how many threads to run"), false;
  const char *at = s;
  for (;;) {
    char *end;
    long long n = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || n < 0 || n > INT32_MAX || r->ndim == HD_MAX_DIMS)
      return cli_fail(r->cli, HD_ERR_DIM, "--dim", "wanted 1 to 4 whole numbers with commas between, got '%s'", s),
             false;
    r->dim[r->ndim++] = n;
    if (!*end) return true;
    at = end + 1;
  }
}

static bool find_kernel(Run *r) {
  const char *name = cli_get(r->cli, "kernel"), *device = cli_get(r->cli, "device");
  int32_t n = hd_module_kernel_count(r->module);
  if (!name && n != 1) {
    char list[256] = "";
    size_t at = 0;
    for (int32_t i = 0; i < n && at < sizeof list - 1; i++)
      at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", hd_module_kernel_name(r->module, i));
    return cli_fail(r->cli, HD_ERR_OPTION, "--kernel", n ? "which one is wanted: %s?" : "the file has no kernel%s",
                    list),
           false;
  }
  if (!name) name = hd_module_kernel_name(r->module, 0);
  HdStatus status = hd_device_find(r->ctx, device ? device : "cpu", &r->device);
  if (status != HD_OK) return failed(r, status);
  r->host = r->device;
  if (r->device.kind == HD_DEVICE_CUDA && (status = hd_device_find(r->ctx, "cpu", &r->host)) != HD_OK)
    return failed(r, status);
  double begin = now_ms();
  cli_progress_begin("compiling");
  status = hd_module_kernel(r->module, name, r->device, &r->kernel);
  cli_progress_end();
  r->compile_ms = now_ms() - begin;
  return status == HD_OK || failed(r, status);
}

/* --- arguments --- */

static bool bad_arg(const Run *r, const RunArg *a, HdStatus status, const char *what, const char *found) {
  return cli_fail(r->cli, status, a->place, "%s%s", what, found), false;
}

static RunArg *find_arg(const Run *r, const char *name, size_t n) {
  for (int32_t i = 0; i < r->nargs; i++)
    if (strlen(r->args[i].param.name) == n && memcmp(r->args[i].param.name, name, n) == 0) return &r->args[i];
  return NULL;
}

static const char *parameter_list(const Run *r, char *out, size_t size) {
  size_t at = (size_t)snprintf(out, size, r->nargs ? "the kernel has " : "the kernel has no parameters");
  for (int32_t i = 0; i < r->nargs && at < size - 1; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", r->args[i].param.name);
  return out;
}

/* Every NAME=VALUE finds its parameter, and every parameter its value. */
static bool match_args(Run *r) {
  char list[256];
  r->nargs = hd_kernel_param_count(r->kernel);
  r->args = calloc((size_t)r->nargs + 1, sizeof *r->args);
  if (!r->args) return cli_fail(r->cli, HD_ERR_NOMEM, "", "for the arguments"), false;
  for (int32_t i = 0; i < r->nargs; i++) {
    r->args[i].param = hd_kernel_param(r->kernel, i);
    snprintf(r->args[i].place, sizeof r->args[i].place, "args[%d] '%s'", i, r->args[i].param.name);
  }
  for (int i = 1; i < r->cli->noperands; i++) {
    const char *word = r->cli->operands[i];
    size_t n = strcspn(word, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), word);
    if (!word[n]) return cli_fail(r->cli, HD_ERR_ARG, word, "wanted NAME=VALUE"), false;
    RunArg *a = find_arg(r, word, n);
    if (!a)
      return cli_fail(r->cli, HD_ERR_NOT_FOUND, name, "no parameter has this name; %s",
                      parameter_list(r, list, sizeof list)),
             false;
    if (a->text) return bad_arg(r, a, HD_ERR_ARG, "it was given twice", "");
    a->text = word + n + 1;
  }
  for (int32_t i = 0; i < r->nargs; i++)
    if (!r->args[i].text)
      return cli_fail(r->cli, HD_ERR_COUNT, r->args[i].place, "it was not given; %s",
                      parameter_list(r, list, sizeof list)),
             false;
  return true;
}

/* A length in "[N,3]": a number, or a name that -D gives. `s` is left after it. */
static bool parse_length(const Run *r, const char **s, int64_t *out) {
  size_t n = strcspn(*s, ",] ");
  const char *text = *s;
  char *end;
  if (n && !strchr("0123456789", *text)) {
    text = cli_define(r->cli, *s, n);
    if (!text) return false;
    *out = strtoll(text, &end, 10);
    *s += n;
    return end != text && !*end && *out >= 0;
  }
  *out = strtoll(text, &end, 10);
  if (end != *s + n || !n || *out == INT64_MAX) return false;
  *s = end;
  return true;
}

/* "f32[N,3]" or "[N]". The shape is the file's in the first form, in elements of the parameter in the second. */
static bool parse_spec(Run *r, RunArg *a, const char *spec) {
  HdScalar scalar;
  size_t n = strcspn(spec, "[");
  HdType t = a->param.type;
  char found[160], wanted[96];
  if (n && !value_scalar(spec, n, &scalar))
    return bad_arg(r, a, HD_ERR_OPTION,
                   "there is no such type; wanted bool, i8 to u64, f16, bf16, f32 or f64 before the '[': ", spec);
  a->item = n ? value_npy_type(hd_type_scalar(scalar)) : value_npy_type(t);
  const char *s = spec + n + 1;
  for (;;) {
    s += strspn(s, " ");
    if (a->ndim == NPY_MAX_DIMS || !parse_length(r, &s, &a->file_length[a->ndim++]))
      return bad_arg(r, a, HD_ERR_OPTION, "its lengths are no numbers, nor names given by -D: ", spec);
    s += strspn(s, " ");
    if (*s == ']' && !s[1]) break;
    if (*s++ != ',') return bad_arg(r, a, HD_ERR_OPTION, "wanted TYPE[LENGTH,..] after the ':', got ", spec);
  }
  if (!n) {
    int64_t axes[2];
    int32_t extra = value_axes(t, axes);
    if (a->ndim + extra > NPY_MAX_DIMS) return bad_arg(r, a, HD_ERR_SHAPE, "it has too many dimensions: ", spec);
    for (int32_t k = 0; k < extra; k++) a->file_length[a->ndim++] = axes[k];
  }
  if (value_fits(t, a->param.ndim, a->item, a->ndim, a->file_length, a->length)) return true;
  return cli_fail(r->cli, HD_ERR_TYPE, a->place, "wanted %s, got %s", value_wanted(t, a->param.ndim, wanted),
                  npy_describe(a->item, a->ndim, a->file_length, found)),
         false;
}

/* The ':' before "TYPE[..]" at the end of the text, or NULL. */
static const char *find_spec(const char *text) {
  size_t n = strlen(text);
  if (!n || text[n - 1] != ']') return NULL;
  const char *bracket = strrchr(text, '['), *at = bracket;
  while (at && at > text && at[-1] != ':' && at[-1] != '/') at--;
  return at && at > text && at[-1] == ':' ? at - 1 : NULL;
}

/* Take "@IN", "@IN>OUT" or "@OUT:SPEC" apart. */
static bool parse_file(Run *r, RunArg *a) {
  const char *text = a->text + 1, *spec = find_spec(text), *arrow = spec ? NULL : strrchr(text, '>');
  size_t n = spec ? (size_t)(spec - text) : arrow ? (size_t)(arrow - text) : strlen(text);
  char *first = strndup(text, n);
  if (spec)
    a->out = first;
  else
    a->in = first;
  if (arrow) a->out = strdup(arrow + 1);
  if (!first || (arrow && !a->out)) return bad_arg(r, a, HD_ERR_NOMEM, "for a file name", "");
  if (!n || (arrow && !arrow[1])) return bad_arg(r, a, HD_ERR_ARG, "a file has no name: ", a->text);
  if (a->out && !a->param.ndim)
    return bad_arg(r, a, HD_ERR_ARG, "it is a value, which the kernel cannot write: ", a->text);
  if (!a->out && a->param.writes)
    return bad_arg(
        r, a, HD_ERR_ARG,
        "the kernel writes to it; say where the result goes, as in '>out.npy' after the file (or >/dev/null)", "");
  return !spec || parse_spec(r, a, spec + 1);
}

/* bool bytes other than 0 and 1 mean nothing to a kernel. */
static bool check_bools(const Run *r, const RunArg *a, const unsigned char *data, int64_t n) {
  if (a->param.type.scalar != HD_BOOL) return true;
  for (int64_t i = 0; i < n; i++)
    if (data[i] > 1)
      return cli_fail(r->cli, HD_ERR_FORMAT, a->place, "'%s': bool %" PRId64 " is %d, neither 0 nor 1", a->in, i,
                      data[i]),
             false;
  return true;
}

/* Open a->in and check it against the parameter; the data goes to the array or the value. */
static bool read_arg(Run *r, RunArg *a) {
  NpyReader npy;
  char why[OUT_WHY], found[160], wanted[96];
  HdType t = a->param.type;
  HdStatus status = npy_open(a->in, &npy, why);
  if (status != HD_OK) return bad_arg(r, a, status, why, "");
  a->item = npy.type;
  a->ndim = npy.ndim;
  memcpy(a->file_length, npy.length, sizeof a->file_length);
  if (!value_fits(t, a->param.ndim, npy.type, npy.ndim, npy.length, a->length)) {
    npy_close(&npy);
    cli_fail(r->cli, HD_ERR_TYPE, a->place, "wanted %s, '%s' has %s", value_wanted(t, a->param.ndim, wanted), a->in,
             npy_describe(npy.type, npy.ndim, npy.length, found));
    return false;
  }
  void *data = a->value;
  if (a->param.ndim) {
    status = hd_array_new(r->ctx, r->host, t, a->param.ndim, a->length, &a->array);
    if (status != HD_OK) return npy_close(&npy), failed(r, status);
    data = a->array.data;
  }
  status = npy_read(&npy, a->in, data, why);
  npy_close(&npy);
  if (status != HD_OK) return bad_arg(r, a, status, why, "");
  return check_bools(r, a, data, (int64_t)npy.size);
}

static bool make_arg(Run *r, RunArg *a) {
  char why[256];
  HdType t = a->param.type;
  if (!a->param.ndim && !(a->value = calloc(1, t.size + 16u))) return bad_arg(r, a, HD_ERR_NOMEM, "for the value", "");
  if (*a->text != '@') {
    if (a->param.ndim)
      return bad_arg(r, a, HD_ERR_TYPE, "it is an array: wanted @FILE.npy, or @FILE.npy:TYPE[LENGTH,..], got ",
                     *a->text ? a->text : "nothing");
    return value_parse(t, a->text, a->value, why, sizeof why) || bad_arg(r, a, HD_ERR_TYPE, why, "");
  }
  if (!parse_file(r, a)) return false;
  if (a->in) return read_arg(r, a);
  HdStatus status = hd_array_zeros(r->ctx, r->host, t, a->param.ndim, a->length, &a->array);
  return status == HD_OK || failed(r, status);
}

/* --- results --- */

static bool write_results(Run *r) {
  char why[OUT_WHY];
  HdStatus status = HD_OK;
  for (int32_t i = 0; i < r->nargs && status == HD_OK; i++) {
    RunArg *a = &r->args[i];
    if (!a->out) continue;
    status = out_begin(a->out, &a->file, why);
    if (status == HD_OK) status = npy_write(&a->file, a->item, a->ndim, a->file_length, a->array.data, why);
    if (status == HD_OK) status = out_close(&a->file, why);
    if (status != HD_OK) return bad_arg(r, a, status, why, "");
  }
  for (int32_t i = 0; i < r->nargs; i++) {
    RunArg *a = &r->args[i];
    if (a->out && (status = out_commit(&a->file, why)) != HD_OK) return bad_arg(r, a, status, why, "");
  }
  return true;
}

static bool on_gpu(const Run *r) { return r->device.kind == HD_DEVICE_CUDA; }

/* Before a launch on a GPU: the arrays, there. */
static HdStatus send_arrays(Run *r) {
  for (int32_t i = 0; on_gpu(r) && i < r->nargs; i++) {
    RunArg *a = &r->args[i];
    if (!a->param.ndim) continue;
    HD_TRY(hd_array_new(r->ctx, r->device, a->param.type, a->param.ndim, a->length, &a->own));
    HD_TRY(hd_array_copy(r->stream, a->array, a->own));
  }
  return HD_OK;
}

/* After it: what the kernel wrote, here. */
static HdStatus fetch_arrays(Run *r) {
  for (int32_t i = 0; on_gpu(r) && i < r->nargs; i++)
    if (r->args[i].out) HD_TRY(hd_array_copy(r->stream, r->args[i].own, r->args[i].array));
  return HD_OK;
}

static bool launch(Run *r) {
  HdArg *args = calloc((size_t)r->nargs + 1, sizeof *args);
  if (!args) return cli_fail(r->cli, HD_ERR_NOMEM, "", "for the arguments"), false;
  for (int32_t i = 0; i < r->nargs; i++) {
    RunArg *a = &r->args[i];
    args[i] = a->param.ndim ? hd_arg_array(on_gpu(r) ? &a->own : &a->array) : hd_arg_value(a->param.type, a->value);
  }
  HdStatus status = hd_stream_new(r->ctx, r->device, HD_STREAM_SYNC, &r->stream);
  if (status == HD_OK) status = send_arrays(r);
  double begin = now_ms();
  if (status == HD_OK) {
    cli_progress_begin("running");
    status = hd_launch(r->kernel, r->stream, r->ndim, r->dim, r->nargs, args);
    if (status == HD_OK) status = hd_stream_wait(r->stream);
    cli_progress_end();
  }
  r->run_ms = now_ms() - begin;
  if (status == HD_OK) status = fetch_arrays(r);
  free(args);
  return status == HD_OK || failed(r, status);
}

static void end(Run *r) {
  for (int32_t i = 0; r->args && i < r->nargs; i++) {
    out_abort(&r->args[i].file);
    free(r->args[i].in);
    free(r->args[i].out);
    free(r->args[i].value);
    hd_array_free(r->ctx, &r->args[i].array);
    hd_array_free(r->ctx, &r->args[i].own);
  }
  free(r->args);
  hd_stream_free(r->stream);
  hd_module_free(r->module);
  hd_context_free(r->ctx);
}

static bool run_all(Run *r) {
  if (r->cli->noperands < 1) return cli_fail(r->cli, HD_ERR_ARG, "FILE", "no file was given"), false;
  if (!parse_dims(r) || !cli_context(r->cli, false, &r->ctx)) return false;
  if (!cli_load(r->cli, r->ctx, r->cli->operands[0], NULL, &r->module)) return false;
  if (!find_kernel(r) || !match_args(r)) return false;
  for (int32_t i = 0; i < r->nargs; i++)
    if (!make_arg(r, &r->args[i])) return false;
  if (!launch(r) || !write_results(r)) return false;
  if (cli_has(r->cli, "time"))
    fprintf(stderr, "%s: %s in %.2f ms, ran in %.3f ms, %d lanes\n", hd_kernel_name(r->kernel),
            hd_kernel_from_cache(r->kernel) ? "loaded from the cache" : "compiled", r->compile_ms, r->run_ms,
            hd_kernel_width(r->kernel));
  return true;
}

static int run(Cli *cli) {
  Run r = {.cli = cli};
  bool good = run_all(&r);
  end(&r);
  return !good;
}

const CliCommand cmd_run = {"run", "FILE NAME=VALUE..", "run a kernel on values and .npy files", details, options, run};
