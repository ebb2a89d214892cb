// Each block of code in the documentation is what it says it is:
//
//     ```hd [body] [OPTION..]             compiles without a message; body: the inside of a kernel with f32 x[], f64 d[], i32 n[];
//                                         group: the same of a kernel with groups of 64 threads
//     ```hd-error ID [body] [OPTION..]    gets the diagnostic of that name, and nothing after it
//     ```ir                               is valid IR
//     ```sh, ```c                         runs (docs_session_test.cc)
//     ```cpp, ```text                     is for the eye
#include <gtest/gtest.h>

#include <algorithm>

#include "page.h"
#include "tests/frontend/lang_testing.h"

namespace {

std::vector<std::string> Pages() {
  std::vector<std::string> pages;
  for (const auto &f : std::filesystem::directory_iterator("docs"))
    if (f.path().extension() == ".md") pages.push_back(f.path().string());
  for (const char *other : {"README.md", "lib/README.md"})
    if (std::filesystem::exists(other)) pages.push_back(other);
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<Block> AllBlocks() {
  std::vector<Block> all;
  for (const std::string &page : Pages())
    for (const Block &b : Blocks(page)) all.push_back(b);
  return all;
}

class Docs : public testing::TestWithParam<Block> {};

// The words behind the kind: the id of an error first, "body" or "group", file names for the session, options.
struct Head {
  explicit Head(const Block &b) {
    size_t k = 0;
    if (b.kind == "hd-error" && !b.words.empty()) id = b.words[k++];
    for (; k < b.words.size(); k++) {
      if (b.words[k] == "body" || b.words[k] == "group")
        around = KernelAround(b);
      else if (b.words[k].find(".hd") == std::string::npos)
        options += b.words[k] + " ";
    }
  }
  std::string id, options, around; // the last: of a block that is the inside of a kernel
};

TEST_P(Docs, BlockIsAsItSays) {
  const Block &b = GetParam();
  SCOPED_TRACE(b.page + ":" + std::to_string(b.line));
  if (b.kind == "hd" || b.kind == "hd-error") {
    Head h(b);
    Compiled c("block.hd", h.around.empty() ? b.text : h.around + b.text + "}\n", h.options);
    if (b.kind == "hd") {
      EXPECT_EQ(c.diagnostics, "");
      EXPECT_EQ(c.status, HD_OK);
      return;
    }
    EXPECT_FALSE(h.id.empty());
    ASSERT_GE(c.result.ndiags, 1u);
    for (uint32_t k = 0; k < c.result.ndiags; k++) {
      if (c.result.diags[k].severity != FE_NOTE) { EXPECT_EQ(c.result.diags[k].id, h.id) << c.diagnostics; }
    }
  } else if (b.kind == "ir") {
    Arena arena;
    HdError err = {};
    IrModule *m = nullptr;
    jmp_buf jb;
    hdb_arena_init(&arena, &hdb_system_allocator);
    HDB_GUARD(&arena, jb) {
      EXPECT_EQ(hdir_parse(&arena, "block.ir", b.text.data(), b.text.size(), &err, &m), HD_OK) << err.detail;
      EXPECT_TRUE(m && hdir_verify(m, &err) == HD_OK) << err.detail;
    }
    hdb_arena_free(&arena);
  } else {
    const char *const known[] = {"sh", "c", "cpp", "text", "md"};
    EXPECT_TRUE(std::count(std::begin(known), std::end(known), b.kind)) << "a block of the kind '" << b.kind << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Docs, testing::ValuesIn(AllBlocks()), [](auto &info) {
  std::string name = info.param.page + "_" + std::to_string(info.param.line);
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Docs, HaveCode) {
  std::vector<Block> all = AllBlocks();
  EXPECT_GE(std::count_if(all.begin(), all.end(), [](const Block &b) { return b.kind == "hd"; }), 15);
}

// A link to a file of this tree leads somewhere. (Folders are not among the test's data.)
TEST(Docs, LinksLeadSomewhere) {
  for (const std::string &page : Pages()) {
    std::string text = Slurp(page), folder = std::filesystem::path(page).parent_path().string();
    for (size_t at = 0; (at = text.find("](", at)) != std::string::npos; at++) {
      std::string target = text.substr(at + 2, text.find(')', at) - at - 2);
      std::string file = target.substr(0, target.find('#'));
      if (!std::filesystem::path(file).has_extension() || file.find("://") != std::string::npos) continue;
      EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(folder) / file)) << page << ": " << target;
    }
  }
}

} // namespace
