// tests/diff/c_functions.cc -- C functions that random programs may call: total, pure, and true to what diff.h promises.
#include "diff.h"

extern "C" {

static uint32_t c_mix(uint32_t a, uint64_t b, int8_t c) { return (a * 2654435761u + (uint32_t)(b >> 7)) ^ (uint8_t)c; }
static float c_step(float x, int16_t n, bool up) { return up ? x + (float)n : x - (float)n; }
static double c_pick(bool first, double x, double y) { return first ? x : y * 0.5; }
static bool c_less(double a, double b) { return a < b; }
static uint16_t c_half(uint16_t half, int64_t k) { return k % 3 ? half : 0x3c00; }
static int64_t c_bits(int64_t x, uint8_t by) {
  return (int64_t)((uint64_t)x * 3 + (uint64_t)__builtin_popcountll((uint64_t)x) + by);
}
static void c_turn(const float v[3], float by, float out[3]) { out[0] = v[1], out[1] = v[2] * by, out[2] = v[0] - by; }
}

namespace diff {

#define C(f, rest) {#f, "extern @" #f rest, (void (*)(void))f}
const std::vector<CFunction> &CFunctions() {
  static const std::vector<CFunction> all = {
      C(c_mix, "(%a: u32, %b: u64, %c: i8) -> u32"),
      C(c_step, "(%x: f32, %n: i16, %up: bool) -> f32"),
      C(c_pick, "(%first: bool, %x: f64, %y: f64) -> f64"),
      C(c_less, "(%a: f64, %b: f64) -> bool"),
      C(c_half, "(%half: f16, %k: i64) -> f16"),
      C(c_bits, "(%x: i64, %by: u8) -> i64"),
      C(c_turn, "(%v: vec<f32, 3>, %by: f32) -> vec<f32, 3>"),
  };
  return all;
}

} // namespace diff
