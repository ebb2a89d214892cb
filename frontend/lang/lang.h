/* frontend/lang/lang.h -- `.hd` source to IR. docs/language.md is the reference. */
#ifndef LANG_H
#define LANG_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef enum FeSeverity { FE_ERROR, FE_WARNING, FE_NOTE } FeSeverity;

/* One diagnostic, as clang gives them; rows of diagnostics.def. */
typedef struct FeDiag {
  FeSeverity  severity;
  const char *id;      /* "type_mismatch": the row's name                   */
  HdSpan      where;
  int32_t     length;  /* columns underlined, at least 1                    */
  const char *message;
  const char *line;    /* the text of the source line                       */
  const char *hint;    /* a suggestion, or NULL                             */
} FeDiag;

typedef struct FeDefine { /* -D NAME=VALUE: a const parameter or a top-level const that is declared without a value */
  const char *name, *value;
} FeDefine;

typedef struct FeOptions {
  uint32_t          ndefines;
  const FeDefine   *defines;
  uint32_t          npaths;
  const char *const *paths; /* folders searched by import, after the importing file's own                         */
  bool              bounds; /* check every array access                                                           */
  bool              fast;   /* kernels may use approximations                                                     */
  /* Finds a library module by name ("math/trig"): its text, zero-terminated, or NULL. */
  const char *(*library)(void *user, const char *module);
  /* Finds the library module that has a function, type or constant of this name, or NULL; several (of an operator, say)
   * are separated by spaces. */
  const char *(*library_index)(void *user, const char *name);
  void *user;
} FeOptions;

typedef struct FeResult {
  IrModule     *module;  /* NULL if there were errors; holds the kernels and every function they use */
  uint32_t      ndiags;
  const FeDiag *diags;   /* in the order of the source; at most 50                                   */
} FeResult;

/* Compile one file's text. Everything is made in `a`. Returns HD_ERR_SOURCE, with the first diagnostic in err, if there
 * are errors; HD_ERR_NOMEM is left to the arena's guard. */
HdStatus hdfe_compile(Arena *a, const char *path, const char *text, size_t len, const FeOptions *options, HdError *err,
                      FeResult *out);

/* The diagnostics as clang prints them: place, severity, message, source line with a caret, hint. */
void hdfe_render(Buf *b, const FeResult *r, bool color);

/* Lower one library function for given argument types into `m` (the builder API's way to sin, dot, ..). NULL if there is none
 * that fits; err says which there are. */
IrFunc *hdfe_library_function(IrModule *m, const char *name, uint32_t nargs, const IrType *const args[],
                              const FeOptions *options, HdError *err);

HD_END_DECLS
#endif
