// tests/diff/kernel_files.h -- the kernels of tests/diff/kernels as cases.
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "diff.h"

namespace diff {

struct KernelFile {
  std::filesystem::path path;
  int turn = 0; // its number among all

  std::string Name() const { return path.stem().string(); }
  // Compiles the file and calls f for each of its kernels. "" or what is wrong with the file.
  std::string ForEachCase(const std::function<void(const Case &)> &f) const;
};

// In the order of their names.
std::vector<KernelFile> KernelFiles();

} // namespace diff

#endif
