// tests/runtime/artifact_test.cc -- artifacts survive being written and read, and damaged ones are refused.
#include "runtime/artifact.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/arena.h"
#include "runtime/bytes.h"

namespace {

struct Sample {
  RtParam params[3] = {{"x", hd_type_scalar(HD_F32), 1, false, 0},
                       {"s.grid", hd_type_vec(HD_F32, 3), 3, true, 24},
                       {"n", hd_type_scalar(HD_I32), 0, false, 80}};
  char code[5] = {1, 2, 3, 4, 5};
  RtArtifact a = {};
  RtWriter w = {};
  RtSite sites[2] = {{"x > 0", "a.hd", 3, 5, false}, {"%d", "", 0, 0, true}};
  RtImport imports[2] = {{"clamp", "clamp(f32, i32) -> f32", nullptr}, {"note", "note(i64)", nullptr}};
  explicit Sample(bool ptx = false) {
    a.sig = {"saxpy", 3, params, 88, 2, 64};
    a.kind = RT_CODE_OBJECT;
    a.symbol = "hd_saxpy";
    a.code = code;
    a.code_size = sizeof code;
    a.width = 16;
    a.imports = imports;
    a.nimports = ptx ? 0 : 2;
    if (ptx) {
      code[4] = 0;
      a.kind = RT_CODE_PTX;
      a.width = 1;
      a.rank = 2;
      a.block = 256;
      a.sites = sites;
      a.nsites = 2;
    }
    w.mem = &hdb_system_allocator;
    hdrt_put_signature(&w, &a.sig);
    hdrt_put_artifact(&w, &a);
  }
  Sample(const Sample &) = delete;
  ~Sample() { hdrt_writer_free(&w); }
};

TEST(Artifact, ComesBackAsItWas) {
  Sample s;
  RtReader r = {s.w.data, s.w.data + s.w.len, false};
  RtParam params[3];
  RtSignature sig;
  RtArtifact a;
  RtSite sites[4];
  RtImport imports[4];
  ASSERT_TRUE(hdrt_get_signature(&r, params, 3, &sig));
  ASSERT_TRUE(hdrt_get_artifact(&r, sites, 4, imports, 4, &a));
  EXPECT_EQ(r.at, r.end);
  EXPECT_STREQ(sig.kernel, "saxpy");
  EXPECT_EQ(sig.args_size, 88u);
  EXPECT_EQ(sig.rank, 2);
  EXPECT_EQ(sig.group, 64);
  ASSERT_EQ(sig.nparams, 3u);
  for (int i = 0; i < 3; i++) {
    EXPECT_STREQ(params[i].name, s.params[i].name);
    EXPECT_TRUE(hd_type_equal(params[i].type, s.params[i].type));
    EXPECT_EQ(params[i].ndim, s.params[i].ndim);
    EXPECT_EQ(params[i].writes, s.params[i].writes);
    EXPECT_EQ(params[i].offset, s.params[i].offset);
  }
  EXPECT_STREQ(a.symbol, "hd_saxpy");
  EXPECT_EQ(a.width, 16);
  ASSERT_EQ(a.code_size, 5u);
  EXPECT_EQ(memcmp(a.code, s.code, 5), 0);
  ASSERT_EQ(a.nimports, 2u);
  for (int i = 0; i < 2; i++) {
    EXPECT_STREQ(a.imports[i].name, s.imports[i].name);
    EXPECT_STREQ(a.imports[i].signature, s.imports[i].signature);
    EXPECT_EQ(a.imports[i].address, nullptr);
  }
}

TEST(Artifact, OfPtxHasItsSites) {
  Sample s(true);
  RtReader r = {s.w.data, s.w.data + s.w.len, false};
  RtParam params[3];
  RtSignature sig;
  RtArtifact a;
  RtSite sites[4];
  RtImport imports[4];
  ASSERT_TRUE(hdrt_get_signature(&r, params, 3, &sig));
  ASSERT_TRUE(hdrt_get_artifact(&r, sites, 4, imports, 4, &a));
  EXPECT_EQ(r.at, r.end);
  EXPECT_EQ(a.kind, RT_CODE_PTX);
  EXPECT_EQ(a.rank, 2);
  EXPECT_EQ(a.block, 256);
  ASSERT_EQ(a.nsites, 2u);
  EXPECT_STREQ(a.sites[0].text, "x > 0");
  EXPECT_STREQ(a.sites[0].file, "a.hd");
  EXPECT_EQ(a.sites[0].line, 3);
  EXPECT_EQ(a.sites[0].column, 5);
  EXPECT_STREQ(a.sites[1].text, "%d");
  EXPECT_TRUE(a.sites[1].prints && !a.sites[0].prints);
  EXPECT_STREQ(a.sites[1].file, "");
}

TEST(Artifact, OfPtxEndsWithAZero) {
  Sample s(true);
  s.code[4] = 'x';
  RtWriter w = {};
  w.mem = &hdb_system_allocator;
  hdrt_put_artifact(&w, &s.a);
  RtReader r = {w.data, w.data + w.len, false};
  RtArtifact a;
  RtSite sites[4];
  RtImport imports[4];
  EXPECT_FALSE(hdrt_get_artifact(&r, sites, 4, imports, 4, &a));
  hdrt_writer_free(&w);
}

TEST(Artifact, IsRefusedWhenItIsCut) {
  for (bool ptx : {false, true}) {
    Sample s(ptx);
    for (size_t n = 0; n < s.w.len; n++) {
      std::vector<uint8_t> cut(s.w.data, s.w.data + n);
      RtReader r = {cut.data(), cut.data() + n, false};
      RtParam params[3];
      RtSignature sig;
      RtArtifact a;
      RtSite sites[4];
      RtImport imports[4];
      EXPECT_FALSE(hdrt_get_signature(&r, params, 3, &sig) && hdrt_get_artifact(&r, sites, 4, imports, 4, &a)) << n;
    }
  }
}

TEST(Artifact, SurvivesDamage) {
  Sample both[] = {Sample(false), Sample(true)};
  std::mt19937 gen(5);
  for (int round = 0; round < 20000; round++) {
    const Sample &s = both[round % 2];
    std::vector<uint8_t> bad(s.w.data, s.w.data + s.w.len);
    for (int k = 0; k < 3; k++) bad[gen() % bad.size()] = static_cast<uint8_t>(gen() % 3 ? gen() : 0xff);
    RtReader r = {bad.data(), bad.data() + bad.size(), false};
    RtParam params[3];
    RtSignature sig;
    RtArtifact a;
    RtSite sites[4];
    RtImport imports[4];
    if (!hdrt_get_signature(&r, params, 3, &sig)) continue;
    for (uint32_t i = 0; i < sig.nparams; i++) {
      uint64_t size = params[i].ndim ? 8 + 16u * static_cast<uint64_t>(params[i].ndim) : params[i].type.size;
      EXPECT_LE(params[i].offset + size, sig.args_size);
    }
    hdrt_get_artifact(&r, sites, 4, imports, 4, &a);
  }
}

TEST(Artifact, WriterRemembersThatMemoryRanOut) {
  HdAllocator none = {[](void *, void *, size_t, size_t) -> void * { return nullptr; }, nullptr};
  RtWriter w = {};
  w.mem = &none;
  hdrt_put_str(&w, "x");
  hdrt_put_u64(&w, 1);
  EXPECT_TRUE(w.failed);
  EXPECT_EQ(w.len, 0u);
  hdrt_writer_free(&w);
}

} // namespace
