/* heddle/builder.h -- building kernels from a program: the way in for embedders and other languages.
 *
 * A builder makes one module. Values, types and functions are borrowed handles that live until hd_builder_free.
 * Instructions are folded and value-numbered as they are asked for (docs/ir.md). An error (a wrong type, a value out
 * of its region) is remembered, later calls return NULL or do nothing, and hd_builder_finish reports the first one.
 */
#ifndef HEDDLE_BUILDER_H
#define HEDDLE_BUILDER_H

#include "heddle/module.h"
HD_BEGIN_DECLS

typedef struct HdBuilder       HdBuilder;
typedef struct IrType          HdIrType;
typedef struct IrValue         HdIrValue;
typedef struct IrFunc          HdIrFunc;

/* The operations, by name; docs/ir.md has the meaning of each. */
typedef enum HdOp {
  HD_OP_ADD, HD_OP_SUB, HD_OP_MUL, HD_OP_DIV, HD_OP_REM, HD_OP_NEG, HD_OP_ABS, HD_OP_MIN, HD_OP_MAX, HD_OP_MULHI,
  HD_OP_FMA, HD_OP_SQRT, HD_OP_FLOOR, HD_OP_CEIL, HD_OP_TRUNC, HD_OP_RINT, HD_OP_COPYSIGN, HD_OP_AND, HD_OP_OR,
  HD_OP_XOR, HD_OP_NOT, HD_OP_SHL, HD_OP_SHR, HD_OP_POPCOUNT, HD_OP_CLZ, HD_OP_CTZ, HD_OP_EQ, HD_OP_NE, HD_OP_LT,
  HD_OP_LE, HD_OP_GT, HD_OP_GE, HD_OP_SELECT,
  HD_OP_ATOMIC_ADD, HD_OP_ATOMIC_MIN, HD_OP_ATOMIC_MAX, HD_OP_ATOMIC_AND, HD_OP_ATOMIC_OR, HD_OP_ATOMIC_XOR,
  HD_OP_ATOMIC_XCHG, HD_OP_ATOMIC_CAS,
} HdOp;

HD_API HdStatus hd_builder_new(HdContext *ctx, const char *name, HdBuilder **out);
HD_API void     hd_builder_free(HdBuilder *b);
/* Verify, and make a module of it; the builder may be freed afterwards.
 * Errors     HD_ERR_IR, HD_ERR_TYPE: the first mistake, with the instruction and its place. */
HD_API HdStatus hd_builder_finish(HdBuilder *b, const HdModuleOptions *options, HdModule **out);

/* --- types --- */
HD_API const HdIrType *hd_build_type(HdBuilder *b, HdType type); /* not structs */
HD_API const HdIrType *hd_build_struct(HdBuilder *b, const char *name, int32_t nfields, const char *const names[],
                                       const HdIrType *const types[]);
HD_API const HdIrType *hd_build_fixed(HdBuilder *b, const HdIrType *elem, int32_t n);
HD_API const HdIrType *hd_build_array(HdBuilder *b, const HdIrType *elem, int32_t ndim);
HD_API const HdIrType *hd_build_type_of(HdBuilder *b, const HdIrValue *v);

/* --- functions: instructions go to the one begun last; a function ends with hd_build_return and hd_build_end --- */
HD_API HdIrFunc  *hd_build_kernel(HdBuilder *b, const char *name, int32_t nparams, const HdIrType *const params[],
                                  const char *const names[]);
HD_API HdIrFunc  *hd_build_function(HdBuilder *b, const char *name, int32_t nparams, const HdIrType *const params[],
                                    const char *const names[], int32_t nresults, const HdIrType *const results[]);
/* A C function that hd_build_call may name; it is not begun. `result` is NULL for none. The program gives its address in
 * HdModuleOptions.functions. `pure`: its result depends on its arguments, and that is all it does. */
HD_API HdIrFunc  *hd_build_extern(HdBuilder *b, const char *name, bool pure, int32_t nparams, const HdIrType *const params[],
                                  const HdIrType *result);
HD_API HdIrValue *hd_build_param(HdBuilder *b, int32_t i);
HD_API void       hd_build_end(HdBuilder *b);
/* Where the next instructions come from, for messages and debuggers. */
HD_API void       hd_build_at(HdBuilder *b, const char *file, int32_t line, int32_t column);

/* --- values --- */
HD_API HdIrValue *hd_build_int(HdBuilder *b, HdScalar type, int64_t x);
HD_API HdIrValue *hd_build_float(HdBuilder *b, HdScalar type, double x);
HD_API HdIrValue *hd_build_bool(HdBuilder *b, bool x);
HD_API HdIrValue *hd_build_op(HdBuilder *b, HdOp op, int32_t n, HdIrValue *const args[]);
HD_API HdIrValue *hd_build_op1(HdBuilder *b, HdOp op, HdIrValue *x);
HD_API HdIrValue *hd_build_op2(HdBuilder *b, HdOp op, HdIrValue *x, HdIrValue *y);
HD_API HdIrValue *hd_build_op3(HdBuilder *b, HdOp op, HdIrValue *x, HdIrValue *y, HdIrValue *z);
HD_API HdIrValue *hd_build_convert(HdBuilder *b, const HdIrType *to, HdIrValue *x);
HD_API HdIrValue *hd_build_bitcast(HdBuilder *b, const HdIrType *to, HdIrValue *x);
HD_API HdIrValue *hd_build_make(HdBuilder *b, const HdIrType *type, int32_t n, HdIrValue *const parts[]);
HD_API HdIrValue *hd_build_extract(HdBuilder *b, HdIrValue *x, int32_t part);
HD_API HdIrValue *hd_build_insert(HdBuilder *b, HdIrValue *x, int32_t part, HdIrValue *y);
HD_API HdIrValue *hd_build_extract_at(HdBuilder *b, HdIrValue *x, HdIrValue *i);
HD_API HdIrValue *hd_build_insert_at(HdBuilder *b, HdIrValue *x, HdIrValue *i, HdIrValue *y);
/* A function of the library ("sin", "dot", "normalize") or of the user, chosen by the arguments' types. */
HD_API HdIrValue *hd_build_call(HdBuilder *b, const char *name, int32_t n, HdIrValue *const args[]);

