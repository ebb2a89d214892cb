/* tests/fakecuda/ptx_run.h -- between the scheduler of a warp and that of blocks. */
#ifndef FAKECUDA_PTX_RUN_H
#define FAKECUDA_PTX_RUN_H

#include "tests/fakecuda/ptx_core.h"

typedef struct Group {
  uint32_t m;                /* lanes, all at pc; none: nothing may run                                        */
  uint32_t pc, stop;         /* stop: where the next other lanes are                                           */
  uint32_t limit;            /* instructions                                                                   */
} Group;

Group ptx_pick(Warp *w);
/* Run a warp for at most `budget` instructions, or until all its lanes wait. False after a fault. */
bool ptx_warp_run(Warp *w, uint64_t budget);

/* Lanes m arrive at a barrier of the block. */
bool ptx_barrier_arrive(Warp *w, Ins *i, uint32_t m);
/* Let go of barriers that are complete. */
bool ptx_barriers_check(Cta *c, Run *run);

#endif
