/* tests/fakecuda/ptx_parse.c -- a module: directives, variables, functions; and where everything lies in the end. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_text.h"

int ptx_fail(PtxError *err, int code, uint32_t line, const char *format, ...) {
  if (!err) return code;
  *err = (PtxError){.code = code, .line = line};
  va_list args;
  va_start(args, format);
  vsnprintf(err->text, sizeof err->text, format, args);
  va_end(args);
  return code;
}

void *ptx_realloc(void *p, size_t n) {
  void *q = realloc(p, n);
  if (!q) abort();
  return q;
}

void *ptx_arena(PtxModule *m, size_t size) {
  PtxBlockOfArena *b = calloc(1, sizeof *b + 16 + size);
  b->next = m->arena;
  m->arena = b;
  return (char *)b + 16;
}

static uint32_t align_up(uint32_t x, uint32_t to) { return (x + to - 1) / to * to; }
static void *keep(PtxModule *m, const void *from, size_t size) {
  void *to = ptx_arena(m, size + 1);
  if (size) memcpy(to, from, size);
  return to;
}

/* --- small things --- */

static bool integer(Parser *p, uint64_t *value) {
  bool minus = ptx_skip(p, '-');
  if (p->tok.kind != TOK_INT) return FAIL(p, "an integer expected");
  *value = minus ? 0 - p->tok.bits : p->tok.bits;
  ptx_next(p);
  return true;
}

static uint32_t small_integer(Parser *p, uint64_t most) {
  uint64_t v = 0;
  uint32_t line = p->tok.line;
  if (integer(p, &v) && v > most)
    ptx_error_at(p, line, "%llu is more than %llu", (unsigned long long)v, (unsigned long long)most);
  return p->failed ? 0 : (uint32_t)v;
}

static PtxType type_word(Parser *p) {
  PtxType t = p->tok.kind == TOK_DOT ? ptx_type_of(p->tok.at, p->tok.n) : PTX_NOTYPE;
  if (!t) FAIL(p, "a type expected, found '%.*s'", (int)p->tok.n, p->tok.at);
  ptx_next(p);
  return t;
}

static uint32_t name_word(Parser *p) {
  if (p->tok.kind != TOK_NAME) {
    FAIL(p, "a name expected");
    return 0;
  }
  uint32_t name = ptx_name(p, p->tok.at, p->tok.n);
  ptx_next(p);
  return name;
}

static Symbol *declare(Parser *p, uint32_t name, SymKind kind) {
  static Symbol none;
  Symbol *s = p->failed ? NULL : ptx_declare(p, name, kind);
  if (!s && !p->failed) FAIL(p, "'%s' is declared twice in these braces", p->names[name].text);
  return s ? s : &none;
}

/* --- registers --- */

uint32_t ptx_new_reg(Parser *p, PtxType type) {
  uint32_t bytes = ptx_types[type].bytes;
  if (bytes == 1) bytes = 2;
  uint32_t size = bytes ? bytes * LANES : 4;
  uint32_t at = align_up(p->reg_bytes, bytes ? 64 : 4);
  p->reg_bytes = at + size;
  GROW(p->slots, p->nslots, p->slots_room);
  p->slots[p->nslots++] = at << 4 | bytes;
  if (p->reg_bytes > (64u << 20)) FAIL(p, "more registers than this interpreter takes");
  return PTX_IN_FUNC | at;
}

