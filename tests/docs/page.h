// tests/docs/page.h -- the fenced blocks of a page of the documentation.
#ifndef DOCS_PAGE_H
#define DOCS_PAGE_H

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
