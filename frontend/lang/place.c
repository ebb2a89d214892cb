/* frontend/lang/place.c -- variables, elements and parts of them: where something is read from and assigned to.
 *
 * A place is a root and a way from it. In memory the way is walked at once, as addresses. From an SSA variable it is
 * kept as steps: reading extracts along them, assigning extracts on the way down and inserts on the way up.
 */
#include <stdio.h>

#include "frontend/lang/lower.h"

static FePlace place_error(void) { return (FePlace){.kind = FE_PLACE_ERROR}; }

/* --- stepping into a part --- */

static void step(FeLower *L, FePlace *p, uint32_t part, IrValue *index, const IrType *type) {
  if (p->kind == FE_PLACE_MEMORY)
    p->value = index ? hdir_elem(L->b, p->value, index) : hdir_member(L->b, p->value, part);
  else
    HDB_PUSH(L->fe->arena, p->steps, p->nsteps, p->cap_steps, ((FePlaceStep){part, index}));
  p->type = type;
}

/* Several parts of the packed composite that p is now. */
static void select_parts(FeLower *L, FePlace *p, uint32_t n, IrValue *const flat[], bool row, const IrType *type) {
  p->parts = hdb_copy(L->fe->arena, flat, sizeof *flat * n);
  p->nparts = n;
  p->row = row;
  p->type = type;
}

/* One part, by its flat index among those that p is. */
static void select_one(FeLower *L, FePlace *p, IrValue *flat, const IrType *elem) {
  p->nparts = 0;
  p->parts = NULL;
  if (hdir_is_const(flat))
    step(L, p, (uint32_t)hdir_const_i64(flat), NULL, elem);
  else
    step(L, p, 0, flat, elem);
}

/* p as a value that has nothing to do with where it came from. */
static void become_value(FeLower *L, FePlace *p) {
  IrValue *v = hdfe_place_read(L, p);
  *p = (FePlace){.kind = FE_PLACE_VALUE, .value = v, .type = v->type};
}

/* --- fields --- */

static int component(char c) {
  static const char xyzw[] = "xyzw", rgba[] = "rgba";
  for (int i = 0; i < 4; i++)
    if (xyzw[i] == c || rgba[i] == c) return i;
  return -1;
}

static FePlace bad_swizzle(FeLower *L, const FePlace *p, FeExpr *e) {
  hdfe_error(L, e->at, FE_D_bad_swizzle, e->name, hdfe_shown_type(L, p->type));
  return place_error();
}

static FePlace swizzle(FeLower *L, FePlace p, FeExpr *e) {
  size_t n = strlen(e->name);
  IrValue *flat[4];
  uint32_t seen = 0;
  if (n > 4) return bad_swizzle(L, &p, e);
  for (size_t i = 0; i < n; i++) {
    int c = component(e->name[i]);
    if (c < 0 || (uint32_t)c >= p.type->nparts) return bad_swizzle(L, &p, e);
    p.repeated |= (seen >> c) & 1;
    seen |= 1u << c;
    flat[i] = p.nparts ? p.parts[c] : hdfe_i32(L, c);
  }
  const IrType *elem = p.type->elem;
  if (n == 1)
    select_one(L, &p, flat[0], elem);
  else
    select_parts(L, &p, (uint32_t)n, flat, false, hdir_vec(hdfe_types(L), elem, (uint32_t)n));
  return p;
}

/* t.p, t.q, s.w, s.v: neighbouring parts under a name */
static FePlace half(FeLower *L, FePlace p, FeExpr *e, const char *names, uint32_t split) {
  IrValue *flat[4];
  bool second = e->name[0] == names[1];
  if (e->name[1] || (!second && e->name[0] != names[0])) {
    FeReport *r = hdfe_error(L, e->at, FE_D_unknown_field, hdfe_shown_type(L, p.type), e->name);
    hdfe_hint(L->fe, r, "its fields are %c and %c", names[0], names[1]);
    return place_error();
  }
  uint32_t first = second ? split : 0, n = second ? p.type->nparts - split : split;
  const IrType *elem = p.type->elem;
  for (uint32_t i = 0; i < n; i++) flat[i] = hdfe_i32(L, first + i);
  const IrType *type = n == 4 ? hdir_quat(hdfe_types(L), elem) : hdir_vec(hdfe_types(L), elem, n);
  select_parts(L, &p, n, flat, true, type);
  return p;
}

