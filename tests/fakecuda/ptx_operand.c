/* tests/fakecuda/ptx_operand.c -- operands: what a name, a number or an address in brackets is, as columns. */
#include <stdlib.h>
#include <string.h>

#include "tests/fakecuda/ptx_text.h"

const PtxSpecialInfo ptx_specials[PTX_NSPECIALS] = {
#define X(id, name, parts, bytes) {name, parts, bytes},
    PTX_SPECIALS(X)
#undef X
};

/* Each part of a special register has a column of 256 bytes. */
uint32_t ptx_special_at(PtxSpecial s, uint32_t part) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < (uint32_t)s; i++) at += 256 * ptx_specials[i].parts;
  return at + 256 * part;
}

Ins *ptx_emit(Parser *p, PtxFn *fn) {
  PtxModule *m = p->m;
  GROW(m->code, m->ncode, p->code_room);
  Ins *x = &m->code[m->ncode++];
  *x = (Ins){.fn = fn, .line = p->op ? p->op_line : p->tok.line, .target = UINT32_MAX};
  return x;
}

uint32_t ptx_list_add(Parser *p, uint32_t value) {
  GROW(p->m->lists, p->m->nlists, p->lists_room);
  p->m->lists[p->m->nlists] = value;
  return p->m->nlists++;
}

uint32_t ptx_const_address(Parser *p, uint32_t bytes, uint64_t add, uint32_t var, uint32_t func, bool generic) {
  PtxModule *m = p->m;
  if (bytes && bytes < 8) add &= (1ull << 8 * bytes) - 1;
  for (uint32_t i = 0; i < m->nconsts; i++) {
    const PtxConst *c = &m->consts[i];
    if (c->bytes == bytes && c->bits == add && c->var == var && c->func == func && c->generic == generic)
      return PTX_IN_CONST | c->at;
  }
  GROW(m->consts, m->nconsts, p->consts_room);
  uint32_t size = bytes ? bytes * LANES : 4;
  uint32_t at = bytes ? (p->const_bytes + 63) / 64 * 64 : p->const_bytes;
  p->const_bytes = at + size;
  m->consts[m->nconsts++] = (PtxConst){bytes, add, var, func, generic, at};
  return PTX_IN_CONST | at;
}

uint32_t ptx_const(Parser *p, uint32_t bytes, uint64_t bits) {
  return ptx_const_address(p, bytes, bits, UINT32_MAX, UINT32_MAX, false);
}

/* --- reading them --- */

static bool special(Parser *p, const Token *name, Operand *o) {
  for (uint32_t s = 1; s < PTX_NSPECIALS; s++) {
    if (!ptx_word(name, ptx_specials[s].name)) continue;
    uint32_t part = 0;
    if (ptx_specials[s].parts > 1) {
      if (p->tok.kind != TOK_DOT || p->tok.n != 1 || p->tok.at[0] < 'x' || p->tok.at[0] > 'z')
        return FAIL(p, "%s needs .x, .y or .z", ptx_specials[s].name);
      part = (uint32_t)(p->tok.at[0] - 'x');
      ptx_next(p);
    }
    o->kind = OP_REG;
    o->type = ptx_specials[s].bytes == 8 ? PT_U64 : PT_U32;
    o->at = ptx_special_at(s, part);
    return true;
  }
  return false;
}

