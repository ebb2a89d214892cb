// tests/diff/kernel_files.cc -- finding and compiling the kernels.
#include "kernel_files.h"

#include <algorithm>

#include "tests/frontend/lang_testing.h"

namespace diff {

namespace fs = std::filesystem;

std::vector<KernelFile> KernelFiles() {
  std::vector<KernelFile> files;
  for (const auto &f : fs::directory_iterator("tests/diff/kernels"))
    if (f.path().extension() == ".hd") files.push_back({f.path(), 0});
  std::sort(files.begin(), files.end(), [](const KernelFile &a, const KernelFile &b) { return a.path < b.path; });
  for (size_t k = 0; k < files.size(); k++) files[k].turn = static_cast<int>(k);
  return files;
}

static std::string OptionsIn(const std::string &text) {
  const std::string head = "// options: ";
  size_t at = text.find(head);
  if (at == std::string::npos) return "";
  at += head.size();
  return text.substr(at, text.find('\n', at) - at);
}

std::string KernelFile::ForEachCase(const std::function<void(const Case &)> &f) const {
  const std::string text = ReadFile(path);
  Compiled compiled(path.string(), text, OptionsIn(text));
  if (!compiled.diagnostics.empty()) return compiled.diagnostics;
  for (uint32_t k = 0; k < compiled.result.module->nfuncs; k++) {
    const IrFunc *fn = compiled.result.module->funcs[k];
    if (!fn->is_kernel) continue;
    Case c;
    c.name = fn->name;
    c.module = compiled.result.module;
    std::string problem = ReadDescription(text, fn, &c);
    if (!problem.empty()) return std::string(fn->name) + ": " + problem;
    f(c);
  }
  return "";
}

} // namespace diff
