// tests/frontend/lang_testing.h -- compiling kernel source in a test, with the tree's library.
#ifndef LANG_TESTING_H
#define LANG_TESTING_H

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/lang/lang.h"

inline std::string ReadFile(const std::filesystem::path &path) {
  std::ifstream     file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The files of lib/ by module name, and which modules have a name at the start of a line.
class Library {
public:
  static const Library &Get() {
    static const Library library;
    return library;
  }

  static const char *Module(void *user, const char *module) {
    const Library *l = static_cast<const Library *>(user);
    auto           it = l->text_.find(module);
    return it == l->text_.end() ? nullptr : it->second.c_str();
  }

  static const char *Index(void *user, const char *name) {
    const Library *l = static_cast<const Library *>(user);
    auto           it = l->index_.find(name);
    return it == l->index_.end() ? nullptr : it->second.c_str();
  }

private:
  Library() {
    namespace fs = std::filesystem;
    if (!fs::exists("lib")) return;
    for (const auto &f : fs::recursive_directory_iterator("lib")) {
      if (f.path().extension() != ".hd") continue;
      std::string module = f.path().lexically_relative("lib").replace_extension().string();
      text_[module] = ReadFile(f.path());
      Scan(module, text_[module]);
    }
  }

  void Scan(const std::string &module, const std::string &text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::string name = NameIn(line);
      if (name.empty()) continue;
      std::string &in = index_[name];
      if ((" " + in + " ").find(" " + module + " ") == std::string::npos) in += (in.empty() ? "" : " ") + module;
    }
  }

  static std::string NameIn(std::string line) {
    if (line.rfind("@fast ", 0) == 0) line = line.substr(6);
    if (line.rfind("const ", 0) == 0) {
      size_t end = line.find_last_not_of(' ', line.find_first_of("=;[") - 1);
      return line.substr(line.rfind(' ', end) + 1, end - line.rfind(' ', end));
    }
    size_t start = line.rfind("fn ", 0) == 0 ? 3 : line.rfind("struct ", 0) == 0 ? 7 : std::string::npos;
    if (start == std::string::npos) return "";
    size_t end = start;
    while (end < line.size() && (isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_')) end++;
    if (line.substr(start, end - start) == "operator")
      while (end < line.size() && line[end] != '(' && !(line[end] == '<' && isupper(static_cast<unsigned char>(line[end + 1])))) end++;
    return line.substr(start, end - start);
  }

  std::map<std::string, std::string> text_, index_;
};

// One compilation; `-D N=3`, `-I folder`, `--bounds`, `--fast` in options.
class Compiled {
public:
  Compiled(const std::string &path, const std::string &text, const std::string &options = "") {
    hdb_arena_init(&arena, &hdb_system_allocator);
    Parse(options);
    o_.library = Library::Module;
    o_.library_index = Library::Index;
    o_.user = const_cast<Library *>(&Library::Get());
    jmp_buf jb;
    HDB_GUARD(&arena, jb) {
      status = hdfe_compile(&arena, path.c_str(), text.data(), text.size(), &o_, &error, &result);
      Buf b;
      hdb_buf_init(&b, &arena);
      hdfe_render(&b, &result, false);
      if (b.len) diagnostics = b.data;
      if (result.module) Print();
    } else {
      status = HD_ERR_NOMEM;
    }
  }
  ~Compiled() { hdb_arena_free(&arena); }
  Compiled(const Compiled &) = delete;

  bool Has(const std::string &id) const {
    for (uint32_t i = 0; i < result.ndiags; i++)
      if (result.diags[i].id == id) return true;
    return false;
  }

  Arena       arena;
  HdStatus    status = HD_OK;
  HdError     error = {};
  FeResult    result = {};
  std::string diagnostics, ir, ir_with_places;

private:
  void Print() {
    IrPrint plain = {};
    Buf     b, with;
    hdb_buf_init(&b, &arena);
    hdir_print_module(&b, result.module, &plain);
    if (b.len) ir = b.data;
    hdb_buf_init(&with, &arena);
    hdir_print_module(&with, result.module, nullptr);
    if (with.len) ir_with_places = with.data;
  }

  void Parse(const std::string &options) {
    std::istringstream words(options);
    for (std::string w; words >> w;) {
      if (w == "--bounds") o_.bounds = true;
      if (w == "--fast") o_.fast = true;
      if (w == "-I" && words >> w) paths_.push_back(w);
      if (w == "-D" && words >> w) {
        size_t eq = w.find('=');
        names_.emplace_back(w.substr(0, eq), w.substr(eq + 1));
      }
    }
    for (const auto &n : names_) defines_.push_back({n.first.c_str(), n.second.c_str()});
    for (const auto &p : paths_) path_list_.push_back(p.c_str());
    o_.ndefines = static_cast<uint32_t>(defines_.size());
    o_.defines = defines_.data();
    o_.npaths = static_cast<uint32_t>(path_list_.size());
    o_.paths = path_list_.data();
  }

  FeOptions                                        o_ = {};
  std::vector<std::pair<std::string, std::string>> names_;
  std::vector<FeDefine>                            defines_;
  std::vector<std::string>                         paths_;
  std::vector<const char *>                        path_list_;
};

#endif
