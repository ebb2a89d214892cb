/* frontend/lang/compile.c -- one compilation from text to module, and the library for the builder. */
#include <limits.h>
#include <locale.h>
#include <stdlib.h>

#include "frontend/lang/lower.h"

FeLower hdfe_outside(FeCompiler *fe, FeUnit *u, const FeBind *binds, FeFn *fn) {
  return (FeLower){.fe = fe, .unit = u, .fn = fn, .binds = binds, .b = &fe->scratch};
}

/* The scratch function takes values of some types, so that calls can be tried with them; it is not in the module. */
static void compiler_init(FeCompiler *fe, Arena *a, IrModule *m, const FeOptions *o, uint32_t n,
                          const IrType *const types[]) {
  *fe = (FeCompiler){.arena = a, .options = o, .module = m};
  hdb_map_init(&fe->names, a);
  hdb_map_init(&fe->by_path, a);
  hdb_map_init(&fe->instances, a);
  hdb_map_init(&fe->builtins, a);
  hdb_map_init(&fe->by_symbol, a);
  fe->define_used = HDB_NEW_N(a, bool, o->ndefines + 1);
  IrFunc *f = hdir_func_new(m, ".constants", false, n, types, 0, NULL);
  hdir_func_remove(m, f);
  hdir_build_begin(&fe->scratch, f);
  fe->c_locale = (void *)newlocale(LC_ALL_MASK, "C", (locale_t)0); /* strtod must not see the program's locale */
}

static void compiler_done(FeCompiler *fe) { freelocale((locale_t)fe->c_locale); }

/* --- checks that need no lowering --- */

static bool same_params(FeCompiler *fe, FeFn *f, FeFn *g) {
  if (f->nparams != g->nparams || f->ngenerics || g->ngenerics) return false;
  FeLower L = hdfe_outside(fe, f->unit, NULL, NULL);
  for (uint32_t i = 0; i < f->nparams; i++) {
    const IrType *a = hdfe_type(&L, f->params[i].type);
    if (!a || a != hdfe_type(&L, g->params[i].type)) return false;
  }
  return true;
}

static void check_twice(FeCompiler *fe, FeUnit *u, FeFn *f) {
  for (FeFn *g = f->next; g; g = g->next) {
    if (!f->is_kernel && !g->is_kernel && !same_params(fe, f, g)) continue;
    FeReport *r = hdfe_report(fe, u, g->span, FE_D_redefinition, g->name);
    hdfe_note(fe, r, u, f->span, FE_D_declared_here, f->name);
    g->broken |= f->is_extern || g->is_extern; /* enough said */
  }
}

static void check_unit(FeCompiler *fe, FeUnit *u) {
  FeLower L = hdfe_outside(fe, u, NULL, NULL);
  for (uint32_t i = 0; i < u->nstructs; i++) {
    FeStruct *s = u->struct_list[i];
    if (hdfe_type_named(&L, s->name) || hdfe_is_type_family(s->name))
      hdfe_report(fe, u, s->span, FE_D_name_is_type, s->name);
    hdfe_struct_type(fe, s);
  }
  for (uint32_t i = 0; i < u->nconsts; i++) hdfe_const_item(fe, u->const_list[i]);
  for (uint32_t i = 0; i < u->nasserts; i++) hdfe_stmt(&L, u->assert_list[i]);
  for (uint32_t i = 0; i < u->nfns; i++) {
    FeFn *f = u->fn_list[i];
    if (hdfe_type_named(&L, f->name) || hdfe_is_type_family(f->name) || hdb_map_get_str(&u->structs, f->name))
      hdfe_report(fe, u, f->span, FE_D_name_is_type, f->name);
    check_twice(fe, u, f);
  }
}

/* Lower everything in a file that needs no arguments to be known. */
static void lower_unit(FeCompiler *fe, FeUnit *u, bool kernels) {
  for (uint32_t i = 0; i < u->nfns && !fe->full; i++) {
    FeFn *f = u->fn_list[i];
    if (f->broken || f->ngenerics || (f->is_kernel && !kernels)) continue;
    FeLower L = hdfe_outside(fe, u, NULL, NULL);
    FeMatch m = {.fn = f, .params = HDB_NEW_N(fe->arena, const IrType *, f->nparams + 1)};
    bool ok = true;
    for (uint32_t k = 0; k < f->nparams; k++) {
      m.params[k] = hdfe_type(&L, f->params[k].type);
      ok &= m.params[k] != NULL;
    }
    f->broken = !ok;
    if (ok) hdfe_instance(&L, &m, f->span);
  }
}

/* --- what the module keeps --- */

static void mark_used(IrFunc *f, IrFunc **all, bool *used, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (all[i] != f) continue;
    if (used[i]) return;
    used[i] = true;
  }
  for (IrInst *i = f->body->first; i; i = hdir_inst_next(i))
    if (i->op == IR_call) mark_used(i->callee, all, used, n);
}

