/* ir/verify.c -- whether a module keeps the rules: those of ops.def's columns, then each op's own, then those of regions.
 *
 * One walk over each function. Values are marked visible when the walk passes their definition and unmarked when it leaves
 * their region, so a use is looked up in constant time. Enders mark the instruction that they leave, so that
 * `unreachable` can be judged by what stands before it.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/format.h"
#include "ir/ir.h"
#include "ir/layout.h"
#include "ir/mma.h"

typedef struct Verifier {
  const IrModule *m;
  const IrFunc *fn;
  HdError *err;
  Arena *scratch;
  bool *visible;      /* by value id                                                  */
  bool *completes;    /* by instruction id: an if, loop or scope that something leaves */
  const IrInst *inst; /* the one at hand, for messages; NULL: the function             */
  uint32_t depth;
  bool alone; /* the instruction stands in no region yet, so it has no names     */
} Verifier;

enum { DEEPEST = 4096 }; /* nested regions; the walk recurses */

/* --- messages --- */

/* "@f: add: operands 1 and 2 differ: f32 and f64; in '%3: f32 = add %a, %b'" */
__attribute__((format(printf, 2, 3))) static bool broken(Verifier *v, const char *fmt, ...) {
  char rule[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(rule, sizeof rule, fmt, ap);
  va_end(ap);
  HdSpan where = {NULL, 0, 0};
  const IrInst *i = v->inst;
  if (!i) {
    hdb_fail_at(v->err, HD_ERR_IR, where, "@%.80s: %s", v->fn->name, rule);
    return false;
  }
  if (i->loc.line && i->loc.file < v->m->nfiles) {
    where = (HdSpan){v->m->files[i->loc.file], (int32_t)i->loc.line, (int32_t)i->loc.column};
  }
  if (v->alone) {
    hdb_fail_at(v->err, HD_ERR_IR, where, "@%.80s: %s: %s", v->fn->name, hdir_ops[i->op].name, rule);
    return false;
  }
  Buf text;
  hdb_buf_init(&text, v->scratch);
  hdir_print_inst(&text, i);
  hdb_fail_at(v->err, HD_ERR_IR, where, "@%.80s: %s: %s; in '%.160s'", v->fn->name, hdir_ops[i->op].name, rule,
              text.data);
  return false;
}

static const char *type_name(Verifier *v, const IrType *t) { return t ? hdir_type_name(v->scratch, t) : "no type"; }

/* --- types --- */

static bool holds_handle(const IrType *t) {
  if (t->kind == IR_ARRAY || t->kind == IR_PTR) return true;
  if (t->kind == IR_FIXED) return holds_handle(t->elem);
  for (uint32_t k = 0; t->kind == IR_STRUCT && k < t->nparts; k++)
    if (holds_handle(t->fields[k].type)) return true;
  return false;
}

/* Values that regions, selects and functions may give: known at run time, not a place. */
static bool is_plain_value(const IrType *t) { return t->kind != IR_VOID && !holds_handle(t); }

static bool is_index(const IrType *t) { return t->kind == IR_I32 || t->kind == IR_I64; }

/* --- the letters of ops.def --- */

static const char *letter_meaning(char letter) {
  switch (letter) {
  case 'T': return "a scalar, vector, matrix, quaternion, transform or spatial";
  case 'N': return "of integers or floats";
  case 'I': return "of integers";
  case 'F': return "of floats";
  case 'L': return "of integers or bool";
  case 'B': return "a bool";
  case 'S': return "a scalar";
  case 'P': return "a pointer";
  case 'A': return "an array";
  case 'i': return "an i32 or i64";
  default: return "a value";
  }
}

static bool fits_letter(const IrInst *i, char letter, const IrType *t) {
  const IrType *s = hdir_elem_scalar(t);
  switch (letter) {
  case 'T': return s;
  case 'N': return s && s->kind != IR_BOOL;
  case 'I': return s && hdir_is_int(s);
  case 'F': return s && hdir_is_float(s);
  case 'L': return s && !hdir_is_float(s);
  case 'B': return t->kind == IR_BOOL || (i->op == IR_select && s && s->kind == IR_BOOL);
  case 'S': return hdir_is_scalar(t);
  case 'P': return t->kind == IR_PTR;
  case 'A': return t->kind == IR_ARRAY;
  case 'i': return is_index(t);
  default: return t->kind != IR_VOID;
  }
}

static bool check_operands(Verifier *v, const IrInst *i) {
  const char *letters = hdir_ops[i->op].operands;
  uint32_t fixed = 0;
  while (letters[fixed] && letters[fixed] != '*' && letters[fixed] != '.') fixed++;
  bool open = letters[fixed] == '*';
  if (i->nargs < fixed || (!open && i->nargs != fixed)) {
    return broken(v, "takes %s%u operand%s, and has %u", open ? "at least " : "", fixed, fixed == 1 ? "" : "s",
                  i->nargs);
  }
  for (uint32_t k = 0; k < i->nargs; k++) {
    char letter = k < fixed ? letters[k] : '*';
    const IrType *t = i->args[k]->type;
    if (!fits_letter(i, letter, t)) {
      return broken(v, "operand %u must be %s, and is %s", k + 1, letter_meaning(letter), type_name(v, t));
    }
    for (uint32_t j = 0; j < k && strchr("TNIFLS", letter); j++) {
      if (letters[j] == letter && i->args[j]->type != t) {
        return broken(v, "operands %u and %u must have one type, and are %s and %s", j + 1, k + 1,
                      type_name(v, i->args[j]->type), type_name(v, t));
      }
    }
  }
  return true;
}

static bool check_result_type(Verifier *v, const IrInst *i, const IrType *wanted) {
  if (i->res[0]->type == wanted) return true;
  return broken(v, "the result must be %s, and is %s", type_name(v, wanted), type_name(v, i->res[0]->type));
}

/* Told by looking, since making the wanted type would add it to the module's. */
static bool same_shape(const IrType *a, const IrType *b) {
  if (hdir_is_scalar(a)) return hdir_is_scalar(b);
  return hdir_is_packed(a) && a->kind == b->kind && a->rows == b->rows && a->cols == b->cols;
}

static bool is_bool_like(const IrType *t, const IrType *shape) {
  const IrType *s = hdir_elem_scalar(t);
  return s && s->kind == IR_BOOL && same_shape(t, shape);
}

static bool check_results(Verifier *v, const IrInst *i) {
  const char rule = hdir_ops[i->op].result[0];
  if (rule == '.') return i->nres == 0 || broken(v, "has no result");
  if (rule == '*') return true;
  if (i->nres != 1) return broken(v, "has one result, and %u are named", i->nres);
  if (i->res[0]->type->kind == IR_VOID) return broken(v, "the result has no type");
  if (rule == 'b') {
    const IrType *t = i->args[0]->type, *got = i->res[0]->type;
    if (is_bool_like(got, t)) return true;
    return broken(v, "the result must be bool shaped as %s, and is %s", type_name(v, t), type_name(v, got));
  }
  if (rule >= '1' && rule <= '9') return check_result_type(v, i, i->args[rule - '1']->type);
  return true;
}

/* --- each op's own rules --- */

static bool check_part(Verifier *v, const IrInst *i, const IrType *t) {
  if (!hdir_is_composite(t)) return broken(v, "%s has no parts", type_name(v, t));
  if (i->imm < 0 || i->imm >= (int64_t)t->nparts) {
    return broken(v, "part %lld of %s, which has %u", (long long)i->imm, type_name(v, t), t->nparts);
  }
  return true;
}

static bool check_elements(Verifier *v, const IrType *t) {
  if (t->kind == IR_VEC || t->kind == IR_MAT || t->kind == IR_FIXED) return true;
  return broken(v, "wants a vector, matrix or fixed array, and gets %s", type_name(v, t));
}

/* A type that part `k` of `t` must have. */
static bool check_is_part(Verifier *v, const IrType *t, uint32_t k, const IrType *got, const char *what) {
  const IrType *wanted = hdir_part(t, k);
  if (got == wanted) return true;
  return broken(v, "%s must be %s as part %u of %s is, and is %s", what, type_name(v, wanted), k, type_name(v, t),
                type_name(v, got));
}

static bool check_make(Verifier *v, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  if (!hdir_is_composite(t)) return broken(v, "%s has no parts", type_name(v, t));
  if (i->nargs != t->nparts) return broken(v, "%s has %u parts, and gets %u", type_name(v, t), t->nparts, i->nargs);
  for (uint32_t k = 0; k < i->nargs; k++) {
    char what[32];
    snprintf(what, sizeof what, "operand %u", k + 1);
    if (!check_is_part(v, t, k, i->args[k]->type, what)) return false;
  }
  return true;
}

/* A pointer result: to this type, in this space. */
static bool check_address(Verifier *v, const IrInst *i, const IrType *to, IrSpace space) {
  const IrType *t = i->res[0]->type;
  if (t->kind == IR_PTR && t->elem == to && t->space == space) return true;
  static const char *const names[] = {[IR_GLOBAL] = "", [IR_LOCAL] = ", local", [IR_SHARED] = ", shared"};
  return broken(v, "the result must be ptr<%s%s>, and is %s", type_name(v, to), names[space], type_name(v, t));
}

static bool check_index(Verifier *v, const IrInst *i) {
  const IrType *t = i->args[0]->type;
  if (i->nargs - 1 != t->rows)
    return broken(v, "%s takes %u indices, and gets %u", type_name(v, t), t->rows, i->nargs - 1);
  for (uint32_t k = 1; k < i->nargs; k++) {
    if (!is_index(i->args[k]->type)) {
      return broken(v, "index %u must be an i32 or i64, and is %s", k, type_name(v, i->args[k]->type));
    }
  }
  return check_address(v, i, t->elem, IR_GLOBAL);
}

/* The operands are what the format asks for. */
static bool check_print(Verifier *v, const IrInst *i) {
  static const struct {
    IrKind kind;
    const char *name;
  } wanted[] = {
      [HDB_CONV_INT] = {IR_I64, "i64"}, [HDB_CONV_UINT] = {IR_U64, "u64"}, [HDB_CONV_FLOAT] = {IR_F64, "f64"}};
  if (!i->text) return broken(v, "has no text");
  HdbConversion c = hdb_conversion(i->text);
  uint32_t k = 0;
  for (; c.kind != HDB_CONV_END; c = hdb_conversion(c.at + c.len), k++) {
    if (c.kind == HDB_CONV_BAD)
      return broken(v, "the text has a %% at %d that is no conversion", (int)(c.at - i->text));
    if (k < i->nargs && i->args[k]->type->kind != wanted[c.kind].kind)
      return broken(v, "operand %u must be %s for %.*s, and is %s", k + 1, wanted[c.kind].name, (int)c.len, c.at,
                    type_name(v, i->args[k]->type));
  }
  if (k > IR_MAX_PRINT) return broken(v, "the text has more than %d conversions", IR_MAX_PRINT);
  return k == i->nargs || broken(v, "the text asks for %u operands, and gets %u", k, i->nargs);
}

static bool check_alloca(Verifier *v, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  if (t->kind != IR_PTR || t->space != IR_LOCAL)
    return broken(v, "the result must be a ptr<.., local>, and is %s", type_name(v, t));
  return is_plain_value(t->elem) || broken(v, "%s cannot lie in memory", type_name(v, t->elem));
}

static bool check_shared(Verifier *v, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  if (t->kind != IR_PTR || t->space != IR_SHARED)
    return broken(v, "the result must be a ptr<.., shared>, and is %s", type_name(v, t));
  return is_plain_value(t->elem) || broken(v, "%s cannot lie in memory", type_name(v, t->elem));
}

/* What needs a group stands in a kernel that has one, or in a function that such kernels call. */
static bool check_group(Verifier *v, const IrInst *i) {
  if (v->fn->is_kernel && !v->fn->group) return broken(v, "the kernel has no groups");
  if (i->op == IR_ltid || i->op == IR_gid || i->op == IR_gdim || i->op == IR_ballot) {
    IrKind want = i->op == IR_ballot ? IR_U32 : IR_I32;
    const IrType *t = i->res[0]->type;
    return t->kind == want ||
           broken(v, "the result must be %s, and is %s", want == IR_U32 ? "u32" : "i32", type_name(v, t));
  }
  if (i->op == IR_mma && !hdir_mma_of(i->args[0]->type, i->args[1]->type, i->args[2]->type))
    return broken(v, "no matrices of %s, %s and %s are known", type_name(v, i->args[0]->type),
                  type_name(v, i->args[1]->type), type_name(v, i->args[2]->type));
  if (i->op == IR_threads)
    for (const IrInst *p = i->region->parent; p; p = p->region->parent)
      if (p->op == IR_threads) return broken(v, "stands in a region of threads");
  return i->op != IR_shared || check_shared(v, i);
}

static bool check_access(Verifier *v, const IrInst *i, const IrType *value, const char *what) {
  const IrType *p = i->args[0]->type;
  if (!is_plain_value(p->elem)) return broken(v, "%s cannot lie in memory", type_name(v, p->elem));
  if (p->elem == value) return true;
  return broken(v, "%s must be %s as the pointer says, and is %s", what, type_name(v, p->elem), type_name(v, value));
}

static bool check_atomic(Verifier *v, const IrInst *i) {
  const IrType *t = i->args[1]->type;
  bool whole = i->op == IR_atomic_and || i->op == IR_atomic_or || i->op == IR_atomic_xor || i->op == IR_atomic_cas;
  if (!check_access(v, i, t, "operand 2")) return false;
  if (i->args[0]->type->space == IR_LOCAL)
    return broken(v, "the pointer must be to an array's element or shared memory, not to local memory");
  if (t->kind == IR_BOOL || t->size < 4)
    return broken(v, "works on 32- and 64-bit scalars, not on %s", type_name(v, t));
  if (whole && hdir_is_float(t)) return broken(v, "works on integers, not on %s", type_name(v, t));
  return true;
}

static bool check_select(Verifier *v, const IrInst *i) {
  const IrType *c = i->args[0]->type, *x = i->args[1]->type, *y = i->args[2]->type;
  if (x != y)
    return broken(v, "operands 2 and 3 must have one type, and are %s and %s", type_name(v, x), type_name(v, y));
  if (!is_plain_value(x)) return broken(v, "cannot choose between arrays or pointers");
  if (c->kind == IR_BOOL || is_bool_like(c, x)) return true;
  return broken(v, "operand 1 must be a bool, or bools shaped as %s, and is %s", type_name(v, x), type_name(v, c));
}

static bool check_cvt(Verifier *v, const IrInst *i) {
  const IrType *from = i->args[0]->type, *to = i->res[0]->type;
  if (same_shape(from, to)) return true;
  return broken(v, "the result must have the shape of %s, and is %s", type_name(v, from), type_name(v, to));
}

static bool check_bitcast(Verifier *v, const IrInst *i) {
  const IrType *from = i->args[0]->type, *to = i->res[0]->type;
  if (!hdir_is_scalar(to) || from->kind == IR_BOOL || to->kind == IR_BOOL || from->size != to->size) {
    return broken(v, "goes between scalars of one size but bool, not from %s to %s", type_name(v, from),
                  type_name(v, to));
  }
  return true;
}

static bool check_axis(Verifier *v, const IrInst *i) {
  int64_t most = i->op == IR_length ? i->args[0]->type->rows : HD_MAX_DIMS;
  const IrType *t = i->res[0]->type;
  if (i->imm < 0 || i->imm >= most) return broken(v, "axis %lld of %lld", (long long)i->imm, (long long)most);
  if (t->kind == IR_I32 || (t->kind == IR_I64 && i->op == IR_length)) return true;
  return broken(v, "the result must be %s, and is %s", i->op == IR_length ? "i32 or i64" : "i32", type_name(v, t));
}

static bool check_table(Verifier *v, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  if (!hdir_is_scalar(t)) return broken(v, "the result must be a scalar, and is %s", type_name(v, t));
  if (i->nargs < 2) return broken(v, "has no constants");
  for (uint32_t k = 1; k < i->nargs; k++) {
    if (!hdir_is_const(i->args[k])) return broken(v, "operand %u must be a constant", k + 1);
    if (i->args[k]->type != t)
      return broken(v, "operand %u must be %s as the result is, and is %s", k + 1, type_name(v, t),
                    type_name(v, i->args[k]->type));
  }
  return true;
}

static bool check_tex(Verifier *v, const IrInst *i) {
  if (i->nargs < 3 || i->nargs > IR_MAX_TEX)
    return broken(v, "takes an object, one to three coordinates and a level, not %u operands", i->nargs);
  if (i->imm < 0 || i->imm > 3) return broken(v, "number %lld of 4", (long long)i->imm);
  if (i->args[0]->type->kind != IR_U64)
    return broken(v, "operand 1 must be u64, and is %s", type_name(v, i->args[0]->type));
  for (uint32_t k = 1; k < i->nargs; k++)
    if (i->args[k]->type->kind != IR_F32)
      return broken(v, "operand %u must be f32, and is %s", k + 1, type_name(v, i->args[k]->type));
  const IrType *t = i->res[0]->type;
  return t->kind == IR_F32 || broken(v, "the result must be f32, and is %s", type_name(v, t));
}

static bool check_has(Verifier *v, const IrInst *i) {
  const IrType *t = i->res[0]->type;
  if (i->imm < 0 || i->imm >= IR_NUNITS) return broken(v, "unit %lld of %d", (long long)i->imm, IR_NUNITS);
  return t->kind == IR_BOOL || broken(v, "the result must be bool, and is %s", type_name(v, t));
}

static bool check_call(Verifier *v, const IrInst *i) {
  const IrFunc *f = i->callee;
  if (!f || f->module != v->m) return broken(v, "the callee is no function of this module");
  if (f->is_kernel) return broken(v, "a kernel cannot be called");
  if (i->nargs != f->body->nparams)
    return broken(v, "@%.40s takes %u operands, and gets %u", f->name, f->body->nparams, i->nargs);
  if (i->nres != f->nresults)
    return broken(v, "@%.40s has %u results, and %u are named", f->name, f->nresults, i->nres);
  for (uint32_t k = 0; k < i->nargs; k++) {
    const IrType *wanted = f->body->params[k]->type, *got = i->args[k]->type;
    if (wanted != got)
      return broken(v, "operand %u must be %s, and is %s", k + 1, type_name(v, wanted), type_name(v, got));
  }
  for (uint32_t k = 0; k < i->nres; k++) {
    const IrType *is = f->results[k], *got = i->res[k]->type;
    if (is != got) return broken(v, "result %u is %s, and is named as %s", k + 1, type_name(v, is), type_name(v, got));
  }
  return true;
}

static bool check_op(Verifier *v, const IrInst *i) {
  const IrType *t = i->nargs ? i->args[0]->type : NULL;
  switch (i->op) {
  case IR_fma: {
    IrKind s = hdir_elem_scalar(t)->kind;
    return s == IR_F32 || s == IR_F64 || broken(v, "works on f32 and f64, not on %s", type_name(v, t));
  }
  case IR_select: return check_select(v, i);
  case IR_cvt: return check_cvt(v, i);
  case IR_bitcast: return check_bitcast(v, i);
  case IR_make: return check_make(v, i);
  case IR_extract: return check_part(v, i, t) && check_is_part(v, t, (uint32_t)i->imm, i->res[0]->type, "the result");
  case IR_insert: return check_part(v, i, t) && check_is_part(v, t, (uint32_t)i->imm, i->args[1]->type, "operand 2");
  case IR_extract_at: return check_elements(v, t) && check_is_part(v, t, 0, i->res[0]->type, "the result");
  case IR_insert_at: return check_elements(v, t) && check_is_part(v, t, 0, i->args[2]->type, "operand 3");
  case IR_table: return check_table(v, i);
  case IR_length:
  case IR_tid:
  case IR_dim: return check_axis(v, i);
  case IR_index: return check_index(v, i);
  case IR_alloca: return check_alloca(v, i);
  case IR_member:
    return check_part(v, i, t->elem) && check_address(v, i, hdir_part(t->elem, (uint32_t)i->imm), t->space);
  case IR_elem: return check_elements(v, t->elem) && check_address(v, i, hdir_part(t->elem, 0), t->space);
  case IR_load: return check_access(v, i, i->res[0]->type, "the result");
  case IR_store: return check_access(v, i, i->args[1]->type, "operand 2");
  case IR_gang_count:
    return i->res[0]->type->kind == IR_I32 ||
           broken(v, "the result must be i32, and is %s", type_name(v, i->res[0]->type));
  case IR_gang_min:
  case IR_gang_max: return hdir_is_int(t) || broken(v, "works on integers, not on %s", type_name(v, t));
  case IR_assert: return i->text || broken(v, "has no text");
  case IR_print: return check_print(v, i);
  case IR_check:
    if (!i->text) return broken(v, "has no text");
    return (i->args[1]->type->kind == IR_I64 && i->args[2]->type->kind == IR_I64) ||
           broken(v, "index and limit must be i64");
  case IR_call: return check_call(v, i);
  case IR_has: return check_has(v, i);
  case IR_tex: return check_tex(v, i);
  case IR_ltid:
  case IR_gid:
  case IR_gdim:
  case IR_shared:
  case IR_barrier:
  case IR_shuffle:
  case IR_ballot:
  case IR_mma:
  case IR_threads: return check_group(v, i);
  default: return hdir_ops[i->op].effect == FX_ATOMIC ? check_atomic(v, i) : true;
  }
}

/* --- regions --- */

static bool check_passed(Verifier *v, const IrInst *i, uint32_t n, IrValue *const to[], const char *whose) {
  if (i->nargs != n) return broken(v, "%s has %u, and gets %u", whose, n, i->nargs);
  for (uint32_t k = 0; k < n; k++) {
    if (i->args[k]->type != to[k]->type) {
      return broken(v, "operand %u must be %s, and is %s", k + 1, type_name(v, to[k]->type),
                    type_name(v, i->args[k]->type));
    }
  }
  return true;
}

/* Nothing leads out of `threads` but its yield. */
static const IrInst *around(const IrInst *i, IrOp op) {
  const IrInst *p = i->region->parent;
  while (p && p->op != op && p->op != IR_threads) p = p->region->parent;
  return p && p->op == op ? p : NULL;
}

static bool check_return(Verifier *v, const IrInst *i) {
  if (i->nargs != v->fn->nresults)
    return broken(v, "the function has %u results, and gets %u", v->fn->nresults, i->nargs);
  for (uint32_t k = 0; k < i->nargs; k++) {
    if (i->args[k]->type != v->fn->results[k]) {
      return broken(v, "operand %u must be %s, and is %s", k + 1, type_name(v, v->fn->results[k]),
                    type_name(v, i->args[k]->type));
    }
  }
  return true;
}

/* In a region of threads a return ends the thread's turn, so nothing but the kernel's end may follow. */
static bool check_turn(Verifier *v, const IrInst *i) {
  const IrInst *t = around(i, IR_threads);
  if (!t || (!t->region->parent && t->next && t->next->op == IR_return)) return true;
  return broken(v, "stands in a region of threads that is not the kernel's last");
}

static bool check_ender(Verifier *v, const IrInst *i) {
  const IrInst *to = NULL;
  switch (i->op) {
  case IR_yield:
    to = i->region->parent;
    if (!to || to->op == IR_loop) return broken(v, "ends a region of an if, scope or threads only");
    break;
  case IR_break:
    to = around(i, IR_loop);
    if (!to) return broken(v, "stands in no loop");
    break;
  case IR_continue:
    to = around(i, IR_loop);
    if (!to) return broken(v, "stands in no loop");
    return check_passed(v, i, to->sub[0]->nparams, to->sub[0]->params, "the number of the loop's carried values");
  case IR_leave:
    to = around(i, IR_scope);
    if (!to) return broken(v, "stands in no scope");
    break;
  case IR_return: return check_return(v, i) && check_turn(v, i);
  default:
    if (i->prev && hdir_ops[i->prev->op].effect == FX_CONTROL && !v->completes[i->prev->id]) return true;
    return broken(v, "stands behind an if, loop or scope that nothing leaves, and only there");
  }
  v->completes[to->id] = true;
  return check_passed(v, i, to->nres, to->res, "the number of results");
}

static bool check_use(Verifier *v, const IrInst *i, uint32_t k) {
  const IrValue *x = i->args[k];
  if (!x || !x->type || x->id >= v->fn->nvalues) return broken(v, "operand %u is no value of this function", k + 1);
  if (hdir_is_const(x)) {
    const uint64_t key[2] = {x->type->id, x->bits};
    return hdb_map_get(&v->fn->consts, key, sizeof key) == x ||
           broken(v, "operand %u is a constant of another function", k + 1);
  }
  return v->visible[x->id] || broken(v, "operand %u is used where its definition cannot be seen", k + 1);
}

static bool check_def(Verifier *v, const IrInst *i, uint32_t k) {
  const IrValue *x = i->res[k];
  if (!x || !x->type || x->id >= v->fn->nvalues || x->def != i || x->index != k)
    return broken(v, "result %u is out of place", k + 1);
  v->visible[x->id] = true;
  return true;
}

static bool check_region(Verifier *v, const IrRegion *r);

static bool check_control(Verifier *v, const IrInst *i) {
  uint32_t nsubs = i->op == IR_if ? 2 : 1, nparams = i->op == IR_loop ? i->nargs : 0;
  if (i->nsubs != nsubs) return broken(v, "has %u region%s, and is given %u", nsubs, nsubs == 1 ? "" : "s", i->nsubs);
  for (uint32_t k = 0; k < i->nres; k++)
    if (!i->res[k] || !i->res[k]->type || !is_plain_value(i->res[k]->type))
      return broken(v, "result %u cannot be an array or a pointer", k + 1);
  for (uint32_t s = 0; s < nsubs; s++) {
    const IrRegion *r = i->sub[s];
    v->inst = i;
    if (!r || r->parent != i || r->fn != v->fn) return broken(v, "a region is out of place");
    if (r->nparams != nparams) return broken(v, "takes %u carried values, and gets %u", r->nparams, nparams);
    for (uint32_t k = 0; k < nparams; k++) {
      const IrType *t = r->params[k]->type, *first = i->args[k]->type;
      if (t != first)
        return broken(v, "carried value %u is %s, and starts as %s", k + 1, type_name(v, t), type_name(v, first));
      if (!is_plain_value(t)) return broken(v, "carried value %u cannot be an array or a pointer", k + 1);
    }
    if (!check_region(v, r)) return false;
  }
  v->inst = i;
  return true;
}

static bool check_inst(Verifier *v, const IrInst *i, const IrRegion *r) {
  v->inst = i;
  if (i->region != r || (i->next ? i->next->prev != i : r->last != i))
    return broken(v, "the list of instructions is broken here");
  if (i->id >= v->fn->ninsts) return broken(v, "the instruction is not this function's");
  for (uint32_t k = 0; k < i->nargs; k++)
    if (!check_use(v, i, k)) return false;
  if (i->loc.line && i->loc.file >= v->m->nfiles)
    return broken(v, "the place is in file %u of %u", i->loc.file, v->m->nfiles);
  if (hdir_is_ender(i->op) != !i->next) {
    return i->next ? broken(v, "ends a region, and something stands behind it")
                   : broken(v, "is the last of its region and no ender");
  }
  if (!check_operands(v, i)) return false;
  if (hdir_ops[i->op].effect == FX_CONTROL && !check_control(v, i)) return false;
  for (uint32_t k = 0; k < i->nres; k++)
    if (!check_def(v, i, k)) return false;
  return check_results(v, i) && (hdir_is_ender(i->op) ? check_ender(v, i) : check_op(v, i));
}

static void forget(Verifier *v, const IrRegion *r) {
  for (uint32_t k = 0; k < r->nparams; k++) v->visible[r->params[k]->id] = false;
  for (const IrInst *i = r->first; i; i = i->next)
    for (uint32_t k = 0; k < i->nres; k++) v->visible[i->res[k]->id] = false;
}

static bool check_region(Verifier *v, const IrRegion *r) {
  if (!r->first) return broken(v, "a region is empty: it needs an ender");
  if (v->depth == DEEPEST) return broken(v, "regions are nested more than %d deep", DEEPEST);
  v->depth++;
  for (uint32_t k = 0; k < r->nparams; k++) {
    const IrValue *x = r->params[k];
    if (!x || !x->type || x->id >= v->fn->nvalues || x->region != r || x->index != k)
      return broken(v, "parameter %u of a region is out of place", k + 1);
    v->visible[x->id] = true;
  }
  for (const IrInst *i = r->first; i; i = i->next)
    if (!check_inst(v, i, r)) return false;
  forget(v, r);
  v->depth--;
  return true;
}

/* --- functions and modules --- */

static bool is_c_name(const char *s) {
  for (const char *c = s; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
    if (!letter && (c == s || *c < '0' || *c > '9')) return false;
  }
  return *s;
}

static bool check_extern(Verifier *v) {
  const IrFunc *fn = v->fn;
  if (!is_c_name(fn->name)) return broken(v, "a C function's name is letters, digits and _");
  if (fn->is_kernel || fn->fast || fn->body->first) return broken(v, "a C function is a head alone");
  if (fn->nresults > 1) return broken(v, "a C function has one result at the most, and this has %u", fn->nresults);
  if (fn->is_pure && !fn->nresults) return broken(v, "a pure function has a result");
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    const IrType *t = fn->body->params[k]->type;
    if (t->kind == IR_ARRAY && fn->is_pure)
      return broken(v, "parameter %u of a pure function cannot be an array, whose elements may change", k + 1);
    if (t->kind != IR_ARRAY && !is_plain_value(t))
      return broken(v, "parameter %u of a C function cannot be %s", k + 1, type_name(v, t));
  }
  return true;
}

