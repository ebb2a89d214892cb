/* backends/cpu/widen_aos.c -- neighbouring fields of structs together. */
#include "backends/cpu/widen.h"

bool hdcpu_load_fields(CpuWiden *w, const IrInst *i) {
  (void)w;
  (void)i;
  return false;
}
bool hdcpu_store_fields(CpuWiden *w, const IrInst *i) {
  (void)w;
  (void)i;
  return false;
}