static FePlace struct_field(FeLower *L, FePlace p, FeExpr *e) {
  FeNearest near;
  hdfe_nearest_begin(&near, e->name);
  for (uint32_t i = 0; i < p.type->nparts; i++) {
    const IrField *f = &p.type->fields[i];
    if (strcmp(f->name, e->name) == 0) {
      step(L, &p, i, NULL, f->type);
      return p;
    }
    hdfe_nearest_offer(&near, f->name);
  }
  FeReport *r = hdfe_error(L, e->at, FE_D_unknown_field, hdfe_shown_type(L, p.type), e->name);
  hdfe_nearest_hint(L->fe, r, &near);
  return place_error();
}

static FePlace no_field(FeLower *L, FePlace p, FeExpr *e) {
  FeReport *r = hdfe_error(L, e->at, FE_D_unknown_field, hdfe_shown_type(L, p.type), e->name);
  if (p.type->kind == IR_FIXED) hdfe_hint(L->fe, r, "its length is len(..)");
  if (p.type->kind == IR_ARRAY) hdfe_hint(L->fe, r, "an array has .length, and .length(axis)");
  if (p.type->kind == IR_MAT) hdfe_hint(L->fe, r, "rows are m[r], elements m[r][c]");
  return place_error();
}

static FePlace place_field(FeLower *L, FeExpr *e) {
  FePlace p = hdfe_place(L, e->a);
  hdfe_at(L, e->span);
  if (p.kind == FE_PLACE_ERROR) return p;
  if (p.kind == FE_PLACE_UNTYPED) {
    hdfe_error(L, e->at, FE_D_unknown_field, hdfe_shown(L, p.ex), e->name);
    return place_error();
  }
  switch (p.type->kind) {
  case IR_VEC:
  case IR_QUAT: return swizzle(L, p, e);
  case IR_TRANSFORM: return half(L, p, e, "pq", 3);
  case IR_SPATIAL: return half(L, p, e, "wv", 3);
  case IR_STRUCT: return struct_field(L, p, e);
  case IR_ARRAY:
    if (strcmp(e->name, "length") == 0) {
      IrValue *n = hdir_length(L->b, hdfe_place_read(L, &p), 0, hdfe_scalar(L, IR_I32));
      return (FePlace){.kind = FE_PLACE_VALUE, .value = n, .type = n->type};
    }
    return no_field(L, p, e);
  default: return no_field(L, p, e);
  }
}

/* --- indices --- */

/* An index as i32 or i64; NULL after a report. */
static IrValue *index_value(FeLower *L, FeExpr *e) {
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_ERROR) return NULL;
  if (x.kind == FE_X_INT) {
    bool small = x.i >= INT32_MIN && x.i <= INT32_MAX;
    return hdfe_literal(L, x, hdfe_scalar(L, small ? IR_I32 : IR_I64), e->span);
  }
  if (x.kind != FE_X_VALUE || !hdir_is_int(x.v->type)) {
    FeReport *r = hdfe_error(L, e->span, FE_D_index_type, hdfe_shown(L, x));
    if (x.kind == FE_X_VALUE && hdir_is_float(x.v->type)) hdfe_hint(L->fe, r, "convert it: i32(..)");
    return NULL;
  }
  IrKind k = x.v->type->kind;
  bool wide = k == IR_I64 || k == IR_U64 || k == IR_U32;
  hdfe_at(L, e->span);
  return hdir_cvt(L->b, hdfe_scalar(L, wide ? IR_I64 : IR_I32), x.v);
}

/* The bounds option: report an index outside 0..limit, and say in p->ok that nothing may be touched. */
static void check_bounds(FeLower *L, FePlace *p, IrValue *index, IrValue *limit, const char *name) {
  const IrType *i64 = hdfe_scalar(L, IR_I64);
  IrValue *i = hdir_cvt(L->b, i64, index), *n = hdir_cvt(L->b, i64, limit);
  IrValue *c =
      hdir_bin(L->b, IR_and, hdir_bin(L->b, IR_ge, i, hdir_const_int(L->b->fn, i64, 0)), hdir_bin(L->b, IR_lt, i, n));
  if (hdir_is_const(c) && hdir_const_i64(c)) return;
  hdir_check(L->b, c, i, n, name);
  p->ok = p->ok ? hdir_bin(L->b, IR_and, p->ok, c) : c;
}

