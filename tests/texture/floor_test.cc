// tests/texture/floor_test.cc -- examples/floor: its picture, in which far tiles glitter without levels and are calm with them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

TEST(Floor, IsCalmAtTheHorizonWhereLevelsAreUsed) {
  const std::string out = testing::TempDir() + "/floor.ppm";
  const std::string command =
      "HEDDLE_CACHE=\"" + testing::TempDir() + "/floor\" examples/floor/floor examples/floor/floor.hd " + out;
  ASSERT_EQ(system(command.c_str()), 0);
  std::ifstream f(out, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(f)), {}), head = "P6 640 240 255\n";
  ASSERT_EQ(all.size(), head.size() + 640 * 240 * 3);
  ASSERT_EQ(all.substr(0, head.size()), head);
  auto red = [&](int row, int col) { return double(uint8_t(all[head.size() + size_t(row * 640 + col) * 3])); };
  auto spread = [&](int col) { // the mean distance of neighbours in half of the first four rows
    double sum = 0;
    for (int row = 0; row < 4; row++)
      for (int k = 0; k < 319; k++) sum += std::fabs(red(row, col + k) - red(row, col + k + 1));
    return sum / 319 / 4;
  };
  EXPECT_GT(spread(0), 20);
  EXPECT_LT(spread(320), 2);
  EXPECT_NEAR(red(0, 500), 135, 6); // between 40 and 230
  // Near by both halves have tiles, dark and bright.
  for (int half : {0, 320}) {
    double low = 255, high = 0;
    for (int row = 120; row < 240; row++)
      for (int k = 0; k < 320; k++) low = std::min(low, red(row, half + k)), high = std::max(high, red(row, half + k));
    EXPECT_LT(low, 60);
    EXPECT_GT(high, 210);
  }
}

} // namespace
