// tests/lib/points.h -- points in double precision, shapes' distances, and a fixture that makes points.
#ifndef POINTS_H
#define POINTS_H

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "library_testing.h"

struct V {
  double x, y, z;
};
inline V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline V operator*(V a, double s) { return {a.x * s, a.y * s, a.z * s}; }
inline double Dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline double Length(V a) { return std::sqrt(Dot(a, a)); }
inline V Lerp(V a, V b, double t) { return a + (b - a) * t; }

inline double SdBox(V p, V h) {
  V q = {std::fabs(p.x) - h.x, std::fabs(p.y) - h.y, std::fabs(p.z) - h.z};
  V o = {std::max(q.x, 0.0), std::max(q.y, 0.0), std::max(q.z, 0.0)};
  return Length(o) + std::min(std::max({q.x, q.y, q.z}), 0.0);
}
inline double SdCapsule(V p, V a, V b, double r) {
  V d = b - a;
  double t = std::min(std::max(Dot(p - a, d) / Dot(d, d), 0.0), 1.0);
  return Length(p - a - d * t) - r;
}

class Geometry : public testing::Test {
 protected:
  V Point(double size = 1) { return {u_(gen_) * size, u_(gen_) * size, u_(gen_) * size}; }
  // n points of three floats.
  std::vector<float> Points(int n, double size = 1) {
    std::vector<float> v;
    for (int i = 0; i < 3 * n; i++) v.push_back(static_cast<float>(u_(gen_) * size));
    return v;
  }
  static V At(const std::vector<float> &v, int i) { return {v[3 * i], v[3 * i + 1], v[3 * i + 2]}; }

  std::mt19937 gen_{7};
  std::uniform_real_distribution<double> u_{-1, 1};
  Machine machine_;
};

#endif
