// tests/gpu/artifact.h -- a kernel of a diff::Case as PTX with what belongs to it, as bytes: what a cache would hold.
#ifndef GPU_ARTIFACT_H
#define GPU_ARTIFACT_H

#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "runtime/artifact.h"

namespace gpu {

// One way to compile a kernel.
struct Way {
  int  sm = 90;
  bool dense = true; // and small: for dense arrays only
  int  opt_level = 2;
  int  block = 128;
};
std::string Name(const Way &way);

// `kernel` has been through the "gpu" pipeline. "" if it could not be made, and *problem says why.
std::string Compile(const IrFunc *kernel, const Way &way, std::string *problem);

// The artifact that the bytes hold, which must outlive it; Ok() is false if they hold none.
class Artifact {
public:
  explicit Artifact(const std::string &bytes);
  bool Ok() const { return ok_; }
  RtArtifact a = {};

private:
  std::vector<RtSite> sites_;
  bool                ok_ = false;
};

} // namespace gpu

#endif
