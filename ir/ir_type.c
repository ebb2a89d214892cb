/* ir/ir_type.c -- interned types, their sizes, and how they are written. */
#include "ir/ir_type.h"

#include <assert.h>

#include "ir/text.h"

static const struct {
  const char *name;
  uint32_t size, bits;
} scalars[IR_F64 + 1] = {
    [IR_VOID] = {"void", 0, 0}, [IR_BOOL] = {"bool", 1, 1}, [IR_I8] = {"i8", 1, 8},    [IR_I16] = {"i16", 2, 16},
    [IR_I32] = {"i32", 4, 32},  [IR_I64] = {"i64", 8, 64},  [IR_U8] = {"u8", 1, 8},    [IR_U16] = {"u16", 2, 16},
    [IR_U32] = {"u32", 4, 32},  [IR_U64] = {"u64", 8, 64},  [IR_F16] = {"f16", 2, 16}, [IR_BF16] = {"bf16", 2, 16},
    [IR_F32] = {"f32", 4, 32},  [IR_F64] = {"f64", 8, 64},
};

static void add_type(IrTypes *ts, IrType *t) {
  t->id = ts->count;
  HDB_PUSH(ts->arena, ts->all, ts->count, ts->cap, t);
}

void hdir_types_init(IrTypes *ts, Arena *a) {
  *ts = (IrTypes){.arena = a};
  hdb_map_init(&ts->by_key, a);
  for (int kind = IR_VOID; kind <= IR_F64; kind++) {
    IrType *t = HDB_NEW(a, IrType);
    *t = (IrType){.kind = (IrKind)kind, .rows = 1, .cols = 1, .nleaves = kind != IR_VOID};
    t->size = scalars[kind].size;
    t->align = t->size ? t->size : 1;
    add_type(ts, t);
    assert(t->id == (uint32_t)kind);
  }
}

const IrType *hdir_scalar(const IrTypes *ts, IrKind kind) {
  assert(kind <= IR_F64);
  return ts->all[kind];
}

/* --- derived types: found by what they are made of --- */

static uint32_t parts_of(const IrType *t) {
  switch (t->kind) {
  case IR_VEC:
  case IR_FIXED: return t->rows;
  case IR_MAT: return t->rows * t->cols;
  case IR_QUAT: return 4;
  case IR_TRANSFORM: return 7;
  case IR_SPATIAL: return 6;
  default: return 0;
  }
}

static const IrType *derived(IrTypes *ts, IrKind kind, const IrType *elem, uint32_t rows, uint32_t cols,
                             IrSpace space) {
  const uint32_t key[5] = {(uint32_t)kind, elem->id, rows, cols, (uint32_t)space};
  MapSlot *slot = hdb_map_slot(&ts->by_key, key, sizeof key);
  if (slot->value) return slot->value;
  IrType *t = HDB_NEW(ts->arena, IrType);
  slot->value = t;
  *t = (IrType){.kind = kind, .elem = elem, .rows = rows, .cols = cols, .space = space, .nleaves = 1};
  if (kind == IR_PTR || kind == IR_ARRAY) {
    t->size = kind == IR_PTR ? 8 : 8 + 16 * rows;
    t->align = 8;
  } else {
    t->nparts = parts_of(t);
    t->nleaves = t->nparts * elem->nleaves;
    t->size = t->nparts * elem->size;
    t->align = elem->align;
  }
  add_type(ts, t);
  return t;
}

const IrType *hdir_vec(IrTypes *ts, const IrType *elem, uint32_t n) {
  assert(hdir_is_scalar(elem) && n >= 1);
  return derived(ts, IR_VEC, elem, n, 1, IR_GLOBAL);
}

const IrType *hdir_mat(IrTypes *ts, const IrType *elem, uint32_t rows, uint32_t cols) {
  assert(hdir_is_scalar(elem) && rows >= 1 && cols >= 1);
  return derived(ts, IR_MAT, elem, rows, cols, IR_GLOBAL);
}

const IrType *hdir_quat(IrTypes *ts, const IrType *elem) {
  assert(hdir_is_scalar(elem));
  return derived(ts, IR_QUAT, elem, 1, 1, IR_GLOBAL);
}

const IrType *hdir_transform(IrTypes *ts, const IrType *elem) {
  assert(hdir_is_scalar(elem));
  return derived(ts, IR_TRANSFORM, elem, 1, 1, IR_GLOBAL);
}

const IrType *hdir_spatial(IrTypes *ts, const IrType *elem) {
  assert(hdir_is_scalar(elem));
  return derived(ts, IR_SPATIAL, elem, 1, 1, IR_GLOBAL);
}

const IrType *hdir_fixed(IrTypes *ts, const IrType *elem, uint32_t n) {
  assert(n >= 1);
  return derived(ts, IR_FIXED, elem, n, 1, IR_GLOBAL);
}

const IrType *hdir_array(IrTypes *ts, const IrType *elem, uint32_t ndim) {
  assert(ndim >= 1 && ndim <= HD_MAX_DIMS);
  return derived(ts, IR_ARRAY, elem, ndim, 1, IR_GLOBAL);
}

const IrType *hdir_ptr(IrTypes *ts, const IrType *elem, IrSpace space) {
  return derived(ts, IR_PTR, elem, 1, 1, space);
}