static FePlace index_array(FeLower *L, FePlace p, FeExpr *e) {
  const char *name = p.name ? p.name : "array";
  IrValue *array = hdfe_place_read(L, &p), *at[HD_MAX_DIMS];
  uint32_t ndim = array->type->rows;
  if (e->nargs != ndim) {
    FeReport *r = hdfe_error(L, e->span, FE_D_index_count, hdfe_shown_type(L, array->type),
                             hdb_printf(L->fe->arena, ndim == 1 ? "one index" : "%u indices", ndim), e->nargs);
    if (ndim == 2 && e->nargs == 1) hdfe_hint(L->fe, r, "write %s[i, j]", name);
    return place_error();
  }
  bool ok = true;
  for (uint32_t i = 0; i < ndim; i++) ok &= (at[i] = index_value(L, e->args[i])) != NULL;
  if (!ok) return place_error();
  hdfe_at(L, e->span);
  FePlace q = {.kind = FE_PLACE_MEMORY, .device = true, .type = array->type->elem, .name = name};
  if (L->fe->options->bounds)
    for (uint32_t i = 0; i < ndim; i++)
      check_bounds(L, &q, at[i], hdir_length(L->b, array, i, hdfe_scalar(L, IR_I64)), name);
  for (uint32_t i = 0; q.ok && i < ndim; i++)
    at[i] = hdir_select(L->b, q.ok, at[i], hdir_const(L->b->fn, at[i]->type, 0));
  q.value = hdir_index(L->b, array, ndim, at);
  return q;
}

/* The row of a matrix: cols neighbours from index * cols on. */
static void index_matrix(FeLower *L, FePlace *p, IrValue *index) {
  uint32_t cols = p->type->cols;
  IrValue **flat = HDB_NEW_N(L->fe->arena, IrValue *, cols);
  IrValue *first = hdir_bin(L->b, IR_mul, index, hdir_const_int(L->b->fn, index->type, cols));
  for (uint32_t c = 0; c < cols; c++) flat[c] = hdir_bin(L->b, IR_add, first, hdir_const_int(L->b->fn, index->type, c));
  select_parts(L, p, cols, flat, true, hdir_vec(hdfe_types(L), p->type->elem, cols));
}

static void index_parts(FeLower *L, FePlace *p, IrValue *index) {
  const IrType *elem = p->type->elem;
  if (hdir_is_const(index)) {
    select_one(L, p, p->parts[hdir_const_i64(index)], elem);
  } else if (p->row) {
    IrValue *first = p->parts[0];
    index = hdir_cvt(L->b, first->type, index);
    select_one(L, p, hdir_bin(L->b, IR_add, first, index), elem);
  } else { /* v.zyx[i]: only to read */
    become_value(L, p);
    step(L, p, 0, index, elem);
  }
}

static FePlace index_composite(FeLower *L, FePlace p, FeExpr *e) {
  uint32_t limit = p.type->kind == IR_MAT ? p.type->rows : p.type->nparts;
  if (e->nargs != 1) {
    FeReport *r = hdfe_error(L, e->span, FE_D_index_count, hdfe_shown_type(L, p.type), "one index", e->nargs);
    if (p.type->kind == IR_MAT || p.type->kind == IR_FIXED) hdfe_hint(L->fe, r, "write m[i][j]");
    return place_error();
  }
  IrValue *index = index_value(L, e->args[0]);
  if (!index) return place_error();
  hdfe_at(L, e->span);
  if (hdir_is_const(index)) {
    int64_t i = hdir_const_i64(index);
    if (i < 0 || i >= (int64_t)limit) {
      hdfe_error(L, e->args[0]->span, FE_D_index_range, hdfe_big_text(L, i), limit - 1);
      return place_error();
    }
  } else if (L->fe->options->bounds) {
    check_bounds(L, &p, index, hdfe_i32(L, limit), p.name ? p.name : "vector");
    if (p.ok && p.kind == FE_PLACE_MEMORY) index = hdir_select(L->b, p.ok, index, hdir_const(L->b->fn, index->type, 0));
  }
  if (p.nparts)
    index_parts(L, &p, index);
  else if (p.type->kind == IR_MAT)
    index_matrix(L, &p, index);
  else
    select_one(L, &p, index, p.type->elem);
  return p;
}

