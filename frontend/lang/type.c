/* frontend/lang/type.c -- the types that names stand for: builtin ones, structs, generic parameters. */
#include <stdio.h>

#include "frontend/lang/lower.h"

typedef struct Family {
  const char *name, *takes;
  IrKind kind;
  uint32_t nargs;
} Family;

static const Family families[] = {
    {"vec", "a scalar type and a length: vec<f32, 3>", IR_VEC, 2},
    {"mat", "a scalar type, rows and columns: mat<f32, 3, 3>", IR_MAT, 3},
    {"quat", "a float type: quat<f32>", IR_QUAT, 1},
    {"transform", "a float type: transform<f32>", IR_TRANSFORM, 1},
    {"spatial", "a float type: spatial<f32>", IR_SPATIAL, 1},
    {"array", "an element type and a number of axes: array<f32, 2>", IR_ARRAY, 2},
};

static const char *const scalar_names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                           "u32",  "u64", "f16", "bf16", "f32", "f64"};

/* What people who come from other languages write. */
static const struct {
  const char *theirs, *ours;
} habits[] = {{"float", "f32"},   {"double", "f64"},  {"int", "i32"},      {"uint", "u32"},    {"unsigned", "u32"},
              {"long", "i64"},    {"short", "i16"},   {"char", "i8"},      {"half", "f16"},    {"float2", "vec2"},
              {"float3", "vec3"}, {"float4", "vec4"}, {"ivec2", "vec2i"},  {"ivec3", "vec3i"}, {"ivec4", "vec4i"},
              {"int2", "vec2i"},  {"int3", "vec3i"},  {"mat2", "mat22"},   {"mat3", "mat33"},  {"mat4", "mat44"},
              {"size_t", "i64"},  {"int32", "i32"},   {"float32", "f32"},  {"float64", "f64"}, {"uint32_t", "u32"},
              {"int32_t", "i32"}, {"int64_t", "i64"}, {"uint64_t", "u64"}, {"boolean", "bool"}};

static const Family *find_family(const char *name) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strcmp(families[i].name, name) == 0) return &families[i];
  return NULL;
}

bool hdfe_is_type_family(const char *name) { return find_family(name) != NULL; }

/* f32, or d i u behind a shape: the scalar of a shorthand. IR_VOID if the ending is none. */
static IrKind short_scalar(const char *end, bool ints) {
  if (end[0] == 0) return IR_F32;
  if (end[1] != 0) return IR_VOID;
  if (end[0] == 'd') return IR_F64;
  if (ints && end[0] == 'i') return IR_I32;
  if (ints && end[0] == 'u') return IR_U32;
  return IR_VOID;
}

static const IrType *builtin(IrTypes *ts, const char *s) {
  for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++)
    if (strcmp(scalar_names[i], s) == 0) return hdir_scalar(ts, (IrKind)(IR_BOOL + i));
  IrKind k;
  if (strncmp(s, "vec", 3) == 0 && s[3] >= '2' && s[3] <= '4') {
    k = short_scalar(s + 4, true);
    return k ? hdir_vec(ts, hdir_scalar(ts, k), (uint32_t)(s[3] - '0')) : NULL;
  }
  if (strncmp(s, "mat", 3) == 0 && s[3] >= '2' && s[3] <= '4' && s[4] >= '2' && s[4] <= '4') {
    k = short_scalar(s + 5, false);
    return k ? hdir_mat(ts, hdir_scalar(ts, k), (uint32_t)(s[3] - '0'), (uint32_t)(s[4] - '0')) : NULL;
  }
  if (strncmp(s, "quat", 4) == 0 && (k = short_scalar(s + 4, false))) return hdir_quat(ts, hdir_scalar(ts, k));
  if (strncmp(s, "transform", 9) == 0 && (k = short_scalar(s + 9, false)))
    return hdir_transform(ts, hdir_scalar(ts, k));
  if (strncmp(s, "spatial", 7) == 0 && (k = short_scalar(s + 7, false))) return hdir_spatial(ts, hdir_scalar(ts, k));
  return NULL;
}

int hdfe_find_generic(const FeLower *L, const char *name) {
  if (!L->fn || !L->binds) return -1;
  for (uint32_t i = 0; i < L->fn->ngenerics; i++)
    if (L->fn->generics[i].name == name) return (int)i;
  return -1;
}

const IrType *hdfe_type_named(FeLower *L, const char *name) {
  int g = hdfe_find_generic(L, name);
  if (g >= 0) return L->binds[g].type;
  MapSlot *slot = hdb_map_slot(&L->fe->builtins, &name, sizeof name); /* interned: the pointer is the key */
  if (!slot->value) {
    const IrType *t = builtin(hdfe_types(L), name);
    slot->value = t ? (void *)t : (void *)&families; /* a mark: looked up, no type */
  }
  return slot->value == (void *)&families ? NULL : slot->value;
}