static void registers(Parser *p) {
  ptx_next(p);
  if (!p->fn) {
    FAIL(p, "registers outside of a function");
    return;
  }
  if (ptx_is_dot(p, "v2") || ptx_is_dot(p, "v4")) FAIL(p, "vector registers are not known here");
  if (ptx_is_dot(p, "align")) FAIL(p, "registers have no alignment");
  PtxType t = type_word(p);
  do {
    uint32_t name = name_word(p);
    if (ptx_skip(p, '<')) {
      uint32_t n = small_integer(p, 1u << 24);
      ptx_want(p, '>');
      Symbol *s = declare(p, name, SYM_REGS);
      s->type = t, s->count = n;
      for (uint32_t k = 0; k < n && !p->failed; k++) {
        uint32_t at = ptx_new_reg(p, t);
        if (k == 0) s->at = at;
      }
    } else {
      Symbol *s = declare(p, name, SYM_REG);
      s->type = t, s->at = ptx_new_reg(p, t);
    }
  } while (ptx_skip(p, ','));
  ptx_want(p, ';');
}

/* --- variables --- */

void ptx_note_var(Parser *p, uint32_t var) {
  for (uint32_t i = 0; i < p->nfn_vars; i++)
    if (p->fn_vars[i] == var) return;
  GROW(p->fn_vars, p->nfn_vars, p->fn_vars_room);
  p->fn_vars[p->nfn_vars++] = var;
}

typedef struct Decl {
  uint32_t name;
  PtxType type;
  uint32_t align, vec;
  uint64_t size; /* 0: `[]` */
  bool unsized, array;
} Decl;

/* `.align 8 .b8 name[16][2]`, the token behind the state space. */
static Decl declarator_head(Parser *p) {
  Decl d = {.vec = 1};
  if (ptx_skip_dot(p, "align")) {
    d.align = small_integer(p, 4096);
    if (!p->failed && (d.align == 0 || (d.align & (d.align - 1)))) FAIL(p, "an alignment is a power of two");
  }
  if (ptx_skip_dot(p, "v2"))
    d.vec = 2;
  else if (ptx_skip_dot(p, "v4"))
    d.vec = 4;
  d.type = type_word(p);
  if (!p->failed && (d.type == PT_PRED || ptx_types[d.type].kind == 'x')) FAIL(p, "no variable has this type");
  return d;
}

static void declarator_name(Parser *p, Decl *d) {
  uint64_t n = 1;
  d->name = name_word(p);
  d->unsized = d->array = false;
  while (ptx_skip(p, '[')) {
    d->array = true;
    if (ptx_is(p, ']'))
      d->unsized = true;
    else
      n *= small_integer(p, 1u << 30);
    ptx_want(p, ']');
    if (n > (1ull << 31)) FAIL(p, "an array of more than 2 GiB");
  }
  d->size = d->unsized ? 0 : n * d->vec * ptx_types[d->type].bytes;
}

static uint32_t natural(const Decl *d) {
  uint32_t own = ptx_types[d->type].bytes * d->vec;
  return d->align ? d->align : own ? own : 1;
}

typedef struct Init {
  PtxVar *v;
  uint32_t relocs_room, elem;
  uint64_t at;
  PtxType type;
} Init;

