// tests/lib/bodies.h -- what the distance of two convex bodies is, from how far they reach in each direction: the greatest gap
// between them that a plane can have, or for bodies in each other the least overlap.
#ifndef BODIES_H
#define BODIES_H

#include <functional>
#include <string>

#include "points.h"

// How far a body reaches along a direction: the greatest dot(x, u) of its points.
using Body = std::function<double(V)>;

inline V Unit(V a) {
  double l = Length(a);
  return l > 0 ? a * (1 / l) : V{1, 0, 0};
}
inline V Cross(V a, V b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

struct Pose {
  V p;
  V x, y, z; // where the axes point
  double q[4];
  V In(V u) const { return {Dot(u, x), Dot(u, y), Dot(u, z)}; } // a direction in the body's frame
};
inline Pose MakePose(V p, double a, double b, double c, double w) {
  double l = std::sqrt(a * a + b * b + c * c + w * w);
  a /= l, b /= l, c /= l, w /= l;
  return {p,
          {1 - 2 * (b * b + c * c), 2 * (a * b + c * w), 2 * (a * c - b * w)},
          {2 * (a * b - c * w), 1 - 2 * (a * a + c * c), 2 * (b * c + a * w)},
          {2 * (a * c + b * w), 2 * (b * c - a * w), 1 - 2 * (a * a + b * b)},
          {a, b, c, w}};
}

inline Body Ball(V c, double r) {
  return [=](V u) { return Dot(c, u) + r; };
}
inline Body HullOf(std::vector<V> x) {
  return [=](V u) {
    double most = -INFINITY;
    for (V p : x) most = std::max(most, Dot(p, u));
    return most;
  };
}
inline Body Rounded(Body b, double r) {
  return [=](V u) { return b(u) + r; };
}
inline Body Placed(Pose t, Body b) {
  return [=](V u) { return Dot(t.p, u) + b(t.In(u)); };
}
inline Body Box(V h) {
  return [=](V u) { return h.x * std::fabs(u.x) + h.y * std::fabs(u.y) + h.z * std::fabs(u.z); };
}
inline Body Cylinder(double r, double h) {
  return [=](V u) { return r * std::hypot(u.x, u.z) + h * std::fabs(u.y); };
}
inline Body Cone(double r, double h) {
  return [=](V u) { return std::max(h * u.y, r * std::hypot(u.x, u.z) - h * u.y); };
}
inline Body Ellipsoid(V s) {
  return [=](V u) { return Length({s.x * u.x, s.y * u.y, s.z * u.z}); };
}

// How far apart a plane across u finds them; u from a to b.
inline double Gap(const Body &a, const Body &b, V u) { return -a(u) - b(u * -1); }

inline const std::vector<V> &Directions() {
  static const std::vector<V> all = [] {
    std::vector<V> v;
    const int n = 1500;
    for (int i = 0; i < n; i++) {
      double y = 1 - 2 * (i + 0.5) / n, r = std::sqrt(1 - y * y), t = 2.399963229728653 * i;
      v.push_back({r * std::cos(t), y, r * std::sin(t)});
    }
    return v;
  }();
  return all;
}

// The greatest gap that is found: among many directions and one that is given, the best of them improved by ever smaller steps.
inline double Distance(const Body &a, const Body &b, V guess = {1, 0, 0}) {
  std::vector<std::pair<double, V>> found;
  for (V u : Directions()) found.push_back({Gap(a, b, u), u});
  size_t some = std::min<size_t>(found.size(), 12);
  std::partial_sort(found.begin(), found.begin() + some, found.end(), [](auto &x, auto &y) { return x.first > y.first; });
  found[some - 1] = {Gap(a, b, guess), guess};
  std::mt19937 random(1);
  std::uniform_real_distribution<double> turn(0, 2 * M_PI);
  double best = -INFINITY;
  for (size_t i = 0; i < some; i++) {
    auto [gap, u] = found[i];
    for (double step = 0.05; step > 1e-8;) {
      V s = Unit(Cross(u, std::fabs(u.x) < 0.6 ? V{1, 0, 0} : V{0, 1, 0})), t = Cross(u, s);
      bool better = false;
      for (int k = 0; k < 8; k++) {
        double angle = turn(random);
        V v = Unit(u + (s * std::cos(angle) + t * std::sin(angle)) * step);
        double g = Gap(a, b, v);
        if (g > gap) gap = g, u = v, better = true;
      }
      if (!better) step *= 0.5;
    }
    best = std::max(best, gap);
  }
  return best;
}

// How far x is outside of a body, as far as the directions say.
inline double Outside(const Body &b, V x) {
  double most = -INFINITY;
  for (V u : Directions()) most = std::max(most, Dot(x, u) - b(u));
  return most;
}

#endif
