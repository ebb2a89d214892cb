# Makes the .npy files beside it, which tests/geometry/surface_test.cc reads: a smooth random field, and the points and the area of
# its surface at 0.1 as scikit-image finds them. Nothing in the build runs it.
#
#     python3 surface.py
import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.measure import marching_cubes, mesh_surface_area

rng = np.random.default_rng(3)
field = gaussian_filter(rng.standard_normal((14, 12, 13)), 1.3).astype(np.float32) * 6
spacing = (0.5, 0.25, 2.0)
points, faces, _, _ = marching_cubes(field, 0.1, spacing=spacing, method="lorensen")
np.save("surface_field.npy", field)
np.save("surface_points.npy", points[np.lexsort(points.T)].astype(np.float32))
np.save("surface_area.npy", np.array([mesh_surface_area(points, faces)]))
