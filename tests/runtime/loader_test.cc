// tests/runtime/loader_test.cc -- loading objects that a compiler made, and refusing what is damaged or unknown.
#include "runtime/loader.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
namespace {

using Bytes = std::vector<char>;

// What `compiler` makes of C; empty if there is no such compiler here.
Bytes compile(const std::string &compiler, const std::string &source, const std::string &flags) {
  char dir[] = "/tmp/heddle-loader-XXXXXX";
  if (!mkdtemp(dir)) return {};
  std::string c = std::string(dir) + "/k.c", o = std::string(dir) + "/k.o";
  std::ofstream(c) << source;
  std::string command = compiler + " " + flags + " -c " + c + " -o " + o + " >/dev/null 2>&1";
  Bytes bytes;
  if (system(command.c_str()) == 0) {
    std::ifstream in(o, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  unlink(c.c_str());
  unlink(o.c_str());
  rmdir(dir);
  return bytes;
}

const char *const kernel_source = R"(
#include <string.h>
double fma(double, double, double);
float fmaf(float, float, float);
static const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static const float *const pointers[2] = {table, table + 4};
static int counter = 40, zeros[100];
__attribute__((noinline)) static float helper(const float *t, int i) { return t[i & 7]; }
static float one(int i) { return helper(table, i); }
static float two(int i) { return helper(pointers[1], i & 3); }
static float (*const functions[2])(int) = {one, two};
void *memcpy(void *, const void *, unsigned long);
double entry(int n, float *buffer) {
  float copy[64];
  memset(buffer, 0, (unsigned long)n * 4);
  memcpy(copy, buffer, (unsigned long)n * 4);
  counter += 2;
  zeros[n & 63]++;
  double r = counter + zeros[n & 63] + copy[n - 1];
  for (int i = 0; i < n; i++) r += functions[i & 1](i) * 0.5;
  switch (n) { case 1: r += 10; break; case 2: r -= 3; break; case 3: r *= 2; break; case 4: r += 7; break; case 5: r = -r; break; default: r += 100; }
  return fma(r, 2.0, fmaf(1.5f, 2.0f, 0.25f));
}
)";

double expected(int n, int calls) {
  static const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  double r = 40 + 2 * calls + calls;
  for (int i = 0; i < n; i++) r += (i & 1 ? table[4 + (i & 3)] : table[i & 7]) * 0.5;
  switch (n) {
  case 1: r += 10; break;
  case 2: r -= 3; break;
  case 3: r *= 2; break;
  case 4: r += 7; break;
  case 5: r = -r; break;
  default: r += 100;
  }
  return r * 2 + 3.25;
}

struct Case {
  const char *compiler, *flags;
};

class LoaderCompilers : public testing::TestWithParam<Case> {};

TEST_P(LoaderCompilers, RunWhatTheyMake) {
  Bytes o = compile(GetParam().compiler, kernel_source, GetParam().flags);
  if (o.empty()) GTEST_SKIP() << "there is no " << GetParam().compiler << " here";
  HdError err = {};
  RtImage image = {};
  ASSERT_EQ(hdrt_image_load(o.data(), o.size(), "entry", 0, nullptr, &err, &image), HD_OK) << err.detail;
  double (*entry)(int, float *);
  memcpy(&entry, &image.entry, sizeof entry);
  float buffer[64];
  EXPECT_EQ(entry(5, buffer), expected(5, 1));
  EXPECT_EQ(entry(5, buffer), expected(5, 2)) << "data is writable and kept";
  hdrt_image_free(&image);
  EXPECT_EQ(image.base, nullptr);
  hdrt_image_free(&image);
}

INSTANTIATE_TEST_SUITE_P(
    All, LoaderCompilers,
    testing::Values(Case{"gcc", "-O0 -fPIC -w"}, Case{"gcc", "-O2 -fPIC -w"}, Case{"gcc", "-O2 -fPIC -w -fno-plt"},
                    Case{"gcc", "-O2 -fPIC -w -mcmodel=small -ffunction-sections -fdata-sections -g"},
                    Case{"clang-22", "-O0 -fPIC -w"}, Case{"clang-22", "-O2 -fPIC -w"},
                    Case{"clang-22", "-O2 -fPIC -w -fno-plt -g"}));

TEST(Loader, FindsTheProgramsFunctionsByTheirPrefix) {
  Bytes o = compile("gcc", "int c(int) __asm__(\"c.twice\"); int entry(int x) { return c(x) + 1; }", "-O1 -fPIC");
  ASSERT_FALSE(o.empty());
  RtImport imports[] = {{"thrice", "", nullptr}, {"twice", "", nullptr}};
  int (*twice)(int) = [](int x) { return 2 * x; };
  memcpy(&imports[1].address, &twice, sizeof twice);
  HdError err = {};
  RtImage image = {};
  ASSERT_EQ(hdrt_image_load(o.data(), o.size(), "entry", 2, imports, &err, &image), HD_OK) << err.detail;
  int (*entry)(int);
  memcpy(&entry, &image.entry, sizeof entry);
  EXPECT_EQ(entry(20), 41);
  hdrt_image_free(&image);
  EXPECT_EQ(hdrt_image_load(o.data(), o.size(), "entry", 1, imports, &err, &image), HD_ERR_UNSUPPORTED);
  EXPECT_NE(std::string(err.detail).find("c.twice"), std::string::npos) << err.detail;
}

// --- refusals ---

HdStatus try_load(const Bytes &o, HdError *err) {
  RtImage image = {};
  HdStatus s = hdrt_image_load(o.data(), o.size(), "entry", 0, nullptr, err, &image);
  if (s == HD_OK) hdrt_image_free(&image);
  return s;
}

TEST(Loader, NamesWhatItDoesNotKnow) {
  struct {
    const char *source, *flags, *says;
  } cases[] = {
      {"int system(const char *); int entry(void) { return system(\"true\"); }", "-O1 -fPIC", "system"},
      {"extern int elsewhere; int entry(void) { return elsewhere; }", "-O1 -fPIC", "elsewhere"},
      {"__thread int t; int entry(void) { return t++; }", "-O1 -fPIC", "not known"},
      {"static int x[2]; int entry(int i) { return x[i & 1]++; }", "-O1 -fno-pic -mcmodel=small", "relocation"},
      {"static void first(void) __attribute__((constructor)); static volatile int n; static void first(void) { n = 1; "
       "} int "
       "entry(void) { return n; }",
       "-O1 -fPIC", "not known"},
      {"int other(void) { return 1; }", "-O1 -fPIC", "no function 'entry'"},
  };
  for (auto &c : cases) {
    Bytes o = compile("gcc", c.source, c.flags);
    if (o.empty()) GTEST_SKIP() << "there is no gcc here";
    HdError err = {};
    EXPECT_NE(try_load(o, &err), HD_OK) << c.source;
    EXPECT_NE(strstr(err.detail, c.says), nullptr) << c.source << "\n  says: " << err.detail;
  }
}

TEST(Loader, RefusesOtherFiles) {
  HdError err = {};
  EXPECT_EQ(try_load({}, &err), HD_ERR_FORMAT);
  EXPECT_EQ(try_load(Bytes(1000, 0), &err), HD_ERR_FORMAT);
  Bytes text(1000, 'x');
  EXPECT_EQ(try_load(text, &err), HD_ERR_FORMAT);
  Bytes o = compile("gcc", "int entry(void) { return 1; }", "-O1 -fPIC");
  if (o.empty()) GTEST_SKIP() << "there is no gcc here";
  Elf64_Ehdr h;
  memcpy(&h, o.data(), sizeof h);
  h.e_machine = EM_AARCH64;
  Bytes arm = o;
  memcpy(arm.data(), &h, sizeof h);
  EXPECT_EQ(try_load(arm, &err), HD_ERR_UNSUPPORTED);
  EXPECT_NE(strstr(err.detail, "x86-64"), nullptr) << err.detail;
}

// None of these may crash, read outside the bytes (AddressSanitizer watches) or leave a mapping behind.
TEST(Loader, SurvivesDamage) {
  Bytes o = compile("gcc", kernel_source, "-O2 -fPIC -w");
  if (o.empty()) GTEST_SKIP() << "there is no gcc here";
  HdError err = {};
  for (size_t n = 0; n < o.size(); n += 1 + n / 200) {
    Bytes cut(o.begin(), o.begin() + static_cast<long>(n));
    try_load(cut, &err);
  }
  std::mt19937 gen(3);
  int loaded = 0;
  for (int round = 0; round < 20000; round++) {
    Bytes bad = o;
    int flips = 1 + static_cast<int>(gen() % 4);
    for (int k = 0; k < flips; k++) {
      size_t at = gen() % 3 ? gen() % bad.size() : bad.size() - 1 - gen() % (64 * 16); // the section headers stand last
      static const unsigned char values[] = {0, 1, 0xff, 0x7f, 0x80, 8};
      bad[at] = static_cast<char>(gen() % 2 ? values[gen() % 6] : gen());
    }
    loaded += try_load(bad, &err) == HD_OK;
  }
  EXPECT_GT(loaded, 0) << "some damage does no harm, or the test tests nothing";
}

} // namespace
#endif