/* --- structs: found by name; their keys begin with '%', which no key above does --- */

static MapSlot *struct_slot(IrTypes *ts, const char *name) {
  const char *key = hdb_printf(ts->arena, "%%%s", name);
  return hdb_map_slot(&ts->by_key, key, strlen(key));
}

static bool same_fields(const IrType *t, uint32_t n, const IrField *f) {
  if (t->nparts != n) return false;
  for (uint32_t i = 0; i < n; i++)
    if (t->fields[i].type != f[i].type || strcmp(t->fields[i].name, f[i].name) != 0) return false;
  return true;
}

const IrType *hdir_struct(IrTypes *ts, const char *name, uint32_t nfields, const IrField *fields) {
  assert(nfields >= 1);
  MapSlot *slot = struct_slot(ts, name);
  if (slot->value) return same_fields(slot->value, nfields, fields) ? slot->value : NULL;
  IrType *t = HDB_NEW(ts->arena, IrType);
  IrField *own = HDB_NEW_N(ts->arena, IrField, nfields);
  slot->value = t;
  *t = (IrType){.kind = IR_STRUCT, .rows = 1, .cols = 1, .nparts = nfields, .fields = own, .align = 1};
  t->name = hdb_strdup(ts->arena, name);
  for (uint32_t i = 0; i < nfields; i++) {
    const IrType *ft = fields[i].type;
    t->size = (t->size + ft->align - 1) / ft->align * ft->align;
    own[i] = (IrField){hdb_strdup(ts->arena, fields[i].name), ft, t->size};
    t->size += ft->size;
    t->nleaves += ft->nleaves;
    if (ft->align > t->align) t->align = ft->align;
  }
  t->size = (t->size + t->align - 1) / t->align * t->align;
  add_type(ts, t);
  return t;
}

const IrType *hdir_struct_find(const IrTypes *ts, const char *name) {
  for (uint32_t i = IR_F64 + 1; i < ts->count; i++)
    if (ts->all[i]->kind == IR_STRUCT && strcmp(ts->all[i]->name, name) == 0) return ts->all[i];
  return NULL;
}

const IrType *hdir_type_import(IrTypes *ts, const IrType *t) {
  if (t->kind <= IR_F64) return ts->all[t->kind];
  if (t->id < ts->count && ts->all[t->id] == t) return t;
  if (t->kind != IR_STRUCT) return derived(ts, t->kind, hdir_type_import(ts, t->elem), t->rows, t->cols, t->space);
  IrField *fields = HDB_NEW_N(ts->arena, IrField, t->nparts);
  for (uint32_t i = 0; i < t->nparts; i++) {
    fields[i] = t->fields[i];
    fields[i].type = hdir_type_import(ts, t->fields[i].type);
  }
  return hdir_struct(ts, t->name, t->nparts, fields);
}

/* --- parts --- */

const IrType *hdir_part(const IrType *t, uint32_t i) {
  assert(i < t->nparts);
  return t->kind == IR_STRUCT ? t->fields[i].type : t->elem;
}

uint32_t hdir_part_offset(const IrType *t, uint32_t i) {
  assert(i < t->nparts);
  return t->kind == IR_STRUCT ? t->fields[i].offset : i * t->elem->size;
}

const IrType *hdir_with_elem(IrTypes *ts, const IrType *t, const IrType *elem) {
  if (hdir_is_scalar(t)) return elem;
  assert(hdir_is_packed(t) && hdir_is_scalar(elem));
  return derived(ts, t->kind, elem, t->rows, t->cols, IR_GLOBAL);
}

const IrType *hdir_elem_scalar(const IrType *t) {
  if (hdir_is_scalar(t)) return t;
  return hdir_is_packed(t) ? t->elem : NULL;
}

uint32_t hdir_bits(const IrType *t) {
  assert(hdir_is_scalar(t));
  return scalars[t->kind].bits;
}

/* --- text --- */

void hdir_type_print(Buf *b, const IrType *t) {
  static const char *const heads[IR_NKINDS] = {
      [IR_VEC] = "vec",         [IR_MAT] = "mat",     [IR_QUAT] = "quat",   [IR_TRANSFORM] = "transform",
      [IR_SPATIAL] = "spatial", [IR_FIXED] = "fixed", [IR_ARRAY] = "array", [IR_PTR] = "ptr",
  };
  if (t->kind <= IR_F64) {
    hdb_put(b, scalars[t->kind].name);
    return;
  }
  if (t->kind == IR_STRUCT) {
    hdir_put_name(b, '%', t->name);
    return;
  }
  hdb_put(b, heads[t->kind]);
  hdb_putc(b, '<');
  hdir_type_print(b, t->elem);
  if (t->kind == IR_VEC || t->kind == IR_FIXED || t->kind == IR_ARRAY) hdb_putf(b, ", %u", t->rows);
  if (t->kind == IR_MAT) hdb_putf(b, ", %u, %u", t->rows, t->cols);
  if (t->kind == IR_PTR && t->space != IR_GLOBAL) hdb_put(b, t->space == IR_LOCAL ? ", local" : ", shared");
  hdb_putc(b, '>');
}

const char *hdir_type_name(Arena *a, const IrType *t) {
  Buf b;
  hdb_buf_init(&b, a);
  hdir_type_print(&b, t);
  return b.data;
}