static FePlace place_index(FeLower *L, FeExpr *e) {
  FePlace p = hdfe_place(L, e->a);
  if (p.kind == FE_PLACE_ERROR) return p;
  if (p.kind != FE_PLACE_UNTYPED) {
    switch (p.type->kind) {
    case IR_ARRAY: return index_array(L, p, e);
    case IR_VEC:
    case IR_MAT:
    case IR_FIXED: return index_composite(L, p, e);
    default: break;
    }
  }
  FeReport *r = hdfe_error(L, e->a->span, FE_D_not_indexable,
                           p.kind == FE_PLACE_UNTYPED ? hdfe_shown(L, p.ex) : hdfe_shown_type(L, p.type));
  if (p.kind != FE_PLACE_UNTYPED && p.type->kind == IR_QUAT) hdfe_hint(L->fe, r, "use .x .y .z .w");
  return place_error();
}

/* --- roots --- */

static FePlace place_name(FeLower *L, FeExpr *e) {
  FeVar *v = hdfe_find_var(L, e->name);
  if (v && (v->kind == FE_VAR_VALUE || v->kind == FE_VAR_MEMORY)) {
    v->used = true;
    bool memory = v->kind == FE_VAR_MEMORY;
    return (FePlace){.kind = memory ? FE_PLACE_MEMORY : FE_PLACE_VAR,
                     .var = v,
                     .value = memory ? v->value : NULL,
                     .type = v->type,
                     .name = v->name};
  }
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_ERROR) return place_error();
  if (x.kind != FE_X_VALUE) return (FePlace){.kind = FE_PLACE_UNTYPED, .var = v, .ex = x, .name = e->name};
  return (FePlace){.kind = FE_PLACE_VALUE, .var = v, .value = x.v, .type = x.v->type, .name = e->name};
}

FePlace hdfe_place(FeLower *L, FeExpr *e) {
  switch (e->kind) {
  case FE_NAME: return place_name(L, e);
  case FE_INDEX: return place_index(L, e);
  case FE_FIELD: return place_field(L, e);
  default: break;
  }
  FeEx x = hdfe_expr(L, e);
  if (x.kind == FE_X_VOID) hdfe_error(L, e->span, FE_D_void_value, e->name ? e->name : "the function");
  if (x.kind == FE_X_ERROR || x.kind == FE_X_VOID) return place_error();
  if (x.kind != FE_X_VALUE) return (FePlace){.kind = FE_PLACE_UNTYPED, .ex = x};
  return (FePlace){.kind = FE_PLACE_VALUE, .value = x.v, .type = x.v->type};
}

/* --- reading --- */

static IrValue *part_of(FeLower *L, IrValue *v, IrValue *flat) {
  return hdir_is_const(flat) ? hdir_extract(L->b, v, (uint32_t)hdir_const_i64(flat)) : hdir_extract_at(L->b, v, flat);
}

static IrValue *part_pointer(FeLower *L, IrValue *ptr, IrValue *flat) {
  return hdir_is_const(flat) ? hdir_member(L->b, ptr, (uint32_t)hdir_const_i64(flat)) : hdir_elem(L->b, ptr, flat);
}

static IrValue *read_memory(FeLower *L, FePlace *p) {
  if (!p->nparts) return hdir_load(L->b, p->value);
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, p->nparts);
  for (uint32_t i = 0; i < p->nparts; i++) parts[i] = hdir_load(L->b, part_pointer(L, p->value, p->parts[i]));
  return hdir_make(L->b, p->type, parts);
}

/* Run what touches memory only if the index was good. */
static IrValue *read_checked(FeLower *L, FePlace *p) {
  IrInst *i = hdir_if_begin(L->b, p->ok, 1, &p->type);
  IrValue *v = read_memory(L, p);
  hdir_ender(L->b, IR_yield, 1, &v);
  hdir_if_else(L->b, i);
  v = hdir_zero(L->b, p->type);
  hdir_ender(L->b, IR_yield, 1, &v);
  hdir_end(L->b, i);
  return i->res[0];
}

static IrValue *take_step(FeLower *L, IrValue *v, const FePlaceStep *s) {
  return s->index ? hdir_extract_at(L->b, v, s->index) : hdir_extract(L->b, v, s->part);
}

