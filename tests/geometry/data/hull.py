# Makes the .npy files beside it, which tests/geometry/hull_test.cc reads: points in a ball and on a bent box; the corners of
# their hulls as Qhull finds them through SciPy; volume, center of mass and inertia (row after row) of the hulls as trimesh has them.
# Nothing in the build runs it.
#
#     python3 hull.py
import numpy as np
import trimesh
from scipy.spatial import ConvexHull

rng = np.random.default_rng(5)
ball = rng.standard_normal((300, 3)) * (0.6, 1.0, 1.7) + (3.0, -2.0, 0.5)
bent = rng.uniform(-1, 1, (300, 3)) ** 3 + (0.0, 10.0, 0.0)
for name, points in (("ball", ball), ("bent", bent)):
    points = points.astype(np.float32)
    hull = ConvexHull(points.astype(np.float64))
    solid = trimesh.Trimesh(points.astype(np.float64), hull.simplices).convex_hull
    np.save(f"hull_{name}_points.npy", points)
    np.save(f"hull_{name}_corners.npy", np.sort(hull.vertices).astype(np.int32))
    np.save(f"hull_{name}_mass.npy", np.concatenate(([solid.volume], solid.center_mass, solid.moment_inertia.ravel())))
