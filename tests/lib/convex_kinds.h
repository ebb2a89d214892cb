// tests/lib/convex_kinds.h -- shapes of all kinds of geometry/convex from 16 numbers, in the language and as bodies.
#ifndef CONVEX_KINDS_H
#define CONVEX_KINDS_H

#include "bodies.h"

inline const char kMake[] =
    "fn made(i32 kind, f32 r[16]) -> Convex {\n"
    "  let p = vec3(r[0], r[1], r[2]); let t = transform(p, normalize(quat(r[3], r[4], r[5], r[6])));\n"
    "  let a = vec3(r[7], r[8], r[9]); let b = vec3(r[10], r[11], r[12]); let s = abs(a);\n"
    "  var c = convex_sphere(p, s.x);\n"
    "  if (kind == 1) c = convex_capsule(p, a, s.y);\n"
    "  if (kind == 2) c = convex_box(t, s);\n"
    "  if (kind == 3) c = convex_cylinder(t, s.x, s.y);\n"
    "  if (kind == 4) c = convex_cone(t, s.x, s.y);\n"
    "  if (kind == 5) c = convex_ellipsoid(t, s);\n"
    "  if (kind == 6) c = convex_triangle(p, a, b);\n"
    "  if (kind == 7) c = convex_hull(t, 3, 12);\n"
    "  if (kind == 8) { c = convex_box(t, s / 2); c.round = abs(r[13]); }\n"
    "  return c;\n"
    "}\n"
    "struct Numbers { f32 r[16]; }\n";
inline constexpr int kKinds = 9;

inline Body Make(int kind, const float *r, const std::vector<float> &hulls) {
  V p = {r[0], r[1], r[2]}, a = {r[7], r[8], r[9]}, b = {r[10], r[11], r[12]};
  V s = {std::fabs(a.x), std::fabs(a.y), std::fabs(a.z)};
  Pose t = MakePose(p, r[3], r[4], r[5], r[6]);
  std::vector<V> corners;
  for (int i = 3; i < 15; i++) corners.push_back({hulls[3 * i], hulls[3 * i + 1], hulls[3 * i + 2]});
  switch (kind) {
  case 0: return Ball(p, s.x);
  case 1: return Rounded(HullOf({p, a}), s.y);
  case 2: return Placed(t, Box(s));
  case 3: return Placed(t, Cylinder(s.x, s.y));
  case 4: return Placed(t, Cone(s.x, s.y));
  case 5: return Placed(t, Ellipsoid(s));
  case 6: return HullOf({p, a, b});
  case 7: return Placed(t, HullOf(corners));
  default: return Rounded(Placed(t, Box(s * 0.5)), std::fabs(r[13]));
  }
}

#endif
