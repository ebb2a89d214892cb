/* api/modules.h -- modules and kernels behind their handles, and the steps of the compile driver. */
#ifndef HDAPI_MODULES_H
#define HDAPI_MODULES_H

#include "api/api.h"
#include "ir/ir.h"
HD_BEGIN_DECLS

typedef enum ModFrom { MOD_SOURCE, MOD_IR, MOD_BUILT } ModFrom;

typedef struct ModStruct {
  const char *name;
  uint32_t    size;
} ModStruct;

/* A kernel as the front end left it; known without its IR when the cache knew the source. */
typedef struct ModKernel {
  RtSignature sig;
  char        ir[33]; /* hash of its IR with all that it calls */
} ModKernel;

struct HdModule {
  HdContext      *ctx;
  Arena           arena; /* all that follows, and the kernels */
  const char     *name;
  ModFrom         from;
  const char     *text; /* kept, for the IR may be wanted later */
  size_t          size;
  HdModuleOptions options; /* copied deeply */
  IrModule       *ir;      /* NULL until it is wanted           */
  double          front_ms;
  uint32_t        nkernels, nstructs;
  ModKernel      *kernels;
  ModStruct      *structs;
  HdKernel       *made; /* a list */
  Arena           emitted;
};

/* What the interpreter runs. */
typedef struct InterpCode {
  const IrFunc *kernel;
  uint32_t      nfunctions;
  const struct InterpFunction *functions;
} InterpCode;

enum { CODE_DENSE, CODE_GENERAL, CODE_VARIANTS };

struct HdKernel {
  HdModule        *module;
  const ModKernel *of;
  HdDevice         device;
  RtDevice        *rt;
  bool             has[CODE_VARIANTS];
  RtCode           code[CODE_VARIANTS];
  bool             from_cache;
  HdTimes          times;
  InterpCode       interp;
  HdKernel        *next;
};

/* --- modules (module.c) --- */
HdStatus hdapi_module_new(HdContext *ctx, const char *name, const HdModuleOptions *options, HdModule **out);
/* The IR, made again from the source if it was not needed so far. Inside a guard of m->arena. */
HdStatus hdapi_module_ir(HdModule *m);
/* Fill in kernels and structs from m->ir. Inside a guard. */
HdStatus hdapi_module_describe(HdModule *m, Arena *scratch);
double   hdapi_ms(void); /* now */

/* --- signatures (signature.c); inside a guard of `a` --- */
HdType hdapi_type_of(const IrType *t);
void   hdapi_signature(const IrFunc *kernel, Arena *a, RtSignature *out);
/* A module with a kernel and what it calls, in `a`. */
IrFunc *hdapi_alone(const IrFunc *kernel, Arena *a);
void    hdapi_ir_hash(const IrFunc *kernel, Arena *scratch, char out[33]);

/* --- C functions (c_functions.c) --- */
HdStatus  hdapi_check_functions(HdContext *ctx, const HdModuleOptions *o);
void      hdapi_copy_functions(HdModule *m, const HdModuleOptions *o);
/* Those that a module calls, without addresses. */
RtImport *hdapi_imports(const IrModule *m, Arena *a, uint32_t *n);
/* Give them the addresses that the program gave. */
HdStatus  hdapi_bind(const HdModule *m, const char *kernel, uint32_t n, RtImport imports[]);

/* --- the source tier of the cache (source_cache.c); inside a guard --- */
/* *found: m->kernels and m->structs were filled in. */
HdStatus hdapi_source_get(HdModule *m, Arena *scratch, bool *found);
HdStatus hdapi_source_put(HdModule *m, Arena *scratch);

/* --- kernels (kernel.c) --- */
/* Code for dense or for any arrays, compiled at the first call. */
HdStatus hdapi_kernel_code(HdKernel *k, int variant, const RtCode **out);
void     hdapi_kernel_end(HdKernel *k);
/* Check arguments and put them into a block of RT_MAX_ARGS bytes; *variant is the code that takes them (launch.c). */
HdStatus hdapi_put_args(const HdKernel *k, int32_t nargs, const HdArg args[], char *block, int *variant);
const char *hdapi_build_id(void);
HdStatus hdapi_module_target(HdModule *m, const char *name, Arena *a, bool must_run, CpuTarget *out);
CpuOptions hdapi_cpu_options(const HdModule *m, bool dense);
/* The key of a kernel's code for the CPU and dense arrays, in m->arena. */
HdStatus hdapi_code_fields(HdModule *m, const char *kernel, const char **out);

HD_END_DECLS
#endif
