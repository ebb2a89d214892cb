/* tests/fakecuda/ptx_layout.c -- where registers, frames and variables lie; and linking a module into a space. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_text.h"

static uint32_t align_up(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }

/* --- who calls whom --- */

/* Marks all that `f` may run; a call through a register may reach every function. */
static void reach(const PtxModule *m, uint32_t f, uint8_t *seen) {
  if (seen[f]) return;
  seen[f] = 1;
  for (uint32_t i = 0; i < m->funcs[f].ncalls; i++) reach(m, m->funcs[f].calls[i], seen);
  if (m->funcs[f].indirect)
    for (uint32_t g = 0; g < m->nfuncs; g++)
      if (!m->funcs[g].is_entry) reach(m, g, seen);
}

static bool may_return_to_itself(const PtxModule *m, uint32_t f, uint8_t *seen) {
  memset(seen, 0, m->nfuncs);
  for (uint32_t i = 0; i < m->funcs[f].ncalls; i++) reach(m, m->funcs[f].calls[i], seen);
  if (m->funcs[f].indirect)
    for (uint32_t g = 0; g < m->nfuncs; g++)
      if (!m->funcs[g].is_entry) reach(m, g, seen);
  return seen[f];
}

/* Bytes of the longest chain of calls; UINT64_MAX where the text does not bound it. */
static uint64_t deepest(PtxModule *m, uint32_t f) {
  PtxFunc *fn = &m->funcs[f];
  if (fn->recursive || fn->indirect || fn->grows) return UINT64_MAX;
  if (fn->deepest) return fn->deepest;
  uint64_t most = 0;
  for (uint32_t i = 0; i < fn->ncalls; i++) {
    uint64_t d = deepest(m, fn->calls[i]);
    if (d > most) most = d;
  }
  fn->deepest = most == UINT64_MAX ? most : most + fn->frame + 16;
  return fn->deepest;
}

/* --- columns --- */

typedef struct Places {
  uint32_t base, consts;
} Places;

static void place(uint32_t *column, Places at) {
  if (*column == UINT32_MAX) return;
  if (*column & PTX_IN_CONST)
    *column = at.consts + (*column & ~PTX_IN_CONST);
  else if (*column & PTX_IN_FUNC)
    *column = at.base + (*column & ~PTX_IN_FUNC);
}

static void place_actuals(PtxActual *a, uint32_t n, Places at) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i].kind == 0) place(&a[i].at, at);
}

static void place_function(PtxModule *m, PtxFunc *f) {
  Places at = {f->base, m->const_at};
  for (uint32_t k = f->pc; k < f->end; k++) {
    Ins *x = &m->code[k];
    place(&x->d, at), place(&x->a, at), place(&x->b, at), place(&x->c, at), place(&x->e, at), place(&x->guard, at);
    if (x->flow != FLOW_BRX)
      for (uint32_t i = 0; i < x->nlist; i++) place(&m->lists[x->list + i], at);
    if (x->flow == FLOW_CALL) {
      PtxCall *c = &m->calls[x->target];
      place_actuals(c->in, c->nin, at);
      place_actuals(c->out, c->nout, at);
    }
  }
  for (uint32_t i = 0; i < f->nslots; i++) f->slots[i] += f->base << 4;
}

static void layout_columns(Parser *p) {
  PtxModule *m = p->m;
  uint32_t top = PTX_SPECIAL_BYTES, entries = 0;
  for (uint32_t i = 0; i < m->nfuncs; i++)
    if (m->funcs[i].is_entry && m->funcs[i].bytes > entries) entries = m->funcs[i].bytes;
  top += entries;
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    PtxFunc *f = &m->funcs[i];
    f->base = PTX_SPECIAL_BYTES;
    if (f->is_entry) continue;
    f->base = top;
    top += align_up(f->bytes, 64);
  }
  m->const_at = align_up(top, 64);
  m->file_bytes = align_up(m->const_at + p->const_bytes, 64);
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    PtxFunc *f = &m->funcs[i];
    Places at = {f->base, m->const_at};
    for (uint32_t k = 0; k < f->nin; k++)
      if (f->in[k].is_reg) place(&f->in[k].at, at);
    for (uint32_t k = 0; k < f->nout; k++)
      if (f->out[k].is_reg) place(&f->out[k].at, at);
    if (f->defined) place_function(m, f);
  }
}

/* --- shared memory of an entry: its own variables and those of what it calls --- */

static bool layout_shared(PtxModule *m, PtxFunc *f, uint32_t index, uint8_t *seen, PtxError *err) {
  uint64_t top = 0;
  memset(seen, 0, m->nfuncs);
  reach(m, index, seen);
  f->shared_at = ptx_arena(m, (m->nvars + 1) * sizeof *f->shared_at);
  uint8_t *used = calloc(m->nvars + 1, 1);
  for (uint32_t g = 0; g < m->nfuncs; g++)
    for (uint32_t i = 0; seen[g] && i < m->funcs[g].nvars; i++) used[m->funcs[g].vars[i]] = 1;
  for (int dynamic = 0; dynamic < 2; dynamic++) {
    uint64_t end = top;
    for (uint32_t v = 0; v < m->nvars; v++) {
      const PtxVar *x = &m->vars[v];
      if (!used[v] || x->space != SP_SHARED || x->is_extern != (dynamic == 1)) continue;
      uint64_t at = (top + x->align - 1) / x->align * x->align;
      f->shared_at[v] = (uint32_t)at;
      if (dynamic)
        end = at > end ? at : end;
      else
        top = at + x->size;
    }
    if (dynamic) top = end;
  }
  free(used);
  f->info.shared_bytes = (uint32_t)top;
  if (top > (1u << 20))
    return ptx_fail(err, PTX_BAD_TEXT, 0, "kernel '%s' has more shared memory than any device", f->name) == 0;
  return true;
}

