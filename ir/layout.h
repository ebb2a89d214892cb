/* ir/layout.h -- a kernel's argument block: where each parameter stands in it; and what a kernel asks of its launch. */
#ifndef IR_LAYOUT_H
#define IR_LAYOUT_H

#include "ir/ir.h"
HD_BEGIN_DECLS

/* Offset of each parameter, in order, each aligned as its type (arrays to 8); returns the block's size. */
uint32_t hdir_args_layout(const IrFunc *kernel, uint32_t offset[]);

/* The highest axis that tid and dim use, plus one; calls are followed. */
int32_t hdir_seen_rank(const IrFunc *kernel);
/* The axes of a launch: as seen, or more if the kernel says so. */
int32_t hdir_launch_rank(const IrFunc *kernel);
/* Note it, before passes drop a tid: code and launches must agree on the axis that runs along the lanes. */
void    hdir_keep_rank(IrFunc *kernel);

/* Has it, or what it calls, anything that only kernels with groups have? */
bool hdir_needs_group(const IrFunc *fn);
/* Has a pass turned it inside out: does it run once for a group, with regions for its threads? Then none changes it any more. */
bool hdir_is_split(const IrFunc *fn);

HD_END_DECLS
#endif
