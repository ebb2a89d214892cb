/* passes/alias.h -- which addresses may be the same memory. */
#ifndef PASSES_ALIAS_H
#define PASSES_ALIAS_H

#include "ir/ir.h"
HD_BEGIN_DECLS

/* Whether the objects at p and q may overlap. What it relies on:
 *   - allocas are distinct from each other and from all global memory;
 *   - two array parameters may be the same memory if their elements have one type; arrays of different element types
 *     never overlap (runtime and docs state it as a rule for callers);
 *   - elements of one array are the same or apart, never shifted against each other. */
bool hdopt_may_alias(const IrValue *p, const IrValue *q);

/* Memory of this thread alone: it is not reached by atomics, other threads or global stores. */
bool hdopt_is_local(const IrValue *p);

HD_END_DECLS
#endif