static bool check_func(Verifier *v) {
  const IrFunc *fn = v->fn;
  if (fn->is_pure && !fn->is_extern) return broken(v, "only a C function is said to be pure");
  if (fn->is_kernel && fn->nresults) return broken(v, "a kernel returns nothing");
  if (fn->group && !(fn->is_kernel && hdir_is_group_size(fn->group)))
    return broken(v, "groups are of 32, 64, .. 1024 threads and a kernel's, and not of %d", fn->group);
  if (!fn->body || fn->body->parent || fn->body->fn != fn) return broken(v, "the body is out of place");
  for (uint32_t k = 0; k < fn->nresults; k++)
    if (!is_plain_value(fn->results[k]))
      return broken(v, "result %u cannot be %s", k + 1, type_name(v, fn->results[k]));
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    const IrType *t = fn->body->params[k]->type;
    if (t->kind == IR_VOID || (fn->is_kernel && t->kind == IR_PTR))
      return broken(v, "parameter %u cannot be %s", k + 1, type_name(v, t));
  }
  if (fn->is_extern) return check_extern(v);
  return check_region(v, fn->body);
}

static HdStatus verify_one(const IrFunc *fn, HdError *err) {
  Arena *scratch = fn->module->arena;
  ArenaMark mark = hdb_mark(scratch);
  Verifier v = {.m = fn->module, .fn = fn, .err = err, .scratch = scratch};
  v.visible = HDB_NEW_N(scratch, bool, fn->nvalues);
  v.completes = HDB_NEW_N(scratch, bool, fn->ninsts);
  bool ok = check_func(&v);
  hdb_reset(scratch, mark);
  return ok ? HD_OK : HD_ERR_IR;
}