/* Callees first; without kernels, everything. */
static void arrange(FeCompiler *fe) {
  bool *used = HDB_NEW_N(fe->arena, bool, fe->ndone + 1), kernels = false;
  for (uint32_t i = 0; i < fe->ndone; i++) kernels |= fe->done[i]->is_kernel;
  for (uint32_t i = 0; i < fe->ndone; i++)
    if (fe->done[i]->is_kernel || !kernels) mark_used(fe->done[i], fe->done, used, fe->ndone);
  fe->module->nfuncs = 0; /* the same functions in another order: there is room */
  for (uint32_t i = 0; i < fe->ndone; i++)
    if (used[i]) fe->module->funcs[fe->module->nfuncs++] = fe->done[i];
}

static void warn_defines(FeCompiler *fe, FeUnit *u) {
  for (uint32_t i = 0; i < fe->options->ndefines; i++)
    if (!fe->define_used[i]) hdfe_report(fe, u, (FeSpan){1, 1, 1}, FE_D_unused_define, fe->options->defines[i].name);
}

static HdStatus finish(FeCompiler *fe, HdError *err, FeResult *out) {
  compiler_done(fe);
  hdfe_reports_finish(fe, out);
  out->module = NULL;
  if (fe->nerrors == 0) {
    arrange(fe);
    out->module = fe->module;
    return HD_OK;
  }
  for (uint32_t i = 0; i < out->ndiags; i++)
    if (out->diags[i].severity == FE_ERROR)
      return hdb_fail_at(err, HD_ERR_SOURCE, out->diags[i].where, "%s", out->diags[i].message);
  return hdb_fail(err, HD_ERR_SOURCE, "", "errors in the library");
}

HdStatus hdfe_compile(Arena *a, const char *path, const char *text, size_t len, const FeOptions *options, HdError *err,
                      FeResult *out) {
  static const FeOptions none = {0};
  FeCompiler fe;
  char real[PATH_MAX];
  compiler_init(&fe, a, hdir_module_new(a, path), options ? options : &none, 0, NULL);
  FeUnit *u = hdfe_unit_new(&fe, path, text, len, false);
  if (realpath(path, real)) hdb_map_set_str(&fe.by_path, real, u);
  hdfe_unit_load(&fe, u);
  for (uint32_t i = 0, n = fe.nunits; i < n; i++)
    if (!fe.units[i]->library) check_unit(&fe, fe.units[i]);
  for (uint32_t i = 0, n = fe.nunits; i < n; i++)
    if (!fe.units[i]->library) lower_unit(&fe, fe.units[i], fe.units[i] == u);
  warn_defines(&fe, u);
  return finish(&fe, err, out);
}

/* --- the library for the builder --- */

static HdStatus fail_library(FeCompiler *fe, HdError *err, const char *name, const FeOverloads *all, FeLower *L) {
  if (fe->reports) {
    FeResult r;
    hdfe_reports_finish(fe, &r);
    return hdb_fail_at(err, HD_ERR_SOURCE, r.diags[0].where, "%s", r.diags[0].message);
  }
  if (!all->count) return hdb_fail(err, HD_ERR_NOT_FOUND, name, "the library has no function '%s'", name);
  Buf b;
  hdb_buf_init(&b, fe->arena);
  for (uint32_t i = 0; i < all->count && i < 4; i++)
    hdb_putf(&b, "%s%s", i ? "; " : "", hdfe_shown_fn(L, all->first[i]));
  return hdb_fail(err, HD_ERR_TYPE, name, "no '%s' takes these arguments; there are: %s", name, b.data);
}

IrFunc *hdfe_library_function(IrModule *m, const char *name, uint32_t nargs, const IrType *const args[],
                              const FeOptions *options, HdError *err) {
  FeCompiler fe;
  compiler_init(&fe, m->arena, m, options, nargs, args);
  fe.linking = true;
  FeUnit *u = hdfe_unit_new(&fe, "builder", "", 0, false), *units[8];
  FeLower L = hdfe_outside(&fe, u, NULL, NULL);
  FeMatch best = {0};
  FeOverloads all = {0};
  FeEx *values = HDB_NEW_N(m->arena, FeEx, nargs + 1);
  for (uint32_t i = 0; i < nargs; i++) values[i] = hdfe_ex(fe.scratch.fn->body->params[i]);
  name = hdfe_name(&fe, name);
  uint32_t n = hdfe_library_units(&fe, name, units);
  for (uint32_t i = 0; i < n; i++)
    hdfe_overload(&L, hdb_map_get_str(&units[i]->fns, name), nargs, values, NULL, &best, &all);
  FeInstance *i = best.fn && !best.tie ? hdfe_instance(&L, &best, (FeSpan){1, 1, 1}) : NULL;
  if (!i || fe.nerrors) {
    fail_library(&fe, err, name, &all, &L);
    i = NULL;
  }
  compiler_done(&fe);
  return i ? i->ir : NULL;
}
