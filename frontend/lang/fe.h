/* frontend/lang/fe.h -- one compilation: its units, its diagnostics, its names. Shared by the room's files. */
#ifndef FE_H
#define FE_H

#include <stdarg.h>

#include "frontend/lang/ast.h"
#include "frontend/lang/lang.h"
#include "ir/build.h"
HD_BEGIN_DECLS

#define FE_MAX_DIAGS 50
#define FE_MAX_DEPTH 200      /* of nested source: parentheses, blocks, types        */
#define FE_MAX_TREE 1000      /* of one expression's tree: a + b + c + ..            */
#define FE_MAX_CALLS 100      /* of functions lowered inside one another             */
#define FE_MAX_UNROLL 65536   /* rounds of static for in one function                */
#define FE_MAX_PARTS 64       /* of a vector, matrix side                            */
#define FE_MAX_FIXED 65536    /* scalars in a fixed array or struct                  */
#define FE_MAX_STMTS 262144   /* lowered in all, once static for and generics are written out */

/* --- diagnostics (diag.c) --- */
typedef enum FeDiagId {
#define FE_DIAG(id, severity, message, hint) FE_D_##id,
#include "frontend/lang/diagnostics.def"
  FE_NDIAGS
} FeDiagId;

/* A diagnostic with the notes that belong to it. */
typedef struct FeReport FeReport;

typedef struct FeCompiler   FeCompiler;

/* --- a file --- */
struct FeUnit {
  const char *path;    /* as shown: "lib/math/trig.hd"                                 */
  const char *text;
  uint32_t    len;
  uint32_t    index;   /* in FeCompiler.units                                          */
  uint32_t    file;    /* in the module                                                */
  bool        library; /* from FeOptions.library: no warnings                          */
  enum { FE_UNIT_BUSY, FE_UNIT_DONE } state;
  FeToken    *tokens;
  uint32_t    ntokens;
  Map         fns, structs, consts; /* by name: FeFn chains, FeStruct, FeConstItem     */
  FeFn      **fn_list;              /* in the order of the source                      */
  FeStruct  **struct_list;
  FeConstItem **const_list;
  FeStmt    **assert_list;
  FeImport   *import_list;
  FeUnit    **imports;              /* what import_list found, in order, without NULL  */
  uint32_t    nfns, cap_fns, nstructs, cap_structs, nconsts, cap_consts, nasserts, cap_asserts;
  uint32_t    nimport_list, cap_import_list, nimports, cap_imports;
};

typedef struct FeInstance FeInstance;

struct FeCompiler {
  Arena           *arena;
  const FeOptions *options;
  IrModule        *module;
  Map              names;    /* interned strings                                       */
  Map              by_path;  /* units                                                  */
  FeUnit         **units;
  uint32_t         nunits, cap_units;
  Map              instances; /* (function, bindings) to FeInstance                    */
  IrFunc         **done;      /* functions in the order in which they were finished    */
  uint32_t         ndone, cap_done;
  IrBuilder        scratch;   /* where constants outside functions are computed        */
  Map              builtins;  /* types by name, as they are asked for                  */
  FeReport        *reports, *last_report;
  uint32_t         nreports, nerrors; /* kept, notes included; errors                  */
  bool             full;              /* a limit was reached: nothing more is lowered  */
  uint32_t         nstmts;            /* lowered so far                                */
  bool             linking;           /* functions that the module has already are used     */
  Map              by_symbol;         /* library units by a name that they define           */
  bool            *define_used;       /* by index in options->defines                  */
  void            *c_locale;          /* for strtod_l                                  */
};

/* Report; NULL if it was reported before at that place or is beyond the limit. The row's format takes the rest. */
FeReport *hdfe_report(FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id, ...);
FeReport *hdfe_report_text(FeCompiler *fe, const FeUnit *unit, FeSpan span, FeDiagId id, const char *message);
const char *hdfe_format(FeCompiler *fe, FeDiagId id, va_list ap); /* the row's message */
void      hdfe_note(FeCompiler *fe, FeReport *to, const FeUnit *unit, FeSpan span, FeDiagId id, ...);
void      hdfe_hint(FeCompiler *fe, FeReport *to, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void      hdfe_reports_finish(FeCompiler *fe, FeResult *out); /* in the order of the source */

/* Suggest the nearest of some names: begin, offer each, then end. */
typedef struct FeNearest {
  const char *want, *best;
  int         distance;
} FeNearest;
void hdfe_nearest_begin(FeNearest *n, const char *want);
void hdfe_nearest_offer(FeNearest *n, const char *name);
void hdfe_nearest_hint(FeCompiler *fe, FeReport *to, const FeNearest *n); /* nothing if none is near */

/* --- text to tree --- */
void     hdfe_lex(FeCompiler *fe, FeUnit *u);   /* fills tokens; reports what is no token */
void     hdfe_parse(FeCompiler *fe, FeUnit *u); /* fills the lists and maps               */
FeExpr  *hdfe_parse_value(FeCompiler *fe, FeUnit *u); /* the whole text as one expression  */

/* --- units (unit.c) --- */
/* The unit of a file or library module, parsed and with its imports; NULL if there is none. */
FeUnit *hdfe_unit_new(FeCompiler *fe, const char *path, const char *text, size_t len, bool library);
FeUnit *hdfe_unit_library(FeCompiler *fe, const char *module);
void    hdfe_unit_load(FeCompiler *fe, FeUnit *u);
/* A library name that differs from this one by a slip of the fingers, or NULL. */
const char *hdfe_library_near(FeCompiler *fe, const char *name);
/* The library units that may define `name`, written to out; at most 8. */
uint32_t hdfe_library_units(FeCompiler *fe, const char *name, FeUnit *out[8]);

static inline const char *hdfe_name(FeCompiler *fe, const char *s) { return hdb_intern(&fe->names, s, strlen(s)); }

HD_END_DECLS
#endif
