/* ir/ir_type.h -- the types of values. Interned in a module: equal types are one pointer.
 *
 * The parts of a composite, which make, extract, insert, member and elem count, are
 *     vec<T, n>      its n scalars                 quat<T>       x y z w
 *     mat<T, r, c>   its r*c scalars, row by row   transform<T>  position x y z, rotation x y z w
 *     spatial<T>     angular x y z, linear x y z   struct        its fields, in order
 *     fixed<T, n>    its n elements of any type
 * so parts of the first five are scalars, and elem on them takes a flat index.
 *
 * In memory a scalar is aligned to its size, bool is one byte, a composite of scalars is its parts packed and
 * aligned as one of them, structs are laid out as C does. An array is described by { void *data;
 * int64_t length[ndim]; int64_t stride[ndim]; }, strides in elements, outermost axis first: so it stands in a
 * kernel's argument block and in structs that are parameters.
 */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include "base/buf.h"
#include "base/intern.h"
HD_BEGIN_DECLS

typedef enum IrKind {
  IR_VOID = 0,
  IR_BOOL = HD_BOOL,
  IR_I8, IR_I16, IR_I32, IR_I64,
  IR_U8, IR_U16, IR_U32, IR_U64,
  IR_F16, IR_BF16, IR_F32, IR_F64, /* = HD_F64: scalar kinds have the numbers of HdScalar */
  IR_VEC,
  IR_MAT,
  IR_QUAT,
  IR_TRANSFORM,
  IR_SPATIAL,
  IR_STRUCT,
  IR_FIXED, /* n elements of one type, inside a thread or a struct                      */
  IR_ARRAY, /* 1 to 4 dimensions in device memory; only parameters and parts of them    */
  IR_PTR,   /* an address; never stored, selected or carried out of a region            */
  IR_NKINDS
} IrKind;

typedef enum IrSpace { IR_GLOBAL, IR_LOCAL, IR_SHARED } IrSpace; /* device memory, a thread's, a group's */

typedef struct IrType  IrType;
typedef struct IrField IrField;

struct IrField {
  const char   *name;
  const IrType *type;
  uint32_t      offset; /* bytes from the start of the struct */
};

struct IrType {
  IrKind         kind;
  uint32_t       id;         /* dense in the module; scalars have id == kind                        */
  const IrType  *elem;       /* vec .. spatial: the scalar; fixed, array, ptr: what it holds        */
  uint32_t       rows, cols; /* vec: n, 1; mat: r, c; fixed: n, 1; array: ndim, 1; else 1, 1        */
  IrSpace        space;      /* of a ptr                                                            */
  const char    *name;       /* of a struct                                                         */
  const IrField *fields;     /* of a struct (nparts)                                                */
  uint32_t       nparts;     /* 0 for scalars, arrays and pointers                                  */
  uint32_t       nleaves;    /* scalars in all; arrays and pointers count as one                    */
  uint32_t       size, align; /* in memory [bytes]; an array: see above          */
};

typedef struct IrTypes {
  Arena         *arena;
  Map            by_key;
  const IrType **all; /* by id */
  uint32_t       count, cap;
} IrTypes;

void          hdir_types_init(IrTypes *ts, Arena *a);
const IrType *hdir_scalar(const IrTypes *ts, IrKind kind); /* also IR_VOID */
const IrType *hdir_vec(IrTypes *ts, const IrType *elem, uint32_t n);
const IrType *hdir_mat(IrTypes *ts, const IrType *elem, uint32_t rows, uint32_t cols);
const IrType *hdir_quat(IrTypes *ts, const IrType *elem);
const IrType *hdir_transform(IrTypes *ts, const IrType *elem);
const IrType *hdir_spatial(IrTypes *ts, const IrType *elem);
const IrType *hdir_fixed(IrTypes *ts, const IrType *elem, uint32_t n);
const IrType *hdir_array(IrTypes *ts, const IrType *elem, uint32_t ndim);
const IrType *hdir_ptr(IrTypes *ts, const IrType *elem, IrSpace space);
/* A struct by name; `fields` needs name and type, offsets are filled in. NULL if the name is taken by another. */
const IrType *hdir_struct(IrTypes *ts, const char *name, uint32_t nfields, const IrField *fields);
const IrType *hdir_struct_find(const IrTypes *ts, const char *name);
/* The same type in another table (linking). */
const IrType *hdir_type_import(IrTypes *ts, const IrType *t);

const IrType *hdir_part(const IrType *t, uint32_t i);                         /* type of part i          */
uint32_t      hdir_part_offset(const IrType *t, uint32_t i);                  /* bytes, in memory        */
const IrType *hdir_with_elem(IrTypes *ts, const IrType *t, const IrType *elem); /* same shape, other scalar */
const IrType *hdir_elem_scalar(const IrType *t); /* the scalar of scalar .. spatial; NULL for others      */

static inline bool hdir_is_scalar(const IrType *t) { return t->kind >= IR_BOOL && t->kind <= IR_F64; }
static inline bool hdir_is_int(const IrType *t) { return t->kind >= IR_I8 && t->kind <= IR_U64; }
static inline bool hdir_is_signed(const IrType *t) { return t->kind >= IR_I8 && t->kind <= IR_I64; }
static inline bool hdir_is_float(const IrType *t) { return t->kind >= IR_F16 && t->kind <= IR_F64; }
static inline bool hdir_is_packed(const IrType *t) { return t->kind >= IR_VEC && t->kind <= IR_SPATIAL; }
static inline bool hdir_is_composite(const IrType *t) { return t->kind >= IR_VEC && t->kind <= IR_FIXED; }
uint32_t           hdir_bits(const IrType *t); /* of a scalar; 1 for bool */

/* "f32", "vec<f32, 3>", "mat<f32, 3, 3>", "quat<f32>", "transform<f32>", "spatial<f32>", "%Particle" for a
 * struct, "fixed<f32, 4>", "array<f32, 2>", "ptr<f32>" (global), "ptr<f32, local>", "ptr<f32, shared>". */
void        hdir_type_print(Buf *b, const IrType *t);
const char *hdir_type_name(Arena *a, const IrType *t);

HD_END_DECLS
#endif