static void init_element(Parser *p, Init *x) {
  uint64_t bits = 0;
  bool minus = ptx_skip(p, '-'), generic = false;
  Token t = p->tok;
  if (x->at + x->elem > x->v->size) {
    FAIL(p, "more initial values than '%s' has room for", x->v->name);
    return;
  }
  if (t.kind == TOK_NAME) {
    if (ptx_word(&t, "generic")) {
      generic = true;
      ptx_next(p);
      ptx_want(p, '(');
      t = p->tok;
    }
    Symbol *s = p->failed ? NULL : ptx_find(p, t.at, t.n);
    if (!s || (s->kind != SYM_VAR && s->kind != SYM_FUNC)) {
      FAIL(p, "'%.*s' has no address", (int)t.n, t.at);
      return;
    }
    ptx_next(p);
    PtxReloc r = {.at = x->at, .var = UINT32_MAX, .func = UINT32_MAX, .generic = generic};
    *(s->kind == SYM_VAR ? &r.var : &r.func) = s->at;
    if (x->elem != 8) FAIL(p, "an address takes 64 bits");
    if (s->kind == SYM_VAR && p->m->vars[s->at].space != SP_GLOBAL && p->m->vars[s->at].space != SP_CONST)
      FAIL(p, "the address of '%.*s' is not known before the launch", (int)t.n, t.at);
    if (generic) ptx_want(p, ')');
    if (ptx_skip(p, '+') || ptx_is(p, '-')) {
      uint64_t add = 0;
      integer(p, &add);
      r.add = (int64_t)add;
    }
    GROW(x->v->relocs, x->v->nrelocs, x->relocs_room);
    x->v->relocs[x->v->nrelocs++] = r;
  } else {
    char kind = ptx_types[x->type].kind;
    bits = t.bits;
    if (t.kind == TOK_INT && kind != 'f') {
      if (minus) bits = 0 - bits;
    } else if (t.kind == TOK_F32 && (x->type == PT_F32 || x->type == PT_B32)) {
      bits ^= minus ? 0x80000000u : 0;
    } else if (t.kind == TOK_F64 && kind == 'f') {
      if (minus) bits ^= 1ull << 63;
      if (x->type == PT_F32)
        bits = ptx_convert(ptx_f32, ptx_f64, bits, RN);
      else if (x->type != PT_F64)
        FAIL(p, "an initial value of a type that it cannot have");
    } else {
      FAIL(p, "an initial value expected");
      return;
    }
    ptx_next(p);
    memcpy(x->v->init + x->at, &bits, x->elem);
  }
  x->at += x->elem;
}

/* A brace holds the elements of one level; what it leaves out is zero. */
static void init_list(Parser *p, Init *x, uint64_t level_bytes) {
  uint64_t start = x->at;
  if (!ptx_want(p, '{')) return;
  while (!p->failed && !ptx_is(p, '}')) {
    if (ptx_is(p, '{'))
      init_list(p, x, 0);
    else
      init_element(p, x);
    if (!ptx_skip(p, ',')) break;
  }
  ptx_want(p, '}');
  if (level_bytes) x->at = start + level_bytes;
}

static void initialiser(Parser *p, const Decl *d, PtxVar *v) {
  if (v->space != SP_GLOBAL && v->space != SP_CONST) {
    FAIL(p, "only global and constant variables have initial values");
    return;
  }
  Init x = {.v = v, .elem = ptx_types[d->type].bytes, .type = d->type};
  v->init = ptx_arena(p->m, v->size + 8);
  if (ptx_is(p, '{'))
    init_list(p, &x, v->size);
  else
    init_element(p, &x);
  v->relocs = x.v->relocs;
}

static uint32_t new_var(Parser *p, const Decl *d, PtxWhere space, bool is_extern) {
  PtxModule *m = p->m;
  Name *name = &p->names[d->name];
  /* A variable may be announced as extern and defined later. */
  Symbol *old = name->symbol && name->symbol->scope == p->scope ? name->symbol : NULL;
  if (old && old->kind == SYM_VAR && m->vars[old->at].space == space && (m->vars[old->at].is_extern || is_extern)) {
    PtxVar *v = &m->vars[old->at];
    if (!is_extern) v->is_extern = false, v->size = d->size, v->align = natural(d), v->type = d->type;
    return old->at;
  }
  Symbol *s = declare(p, d->name, SYM_VAR);
  GROW(m->vars, m->nvars, p->vars_room);
  m->vars[m->nvars] = (PtxVar){.name = name->text,
                               .space = space,
                               .type = d->type,
                               .size = d->size,
                               .align = natural(d),
                               .is_extern = is_extern || (d->unsized && space == SP_SHARED),
                               .global = UINT32_MAX};
  s->at = m->nvars;
  return m->nvars++;
}