static void named(Parser *p, Operand *o) {
  Token name = p->tok;
  ptx_next(p);
  if (ptx_word(&name, "_")) {
    o->kind = OP_SINK;
    return;
  }
  if (ptx_word(&name, "WARP_SZ")) {
    o->kind = OP_INT, o->bits = LANES;
    return;
  }
  const Symbol *s = ptx_find(p, name.at, name.n);
  if (!s) {
    if (name.at[0] == '%' && (special(p, &name, o) || p->failed)) return;
    ptx_error_at(p, name.line, "'%.*s' is not known", (int)name.n, name.at);
    return;
  }
  o->at = s->at, o->type = s->type;
  switch (s->kind) {
  case SYM_REG: o->kind = OP_REG; return;
  case SYM_VAR: o->kind = OP_VAR; break;
  case SYM_FRAME: o->kind = OP_FRAME; break;
  case SYM_KPARAM: o->kind = OP_KPARAM; break;
  case SYM_FUNC: o->kind = OP_FUNC; return;
  default: ptx_error_at(p, name.line, "'%.*s' is no operand", (int)name.n, name.at); return;
  }
  bool plus = ptx_skip(p, '+');
  if (plus || ptx_is(p, '-')) {
    bool minus = ptx_skip(p, '-');
    if (p->tok.kind != TOK_INT) {
      FAIL(p, "an integer expected behind '%.*s'", (int)name.n, name.at);
      return;
    }
    o->bits = minus ? 0 - p->tok.bits : p->tok.bits;
    ptx_next(p);
  }
}

bool ptx_operand(Parser *p, Operand *o) {
  *o = (Operand){0};
  if (ptx_skip(p, '{')) {
    Operand parts[8];
    o->kind = OP_VEC;
    do {
      if (o->n == 8) return FAIL(p, "more than 8 parts");
      ptx_operand(p, &parts[o->n++]);
    } while (ptx_skip(p, ','));
    ptx_want(p, '}');
    o->part = ptx_arena(p->m, sizeof parts);
    memcpy(o->part, parts, sizeof parts);
    return !p->failed;
  }
  if (ptx_skip(p, '!')) {
    ptx_operand(p, o);
    if (o->kind != OP_REG || o->type != PT_PRED) return FAIL(p, "'!' is for predicates");
    o->negated = !o->negated;
    return !p->failed;
  }
  bool minus = ptx_skip(p, '-'), flip = !minus && ptx_skip(p, '~');
  if (flip && p->tok.kind != TOK_INT) return FAIL(p, "'~' is for integers");
  switch (p->tok.kind) {
  case TOK_INT: o->kind = OP_INT, o->bits = minus ? 0 - p->tok.bits : flip ? ~p->tok.bits : p->tok.bits; break;
  case TOK_F32: o->kind = OP_F32, o->bits = p->tok.bits ^ (minus ? 0x80000000u : 0); break;
  case TOK_F64: o->kind = OP_F64, o->bits = p->tok.bits ^ (minus ? 1ull << 63 : 0); break;
  case TOK_NAME:
    if (minus) return FAIL(p, "'-' is for numbers");
    named(p, o);
    return !p->failed;
  default: return FAIL(p, "an operand expected");
  }
  ptx_next(p);
  return !p->failed;
}

/* --- as columns --- */

static bool agrees(PtxType reg, PtxType type, bool wider) {
  const PtxTypeInfo *r = &ptx_types[reg], *t = &ptx_types[type];
  if (r->kind == 'p' || t->kind == 'p') return reg == type;
  if (r->bytes < t->bytes || (r->bytes > t->bytes && !wider)) return false;
  if (r->bytes > t->bytes) return r->kind != 'f' && (t->kind != 'f' || r->kind == 'b');
  if (r->kind == 'b' || t->kind == 'b') return true;
  if (r->kind == 'f' || t->kind == 'f') return reg == type;
  if (r->kind == 'x' || t->kind == 'x') return reg == type;
  return true;
}

static bool check_type(Parser *p, const Operand *o, PtxType type, bool wider) {
  if (p->failed) return false;
  if (agrees(o->type, type, wider)) return true;
  return ptx_error_at(p, p->op_line, "'%.*s': a register of type .%s where .%s is meant", (int)p->op_n, p->op,
                      ptx_types[o->type].name, ptx_types[type].name);
}

static uint32_t moved(Parser *p, PtxFn *fn, uint32_t source, PtxType type, int64_t imm) {
  uint32_t at = ptx_new_reg(p, type);
  Ins *x = ptx_emit(p, fn);
  x->d = at, x->a = source, x->imm = imm, x->wide = 1, x->type = type, x->size1 = (uint8_t)ptx_types[type].bytes;
  return at;
}

