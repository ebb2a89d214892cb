// tests/gpu/on_driver.h -- kernels as PTX, loaded and run by the runtime's CUDA device, whatever driver HEDDLE_LIBCUDA names.
#ifndef GPU_ON_DRIVER_H
#define GPU_ON_DRIVER_H

#include "artifact.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/diff/diff.h"

namespace gpu {

// The first device of the driver, opened once; `problem` says why there is none.
class Gpu {
public:
  static Gpu &Get();
  std::string problem;
  CuDriver    driver = {};
  CudaDevice  device = {};
  RtStream   *stream = nullptr;

private:
  Gpu();
  ~Gpu();
};

// The kernel of these bytes (artifact.h). `graph`: the copies and the launch are kept, and done as one.
diff::Rival OnDriver(const std::string &bytes, const Way &way, bool graph = false);

} // namespace gpu

#endif