static void variables(Parser *p, PtxWhere space, bool is_extern) {
  ptx_next(p);
  Decl d = declarator_head(p);
  do {
    declarator_name(p, &d);
    if (p->failed) return;
    if (space == SP_LOCAL || space == SP_PARAM) {
      if (!p->fn) FAIL(p, "local variables outside of a function are not known here");
      if (d.unsized) FAIL(p, "'%s' has no size", p->names[d.name].text);
      p->frame_bytes = align_up(p->frame_bytes, natural(&d));
      Symbol *s = declare(p, d.name, SYM_FRAME);
      s->type = d.type, s->at = p->frame_bytes, s->size = (uint32_t)d.size, s->align = natural(&d);
      p->frame_bytes += (uint32_t)d.size;
      if (p->frame_bytes > (16u << 20)) FAIL(p, "more local memory than a thread has");
    } else {
      uint32_t v = new_var(p, &d, space, is_extern);
      if (d.unsized && space != SP_SHARED && !is_extern && !ptx_is(p, '='))
        FAIL(p, "'%s' has no size", p->names[d.name].text);
      if (d.unsized && ptx_is(p, '=')) FAIL(p, "'%s': give the array a length", p->names[d.name].text);
      if (ptx_skip(p, '=')) initialiser(p, &d, &p->m->vars[v]);
    }
  } while (ptx_skip(p, ','));
  ptx_want(p, ';');
}

