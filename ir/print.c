/* ir/print.c -- modules as text that parse.c reads back to the same text. docs/ir.md has the grammar.
 *
 * A value is printed with its name if it has one and no value before it in the function has the same; the others get the
 * free numbers in order. The parser keeps numbers as names, so text survives reading and a dump's numbers stay what they
 * were through the passes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ir/ir.h"
#include "ir/layout.h"
#include "ir/text.h"

/* --- names --- */

typedef struct Namer {
  const IrFunc *fn;
  Arena *arena;
  Map taken; /* every hint in the function, to the value that has it */
  const char **names;
  uint32_t next;
} Namer;

static void take_hint(Namer *n, const IrValue *v) {
  if (!v->name || !hdir_name_is_plain(v->name)) return;
  MapSlot *slot = hdb_map_slot(&n->taken, v->name, strlen(v->name));
  if (slot->value) return;
  slot->value = n;
  n->names[v->id] = v->name;
}

static void take_number(Namer *n, const IrValue *v) {
  char text[16];
  if (n->names[v->id]) return;
  do snprintf(text, sizeof text, "%u", n->next++);
  while (hdb_map_get_str(&n->taken, text));
  n->names[v->id] = hdb_strdup(n->arena, text);
}

/* Each value in the order in which the text defines it. */
static void each_value(Namer *n, void (*take)(Namer *, const IrValue *)) {
  for (uint32_t k = 0; k < n->fn->body->nparams; k++) take(n, n->fn->body->params[k]);
  for (const IrInst *i = n->fn->body->first; i; i = hdir_inst_next(i)) {
    for (uint32_t k = 0; k < i->nres; k++) take(n, i->res[k]);
    for (uint32_t s = 0; s < i->nsubs; s++)
      for (uint32_t k = 0; k < i->sub[s]->nparams; k++) take(n, i->sub[s]->params[k]);
  }
}

const char **hdir_names(const IrFunc *fn, Arena *a) {
  Namer n = {.fn = fn, .arena = a};
  hdb_map_init(&n.taken, a);
  n.names = HDB_NEW_N(a, const char *, fn->nvalues);
  each_value(&n, take_hint);
  each_value(&n, take_number);
  return n.names;
}

/* --- constants --- */

/* Shortest digits that read back to the same bits, as d.ddd x 10^exponent. */
static int shortest(const IrType *t, uint64_t bits, char digits[24], int *exponent) {
  char text[48];
  int most = t->kind == IR_F64 ? 17 : 9, n = 0;
  for (int precision = 1; precision <= most; precision++) {
    snprintf(text, sizeof text, "%.*e", precision - 1, hdir_f64_of(t, bits));
    n = 0;
    const char *s = text;
    for (; *s && *s != 'e'; s++) /* whatever the locale puts for the point is skipped */
      if (*s >= '0' && *s <= '9') digits[n++] = *s;
    *exponent = atoi(s + 1);
    uint64_t back;
    if (hdir_parse_float(t, text[0] == '-', digits, n, *exponent - (n - 1), &back) && back == bits) break;
  }
  while (n > 1 && digits[n - 1] == '0') n--;
  return n;
}

static void print_float(Buf *b, const IrType *t, uint64_t bits) {
  double x = hdir_f64_of(t, bits);
  if (x != x || x - x != 0) { /* NaN and infinities have no decimals */
    hdb_putf(b, "0x%0*llx", (int)hdir_bits(t) / 4, (unsigned long long)bits);
    return;
  }
  char digits[24];
  int e, n = shortest(t, bits, digits, &e);
  if (bits >> (hdir_bits(t) - 1)) hdb_putc(b, '-');
  if (e < -5 || e > 15) {
    hdb_putn(b, digits, 1);
    if (n > 1) hdb_putc(b, '.');
    hdb_putn(b, digits + 1, (size_t)n - 1);
    hdb_putf(b, "e%d", e);
    return;
  }
  for (int k = e < 0 ? e : 0; k < n || k <= e + 1; k++) { /* at least one digit on each side of the point */
    hdb_putc(b, k >= 0 && k < n ? digits[k] : '0');
    if (k == e) hdb_putc(b, '.');
    if (k > e && k >= n - 1) break;
  }
}

static void print_const(Buf *b, const IrType *t, uint64_t bits) {
  if (t->kind == IR_BOOL) {
    hdb_put(b, bits ? "true" : "false");
    return;
  }
  if (hdir_is_float(t))
    print_float(b, t, bits);
  else if (hdir_is_signed(t))
    hdb_putf(b, "%lld", (long long)hdir_i64_of(t, bits));
  else
    hdb_putf(b, "%llu", (unsigned long long)bits);
  hdir_type_print(b, t);
}

