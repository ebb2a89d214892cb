/* heddle/module.h -- kernels from source, from IR text, or from the builder.
 *
 * Loading reads and checks; machine code is made when a kernel is first asked for, or found in the cache.
 */
#ifndef HEDDLE_MODULE_H
#define HEDDLE_MODULE_H

#include "heddle/device.h"
HD_BEGIN_DECLS

typedef struct HdModule HdModule;
typedef struct HdKernel HdKernel;

typedef struct HdDefine { /* a value for a const parameter or const of the module, as source text */
  const char *name, *value;
} HdDefine;

/* A C function for kernels that run on the CPU and the interpreter. The signature is as docs/ir.md writes types, blanks aside:
 * "clamp(f32, i32) -> f32", "push(vec<f32, 3>, array<f32, 1>)". docs/language.md says how values travel. */
typedef struct HdCFunction {
  const char *signature;
  void      (*address)(void);
} HdCFunction;

typedef struct HdModuleOptions {
  int32_t            ndefines;
  const HdDefine    *defines;
  int32_t            npaths;
  const char *const *paths;     /* folders that import searches                                              */
  bool               fast;      /* approximations allowed; results may differ between targets                */
  bool               bounds;    /* check every array access; a failure is reported by hd_stream_wait         */
  int32_t            width;     /* lanes of a gang: 1, 2, 4, 8, 16, 32; 0: chosen for each kernel            */
  const char        *target;    /* NULL: this machine; else a CPU level it has, "x86-64-v3"                  */
  int32_t            opt_level; /* 0 quick to compile, 2 the default, set by the INIT                        */
  int32_t            nfunctions;
  const HdCFunction *functions; /* of the program, that the module declares as `extern`; more may be given   */
} HdModuleOptions;
#define HD_MODULE_OPTIONS_INIT { 0, NULL, 0, NULL, false, false, 0, NULL, 2, 0, NULL }

/* `options` may be NULL. `name` stands for the file in messages.
 *
 * Ownership  the caller owns *out, until hd_module_free; kernels end with their module.
 * Errors     HD_ERR_SOURCE: the record has the first diagnostic, hd_context_diagnostics all; HD_ERR_IR; HD_ERR_IO. */
HD_API HdStatus hd_module_load_file(HdContext *ctx, const char *path, const HdModuleOptions *options, HdModule **out);
HD_API HdStatus hd_module_load_source(HdContext *ctx, const char *name, const char *text, size_t size,
                                      const HdModuleOptions *options, HdModule **out);
HD_API HdStatus hd_module_load_ir(HdContext *ctx, const char *name, const char *text, size_t size,
                                  const HdModuleOptions *options, HdModule **out);
/* Its kernels end with it: no stream may have work of theirs left, and no graph may hold them. */
HD_API void     hd_module_free(HdModule *module);

/* Names of the kernels, in the order of the source; lent for the module's life. */
HD_API int32_t     hd_module_kernel_count(const HdModule *module);
HD_API const char *hd_module_kernel_name(const HdModule *module, int32_t i);

/* The type of a struct that the module declares, for making arrays of it. */
HD_API HdStatus hd_module_struct(HdModule *module, const char *name, HdType *out);

/* Compile a kernel for a device, or find it in the cache.
 *
 * Ownership  *out is the module's; it is the same for the same name and device.
 * Errors     HD_ERR_NOT_FOUND lists the kernels, or names a C function that the kernel calls and the module was loaded
 *            without; HD_ERR_TYPE one whose signature differs; HD_ERR_UNSUPPORTED one that a GPU would call;
 *            HD_ERR_COMPILE; HD_ERR_LLVM. */
HD_API HdStatus hd_module_kernel(HdModule *module, const char *name, HdDevice device, HdKernel **out);

/* Compile all kernels for a device, several at once on the context's threads, whose memory for it is the system's. The code is
 * the same as hd_module_kernel makes, which finds it made.
 *
 * Errors     as hd_module_kernel, of the first kernel in the source's order that cannot be compiled; the others are. */
HD_API HdStatus hd_module_compile(HdModule *module, HdDevice device);

/* What a stage of the compiler makes of the module, as text or bytes. */
typedef enum HdEmit {
  HD_EMIT_IR = 1, /* as the front end left it                                     */
  HD_EMIT_IR_OPT, /* after the passes, with uniformity as comments                */
  HD_EMIT_LLVM,   /* as given to LLVM                                             */
  HD_EMIT_ASM,
  HD_EMIT_OBJ,    /* an ELF object                                                */
  HD_EMIT_PTX,    /* for an NVIDIA GPU, which need not be here                    */
} HdEmit;

/* `kernel` is a name, or NULL for all (one after the other; for HD_EMIT_OBJ the module must have just one).
 * `target` is NULL for this machine (for HD_EMIT_PTX: "sm_75"), or a name that `heddle info` lists. Code for "sm_.." is
 * the variant for dense arrays of fewer than 2^31 elements.
 *
 * Ownership  *data is lent until the next hd_module_emit on this module. It ends with a zero that size leaves out. */
HD_API HdStatus hd_module_emit(HdModule *module, const char *kernel, HdEmit what, const char *target, const char **data,
                               size_t *size);

HD_END_DECLS
#endif