FeStruct *hdfe_find_struct(FeLower *L, const char *name) {
  FeStruct *s = hdb_map_get_str(&L->unit->structs, name);
  for (uint32_t i = 0; !s && i < L->unit->nimports; i++) s = hdb_map_get_str(&L->unit->imports[i]->structs, name);
  if (s) return s;
  FeUnit *units[8];
  uint32_t n = hdfe_library_units(L->fe, name, units);
  for (uint32_t i = 0; !s && i < n; i++) s = hdb_map_get_str(&units[i]->structs, name);
  return s;
}

bool hdfe_has_array(const IrType *t) {
  if (t->kind == IR_ARRAY) return true;
  if (t->kind == IR_FIXED) return hdfe_has_array(t->elem);
  if (t->kind != IR_STRUCT) return false;
  for (uint32_t i = 0; i < t->nparts; i++)
    if (hdfe_has_array(t->fields[i].type)) return true;
  return false;
}

bool hdfe_has_fixed(const IrType *t) {
  if (t->kind == IR_FIXED) return true;
  if (t->kind != IR_STRUCT) return false;
  for (uint32_t i = 0; i < t->nparts; i++)
    if (hdfe_has_fixed(t->fields[i].type)) return true;
  return false;
}

/* --- structs --- */

/* The IR's names are one space for all files: a second struct of a name gets a number. */
static const IrType *struct_new(FeCompiler *fe, FeStruct *s, const IrField *fields) {
  const char *name = s->name;
  for (uint32_t i = 2;; i++) {
    const IrType *t = hdir_struct(&fe->module->types, name, s->nfields, fields);
    if (t) return t;
    name = hdb_printf(fe->arena, "%s.%u", s->name, i);
  }
}

const IrType *hdfe_struct_type(FeCompiler *fe, FeStruct *s) {
  if (s->state == FE_STRUCT_DONE || s->state == FE_STRUCT_BAD) return s->type;
  if (s->state == FE_STRUCT_BUSY) {
    hdfe_report(fe, s->unit, s->span, FE_D_struct_cycle, s->name);
    return NULL;
  }
  s->state = FE_STRUCT_BUSY;
  FeLower L = hdfe_outside(fe, s->unit, NULL, NULL);
  IrField *fields = HDB_NEW_N(fe->arena, IrField, s->nfields + 1);
  bool ok = true;
  uint64_t leaves = 0;
  for (uint32_t i = 0; i < s->nfields; i++) {
    fields[i].name = s->fields[i].name;
    fields[i].type = hdfe_type(&L, s->fields[i].type);
    ok &= fields[i].type != NULL;
    leaves += fields[i].type ? fields[i].type->nleaves : 0;
  }
  if (leaves > FE_MAX_FIXED) {
    hdfe_report(fe, s->unit, s->span, FE_D_struct_size, s->name, FE_MAX_FIXED);
    ok = false;
  }
  s->type = ok ? struct_new(fe, s, fields) : NULL;
  s->state = ok ? FE_STRUCT_DONE : FE_STRUCT_BAD;
  return s->type;
}

/* --- types as written --- */

void hdfe_offer_types(FeLower *L, FeNearest *n) {
  static const char *const shorthands[] = {"vec2",  "vec3",  "vec4",  "vec2i", "vec3i",     "vec4i",   "vec3d", "vec2u",
                                           "mat22", "mat33", "mat44", "quat",  "transform", "spatial", "vec",   "mat"};
  for (size_t i = 0; i < sizeof scalar_names / sizeof *scalar_names; i++) hdfe_nearest_offer(n, scalar_names[i]);
  for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) hdfe_nearest_offer(n, shorthands[i]);
  for (uint32_t i = 0; i < L->unit->nstructs; i++) hdfe_nearest_offer(n, L->unit->struct_list[i]->name);
  for (uint32_t u = 0; u < L->unit->nimports; u++)
    for (uint32_t i = 0; i < L->unit->imports[u]->nstructs; i++)
      hdfe_nearest_offer(n, L->unit->imports[u]->struct_list[i]->name);
  if (L->fn)
    for (uint32_t i = 0; i < L->fn->ngenerics; i++) hdfe_nearest_offer(n, L->fn->generics[i].name);
}

static const IrType *unknown_type(FeLower *L, const FeTypeRef *t) {
  FeReport *r = hdfe_error(L, t->span, FE_D_unknown_type, t->name);
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    if (strcmp(habits[i].theirs, t->name) == 0) {
      hdfe_hint(L->fe, r, "write %s", habits[i].ours);
      return NULL;
    }
  FeNearest n;
  hdfe_nearest_begin(&n, t->name);
  hdfe_offer_types(L, &n);
  hdfe_nearest_hint(L->fe, r, &n);
  return NULL;
}

/* A size between 1 and `most`; 0 after a report. */
static uint32_t size_arg(FeLower *L, const FeTypeRef *t, uint32_t most) {
  FeBig n;
  if (!t->size) {
    hdfe_error(L, t->span, FE_D_type_argument, "a size", "a type");
    return 0;
  }
  if (!hdfe_const_int(L, t->size, &n)) return 0;
  if (n < 1 || n > most) {
    hdfe_error(L, t->span, FE_D_size_range, hdfe_big_text(L, n), most);
    return 0;
  }
  return (uint32_t)n;
}