HdStatus hdir_verify_func(const IrFunc *fn, HdError *err) { return verify_one(fn, err); }

HdStatus hdir_verify_inst(const IrFunc *fn, const IrInst *i, HdError *err) {
  ArenaMark mark = hdb_mark(fn->module->arena);
  Verifier v = {.m = fn->module, .fn = fn, .err = err, .scratch = fn->module->arena, .inst = i, .alone = true};
  bool ok = check_operands(&v, i) && check_results(&v, i) && check_op(&v, i);
  hdb_reset(fn->module->arena, mark);
  return ok ? HD_OK : HD_ERR_IR;
}

/* Depth first over the calls, with a stack of our own: a call of a function that is on it is recursion. */
typedef struct Node {
  const IrFunc *fn;
  const IrInst *at; /* calls before it are done */
  enum { NEW, OPEN, DONE } state;
} Node;

static const IrInst *next_call(const IrInst *i) {
  while (i && i->op != IR_call) i = hdir_inst_next(i);
  return i;
}

/* A call that closes a cycle, or NULL. */
static const IrInst *find_recursion(const IrModule *m) {
  Map nodes;
  Node **stack = HDB_NEW_N(m->arena, Node *, m->nfuncs + 1);
  hdb_map_init(&nodes, m->arena);
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    Node *n = HDB_NEW(m->arena, Node);
    n->fn = m->funcs[k];
    hdb_map_slot(&nodes, &n->fn, sizeof n->fn)->value = n;
  }
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    uint32_t depth = 0;
    stack[depth++] = hdb_map_get(&nodes, &m->funcs[k], sizeof m->funcs[k]);
    while (depth) {
      Node *n = stack[depth - 1];
      if (n->state == DONE) {
        depth--;
        continue;
      }
      if (n->state == NEW) n->at = n->fn->body->first;
      n->state = OPEN;
      const IrInst *call = next_call(n->at);
      n->at = call ? hdir_inst_next(call) : NULL;
      if (!call) {
        n->state = DONE;
        continue;
      }
      Node *callee = hdb_map_get(&nodes, &call->callee, sizeof call->callee);
      if (callee && callee->state == OPEN) return call;
      if (callee && callee->state == NEW) stack[depth++] = callee;
    }
  }
  return NULL;
}