bool ptx_declaration(Parser *p, bool is_extern) {
  static const struct {
    const char *word;
    PtxWhere space;
  } spaces[] = {
      {"global", SP_GLOBAL}, {"shared", SP_SHARED}, {"local", SP_LOCAL}, {"const", SP_CONST}, {"param", SP_PARAM}};
  if (ptx_is_dot(p, "reg")) {
    registers(p);
    return true;
  }
  for (uint32_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
    if (ptx_is_dot(p, spaces[i].word)) {
      variables(p, spaces[i].space, is_extern);
      return true;
    }
  return false;
}

/* --- functions --- */

/* One formal parameter; kernel parameters lie in their block, those of functions in the frame or a register. */
static void formal(Parser *p, PtxFormal *f, PtxParam *shown, bool is_entry) {
  if (ptx_skip_dot(p, "reg")) {
    if (is_entry) FAIL(p, "a kernel's parameters are not registers");
    PtxType t = type_word(p);
    Symbol *s = declare(p, name_word(p), SYM_REG);
    *f = (PtxFormal){.type = t, .is_reg = true, .size = ptx_types[t].bytes, .align = ptx_types[t].bytes};
    s->type = t;
    s->at = f->at = ptx_new_reg(p, t);
    return;
  }
  if (!ptx_skip_dot(p, "param")) {
    FAIL(p, ".param or .reg expected");
    return;
  }
  uint32_t ptr_align = 0;
  Decl d = {.vec = 1};
  if (ptx_is_dot(p, "align")) {
    d = declarator_head(p);
  } else {
    d.type = type_word(p);
    if (ptx_skip_dot(p, "ptr")) {
      if (!is_entry) FAIL(p, ".ptr is for the parameters of kernels");
      if (!ptx_skip_dot(p, "global") && !ptx_skip_dot(p, "const") && !ptx_skip_dot(p, "shared"))
        ptx_skip_dot(p, "local");
      if (ptx_skip_dot(p, "align")) ptr_align = small_integer(p, 1u << 20);
    }
  }
  (void)ptr_align;
  declarator_name(p, &d);
  if (p->failed) return;
  if (d.unsized) FAIL(p, "'%s' has no size", p->names[d.name].text);
  uint32_t *top = is_entry ? &p->param_out : &p->frame_bytes;
  *top = align_up(*top, natural(&d));
  Symbol *s = declare(p, d.name, is_entry ? SYM_KPARAM : SYM_FRAME);
  s->type = d.type, s->at = *top, s->size = (uint32_t)d.size, s->align = natural(&d);
  *f = (PtxFormal){.type = d.array ? PT_B8 : d.type, .at = *top, .size = (uint32_t)d.size, .align = natural(&d)};
  if (shown) *shown = (PtxParam){p->names[d.name].text, ptx_types[f->type].name, *top, (uint32_t)d.size, natural(&d)};
  *top += (uint32_t)d.size;
}

static void formals(Parser *p, PtxFormal **list, uint32_t *n, PtxParam **shown, bool is_entry) {
  uint32_t room = 0, shown_room = 0, nshown = 0;
  *list = NULL, *n = 0;
  if (!ptx_skip(p, '(')) return;
  while (!p->failed && !ptx_is(p, ')')) {
    GROW(*list, *n, room);
    if (shown) GROW(*shown, nshown, shown_room);
    formal(p, &(*list)[*n], shown ? &(*shown)[nshown] : NULL, is_entry);
    (*n)++, nshown++;
    if (!ptx_skip(p, ',')) break;
  }
  ptx_want(p, ')');
}

static void dims(Parser *p, uint32_t out[3]) {
  out[0] = small_integer(p, UINT32_MAX), out[1] = out[2] = 1;
  for (uint32_t i = 1; i < 3 && ptx_skip(p, ','); i++) out[i] = small_integer(p, UINT32_MAX);
}

static void performance(Parser *p, PtxEntry *e) {
  while (!p->failed) {
    if (ptx_skip_dot(p, "maxntid"))
      dims(p, e->maxntid);
    else if (ptx_skip_dot(p, "reqntid"))
      dims(p, e->reqntid);
    else if (ptx_skip_dot(p, "minnctapersm"))
      e->minnctapersm = small_integer(p, 1024);
    else if (ptx_skip_dot(p, "maxnreg"))
      e->maxnreg = small_integer(p, 1024);
    else if (ptx_skip_dot(p, "noreturn"))
      continue;
    else if (ptx_skip_dot(p, "pragma")) {
      if (p->tok.kind != TOK_STRING) FAIL(p, "a string expected");
      ptx_next(p);
      ptx_skip(p, ';');
    } else
      return;
  }
}

static PtxBuiltin builtin(const char *name) {
  return strcmp(name, "vprintf") == 0 ? FN_VPRINTF : strcmp(name, "__assertfail") == 0 ? FN_ASSERT : FN_PLAIN;
}

static uint32_t function_named(Parser *p, uint32_t name, bool is_entry) {
  PtxModule *m = p->m;
  Symbol *s = p->names[name].symbol;
  if (s && s->scope == 0 && s->kind == SYM_FUNC) return s->at;
  s = declare(p, name, SYM_FUNC);
  GROW(m->funcs, m->nfuncs, p->funcs_room);
  m->funcs[m->nfuncs] = (PtxFunc){.name = p->names[name].text, .is_entry = is_entry};
  s->at = m->nfuncs;
  return m->nfuncs++;
}

static void open_brace(Parser *p) { p->scope++; }

/* Labels of this brace are known now: settle the jumps to them, hand the others to the brace around. */
static void close_brace(Parser *p) {
  uint32_t keep_n = 0;
  for (uint32_t i = 0; i < p->nfixups; i++) {
    Fixup f = p->fixups[i];
    Symbol *s = p->names[f.name].symbol;
    if (f.scope == p->scope && s && s->kind == SYM_LABEL && s->scope == p->scope) {
      if (f.ins != UINT32_MAX)
        p->m->code[f.ins].target = s->at;
      else
        p->m->lists[f.list] = s->at;
      continue;
    }
    if (f.scope == p->scope) f.scope--;
    if (f.scope == 0) ptx_error_at(p, f.line, "there is no label '%s' here", p->names[f.name].text);
    p->fixups[keep_n++] = f;
  }
  p->nfixups = keep_n;
  while (p->nscoped && p->names[p->scoped[p->nscoped - 1]].symbol->scope == p->scope) {
    Name *n = &p->names[p->scoped[--p->nscoped]];
    n->symbol = n->symbol->hidden;
  }
  p->scope--;
}

static void statements(Parser *p);

static void statement(Parser *p) {
  if (ptx_is(p, '{')) {
    ptx_next(p);
    open_brace(p);
    statements(p);
    ptx_want(p, '}');
    close_brace(p);
  } else if (ptx_skip(p, ';')) {
    return;
  } else if (p->tok.kind == TOK_DOT) {
    if (ptx_declaration(p, false)) return;
    if (ptx_skip_dot(p, "pragma")) {
      while (p->tok.kind == TOK_STRING) {
        ptx_next(p);
        ptx_skip(p, ',');
      }
      ptx_want(p, ';');
      return;
    }
    if (ptx_skip_dot(p, "loc")) {
      uint64_t v;
      for (int k = 0; k < 3; k++) integer(p, &v);
      while (ptx_skip(p, ',')) {
        name_word(p); /* function_name LABEL [+ n], or inlined_at FILE LINE COLUMN */
        while (p->tok.kind == TOK_INT || p->tok.kind == TOK_NAME || ptx_is(p, '+')) {
          bool more = p->tok.kind == TOK_NAME && p->at < p->end && *p->at == ':';
          if (more) break;
          ptx_next(p);
          if (p->tok.kind == TOK_NAME) break;
        }
      }
      return;
    }
    FAIL(p, "'.%.*s' is not known in a body", (int)p->tok.n, p->tok.at);
  } else if (p->tok.kind == TOK_NAME && p->at < p->end && *p->at == ':') {
    uint32_t name = name_word(p);
    ptx_next(p);
    if (ptx_skip_dot(p, "branchtargets")) {
      Symbol *s = declare(p, name, SYM_TARGETS);
      s->at = p->m->nlists;
      do {
        ptx_label_target(p, UINT32_MAX, ptx_list_add(p, UINT32_MAX));
        s->count++;
      } while (ptx_skip(p, ','));
      ptx_want(p, ';');
    } else if (ptx_is_dot(p, "callprototype")) {
      ptx_prototype(p, name);
    } else {
      declare(p, name, SYM_LABEL)->at = p->m->ncode;
    }
  } else {
    ptx_instruction(p);
  }
}

static void statements(Parser *p) {
  while (!p->failed && !ptx_is(p, '}') && p->tok.kind != TOK_END) statement(p);
}

static void body(Parser *p, uint32_t index) {
  PtxModule *m = p->m;
  m->funcs[index].pc = m->ncode;
  p->fn = &m->funcs[index];
  ptx_next(p);
  statements(p);
  if (!ptx_is(p, '}')) FAIL(p, "the body of '%s' has no end", p->fn->name);
  /* Running into the end of a body leaves it. */
  p->guard = 0;
  Ins *x = ptx_emit(p, NULL);
  x->flow = m->funcs[index].is_entry ? FLOW_EXIT : FLOW_RET;
  close_brace(p);
  ptx_next(p);
  PtxFunc *f = &m->funcs[index];
  f->end = m->ncode;
  f->defined = true;
  f->bytes = align_up(p->reg_bytes, 64);
  f->frame = align_up(p->frame_bytes, 16);
  f->calls = keep(m, p->fn_calls, p->nfn_calls * sizeof *p->fn_calls), f->ncalls = p->nfn_calls;
  f->vars = keep(m, p->fn_vars, p->nfn_vars * sizeof *p->fn_vars), f->nvars = p->nfn_vars;
  f->slots = keep(m, p->slots, p->nslots * sizeof *p->slots), f->nslots = p->nslots;
  for (uint32_t i = 0; i < p->nslots; i++) f->info.nregs += (p->slots[i] & 15) == 8 ? 2 : (p->slots[i] & 15) ? 1 : 0;
  p->fn = NULL;
}

void ptx_function(Parser *p, bool is_entry, bool is_extern) {
  PtxFormal *out = NULL, *in = NULL;
  PtxParam *shown = NULL;
  uint32_t nout = 0, nin = 0;
  PtxModule *m = p->m;
  PtxFunc temporary = {0};
  ptx_next(p);
  p->reg_bytes = p->frame_bytes = p->param_out = 0;
  p->nslots = p->nfn_calls = p->nfn_vars = p->nfixups = 0;
  open_brace(p); /* parameters are names of the body's brace */
  p->fn = &temporary;
  if (!is_entry) formals(p, &out, &nout, NULL, false);
  uint32_t name_line = p->tok.line;
  p->scope--;
  uint32_t name = name_word(p);
  uint32_t index = p->failed ? 0 : function_named(p, name, is_entry);
  p->scope++;
  formals(p, &in, &nin, is_entry ? &shown : NULL, is_entry);
  if (p->failed) {
    free(out), free(in), free(shown);
    return;
  }
  PtxFunc *f = &m->funcs[index];
  f->builtin = builtin(f->name);
  f->in = keep(m, in, nin * sizeof *in), f->nin = nin;
  f->out = keep(m, out, nout * sizeof *out), f->nout = nout;
  f->info.params = keep(m, shown, (is_entry ? nin : 0) * sizeof *shown), f->info.nparams = is_entry ? nin : 0;
  f->info.name = f->name, f->info.param_bytes = p->param_out;
  free(out), free(in), free(shown);
  performance(p, &f->info);
  if (ptx_is(p, '{')) {
    if (f->defined) ptx_error_at(p, name_line, "'%s' has two bodies", f->name);
    if (is_extern) ptx_error_at(p, name_line, "'%s' is extern and has a body", f->name);
    if (!p->failed) body(p, index);
  } else {
    ptx_want(p, ';');
    f->frame = align_up(p->frame_bytes, 16);
    if (!p->failed) close_brace(p);
  }
  p->fn = NULL;
}

/* name: .callprototype (ret) _ (params) [.noreturn]; nothing of it is needed, but it is looked at. */
void ptx_prototype(Parser *p, uint32_t name) {
  uint32_t frame = p->frame_bytes;
  ptx_next(p);
  for (int part = 0; part < 2; part++) {
    if (ptx_skip(p, '(')) {
      while (!p->failed && !ptx_is(p, ')')) {
        PtxFormal one;
        open_brace(p); /* `_` may name each of them */
        formal(p, &one, NULL, false);
        if (!p->failed) close_brace(p);
        if (!ptx_skip(p, ',')) break;
      }
      ptx_want(p, ')');
    }
    if (part == 0) name_word(p);
  }
  ptx_skip_dot(p, "noreturn");
  ptx_want(p, ';');
  p->frame_bytes = frame;
  declare(p, name, SYM_PROTO);
}

/* --- the module --- */

static void version(Parser *p) {
  ptx_next(p);
  int major = 0, minor = 0;
  if (p->tok.kind != TOK_F64 || sscanf(p->tok.at, "%d.%d", &major, &minor) != 2) {
    FAIL(p, "a version like 7.8 expected");
    return;
  }
  p->m->version = 10 * major + minor;
  if (p->m->version < 40 || p->m->version > 92) FAIL(p, "PTX %d.%d is not known here", major, minor);
  ptx_next(p);
}

static void target(Parser *p) {
  ptx_next(p);
  do {
    Token t = p->tok;
    if (t.kind != TOK_NAME) {
      FAIL(p, "a target expected");
      return;
    }
    if (t.n > 3 && t.n < 12 && memcmp(t.at, "sm_", 3) == 0) {
      p->m->target = (int)strtol(t.at + 3, NULL, 10);
      memcpy(p->m->target_name, t.at, t.n);
      if (p->m->target < 30 || p->m->target > 130) FAIL(p, "'%.*s' is not known here", (int)t.n, t.at);
    } else if (!ptx_word(&t, "debug") && !ptx_word(&t, "texmode_independent") && !ptx_word(&t, "texmode_unified")) {
      FAIL(p, "'%.*s' is no target", (int)t.n, t.at);
    }
    ptx_next(p);
  } while (ptx_skip(p, ','));
}

static void skip_braces(Parser *p) {
  int depth = 0;
  do {
    if (ptx_is(p, '{')) depth++;
    if (ptx_is(p, '}')) depth--;
    if (p->tok.kind == TOK_END) FAIL(p, "a brace without end");
    ptx_next(p);
  } while (!p->failed && depth > 0);
}

static void top(Parser *p) {
  bool is_extern = false;
  while (ptx_is_dot(p, "visible") || ptx_is_dot(p, "weak") || ptx_is_dot(p, "extern") || ptx_is_dot(p, "common")) {
    is_extern |= ptx_is_dot(p, "extern");
    ptx_next(p);
  }
  if (ptx_is_dot(p, "entry"))
    ptx_function(p, true, is_extern);
  else if (ptx_is_dot(p, "func"))
    ptx_function(p, false, is_extern);
  else if (ptx_declaration(p, is_extern))
    return;
  else if (ptx_is_dot(p, "version"))
    version(p);
  else if (ptx_is_dot(p, "target"))
    target(p);
  else if (ptx_skip_dot(p, "address_size")) {
    if (small_integer(p, 64) != 64) FAIL(p, "only 64-bit addresses are known here");
  } else if (ptx_skip_dot(p, "file")) {
    uint64_t v;
    integer(p, &v);
    if (p->tok.kind != TOK_STRING) FAIL(p, "a string expected");
    ptx_next(p);
    while (ptx_skip(p, ',')) integer(p, &v);
  } else if (ptx_is_dot(p, "section")) {
    ptx_next(p);
    ptx_next(p);
    if (!ptx_is(p, '{')) FAIL(p, "'{' expected");
    skip_braces(p);
  } else if (ptx_skip_dot(p, "pragma")) {
    ptx_next(p);
    ptx_want(p, ';');
  } else if (!ptx_skip(p, ';')) {
    FAIL(p, "'%.*s' is not known at the top of a module", (int)(p->tok.n ? p->tok.n : 1), p->tok.at);
  }
}

static void release(Parser *p) {
  free(p->names), free(p->table), free(p->scoped), free(p->slots), free(p->fn_calls), free(p->fn_vars), free(p->fixups);
}

PtxModule *ptx_parse(const char *text, size_t size, PtxError *err) {
  PtxError unused;
  Parser p = {.at = text, .end = text + size, .line = 1, .err = err ? err : &unused};
  p.m = calloc(1, sizeof *p.m);
  *p.err = (PtxError){0};
  if (memchr(text, 0, size)) ptx_error_at(&p, 1, "the text holds a zero byte");
  ptx_next(&p);
  if (!p.failed && !ptx_is_dot(&p, "version")) FAIL(&p, "PTX begins with .version");
  while (!p.failed && p.tok.kind != TOK_END) top(&p);
  if (!p.failed && !p.m->target) FAIL(&p, "there is no .target");
  if (!p.failed) ptx_finish(&p);
  release(&p);
  if (!p.failed) return p.m;
  ptx_module_free(p.m);
  return NULL;
}

void ptx_module_free(PtxModule *m) {
  if (!m) return;
  for (uint32_t i = 0; i < m->nvars; i++) {
    free(m->vars[i].relocs);
    if (m->vars[i].owned) free(m->vars[i].host);
  }
  free(m->code), free(m->lists), free(m->funcs), free(m->vars), free(m->consts), free(m->calls);
  while (m->arena) {
    PtxBlockOfArena *next = m->arena->next;
    free(m->arena);
    m->arena = next;
  }
  free(m);
}
