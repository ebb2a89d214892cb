/* api/c_functions.c -- the C functions that a program gives to a module, and those that a kernel calls.
 *
 * They meet by name when code is loaded, and their signatures are compared as text. So nothing that the cache holds knows an
 * address, and a kernel from the cache asks for its functions as one that was just compiled does.
 */
#include "api/modules.h"

/* --- signatures --- */

static const char *over_blanks(const char *s) {
  while (*s == ' ' || *s == '\t' || *s == '\n') s++;
  return s;
}

static bool same_text(const char *a, const char *b) {
  for (;; a++, b++) {
    a = over_blanks(a);
    b = over_blanks(b);
    if (*a != *b) return false;
    if (!*a) return true;
  }
}

/* The name that a signature begins with, and its length; 0 if it is no signature. */
static const char *name_of(const char *signature, size_t *n) {
  const char *s = over_blanks(signature);
  *n = strcspn(s, " \t\n(");
  return s;
}

static bool is_named(const HdCFunction *f, const char *name, size_t n) {
  size_t len;
  const char *s = name_of(f->signature, &len);
  return len == n && strncmp(s, name, n) == 0;
}

HdStatus hdapi_check_functions(HdContext *ctx, const HdModuleOptions *o) {
  static const char arg[] = "options.functions";
  if (o->nfunctions < 0 || (o->nfunctions && !o->functions))
    return hdb_fail(&ctx->err, HD_ERR_OPTION, arg, "%d of them, in no list", o->nfunctions);
  for (int32_t i = 0; i < o->nfunctions; i++) {
    const HdCFunction *f = &o->functions[i];
    size_t n;
    if (!f->signature || !f->address)
      return hdb_fail(&ctx->err, HD_ERR_OPTION, arg, "number %d has no %s", i, f->signature ? "address" : "signature");
    const char *name = name_of(f->signature, &n);
    if (!n || !strchr(name, '(') || !strchr(name, ')'))
      return hdb_fail(&ctx->err, HD_ERR_OPTION, arg,
                      "number %d: '%.100s' is no signature: wanted name(types) -> type, as in 'clamp(f32, i32) -> f32'",
                      i, f->signature);
    for (int32_t k = 0; k < i; k++)
      if (is_named(&o->functions[k], name, n))
        return hdb_fail(&ctx->err, HD_ERR_OPTION, arg, "'%.*s' is given twice", (int)n, name);
  }
  return HD_OK;
}

void hdapi_copy_functions(HdModule *m, const HdModuleOptions *o) {
  HdCFunction *list = HDB_NEW_N(&m->arena, HdCFunction, o->nfunctions + 1);
  for (int32_t i = 0; i < o->nfunctions; i++)
    list[i] = (HdCFunction){hdb_strdup(&m->arena, o->functions[i].signature), o->functions[i].address};
  m->options.functions = list;
}

/* --- what a kernel calls --- */

typedef struct Imports {
  Arena *arena;
  RtImport *list;
  uint32_t n, cap;
} Imports;

static void add(Imports *is, const IrFunc *fn) {
  for (uint32_t i = 0; i < is->n; i++)
    if (strcmp(is->list[i].name, fn->name) == 0) return;
  Buf b;
  hdb_buf_init(&b, is->arena);
  hdir_print_signature(&b, fn);
  RtImport f = {.name = hdb_strdup(is->arena, fn->name), .signature = b.data};
  HDB_PUSH(is->arena, is->list, is->n, is->cap, f);
}

RtImport *hdapi_imports(const IrModule *m, Arena *a, uint32_t *n) {
  Imports is = {.arena = a};
  for (uint32_t f = 0; f < m->nfuncs; f++)
    for (const IrInst *i = m->funcs[f]->body->first; i; i = hdir_inst_next(i))
      if (hdir_calls_c(i)) add(&is, i->callee);
  *n = is.n;
  return is.list;
}

static const HdCFunction *find(const HdModule *m, const char *name) {
  for (int32_t i = 0; i < m->options.nfunctions; i++)
    if (is_named(&m->options.functions[i], name, strlen(name))) return &m->options.functions[i];
  return NULL;
}

HdStatus hdapi_bind(const HdModule *m, const char *kernel, uint32_t n, RtImport imports[]) {
  HdError *err = &m->ctx->err;
  for (uint32_t i = 0; i < n; i++) {
    const HdCFunction *f = find(m, imports[i].name);
    if (!f) {
      hdb_fail(err, HD_ERR_NOT_FOUND, "options.functions",
               "kernel '%.60s' calls the C function '%.120s', and the module was loaded without it", kernel,
               imports[i].signature);
      err->remedy = "give its signature and address in HdModuleOptions.functions";
      return HD_ERR_NOT_FOUND;
    }
    if (!same_text(f->signature, imports[i].signature)) {
      hdb_fail(err, HD_ERR_TYPE, "options.functions",
               "the module declares the C function '%.100s', and was given '%.100s'", imports[i].signature,
               f->signature);
      err->remedy = "declare the function in the module as it is in C, and write the same signature here";
      return HD_ERR_TYPE;
    }
    imports[i].address = f->address;
  }
  return HD_OK;
}
