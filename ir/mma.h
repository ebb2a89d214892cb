/* ir/mma.h -- the matrices of op mma: which shapes there are, and which thread of 32 neighbours has which element.
 *
 * The layouts are those of NVIDIA's mma instructions, so that there a thread's parts are its registers. Thread t of the 32 has,
 * with g = t / 4 and q = t % 4, as part i
 *
 *               A (m x k)                                     B (k x n)                         C, result (m x n)
 *     halves    row g + 8 (i / 2 % 2), column 2q + i % 2      row 2q + i % 2 + 8 (i / 2),       row g + 8 (i / 2),
 *               + 8 (i / 4)                                   column g                          column 2q + i % 2
 *     f64       row g, column q                               row q, column g                   row g, column 2q + i
 */
#ifndef IR_MMA_H
#define IR_MMA_H

#include "ir/ir.h"
HD_BEGIN_DECLS

typedef struct IrMma {
  const char *name;      /* "m16n8k16"                 */
  IrKind      in, sum;   /* of A and B; of C           */
  uint32_t    m, n, k;
  uint32_t    a, b, c;   /* parts of a thread          */
  IrUnit      unit;      /* that does it               */
} IrMma;

enum { IR_MMA_MOST_C = 4, IR_MMA_MOST_K = 16 };

/* The shape that operands of these types have: a scalar, or a vector of a thread's parts. NULL if there is none. */
const IrMma *hdir_mma_of(const IrType *a, const IrType *b, const IrType *c);
const IrMma *hdir_mma_at(uint32_t i); /* NULL behind the last */

/* The element of C that is part i of thread t. */
static inline uint32_t hdir_mma_row(uint32_t t, uint32_t i) { return t / 4 + 8 * (i / 2); }
static inline uint32_t hdir_mma_column(uint32_t t, uint32_t i) { return t % 4 * 2 + i % 2; }
/* Who has row r (column r of B) at place k along the chain: of a row's four threads, and which part of it. */
static inline uint32_t hdir_mma_quarter(const IrMma *s, uint32_t k) { return s->in == IR_F64 ? k : k % 8 / 2; }
static inline uint32_t hdir_mma_part_a(const IrMma *s, uint32_t r, uint32_t k) {
  return s->in == IR_F64 ? 0 : k % 2 + 2 * (r / 8) + 4 * (k / 8);
}
static inline uint32_t hdir_mma_part_b(const IrMma *s, uint32_t k) { return s->in == IR_F64 ? 0 : k % 2 + 2 * (k / 8); }

HD_END_DECLS
#endif