/* --- instructions --- */

typedef struct Printer {
  Buf *b;
  const IrFunc *fn;
  const char **names;
  IrPrint how;
} Printer;

void hdir_print_value(Buf *b, const IrValue *v, const char *const names[]) {
  if (!v)
    hdb_put(b, "<null>"); /* a broken instruction in a verifier's message */
  else if (hdir_is_const(v))
    print_const(b, v->type, v->bits);
  else
    hdb_putf(b, "%%%s", names[v->id] ? names[v->id] : "<removed>");
}

static void use(Printer *p, const IrValue *v) { hdir_print_value(p->b, v, p->names); }

static void def(Printer *p, const IrValue *v) {
  use(p, v);
  hdb_put(p->b, ": ");
  hdir_type_print(p->b, v->type);
}

static void uses(Printer *p, const char *before, uint32_t n, IrValue *const v[]) {
  for (uint32_t k = 0; k < n; k++) {
    hdb_put(p->b, k ? ", " : before);
    use(p, v[k]);
  }
}

static void print_loop_params(Printer *p, const IrInst *i) {
  const IrRegion *body = i->nsubs ? i->sub[0] : NULL;
  if (!i->nargs) return;
  hdb_put(p->b, " (");
  for (uint32_t k = 0; k < i->nargs; k++) {
    if (k) hdb_put(p->b, ", ");
    if (body && k < body->nparams) {
      def(p, body->params[k]);
      hdb_put(p->b, " = ");
    }
    use(p, i->args[k]);
  }
  hdb_putc(p->b, ')');
}

/* Everything but sub-regions. */
static void print_head(Printer *p, const IrInst *i) {
  Buf *b = p->b;
  for (uint32_t k = 0; k < i->nres; k++) {
    if (k) hdb_put(b, ", ");
    def(p, i->res[k]);
  }
  if (i->nres) hdb_put(b, " = ");
  hdb_put(b, hdir_ops[i->op].name);
  if (i->op == IR_loop) {
    print_loop_params(p, i);
    return;
  }
  if (i->op == IR_call) {
    hdb_putc(b, ' ');
    hdir_put_name(b, '@', i->callee ? i->callee->name : "<null>");
  }
  switch (hdir_ops[i->op].imm) {
  case IR_IMM_NONE: uses(p, " ", i->nargs, i->args); break;
  case IR_IMM_TEXT:
    uses(p, " ", i->nargs, i->args);
    hdb_put(b, i->nargs ? ", " : " ");
    hdir_put_text(b, i->text ? i->text : "");
    break;
  case IR_IMM_AXIS:
  case IR_IMM_FIELD: /* behind the operand it belongs to, before the rest */
    uses(p, " ", i->nargs ? 1 : 0, i->args);
    hdb_putf(b, i->nargs ? ", %lld" : " %lld", (long long)i->imm);
    if (i->nargs > 1) uses(p, ", ", i->nargs - 1, i->args + 1);
    break;
  case IR_IMM_UNIT: hdb_putf(b, " %s", i->imm >= 0 && i->imm < IR_NUNITS ? hdir_unit_names[i->imm] : "<none>"); break;
  }
}

static void print_loc(Printer *p, IrLoc loc) {
  if (p->how.locations && loc.line) hdb_putf(p->b, " @ %u:%u:%u", loc.file, loc.line, loc.column);
}

/* The notes on a line's values, as one comment; with the values' names if there are several. */
static void print_notes(Printer *p, uint32_t n, IrValue *const v[], uint32_t n2, IrValue *const v2[]) {
  if (!p->how.note) return;
  const char *before = "  # ";
  for (uint32_t k = 0; k < n + n2; k++) {
    const IrValue *x = k < n ? v[k] : v2[k - n];
    size_t start = p->b->len;
    hdb_put(p->b, before);
    if (n + n2 > 1) {
      use(p, x);
      hdb_put(p->b, ": ");
    }
    size_t head = p->b->len;
    p->how.note(p->b, x, p->how.user);
    if (p->b->len == head) {
      p->b->len = start;
      p->b->data[start] = 0;
    } else {
      before = "; ";
    }
  }
}

/* --- regions: walked without recursion, so that depth costs no stack --- */

static void open_region(Printer *p, const IrInst *i) {
  hdb_put(p->b, " {");
  print_loc(p, i->loc);
  const IrRegion *r = i->sub[0];
  print_notes(p, i->nres, i->res, r->nparams, r->params);
  hdb_putc(p->b, '\n');
}