static const IrType *array_type(FeLower *L, const IrType *elem, uint32_t ndim, FeSpan span) {
  if (elem->kind == IR_FIXED || hdfe_has_array(elem)) {
    FeReport *r = hdfe_error(L, span, FE_D_array_element, hdfe_shown_type(L, elem));
    hdfe_hint(L->fe, r, "use a struct with the fixed array in it, or one more axis");
    return NULL;
  }
  return hdir_array(hdfe_types(L), elem, ndim);
}

static const IrType *family_type(FeLower *L, const FeTypeRef *t, const Family *f) {
  if (t->nargs != f->nargs) {
    hdfe_error(L, t->span, FE_D_type_arguments, f->name, f->takes, t->nargs);
    return NULL;
  }
  if (t->args[0]->kind == FE_TYPE_SIZE) {
    hdfe_error(L, t->args[0]->span, FE_D_type_argument, "a type", "a number");
    return NULL;
  }
  const IrType *e = hdfe_type(L, t->args[0]);
  if (!e) return NULL;
  if (f->kind == IR_ARRAY) {
    uint32_t n = size_arg(L, t->args[1], HD_MAX_DIMS);
    return n ? array_type(L, e, n, t->span) : NULL;
  }
  bool floats = f->kind != IR_VEC && f->kind != IR_MAT;
  if (!hdir_is_scalar(e) || (floats && !hdir_is_float(e))) {
    hdfe_error(L, t->args[0]->span, FE_D_type_argument, hdb_printf(L->fe->arena, "the scalar of %s", f->name),
               hdfe_shown_type(L, e));
    return NULL;
  }
  uint32_t rows = f->nargs > 1 ? size_arg(L, t->args[1], FE_MAX_PARTS) : 1;
  uint32_t cols = f->nargs > 2 ? size_arg(L, t->args[2], FE_MAX_PARTS) : 1;
  if (!rows || !cols) return NULL;
  switch (f->kind) {
  case IR_VEC: return hdir_vec(hdfe_types(L), e, rows);
  case IR_MAT: return hdir_mat(hdfe_types(L), e, rows, cols);
  case IR_QUAT: return hdir_quat(hdfe_types(L), e);
  case IR_TRANSFORM: return hdir_transform(hdfe_types(L), e);
  default: return hdir_spatial(hdfe_types(L), e);
  }
}

static const IrType *fixed_type(FeLower *L, const FeTypeRef *t) {
  FeTypeRef size = {.kind = FE_TYPE_SIZE, .span = t->size ? t->size->span : t->span, .size = t->size};
  uint32_t n = size_arg(L, &size, FE_MAX_FIXED);
  const IrType *e = t->elem ? hdfe_type(L, t->elem) : NULL;
  if (!e || !n) return NULL;
  if (hdfe_has_array(e)) {
    hdfe_error(L, t->span, FE_D_array_place);
    return NULL;
  }
  if ((uint64_t)n * e->nleaves > FE_MAX_FIXED) {
    hdfe_error(L, t->span, FE_D_size_range, hdfe_big_text(L, (FeBig)n * e->nleaves), FE_MAX_FIXED);
    return NULL;
  }
  return hdir_fixed(hdfe_types(L), e, n);
}

static const IrType *struct_ref(FeLower *L, const FeTypeRef *t) {
  FeStruct *s = hdfe_find_struct(L, t->name);
  if (!s) return unknown_type(L, t);
  if (t->nargs) {
    hdfe_error(L, t->span, FE_D_type_arguments, t->name, "none", t->nargs);
    return NULL;
  }
  return hdfe_struct_type(L->fe, s);
}

const IrType *hdfe_type(FeLower *L, const FeTypeRef *t) {
  if (t->kind == FE_TYPE_SIZE) {
    hdfe_error(L, t->span, FE_D_type_argument, "a type", "a number");
    return NULL;
  }
  if (t->kind == FE_TYPE_FIXED) return fixed_type(L, t);
  if (t->kind == FE_TYPE_ARRAY) {
    const IrType *e = t->elem ? hdfe_type(L, t->elem) : NULL;
    return e ? array_type(L, e, t->ndim, t->span) : NULL;
  }
  if (!t->name) return NULL; /* did not parse */
  const Family *f = t->nargs ? find_family(t->name) : NULL;
  if (f) return family_type(L, t, f);
  const IrType *named = hdfe_type_named(L, t->name);
  if (named && t->nargs) {
    hdfe_error(L, t->span, FE_D_type_arguments, t->name, "none", t->nargs);
    return NULL;
  }
  if (named) return named;
  f = find_family(t->name); /* quat and the like without arguments are shorthands, found above */
  if (f) {
    hdfe_error(L, t->span, FE_D_type_arguments, f->name, f->takes, 0u);
    return NULL;
  }
  return struct_ref(L, t);
}
