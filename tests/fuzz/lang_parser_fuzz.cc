// tests/fuzz/lang_parser_fuzz.cc -- any bytes as kernel source, with the library at hand. What compiles is valid IR that reads
// back as it was printed, and what does not is told where it is wrong. A first line "// options: .." counts as in
// tests/frontend.
#include "fuzz_entry.h"
#include "tests/frontend/lang_testing.h"

namespace {

std::string Options(const std::string &source) {
  static const std::string mark = "// options: ";
  if (source.rfind(mark, 0) != 0) return "";
  std::string line = source.substr(mark.size(), source.find('\n') - mark.size());
  return line.find("-I") == std::string::npos ? line : ""; // nothing outside of the input is read
}

// What the IR says, printed again after it was read.
std::string ReadBack(const std::string &ir) {
  Arena a;
  HdError err = {};
  IrModule *m = nullptr;
  std::string out;
  jmp_buf jb;
  volatile bool read = false;
  hdb_arena_init(&a, &hdb_system_allocator);
  HDB_GUARD(&a, jb) {
    if (hdir_parse(&a, "again", ir.data(), ir.size(), &err, &m) == HD_OK) {
      Buf b;
      hdb_buf_init(&b, &a);
      hdir_print_module(&b, m, nullptr);
      out = b.data;
      read = true;
    }
  }
  hdb_arena_free(&a);
  fuzz::Hold(read, "printed IR can be read", err.detail + ("\n" + ir));
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Hold(Library::Module(const_cast<Library *>(&Library::Get()), "linalg/vec") != nullptr,
             "lib/ is in the folder where this runs", "");
  std::string source = fuzz::Source(data, size);
  if (source.find("import \"") != std::string::npos) return 0; // nothing outside of the input is read
  Compiled c("fuzz.hd", source, Options(source));
  bool errors = c.diagnostics.find(": error: ") != std::string::npos;
  fuzz::Hold(errors == (c.status == HD_ERR_SOURCE), "the status says whether there are errors", c.diagnostics);
  fuzz::Hold(errors == (c.result.module == nullptr), "there is a module unless there are errors", c.diagnostics);
  if (errors) return 0;
  HdError err = {};
  fuzz::Hold(hdir_verify(c.result.module, &err) == HD_OK, "what compiles is valid IR", err.detail + ("\n" + c.ir));
  fuzz::Hold(ReadBack(c.ir_with_places) == c.ir_with_places, "IR reads back as it was printed", c.ir_with_places);
  return 0;
}
