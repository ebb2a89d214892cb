// The examples of docs/library.md hold: on the interpreter, and as machine code.
#include "library_testing.h"
#include "tests/docs/page.h"

namespace {

class Examples : public testing::TestWithParam<Block> {};

TEST_P(Examples, Hold) {
  const Block &b = GetParam();
  std::string text = "kernel example(f32 x[], f64 d[], i32 n[]) {\n" + b.text + "}\n";
  Machine m(1);
  for (HdDevice device : {m.interp, m.cpu}) {
    std::vector<float> x(4);
    std::vector<double> d(4);
    std::vector<int32_t> n(4);
    Program(m, text, device).Run(1, x, d, n);
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