/* The clocks are read when they are used. */
static uint32_t reg_column(Parser *p, const Operand *o) {
  if (o->negated) return moved(p, ptx_alu(AL_NOT, PT_PRED), o->at, PT_PRED, 0);
  if (o->at >= ptx_special_at(SR_CLOCK, 0) && o->at < ptx_special_at(PTX_NSPECIALS, 0))
    return moved(p, ptx_clock, o->at, o->type, 0);
  return o->at;
}

uint32_t ptx_source_wide(Parser *p, const Operand *o, PtxType type, uint32_t *bytes) {
  const PtxTypeInfo *t = &ptx_types[type];
  *bytes = t->bytes == 1 ? 2 : t->bytes;
  if (p->failed) return 0;
  switch (o->kind) {
  case OP_REG:
    check_type(p, o, type, true);
    *bytes = ptx_types[o->type].bytes == 1 ? 2 : ptx_types[o->type].bytes;
    return reg_column(p, o);
  case OP_INT:
    if (t->kind == 'p') return ptx_const(p, 0, o->bits ? FULL : 0);
    if (t->kind == 'f' || t->kind == 'x') {
      ptx_error_at(p, p->op_line, "'%.*s': an integer where a float is meant", (int)p->op_n, p->op);
      return 0;
    }
    return ptx_const(p, *bytes, o->bits);
  case OP_F32:
    if (type == PT_F32 || type == PT_B32) return ptx_const(p, 4, o->bits);
    break;
  case OP_F64:
    if (type == PT_F64 || type == PT_B64) return ptx_const(p, 8, o->bits);
    if (type == PT_F32) return ptx_const(p, 4, ptx_convert(ptx_f32, ptx_f64, o->bits, RN));
    break;
  case OP_VAR: {
    PtxWhere space = p->m->vars[o->at].space;
    if (t->kind == 'f' || (*bytes != 8 && !(*bytes == 4 && space == SP_SHARED))) break;
    ptx_note_var(p, o->at);
    return ptx_const_address(p, *bytes, o->bits, o->at, UINT32_MAX, false);
  }
  case OP_FRAME:
    if (t->kind == 'f' || *bytes < 4) break;
    return moved(p, ptx_frame_address, 0, *bytes == 8 ? PT_B64 : PT_B32, (int64_t)(o->at + o->bits));
  case OP_KPARAM:
    if (t->kind == 'f' || *bytes < 4) break;
    return ptx_const(p, *bytes, PTX_KERNEL_PARAMS + o->at + o->bits);
  case OP_FUNC:
    if (t->kind == 'f' || *bytes != 8) break;
    GROW(p->fn_calls, p->nfn_calls, p->fn_calls_room);
    p->fn_calls[p->nfn_calls++] = o->at;
    return ptx_const_address(p, 8, 0, UINT32_MAX, o->at, false);
  default: break;
  }
  ptx_error_at(p, p->op_line, "'%.*s': an operand that cannot be of type .%s", (int)p->op_n, p->op, t->name);
  return 0;
}

uint32_t ptx_source(Parser *p, const Operand *o, PtxType type) {
  uint32_t bytes;
  if (o->kind == OP_REG && !check_type(p, o, type, false)) return 0;
  return ptx_source_wide(p, o, type, &bytes);
}

uint32_t ptx_result(Parser *p, const Operand *o, PtxType type) {
  if (p->failed) return 0;
  if (o->kind == OP_SINK) return ptx_new_reg(p, type);
  if (o->kind != OP_REG || o->negated || o->at < PTX_SPECIAL_BYTES) {
    ptx_error_at(p, p->op_line, "'%.*s': its result goes to a register", (int)p->op_n, p->op);
    return 0;
  }
  check_type(p, o, type, false);
  return o->at;
}

/* --- memory --- */

