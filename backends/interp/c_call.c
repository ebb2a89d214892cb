/* backends/interp/c_call.c -- calls of C functions, by libffi: the signature is known only while the interpreter runs.
 *
 * How values travel stands in docs/language.md: scalars by value, f16 and bf16 as their bits in an uint16_t; composites by
 * the address of a copy, a composite result in the memory that a further last argument points to; an array by the address
 * of its description.
 *
 * libffi is opened when it is first wanted, not linked: few programs run C functions on the interpreter.
 */
#include "backends/interp/c_call.h"

#include <dlfcn.h>
#include <ffi.h>

/* --- the library --- */

typedef struct Ffi {
  ffi_status (*prep_cif)(ffi_cif *, ffi_abi, unsigned, ffi_type *, ffi_type **);
  void (*call)(ffi_cif *, void (*)(void), void *, void **);
  ffi_type *type[IR_NKINDS]; /* of scalars; of anything else the pointer's; IR_VOID */
} Ffi;

static HdStatus open_ffi(HdError *err, Ffi *ffi) {
  static const struct {
    IrKind kind;
    const char *name;
  } scalars[] = {{IR_VOID, "void"},  {IR_BOOL, "uint8"},  {IR_I8, "sint8"},   {IR_I16, "sint16"}, {IR_I32, "sint32"},
                 {IR_I64, "sint64"}, {IR_U8, "uint8"},    {IR_U16, "uint16"}, {IR_U32, "uint32"}, {IR_U64, "uint64"},
                 {IR_F16, "uint16"}, {IR_BF16, "uint16"}, {IR_F32, "float"},  {IR_F64, "double"}};
  void *lib = dlopen("libffi.so.8", RTLD_NOW | RTLD_LOCAL);
  if (!lib) lib = dlopen("libffi.so.7", RTLD_NOW | RTLD_LOCAL); /* one interface; what was added is not used here */
  if (!lib)
    return hdb_fail(err, HD_ERR_UNSUPPORTED, "",
                    "the interpreter calls C functions by libffi, and that cannot be opened: %s", dlerror());
  void *pointer = dlsym(lib, "ffi_type_pointer"), *f;
  for (int k = 0; k < IR_NKINDS; k++) ffi->type[k] = pointer;
  for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++) {
    char name[32] = "ffi_type_";
    strcat(name, scalars[k].name);
    ffi->type[scalars[k].kind] = dlsym(lib, name);
  }
  f = dlsym(lib, "ffi_prep_cif");
  memcpy(&ffi->prep_cif, &f, sizeof f);
  f = dlsym(lib, "ffi_call");
  memcpy(&ffi->call, &f, sizeof f);
  return HD_OK;
}

HdStatus hdinterp_calls_c(HdError *err) {
  Ffi ffi;
  return open_ffi(err, &ffi);
}

/* --- functions --- */

struct InterpC {
  Ffi ffi;
  void (*address)(void);
  ffi_cif cif;
  ffi_type **types;
  void **args;    /* where libffi finds each argument                              */
  uint64_t *slot; /* of each argument: the scalar, or the address that stands for it */
  void *out;      /* memory of a composite result, or NULL                         */
};

static const InterpFunction *find(const InterpLaunch *launch, const char *name) {
  for (uint32_t k = 0; k < launch->nfunctions; k++)
    if (strcmp(launch->functions[k].name, name) == 0) return &launch->functions[k];
  return NULL;
}

static void *memory_of(InterpFrames *fs, const IrType *t) {
  hdinterp_shape(fs, t);
  return hdb_alloc(fs->arena, t->size); /* zeroed, and aligned for anything */
}

static HdStatus prepare(InterpFrames *fs, const Ffi *ffi, InterpFrame *f, const InterpLaunch *launch, HdError *err) {
  const IrFunc *fn = f->fn;
  const IrType *result = fn->nresults ? fn->results[0] : NULL;
  const InterpFunction *given = find(launch, fn->name);
  uint32_t n = fn->body->nparams;
  if (!given) return hdb_fail(err, HD_ERR_NOT_FOUND, fn->name, "the C function '%.60s' was not given", fn->name);
  InterpC *c = f->c = HDB_NEW(fs->arena, InterpC);
  c->ffi = *ffi;
  c->address = given->address;
  c->types = HDB_NEW_N(fs->arena, ffi_type *, n + 1);
  c->args = HDB_NEW_N(fs->arena, void *, n + 1);
  c->slot = HDB_NEW_N(fs->arena, uint64_t, n + 1);
  for (uint32_t k = 0; k < n; k++) {
    const IrType *t = fn->body->params[k]->type;
    c->types[k] = ffi->type[t->kind];
    c->args[k] = &c->slot[k];
    if (hdir_is_composite(t)) c->slot[k] = (uint64_t)(uintptr_t)memory_of(fs, t);
  }
  if (result && hdir_is_composite(result)) {
    c->out = memory_of(fs, result);
    c->types[n] = ffi->type[IR_PTR];
    c->slot[n] = (uint64_t)(uintptr_t)c->out;
    c->args[n] = &c->slot[n];
    n++;
  }
  ffi_type *back = ffi->type[result && !c->out ? result->kind : IR_VOID];
  if (ffi->prep_cif(&c->cif, FFI_DEFAULT_ABI, n, back, c->types) == FFI_OK) return HD_OK;
  return hdb_fail(err, HD_ERR_UNSUPPORTED, fn->name, "libffi cannot call the C function '%.60s'", fn->name);
}

HdStatus hdinterp_c_bind(InterpFrames *fs, const InterpLaunch *launch, HdError *err) {
  Ffi ffi = {0};
  for (uint32_t k = 0; k < fs->count; k++) {
    if (!fs->all[k]->fn->is_extern) continue;
    if (!ffi.call) HD_TRY(open_ffi(err, &ffi));
    HD_TRY(prepare(fs, &ffi, fs->all[k], launch, err));
  }
  return HD_OK;
}

/* libffi gives integers as wide as a register. */
typedef union Result {
  ffi_arg integer;
  float f32;
  double f64;
} Result;

static uint64_t leaf_of(const IrType *t, const Result *r) {
  uint64_t x = 0;
  if (t->kind == IR_F32)
    memcpy(&x, &r->f32, sizeof r->f32);
  else if (t->kind == IR_F64)
    memcpy(&x, &r->f64, sizeof r->f64);
  else if (t->kind == IR_BOOL)
    x = (r->integer & 0xff) != 0;
  else
    x = hdir_bits(t) < 64 ? (uint64_t)r->integer & ((UINT64_C(1) << hdir_bits(t)) - 1) : (uint64_t)r->integer;
  return x;
}

void hdinterp_c_call(InterpThread *t, const InterpFrame *f, const IrInst *i) {
  const InterpFrame *callee = f->callee[i->id];
  InterpC *c = callee->c;
  Result r = {0};
  for (uint32_t k = 0; k < i->nargs; k++) {
    const IrValue *p = callee->fn->body->params[k];
    const uint64_t *x = hdinterp_leaves(callee, p);
    if (hdir_is_composite(p->type))
      hdinterp_write(t->frames, p->type, (void *)(uintptr_t)c->slot[k], x);
    else
      c->slot[k] = *x; /* little endian: the low bytes come first */
  }
  c->ffi.call(&c->cif, c->address, &r, c->args);
  if (!i->nres) return;
  if (c->out)
    hdinterp_read(t->frames, i->res[0]->type, c->out, hdinterp_leaves(f, i->res[0]));
  else
    *hdinterp_leaves(f, i->res[0]) = leaf_of(i->res[0]->type, &r);
}
