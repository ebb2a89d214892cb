// tests/fuzz/fuzz_entry.h -- what libFuzzer calls, which is also what corpus_main.cc calls. One *_fuzz.cc a program.
#ifndef FUZZ_ENTRY_H
#define FUZZ_ENTRY_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace fuzz {

// The input without the expected part of a golden file.
inline std::string Source(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  return text.substr(0, text.find("---- expect\n"));
}

// A promise that does not hold ends the program, as a crash would; the fuzzer keeps the input.
inline void Hold(bool ok, const char *promise, const std::string &seen) {
  if (ok) return;
  fprintf(stderr, "broken promise: %s\n%s\n", promise, seen.c_str());
  abort();
}

} // namespace fuzz

#endif