static void memory_var(Parser *p, const Operand *o, Ins *x) {
  PtxWhere space = p->m->vars[o->at].space;
  if (x->space != space && !(x->space == SP_GENERIC && space == SP_GLOBAL))
    ptx_error_at(p, p->op_line, "'%s' lies in another state space", p->m->vars[o->at].name);
  ptx_note_var(p, o->at);
  x->base = BASE_R64;
  x->a = ptx_const_address(p, 8, o->bits, o->at, UINT32_MAX, false);
}

/* `name[index]`: an element of an array, its index in elements. */
static bool memory_element(Parser *p, Ins *x) {
  const Symbol *s = ptx_find(p, p->tok.at, p->tok.n);
  Operand array, index;
  if (!s || (s->kind != SYM_VAR && s->kind != SYM_FRAME) || !ptx_operand(p, &array))
    return FAIL(p, "an array expected");
  if (!ptx_want(p, '[') || !ptx_operand(p, &index) || !ptx_want(p, ']')) return false;
  uint32_t size = ptx_types[s->kind == SYM_VAR ? p->m->vars[s->at].type : s->type].bytes;
  if (array.kind == OP_VAR && p->m->vars[array.at].space != x->space)
    return FAIL(p, "the array lies in another state space");
  if (array.kind == OP_FRAME && x->space != SP_LOCAL && x->space != SP_PARAM)
    return FAIL(p, "local memory in another state space");
  bool wide = index.kind == OP_REG && ptx_types[index.type].bytes == 8;
  uint32_t base = ptx_source(p, &array, PT_B64), by = ptx_source(p, &index, wide ? PT_B64 : PT_B32);
  uint32_t scale = ptx_const(p, wide ? 8 : 4, size), at = ptx_new_reg(p, PT_B64);
  if (p->failed) return false;
  Ins *sum = ptx_emit(p, ptx_alu(wide ? AL_MAD_LO : AL_MAD_WIDE, wide ? PT_U64 : PT_U32));
  sum->d = at, sum->a = by, sum->b = scale, sum->c = base, sum->wide = 1;
  x->base = BASE_R64, x->a = at, x->imm = 0;
  return true;
}

bool ptx_memory(Parser *p, Ins *x) {
  Operand o;
  if (p->tok.kind == TOK_NAME) return memory_element(p, x);
  if (!ptx_want(p, '[') || !ptx_operand(p, &o)) return false;
  x->imm = 0, x->base = BASE_NONE, x->a = 0;
  switch (o.kind) {
  case OP_REG:
    if (ptx_types[o.type].bytes == 8 && ptx_types[o.type].kind != 'f')
      x->base = BASE_R64;
    else if (ptx_types[o.type].bytes == 4 && ptx_types[o.type].kind != 'f' && x->space != SP_GENERIC &&
             x->space != SP_GLOBAL)
      x->base = BASE_R32;
    else
      return FAIL(p, "a register of type .%s is no address here", ptx_types[o.type].name);
    x->a = reg_column(p, &o);
    if (ptx_skip(p, '+') || ptx_is(p, '-')) {
      bool minus = ptx_skip(p, '-');
      if (p->tok.kind != TOK_INT) return FAIL(p, "an integer expected");
      x->imm = (int64_t)(minus ? 0 - p->tok.bits : p->tok.bits);
      ptx_next(p);
      if (x->imm > INT32_MAX || x->imm < INT32_MIN) return FAIL(p, "an offset of more than 32 bits");
    }
    break;
  case OP_INT: x->imm = (int64_t)o.bits; break;
  case OP_VAR: memory_var(p, &o, x); break;
  case OP_FRAME:
    if (x->space != SP_LOCAL && x->space != SP_PARAM) return FAIL(p, "local memory in another state space");
    x->base = BASE_FRAME, x->imm = (int64_t)(o.at + o.bits);
    break;
  case OP_KPARAM:
    if (x->space != SP_PARAM) return FAIL(p, "a parameter in another state space");
    x->imm = (int64_t)(PTX_KERNEL_PARAMS + o.at + o.bits);
    break;
  default: return FAIL(p, "this is no address");
  }
  return ptx_want(p, ']');
}
