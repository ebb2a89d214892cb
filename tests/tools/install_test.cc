// What is installed is enough: a program outside the tree finds it by pkg-config, builds as C and C++, shared and static.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

std::pair<int, std::string> Shell(const std::string &command) {
  std::string out;
  FILE *p = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) out.append(buffer, n);
  return {pclose(p), out};
}

class Install : public testing::Test {
protected:
  static std::string room, prefix, report;
  static int status;

  static void SetUpTestSuite() {
    room = testing::TempDir();
    if (room.back() == '/') room.pop_back();
    prefix = room + "/prefix";
    std::tie(status, report) = Shell("tools/build/install.sh '" + prefix + "'");
    std::ofstream(room + "/main.c") << R"(#include <heddle/heddle.h>
#include <stdio.h>
int main(void) {
  static const char source[] = "kernel k(i32 x[]) { x[tid()] = 7 * tid(); }";
  HdContext *ctx;
  HdContextOptions options = HD_CONTEXT_OPTIONS_INIT;
  options.no_cache = true;
  if (hd_context_new(&options, &ctx) != HD_OK) return 1;
  HdDevice device;
  HdModule *module;
  HdKernel *kernel;
  HdStream *stream;
  HdArray x;
  int64_t n = 5;
  if (hd_device_find(ctx, "interp", &device) != HD_OK || hd_stream_new(ctx, device, HD_STREAM_SYNC, &stream) != HD_OK ||
      hd_module_load_source(ctx, "k.hd", source, sizeof source - 1, NULL, &module) != HD_OK ||
      hd_module_kernel(module, "k", device, &kernel) != HD_OK ||
      hd_array_new(ctx, device, hd_type_scalar(HD_I32), 1, &n, &x) != HD_OK)
    return 2;
  HdArg arg = hd_arg_array(&x);
  if (hd_launch(kernel, stream, 1, &n, 1, &arg) != HD_OK) return 3;
  printf("%d\n", ((const int32_t *)x.data)[4]);
  hd_array_free(ctx, &x);
  hd_stream_free(stream);
  hd_module_free(module);
  hd_context_free(ctx);
  return 0;
}
)";
  }
  static std::string Config(const std::string &what) {
    auto [s, out] = Shell("PKG_CONFIG_PATH='" + prefix + "/lib/pkgconfig' pkg-config " + what + " heddle");
    EXPECT_EQ(s, 0) << out;
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }
  static void Builds(const std::string &compiler, const std::string &libs, const std::string &environment) {
    std::string flags = compiler + " -Wall -Wextra -Werror " + Config("--cflags") + " -o '" + room + "/main' ";
    auto [built, said] = Shell("cd '" + room + "' && " + flags + "main.c " + libs);
    ASSERT_EQ(built, 0) << said;
    auto [ran, printed] = Shell(environment + "'" + room + "/main'");
    EXPECT_EQ(ran, 0) << printed;
    EXPECT_EQ(printed, "28\n");
  }
};
std::string Install::room, Install::prefix, Install::report;
int Install::status;

TEST_F(Install, Succeeds) { EXPECT_EQ(status, 0) << report; }

TEST_F(Install, KnowsItsVersion) {
  auto [s, out] = Shell("'" + prefix + "/bin/heddle' --version");
  EXPECT_EQ(s, 0);
  EXPECT_EQ(out, "heddle " + Config("--modversion") + "\n");
}

TEST_F(Install, SharedLibraryServesC) {
  Builds("gcc -std=c11", Config("--libs"), "LD_LIBRARY_PATH='" + prefix + "/lib' ");
}

TEST_F(Install, SharedLibraryServesCxx) {
  Builds("g++ -std=c++17 -x c++", "-x none " + Config("--libs"), "LD_LIBRARY_PATH='" + prefix + "/lib' ");
}

TEST_F(Install, StaticLibraryServesC) {
  std::string libs = Config("--static --libs"), name = "-lheddle";
  libs.replace(libs.find(name), name.size(), "-l:libheddle.a");
  Builds("gcc -std=c11", libs, "");
}

// examples/embed, copied out of the tree and made by its own Makefile.
void Embeds(const std::string &prefix, const std::string &room, const std::string &how,
            const std::string &environment) {
  std::string here =
      "cd '" + room +
      "' && rm -rf embed.d && mkdir embed.d && cp \"$OLDPWD\"/examples/embed/* embed.d && cd embed.d && ";
  auto [built, said] = Shell(here + "PKG_CONFIG_PATH='" + prefix + "/lib/pkgconfig' make CC='gcc -Werror' " + how);
  ASSERT_EQ(built, 0) << said;
  auto run = [&](const char *program) {
    auto [ran, printed] =
        Shell("cd '" + room + "/embed.d' && " + environment + "HEDDLE_CACHE='" + room + "/cache' ./" + program);
    EXPECT_EQ(ran, 0) << printed;
    return printed;
  };
  EXPECT_EQ(run("embed"), "0.6000\n0.6000\n0.6000\n0.6000\n");
  const char *const speeds =
      "1500 kg/m3 sinks at 0.381 m/s\n2700 kg/m3 sinks at 0.720 m/s\n7800 kg/m3 sinks at 1.465 m/s\n";
  for (int round = 0; round < 2; round++) EXPECT_EQ(run("own_function"), speeds) << "compiled, then from the cache";
}

TEST_F(Install, ExampleEmbedsTheSharedLibrary) { Embeds(prefix, room, "", "LD_LIBRARY_PATH='" + prefix + "/lib' "); }

TEST_F(Install, ExampleEmbedsTheStaticLibrary) { Embeds(prefix, room, "STATIC=1", ""); }

TEST_F(Install, ShowsNoNamesButItsOwn) {
  auto [s, out] = Shell("nm -D --defined-only '" + prefix + "/lib/libheddle.so' | awk '$3 !~ /^hd_/'");
  EXPECT_EQ(s, 0);
  EXPECT_EQ(out, "") << "in the shared library";
  std::tie(s, out) = Shell("nm -g --defined-only '" + prefix + "/lib/libheddle.a' | awk 'NF == 3 && $3 !~ /^hd/'");
  EXPECT_EQ(s, 0);
  EXPECT_EQ(out, "") << "in the static library, where rooms see each other";
}

TEST_F(Install, RespectsDestdir) {
  auto [s, out] = Shell("DESTDIR='" + room + "/stage' tools/build/install.sh /opt/heddle");
  ASSERT_EQ(s, 0) << out;
  std::tie(s, out) = Shell("sed -n 's/^prefix=//p' '" + room + "/stage/opt/heddle/lib/pkgconfig/heddle.pc'");
  EXPECT_EQ(out, "/opt/heddle\n");
  EXPECT_EQ(Shell("'" + room + "/stage/opt/heddle/bin/heddle' --version").first, 0);
}

TEST_F(Install, WorksInAPathWithSpaces) {
  std::string place = room + "/a place";
  auto [s, out] = Shell("tools/build/install.sh '" + place + "'");
  ASSERT_EQ(s, 0) << out;
  std::tie(s, out) = Shell("cd '" + room + "' && export PKG_CONFIG_PATH='" + place +
                           "/lib/pkgconfig' && eval gcc -std=c11 $(pkg-config --cflags heddle) -o main2 main.c "
                           "$(pkg-config --libs heddle) && LD_LIBRARY_PATH='" +
                           place + "/lib' ./main2");
  EXPECT_EQ(s, 0) << out;
  EXPECT_EQ(out, "28\n");
}

TEST_F(Install, RefusesARelativePrefix) { EXPECT_NE(Shell("tools/build/install.sh relative").first, 0); }

} // namespace