IrValue *hdfe_place_read(FeLower *L, FePlace *p) {
  if (p->kind == FE_PLACE_MEMORY) return p->ok ? read_checked(L, p) : read_memory(L, p);
  IrValue *v = p->kind == FE_PLACE_VAR ? p->var->value : p->value;
  for (uint32_t i = 0; i < p->nsteps; i++) v = take_step(L, v, &p->steps[i]);
  if (!p->nparts) return v;
  IrValue **parts = HDB_NEW_N(L->fe->arena, IrValue *, p->nparts);
  for (uint32_t i = 0; i < p->nparts; i++) parts[i] = part_of(L, v, p->parts[i]);
  return hdir_make(L->b, p->type, parts);
}

IrValue *hdfe_place_pointer(FeLower *L, FePlace *p) {
  (void)L;
  return p->kind == FE_PLACE_MEMORY && !p->nparts ? p->value : NULL;
}

IrValue *hdfe_place_part(FeLower *L, FePlace *p, uint32_t i) {
  return p->nparts ? part_pointer(L, p->value, p->parts[i]) : hdir_member(L->b, p->value, i);
}

/* --- assigning --- */

static FeReport *note_declaration(FeLower *L, FeReport *r, const FeVar *v) {
  hdfe_note(L->fe, r, L->unit, v->span, FE_D_declared_here, v->name);
  return r;
}

bool hdfe_place_assignable(FeLower *L, const FePlace *p, FeExpr *e) {
  if (p->kind == FE_PLACE_ERROR) return false;
  if (p->var && p->var->locked) {
    FeReport *r = hdfe_error(L, e->span, FE_D_assign_let, p->var->name, p->var->locked);
    if (strcmp(p->var->locked, "a let variable") == 0) hdfe_hint(L->fe, r, "declare it with var");
    note_declaration(L, r, p->var);
    return false;
  }
  if (e->kind == FE_NAME && (p->kind == FE_PLACE_VALUE || p->kind == FE_PLACE_UNTYPED)) {
    hdfe_error(L, e->span, FE_D_assign_let, e->name, "a constant");
    return false;
  }
  if (p->kind == FE_PLACE_VALUE || p->kind == FE_PLACE_UNTYPED) {
    hdfe_error(L, e->span, FE_D_not_assignable);
    return false;
  }
  if (p->repeated) {
    hdfe_error(L, e->span, FE_D_repeated_swizzle, e->name);
    return false;
  }
  if (p->type->kind == IR_ARRAY) {
    hdfe_error(L, e->span, FE_D_mixed_arrays);
    return false;
  }
  return true;
}

static void write_memory(FeLower *L, FePlace *p, IrValue *x) {
  if (!p->nparts) hdir_store(L->b, p->value, x);
  for (uint32_t i = 0; i < p->nparts; i++)
    hdir_store(L->b, part_pointer(L, p->value, p->parts[i]), hdir_extract(L->b, x, i));
}

static void write_checked(FeLower *L, FePlace *p, IrValue *x) {
  IrInst *i = hdir_if_begin(L->b, p->ok, 0, NULL);
  write_memory(L, p, x);
  hdir_ender(L->b, IR_yield, 0, NULL);
  hdir_end(L->b, i);
}

static IrValue *with_parts(FeLower *L, FePlace *p, IrValue *v, IrValue *x) {
  for (uint32_t i = 0; i < p->nparts; i++) {
    IrValue *y = hdir_extract(L->b, x, i);
    v = hdir_is_const(p->parts[i]) ? hdir_insert(L->b, v, (uint32_t)hdir_const_i64(p->parts[i]), y)
                                   : hdir_insert_at(L->b, v, p->parts[i], y);
  }
  return v;
}

void hdfe_place_write(FeLower *L, FePlace *p, IrValue *x) {
  if (p->kind == FE_PLACE_MEMORY) {
    if (p->ok)
      write_checked(L, p, x);
    else
      write_memory(L, p, x);
    return;
  }
  IrValue **way = HDB_NEW_N(L->fe->arena, IrValue *, p->nsteps + 1);
  way[0] = p->var->value;
  for (uint32_t i = 0; i < p->nsteps; i++) /* the last one is replaced whole, unless only parts of it are */
    way[i + 1] = i + 1 < p->nsteps || p->nparts ? take_step(L, way[i], &p->steps[i]) : NULL;
  if (p->nparts) x = with_parts(L, p, way[p->nsteps], x);
  for (uint32_t i = p->nsteps; i-- > 0;) {
    const FePlaceStep *s = &p->steps[i];
    x = s->index ? hdir_insert_at(L->b, way[i], s->index, x) : hdir_insert(L->b, way[i], s->part, x);
  }
  hdfe_var_set(L, p->var, x);
}