static void print_body(Printer *p, const IrRegion *body) {
  const IrRegion *r = body;
  const IrInst *i = r->first;
  int depth = 1;
  for (;;) {
    while (!i) { /* the region is at its end */
      if (r == body) return;
      const IrInst *owner = r->parent;
      hdb_indent(p->b, 2 * --depth);
      if (owner->nsubs == 2 && r == owner->sub[0]) {
        hdb_put(p->b, "} else {\n");
        r = owner->sub[1];
        i = r->first;
        depth++;
      } else {
        hdb_put(p->b, "}\n");
        r = owner->region;
        i = owner->next;
      }
    }
    hdb_indent(p->b, 2 * depth);
    print_head(p, i);
    if (i->nsubs) {
      open_region(p, i);
      r = i->sub[0];
      i = r->first;
      depth++;
    } else {
      print_loc(p, i->loc);
      print_notes(p, i->nres, i->res, 0, NULL);
      hdb_putc(p->b, '\n');
      i = i->next;
    }
  }
}

static Printer printer(Buf *b, const IrFunc *fn, const IrPrint *how) {
  return (Printer){b, fn, hdir_names(fn, b->arena), how ? *how : (IrPrint){.locations = true}};
}

void hdir_print_signature(Buf *b, const IrFunc *fn) {
  hdb_putf(b, "%s(", fn->name);
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    if (k) hdb_put(b, ", ");
    hdir_type_print(b, fn->body->params[k]->type);
  }
  hdb_putc(b, ')');
  for (uint32_t k = 0; k < fn->nresults; k++) {
    hdb_put(b, k ? ", " : " -> ");
    hdir_type_print(b, fn->results[k]);
  }
}

void hdir_print_func(Buf *b, const IrFunc *fn, const IrPrint *how) {
  Printer p = printer(b, fn, how);
  hdb_put(b, fn->is_kernel ? "kernel " : fn->is_extern ? "extern " : "func ");
  hdir_put_name(b, '@', fn->name);
  hdb_putc(b, '(');
  for (uint32_t k = 0; k < fn->body->nparams; k++) {
    if (k) hdb_put(b, ", ");
    def(&p, fn->body->params[k]);
  }
  hdb_putc(b, ')');
  for (uint32_t k = 0; k < fn->nresults; k++) {
    hdb_put(b, k ? ", " : " -> ");
    hdir_type_print(b, fn->results[k]);
  }
  if (fn->is_extern) {
    if (fn->is_pure) hdb_put(b, " pure");
    print_loc(&p, fn->loc);
    hdb_putc(b, '\n');
    return;
  }
  if (fn->rank > hdir_seen_rank(fn)) hdb_putf(b, " rank %d", fn->rank);
  if (fn->group) hdb_putf(b, " group %d", fn->group);
  hdb_put(b, fn->fast ? " fast {" : " {");
  print_loc(&p, fn->loc);
  print_notes(&p, fn->body->nparams, fn->body->params, 0, NULL);
  hdb_putc(b, '\n');
  print_body(&p, fn->body);
  hdb_put(b, "}\n");
}

void hdir_print_inst(Buf *b, const IrInst *i) {
  Printer p = printer(b, i->region->fn, &(IrPrint){.locations = false});
  print_head(&p, i);
}

static void print_struct(Buf *b, const IrType *t) {
  hdb_put(b, "struct ");
  hdir_put_name(b, '%', t->name);
  hdb_put(b, " {");
  for (uint32_t k = 0; k < t->nparts; k++) {
    hdb_put(b, k ? ", " : " ");
    hdir_put_name(b, 0, t->fields[k].name);
    hdb_put(b, ": ");
    hdir_type_print(b, t->fields[k].type);
  }
  hdb_put(b, " }\n");
}

void hdir_print_module(Buf *b, const IrModule *m, const IrPrint *how) {
  size_t start = b->len;
  bool locations = !how || how->locations;
  for (uint32_t k = 0; locations && k < m->nfiles; k++) {
    hdb_putf(b, "file %u ", k);
    hdir_put_text(b, m->files[k]);
    hdb_putc(b, '\n');
  }
  for (uint32_t k = 0; k < m->types.count; k++)
    if (m->types.all[k]->kind == IR_STRUCT) print_struct(b, m->types.all[k]);
  for (uint32_t k = 0; k < m->nfuncs; k++) {
    bool group = k && m->funcs[k]->is_extern && m->funcs[k - 1]->is_extern;
    if (b->len != start && !group) hdb_putc(b, '\n');
    hdir_print_func(b, m->funcs[k], how);
  }
  if (!b->data) hdb_put(b, "");
}