/* --- memory --- */
HD_API HdIrValue *hd_build_length(HdBuilder *b, HdIrValue *array, int32_t axis); /* i32 */
HD_API HdIrValue *hd_build_index(HdBuilder *b, HdIrValue *array, int32_t n, HdIrValue *const at[]);
HD_API HdIrValue *hd_build_alloca(HdBuilder *b, const HdIrType *type);
HD_API HdIrValue *hd_build_member(HdBuilder *b, HdIrValue *address, int32_t part);
HD_API HdIrValue *hd_build_elem(HdBuilder *b, HdIrValue *address, HdIrValue *i);
HD_API HdIrValue *hd_build_load(HdBuilder *b, HdIrValue *address);
HD_API void       hd_build_store(HdBuilder *b, HdIrValue *address, HdIrValue *x);
HD_API HdIrValue *hd_build_atomic(HdBuilder *b, HdOp op, HdIrValue *address, HdIrValue *x, HdIrValue *y);

/* --- the launch --- */
HD_API HdIrValue *hd_build_tid(HdBuilder *b, int32_t axis);
HD_API HdIrValue *hd_build_dim(HdBuilder *b, int32_t axis);
HD_API void       hd_build_assert(HdBuilder *b, HdIrValue *c, const char *message);
/* As printf of the language, with values of i64 for %d, u64 for %u %x %o %c and f64 for %f %e %g %a. */
HD_API void       hd_build_printf(HdBuilder *b, const char *format, int32_t n, HdIrValue *const args[]);

/* --- groups --- */
/* The kernel begun last runs in groups of so many neighbours along the last axis: 32, 64, .. HD_MAX_GROUP. The rest is for such
 * kernels, and for functions that such kernels call; all threads of a group come to a barrier, shuffle, ballot or mma, or none. */
HD_API void       hd_build_group(HdBuilder *b, int32_t threads);
HD_API HdIrValue *hd_build_group_tid(HdBuilder *b);  /* i32: the thread's place in its group          */
HD_API HdIrValue *hd_build_group_id(HdBuilder *b);   /* i32: the group's place along the last axis    */
HD_API HdIrValue *hd_build_group_size(HdBuilder *b); /* i32: the threads of a group                   */
/* The address of an object of the group, of at most 227 KiB in all, on some GPUs less; what it holds is not promised until a thread stores to it. */
HD_API HdIrValue *hd_build_shared(HdBuilder *b, const HdIrType *type);
HD_API void       hd_build_barrier(HdBuilder *b);
/* The scalar x of thread `lane` mod 32 of this thread's 32 neighbours; u32 whose bit k is the bool c of thread k of these. */
HD_API HdIrValue *hd_build_shuffle(HdBuilder *b, HdIrValue *x, HdIrValue *lane);
HD_API HdIrValue *hd_build_ballot(HdBuilder *b, HdIrValue *c);
/* This thread's parts of x y + z, for matrices of these 32: mma of the language (docs/language.md) has the types and layouts. */
HD_API HdIrValue *hd_build_mma(HdBuilder *b, HdIrValue *x, HdIrValue *y, HdIrValue *z);

/* --- control: begin opens a region; every region ends with a yield, break, continue or return, then hd_build_close.
 * After it, results are read with hd_build_result(b, i). --- */
HD_API void       hd_build_if(HdBuilder *b, HdIrValue *c, int32_t nres, const HdIrType *const res[]);
HD_API void       hd_build_else(HdBuilder *b);
HD_API void       hd_build_loop(HdBuilder *b, int32_t n, HdIrValue *const init[], int32_t nres,
                                const HdIrType *const res[]);
HD_API HdIrValue *hd_build_carried(HdBuilder *b, int32_t i); /* of the innermost open loop */
HD_API void       hd_build_yield(HdBuilder *b, int32_t n, HdIrValue *const args[]);
HD_API void       hd_build_break(HdBuilder *b, int32_t n, HdIrValue *const args[]);
HD_API void       hd_build_continue(HdBuilder *b, int32_t n, HdIrValue *const args[]);
HD_API void       hd_build_return(HdBuilder *b, int32_t n, HdIrValue *const args[]);
HD_API void       hd_build_close(HdBuilder *b);
HD_API HdIrValue *hd_build_result(HdBuilder *b, int32_t i);

HD_END_DECLS
#endif
