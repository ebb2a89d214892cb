// tests/fuzz/ir_parser_fuzz.cc -- any bytes as IR text. The verifier and the printer take whatever the parser makes, and what
// is valid reads back as it was printed.
#include "fuzz_entry.h"
#include "ir/ir.h"

namespace {

std::string Print(Arena *a, const IrModule *m) {
  Buf b;
  hdb_buf_init(&b, a);
  hdir_print_module(&b, m, nullptr);
  return b.data;
}

void Check(Arena *a, const std::string &text) {
  HdError err = {};
  IrModule *m = nullptr, *again = nullptr;
  if (hdir_parse(a, "fuzz.ir", text.data(), text.size(), &err, &m) != HD_OK) {
    fuzz::Hold(m == nullptr && err.status == HD_ERR_IR && err.where.line > 0, "a refusal says where", err.detail);
    return;
  }
  std::string once = Print(a, m);
  if (hdir_verify(m, &err) != HD_OK) return;
  fuzz::Hold(hdir_parse(a, "fuzz.ir", once.data(), once.size(), &err, &again) == HD_OK, "printed IR can be read",
             err.detail + ("\n" + once));
  fuzz::Hold(hdir_verify(again, &err) == HD_OK, "valid IR is valid when read again", err.detail + ("\n" + once));
  fuzz::Hold(Print(a, again) == once, "IR reads back as it was printed", once);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena a;
  jmp_buf jb;
  hdb_arena_init(&a, &hdb_system_allocator);
  HDB_GUARD(&a, jb) { Check(&a, fuzz::Source(data, size)); }
  hdb_arena_free(&a);
  return 0;
}
