// tests/sim/sim_fixture.h -- a context, a device and a stream for a test of the simulations.
#ifndef TESTS_SIM_FIXTURE_H
#define TESTS_SIM_FIXTURE_H

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "heddle/sim.h"

class Sim : public ::testing::Test {
 protected:
  void SetUp() override { Open(0); }
  void TearDown() override { Close(); }

  void Open(int threads) {
    HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
    options.threads = threads;
    options.no_cache = true;
    ASSERT_EQ(hd_context_new(&options, &ctx), HD_OK);
    HdDevice device;
    ASSERT_EQ(hd_device_find(ctx, "cpu", &device), HD_OK);
    ASSERT_EQ(hd_stream_new(ctx, device, HD_STREAM_SYNC, &stream), HD_OK);
  }
  void Close() {
    hd_stream_free(stream);
    hd_context_free(ctx);
    stream = nullptr;
    ctx = nullptr;
  }
  std::string Why() {
    char line[1024];
    return hd_error_format(hd_context_error(ctx), line, sizeof line);
  }
#define SIM_OK(call) ASSERT_EQ((call), HD_OK) << Why()

  static std::vector<float> Floats(HdArray a, int parts) {
    const float *p = static_cast<const float *>(a.data);
    return std::vector<float>(p, p + hd_array_count(a) * parts);
  }

  HdContext *ctx = nullptr;
  HdStream *stream = nullptr;
};

#endif
