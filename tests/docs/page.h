// tests/docs/page.h -- the fenced blocks of a page of the documentation.
#ifndef DOCS_PAGE_H
#define DOCS_PAGE_H

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// What stands between ``` lines. The first word behind the opening ``` is the block's kind.
struct Block {
  std::string              page;
  int                      line = 0; // of the first line of text
  std::string              kind, text;
  std::vector<std::string> words; // behind the kind
};

// A block with the word "group" is the inside of a kernel with groups of 64 threads, one with "body" of a plain one.
inline bool IsOfGroup(const Block &b) { return std::find(b.words.begin(), b.words.end(), "group") != b.words.end(); }
inline std::string KernelAround(const Block &b) {
  return std::string(IsOfGroup(b) ? "@group(64) " : "") + "kernel example(f32 x[], f64 d[], i32 n[]) {\n";
}

// For the test's messages.
inline void PrintTo(const Block &b, std::ostream *out) { *out << b.page << ":" << b.line; }

inline std::string Slurp(const std::string &path) {
  std::ifstream     file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<Block> Blocks(const std::string &page) {
  std::vector<Block> blocks;
  std::istringstream lines(Slurp(page));
  bool               inside = false;
  int                n = 0;
  for (std::string line; std::getline(lines, line);) {
    n++;
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (!inside) continue;
      Block              b;
      std::istringstream head(line.substr(3));
      head >> b.kind;
      for (std::string w; head >> w;) b.words.push_back(w);
      b.page = page;
      b.line = n + 1;
      blocks.push_back(b);
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

#endif