/* A call by which a kernel without groups comes to what needs one, or NULL. */
static const IrInst *find_groupless(const IrModule *m) {
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    const IrFunc *fn = m->funcs[k];
    if (!fn->is_kernel || fn->group || !hdir_needs_group(fn)) continue;
    for (const IrInst *i = next_call(fn->body->first); i; i = next_call(hdir_inst_next(i)))
      if (hdir_needs_group(i->callee)) return i;
  }
  return NULL;
}

HdStatus hdir_verify(const IrModule *m, HdError *err) {
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    if (m->funcs[k]->module != m || hdir_func_find(m, m->funcs[k]->name) != m->funcs[k]) {
      return hdb_fail(err, HD_ERR_IR, NULL, "@%.80s: the function is listed but not found by its name",
                      m->funcs[k]->name);
    }
    HD_TRY(verify_one(m->funcs[k], err));
  }
  ArenaMark mark = hdb_mark(m->arena);
  const IrInst *call = find_recursion(m);
  const char *what = "is recursion, which there is not";
  if (!call) {
    call = find_groupless(m);
    what = "the kernel has no groups";
  }
  if (call) {
    Verifier v = {.m = m, .fn = call->region->fn, .err = err, .scratch = m->arena, .inst = call};
    broken(&v, "%s", what);
  }
  hdb_reset(m->arena, mark);
  return call ? HD_ERR_IR : HD_OK;
}
