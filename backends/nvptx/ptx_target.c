/* backends/nvptx/ptx_target.c -- the GPUs that code is made for.
 *
 * With each stands the oldest PTX version that knows it and what is used of it: every driver that knows the GPU then accepts
 * the text (sm_75, its mma and tanh are PTX 6.3, 6.5 and 7.0; the oldest driver that is supported knows 7.4). And the shared
 * memory that a block may have, the driver's part taken off: CUDA C++ Programming Guide, "Compute Capabilities".
 */
#include "backends/nvptx/nvptx.h"

/* clang-format off */
static const PtxTarget rows[] = {
    { 70, 60,  96 << 10, "sm_70",  "+ptx60"}, /* Volta           */
    { 75, 70,  64 << 10, "sm_75",  "+ptx70"}, /* Turing          */
    { 80, 70, 163 << 10, "sm_80",  "+ptx70"}, /* Ampere: A100    */
    { 86, 71,  99 << 10, "sm_86",  "+ptx71"}, /* Ampere: RTX 30  */
    { 89, 78,  99 << 10, "sm_89",  "+ptx78"}, /* Ada             */
    { 90, 78, 227 << 10, "sm_90",  "+ptx78"}, /* Hopper          */
    {100, 86, 227 << 10, "sm_100", "+ptx86"}, /* Blackwell: B200 */
    {103, 88, 227 << 10, "sm_103", "+ptx88"}, /* Blackwell: B300 */
    {120, 87,  99 << 10, "sm_120", "+ptx87"}, /* Blackwell: RTX 50 */
};
/* clang-format on */
enum { NROWS = sizeof rows / sizeof *rows };

const char *hdptx_target_name(uint32_t i) { return i < NROWS ? rows[i].cpu : NULL; }

HdStatus hdptx_target(const char *name, Arena *a, HdError *err, PtxTarget *out) {
  (void)a;
  for (int i = 0; i < NROWS; i++) {
    if (strcmp(name, rows[i].cpu) != 0) continue;
    *out = rows[i];
    return HD_OK;
  }
  return hdb_fail(err, HD_ERR_TARGET, name,
                  "wanted sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103 or sm_120");
}

uint32_t hdptx_units(const PtxTarget *target) {
  return 1u << IR_UNIT_tex | (target->sm >= 75 ? 1u << IR_UNIT_mma : 0) | (target->sm >= 80 ? 1u << IR_UNIT_dmma : 0);
}
