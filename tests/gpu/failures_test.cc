// tests/gpu/failures_test.cc -- what is said of a code that the driver gives, by what the system shows beside it.
#include <gtest/gtest.h>

#include <string>

#include "heddle/heddle.h"
#include "runtime/cuda/driver.h"

namespace {

std::string Said(const CuDriver &d, CuResult code, const char *call = "cuInit", const char *detail = nullptr) {
  HdError err = {};
  char line[1400];
  hdcu_fail(&d, code, call, CuWhere{"cuda:0", detail}, &err);
  return hd_error_format(&err, line, sizeof line);
}

void Says(const std::string &text, std::initializer_list<const char *> parts) {
  for (const char *part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Failures, OfNoDeviceTellWhatHidesIt) {
  CuDriver d = {};
  d.seen.device_file = true;
  Says(Said(d, 100), {"finds no GPU that it supports", "NVRM"});
  d.seen.device_file = false;
  Says(Said(d, 100), {"no /dev/nvidiactl", "--gpus all", "modprobe"});
  d.seen.limited = true;
  strcpy(d.seen.visible, "MIG-x,0");
  Says(Said(d, 100), {"CUDA_VISIBLE_DEVICES='MIG-x,0' hides all", "unset"});
}

TEST(Failures, OfNoLibraryTellWhatToInstall) {
  CuDriver d = {};
  HdError err = {};
  auto say = [&](bool named) {
    char line[1400];
    EXPECT_EQ(hdcu_fail_absent(&d, "libcuda.so.1 (no such file)", named, &err), HD_ERR_CUDA);
    return std::string(hd_error_format(&err, line, sizeof line));
  };
  Says(say(false), {"no NVIDIA driver was found: libcuda.so.1 (no such file)"});
  d.seen.wsl = true;
  Says(say(false), {"update the NVIDIA driver of Windows", "install none inside WSL"});
  err = {};
  Says(say(true), {"HEDDLE_LIBCUDA"});
}

TEST(Failures, OfAForkedProcessNameBothProcesses) {
  CuDriver d = {};
  d.pid = 1; // not this one
  Says(Said(d, 3), {"process 1 before it forked", "after the fork"});
  d.pid = 0;
  Says(Said(d, 3), {"not initialised"});
}

// A row for a call stands before the row for all calls, or it is never found; each code is said in words of our own.
TEST(Failures, AreRowsThatCanBeReached) {
  struct Row {
    int code;
    std::string call, text, remedy;
  };
  const Row rows[] = {
#define CU_FAILURE(code, call, text, remedy) {code, call, text, remedy},
#include "runtime/cuda/failures.def"
  };
  CuDriver d = {};
  for (const Row &r : rows)
    Says(Said(d, r.code, r.call.empty() ? "cuAny" : r.call.c_str(), "the detail"),
         {r.text.c_str(), "; the detail; ", r.remedy.c_str()});
  for (const Row &a : rows)
    for (const Row &b : rows)
      if (&a < &b && a.code == b.code) { EXPECT_FALSE(a.call.empty()) << a.code << " hides " << b.text; }
}

TEST(Failures, OfCodesWithoutARowAreInTheDriversWords) {
  CuDriver d = {};
  d.cuGetErrorName = [](CuResult, const char **out) -> CuResult { return *out = "CUDA_ERROR_NEW", 0; };
  d.cuGetErrorString = [](CuResult, const char **out) -> CuResult { return *out = "something new", 0; };
  Says(Said(d, 987), {"gave 987 (CUDA_ERROR_NEW): something new"});
}

} // namespace
