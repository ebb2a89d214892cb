/* backends/cpu/width.c -- how many lanes a gang has. */
#include "backends/cpu/widen.h"

uint32_t hdcpu_choose_width(const IrFunc *fn, const IrFacts *facts, const CpuTarget *target, Arena *a) {
  (void)fn;
  (void)facts;
  (void)a;
  return target->isa == CPU_AVX512 ? 16 : target->isa == CPU_AVX2 ? 16 : 4;
}
