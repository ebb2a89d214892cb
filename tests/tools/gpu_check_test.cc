// tests/tools/gpu_check_test.cc -- what is packed for a machine with a GPU, unpacked in an empty folder and run on the simulated
// driver: it passes, and it fails where the device does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

class GpuCheck : public testing::Test {
protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/heddle-gpu-check-XXXXXX";
    folder = mkdtemp(name);
    const std::string pack =
        "KERNELS='tests/diff/kernels/atomics_on_one_address.hd tests/diff/kernels/asserts_that_fail.hd "
        "tests/diff/kernels/group_shuffles.hd' "
        "sh tools/gpu_check/pack.sh tools/gpu_check/gpu_check " +
        folder + "/pack --targets=75,90 --only=atomics_on_one,asserts_that_fail,group_shuffles";
    ASSERT_EQ(system(pack.c_str()), 0);
    driver = fs::absolute("tests/fakecuda/libfakecuda.so").string();
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  // From an empty folder, with nothing in the environment that could help.
  int Run(const std::string &config) {
    fs::create_directories(folder + "/empty");
    const std::string command = "cd " + folder +
                                "/empty && env -i PATH=/usr/bin:/bin HEDDLE_LLVM=/none HEDDLE_LIBCUDA=" + driver +
                                " 'HEDDLE_FAKECUDA=" + config + "' ../pack/run.sh report.txt >/dev/null";
    int status = system(command.c_str());
    std::stringstream text;
    text << std::ifstream(folder + "/empty/report.txt").rdbuf();
    report = text.str();
    fs::remove_all(folder + "/empty");
    return status;
  }
  bool Says(const std::string &text) const { return report.find(text) != std::string::npos; }

  static std::string folder, driver;
  std::string report;
};
std::string GpuCheck::folder, GpuCheck::driver;

TEST_F(GpuCheck, PassesOnADeviceThatIsRight) {
  EXPECT_EQ(Run("sm=90,devices=2"), 0) << report;
  for (const char *line : {"device Simulated GPU sm_90", "ok     copies\n", "ok     graphs\n",
                           "ok     asserts_that_fail (", "ok     atomics_on_one_address (", "ok     group_shuffles (",
                           "ok     products of matrices by units\n", "a launch in a graph of 100", "all is well: "})
    EXPECT_TRUE(Says(line)) << line << "\n" << report;
  EXPECT_FALSE(Says("FAILED")) << report;
}

TEST_F(GpuCheck, FailsWhereTheDeviceDoes) {
  EXPECT_NE(Run("sm=90,cuLaunchKernel@30=700!"), 0);
  EXPECT_TRUE(Says("cuLaunchKernel") || Says("gave 700")) << report;
  EXPECT_TRUE(Says("FAILED: ")) << report;
  EXPECT_NE(Run("sm=90,init=999"), 0);
  EXPECT_TRUE(Says("FAILED the driver and a device: cuInit gave 999")) << report;
  EXPECT_NE(Run("sm=61"), 0);
  EXPECT_TRUE(Says("older than all")) << report;
}

TEST_F(GpuCheck, StaysSmall) {
  uintmax_t bytes = 0;
  for (const auto &f : fs::recursive_directory_iterator(folder + "/pack"))
    if (f.is_regular_file()) bytes += f.file_size();
  EXPECT_LT(bytes, 40u << 20);
}

} // namespace