bool ptx_finish(Parser *p) {
  PtxModule *m = p->m;
  uint8_t *seen = calloc(m->nfuncs + 1, 1);
  bool ok = true;
  layout_columns(p);
  m->entries = ptx_arena(m, (m->nfuncs + 1) * sizeof *m->entries);
  m->globals = ptx_arena(m, (m->nvars + 1) * sizeof *m->globals);
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    PtxFunc *f = &m->funcs[i];
    f->recursive = !f->is_entry && may_return_to_itself(m, i, seen);
    if (f->is_entry && f->defined) m->entries[m->nentries++] = i;
  }
  for (uint32_t i = 0; i < m->nfuncs; i++) {
    PtxFunc *f = &m->funcs[i];
    f->deepest = deepest(m, i);
    f->info.local_bytes = f->deepest == UINT64_MAX ? 0 : (uint32_t)f->deepest;
    if (f->is_entry && f->defined) ok = ok && layout_shared(m, f, i, seen, p->err);
  }
  for (uint32_t v = 0; v < m->nvars; v++) {
    PtxVar *x = &m->vars[v];
    if (x->space != SP_GLOBAL && x->space != SP_CONST) continue;
    x->global = m->nglobals;
    m->globals[m->nglobals++] = (PtxGlobal){x->name, 0, x->size, x->align, x->space == SP_CONST};
  }
  free(seen);
  p->failed = !ok;
  return ok;
}

/* --- what a module has --- */

int ptx_version(const PtxModule *m) { return m->version; }
int ptx_target(const PtxModule *m) { return m->target; }
const char *ptx_target_name(const PtxModule *m) { return m->target_name; }
uint32_t ptx_entry_count(const PtxModule *m) { return m->nentries; }
const PtxEntry *ptx_entry_at(const PtxModule *m, uint32_t i) {
  return i < m->nentries ? &m->funcs[m->entries[i]].info : NULL;
}
const PtxEntry *ptx_entry(const PtxModule *m, const char *name) {
  for (uint32_t i = 0; i < m->nentries; i++)
    if (strcmp(m->funcs[m->entries[i]].name, name) == 0) return ptx_entry_at(m, i);
  return NULL;
}
uint32_t ptx_global_count(const PtxModule *m) { return m->nglobals; }
const PtxGlobal *ptx_global_at(const PtxModule *m, uint32_t i) { return i < m->nglobals ? &m->globals[i] : NULL; }
const PtxGlobal *ptx_global(const PtxModule *m, const char *name) {
  for (uint32_t i = 0; i < m->nglobals; i++)
    if (strcmp(m->globals[i].name, name) == 0) return &m->globals[i];
  return NULL;
}

/* --- linking --- */

static int place_var(PtxModule *m, PtxSpace *s, PtxVar *v, PtxPlace *put, void *user, PtxError *err) {
  if (v->is_extern) return ptx_fail(err, PTX_BAD_TEXT, 0, "'%s' is extern and defined nowhere", v->name);
  uint64_t size = v->size ? v->size : 1;
  if (put) {
    int rc = put(user, size, v->align, v->name, &v->address, &v->host);
    if (rc) return ptx_fail(err, rc, 0, "no memory for '%s', %llu bytes", v->name, (unsigned long long)size);
  } else {
    uint64_t align = v->align < 16 ? 16 : v->align;
    v->host = aligned_alloc(align, (size + align - 1) / align * align);
    v->owned = true;
    v->address = (uint64_t)(uintptr_t)v->host;
    int rc = ptx_space_add(s, v->address, size, v->host, v->space == SP_CONST ? PTX_READ_ONLY : 0, v->name);
    if (rc) return ptx_fail(err, rc, 0, "'%s' overlaps other memory", v->name);
  }
  memset(v->host, 0, size);
  if (v->init) memcpy(v->host, v->init, v->size);
  m->globals[v->global].address = v->address;
  return 0;
}

static uint64_t function_address(uint32_t f) { return PTX_CODE_WINDOW + 16 * ((uint64_t)f + 1); }

int ptx_link(PtxModule *m, PtxSpace *s, PtxPlace *put, void *user, PtxError *err) {
  if (m->space) return ptx_fail(err, PTX_INVALID, 0, "the module is linked already");
  for (uint32_t i = 0; i < m->nfuncs; i++)
    for (uint32_t k = 0; k < m->funcs[i].ncalls; k++) {
      const PtxFunc *f = &m->funcs[m->funcs[i].calls[k]];
      if (!f->defined && !f->builtin)
        return ptx_fail(err, PTX_BAD_TEXT, 0, "function '%s' is called and defined nowhere", f->name);
    }
  for (uint32_t v = 0; v < m->nvars; v++) {
    if (m->vars[v].space != SP_GLOBAL && m->vars[v].space != SP_CONST) continue;
    int rc = place_var(m, s, &m->vars[v], put, user, err);
    if (rc) return rc;
  }
  for (uint32_t v = 0; v < m->nvars; v++)
    for (uint32_t i = 0; i < m->vars[v].nrelocs; i++) {
      const PtxReloc *r = &m->vars[v].relocs[i];
      uint64_t a = r->var != UINT32_MAX ? m->vars[r->var].address : function_address(r->func);
      a += (uint64_t)r->add;
      memcpy((char *)m->vars[v].host + r->at, &a, 8);
    }
  m->space = s;
  return 0;
}
