// The examples of docs/library.md hold: on the interpreter, as machine code, and those of groups as PTX.
#include "library_testing.h"
#include "tests/docs/page.h"

namespace {

class Examples : public testing::TestWithParam<Block> {};

TEST_P(Examples, Hold) {
  const Block &b = GetParam();
  std::string text = KernelAround(b) + b.text + "}\n";
  const int threads = IsOfGroup(b) ? 64 : 1;
  Machine m(1, IsOfGroup(b));
  std::vector<HdDevice> devices{m.interp, m.cpu};
  if (IsOfGroup(b)) devices.push_back(m.gpu);
  for (HdDevice device : devices) {
    std::vector<float> x(4);
    std::vector<double> d(4);
    std::vector<int32_t> n(4);
    Program(m, text, device).Run(threads, x, d, n);
  }
}

std::vector<Block> OfTheLibrary() {
  std::vector<Block> all;
  for (const Block &b : Blocks("docs/library.md"))
    if (b.kind == "hd") all.push_back(b);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Library, Examples, testing::ValuesIn(OfTheLibrary()),
                         [](auto &info) { return "line_" + std::to_string(info.param.line); });

TEST(Library, HasExamples) { EXPECT_GE(OfTheLibrary().size(), 100u); }

} // namespace
