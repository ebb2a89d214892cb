// tests/api/module_test.cc -- loading, what the cache remembers of it, and looking at the stages.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api_fixture.h"

namespace {

const char *const twice = "kernel twice(f32 x[]) { let i = tid(); x[i] = 2.0 * x[i]; }\n";

class Module : public Api {
protected:
  // x[i] = i after one launch of the kernel on 40 elements.
  std::vector<float> run(HdKernel *k, HdDevice device) {
    HdArray x = zeros(device, hd_type_scalar(HD_F32), {40});
    for (int i = 0; i < 40; i++) data<float>(x)[i] = static_cast<float>(i);
    HdArg args[] = {hd_arg_array(&x)};
    int64_t n = 40;
    HdStream *s = stream(device);
    EXPECT_EQ(hd_launch(k, s, 1, &n, 1, args), HD_OK) << error();
    return {data<float>(x), data<float>(x) + 40};
  }
  void reopen() {
    close();
    open(2);
  }
  HdModule *file(const std::string &path, const HdModuleOptions *o = nullptr) {
    HdModule *m = nullptr;
    EXPECT_EQ(hd_module_load_file(ctx, path.c_str(), o, &m), HD_OK) << error() << hd_context_diagnostics(ctx);
    if (m) modules.push_back(m);
    return m;
  }
  size_t entries() {
    size_t n = 0;
    auto count = [](void *user, const HdCacheEntry *) { return ++*static_cast<size_t *>(user) > 0; };
    EXPECT_EQ(hd_cache_list(ctx, count, &n), HD_OK);
    return n;
  }
};

TEST_F(Module, ListsItsKernels) {
  HdModule *m = source("kernel b(f32 x[]) { x[tid()] = 1.0; } kernel a() { }");
  ASSERT_EQ(hd_module_kernel_count(m), 2);
  EXPECT_STREQ(hd_module_kernel_name(m, 0), "b");
  EXPECT_STREQ(hd_module_kernel_name(m, 1), "a");
  EXPECT_EQ(hd_module_kernel_name(m, 2), nullptr);
  EXPECT_EQ(hd_module_kernel_name(m, -1), nullptr);
  EXPECT_EQ(hd_module_kernel_count(nullptr), 0);
  HdKernel *k = nullptr;
  expect_error(HD_ERR_NOT_FOUND, hd_module_kernel(m, "c", cpu, &k), "hd_module_kernel", "name",
               "'c' is no kernel; there are 'b', 'a'");
  expect_error(HD_ERR_ARG, hd_module_kernel(m, nullptr, cpu, &k), "hd_module_kernel", "name", "NULL");
  expect_error(HD_ERR_ARG, hd_module_kernel(m, "a", cpu, nullptr), "hd_module_kernel", "out", "NULL");
  HdType t;
  expect_error(HD_ERR_NOT_FOUND, hd_module_struct(m, "S", &t), "hd_module_struct", "name", "'S'");
  EXPECT_EQ(hd_module_kernel(nullptr, "a", cpu, &k), HD_ERR_ARG);
}

std::string twelve() {
  std::string text;
  for (int i = 0; i < 12; i++)
    text +=
        "kernel k" + std::to_string(i) + "(f32 x[]) { let i = tid(); x[i] = sin(x[i]) + " + std::to_string(i) + "; }\n";
  return text;
}

TEST_F(Module, CompilesAllKernelsAtOnceToTheSameCode) {
  auto objects = [&](bool at_once) {
    std::vector<std::string> out;
    Folder other;
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    HdContext *c;
    HdModule *m;
    std::string text = twelve();
    o.threads = 3;
    o.cache_dir = other.path.c_str();
    EXPECT_EQ(hd_context_new(&o, &c), HD_OK);
    EXPECT_EQ(hd_module_load_source(c, "twelve.hd", text.data(), text.size(), nullptr, &m), HD_OK);
    if (at_once) { EXPECT_EQ(hd_module_compile(m, cpu), HD_OK); }
    for (int i = 0; i < 12; i++) {
      HdKernel *k;
      EXPECT_EQ(hd_module_kernel(m, ("k" + std::to_string(i)).c_str(), cpu, &k), HD_OK);
      EXPECT_FALSE(hd_kernel_from_cache(k));
      EXPECT_GT(hd_kernel_times(k).llvm_emit, 0);
    }
    if (at_once) { EXPECT_EQ(hd_module_compile(m, cpu), HD_OK); }
    hd_module_free(m);
    hd_context_free(c);
    for (const auto &e : std::filesystem::recursive_directory_iterator(other.path)) {
      if (!e.is_regular_file()) continue;
      std::ifstream in(e.path(), std::ios::binary);
      out.push_back(e.path().filename().string() + std::string(std::istreambuf_iterator<char>(in), {}));
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  std::vector<std::string> serial = objects(false), at_once = objects(true);
  EXPECT_GE(serial.size(), 12u);
  EXPECT_TRUE(serial == at_once);
}

TEST_F(Module, CompilesAllKernelsThatCanBeAndTellsOfTheFirstThatCannot) {
  HdModule *m = source("kernel a(f32 x[]) { x[tid()] = 1; }\n"
                       "@group(64) kernel b(i32 o[]) { if (tid() > 3) barrier(); o[tid()] = 1; }\n"
                       "kernel c(f32 x[]) { x[tid()] = 7; }\n"
                       "@group(64) kernel d(i32 o[]) { if (tid() > 5) barrier(); o[tid()] = 1; }\n"
                       "kernel e(f32 x[]) { x[tid()] = 8; }\n");
  HdKernel *k;
  std::string want;
  EXPECT_NE(hd_module_kernel(m, "b", cpu, &k), HD_OK);
  want = hd_context_error(ctx)->detail;
  for (int again = 0; again < 2; again++) {
    EXPECT_NE(hd_module_compile(m, cpu), HD_OK);
    EXPECT_EQ(want, hd_context_error(ctx)->detail);
    EXPECT_EQ(hd_context_error(ctx)->where.line, 2);
    EXPECT_STREQ(hd_context_error(ctx)->where.file, "test.hd");
    EXPECT_STREQ(hd_context_error(ctx)->call, "hd_module_compile");
  }
  log.clear();
  for (const char *name : {"a", "c", "e"}) EXPECT_EQ(hd_module_kernel(m, name, cpu, &k), HD_OK);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(hd_module_compile(nullptr, cpu), HD_ERR_ARG);
  expect_error(HD_ERR_DEVICE, hd_module_compile(m, {HD_DEVICE_CPU, 7}), "hd_module_compile", "device", "");
}

TEST_F(Module, CompilesAllKernelsForTheInterpreter) {
  HdModule *m = source(twelve());
  EXPECT_EQ(hd_module_compile(m, interp), HD_OK) << error();
}

TEST_F(Module, TellsWhereSourceIsWrong) {
  HdModule *m = nullptr;
  std::string text = "kernel k(f32 x[]) {\n  x[tid()] = y;\n}\n";
  HdStatus status = hd_module_load_source(ctx, "wrong.hd", text.data(), text.size(), nullptr, &m);
  expect_error(HD_ERR_SOURCE, status, "hd_module_load_source", "", "y");
  const HdError *e = hd_context_error(ctx);
  EXPECT_STREQ(e->where.file, "wrong.hd");
  EXPECT_EQ(e->where.line, 2);
  EXPECT_EQ(e->where.column, 14);
  std::string d = hd_context_diagnostics(ctx);
  EXPECT_NE(d.find("wrong.hd:2:14: error:"), std::string::npos) << d;
  EXPECT_NE(d.find("x[tid()] = y;"), std::string::npos) << d;
  EXPECT_EQ(m, nullptr);
  source(twice);
  EXPECT_STREQ(hd_context_diagnostics(ctx), "") << "they are those of the last module";
}

TEST_F(Module, TellsWhereIrIsWrong) {
  HdModule *m = nullptr;
  std::string text = "kernel @k(%x: array<f32, 1>) {\n  %i: i32 = tid 0\n  %p: ptr<f32> = index %y, %i\n  return\n}\n";
  HdStatus status = hd_module_load_ir(ctx, "wrong.ir", text.data(), text.size(), nullptr, &m);
  expect_error(HD_ERR_IR, status, "hd_module_load_ir", "", "y");
  EXPECT_STREQ(hd_context_error(ctx)->where.file, "wrong.ir");
  EXPECT_EQ(hd_context_error(ctx)->where.line, 3);
  text = "kernel @k(%a: i32) {\n  %b: f32 = add %a, %a\n  return\n}\n";
  EXPECT_EQ(hd_module_load_ir(ctx, "wrong.ir", text.data(), text.size(), nullptr, &m), HD_ERR_IR);
}

TEST_F(Module, NamesFilesItCannotRead) {
  HdModule *m = nullptr;
  expect_error(HD_ERR_IO, hd_module_load_file(ctx, "/nowhere/k.hd", nullptr, &m), "hd_module_load_file", "path",
               "'/nowhere/k.hd' could not be read: No such file");
  expect_error(HD_ERR_IO, hd_module_load_file(ctx, folder.path.c_str(), nullptr, &m), "hd_module_load_file", "path",
               "Is a directory");
  expect_error(HD_ERR_ARG, hd_module_load_file(ctx, nullptr, nullptr, &m), "hd_module_load_file", "path", "NULL");
}

TEST_F(Module, RefusesBadOptions) {
  HdModule *m = nullptr;
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  auto load = [&] { return hd_module_load_source(ctx, "t.hd", twice, strlen(twice), &o, &m); };
  o.width = 3;
  expect_error(HD_ERR_OPTION, load(), "hd_module_load_source", "options.width", "got 3");
  o.width = 0, o.opt_level = 9;
  expect_error(HD_ERR_OPTION, load(), "hd_module_load_source", "options.opt_level", "got 9");
  o.opt_level = 2, o.ndefines = 1;
  expect_error(HD_ERR_OPTION, load(), "hd_module_load_source", "options.defines", "1");
  HdDefine half = {"N", nullptr};
  o.defines = &half;
  expect_error(HD_ERR_OPTION, load(), "hd_module_load_source", "options.defines", "no value");
  o.ndefines = 0, o.target = "riscv";
  ASSERT_EQ(load(), HD_OK);
  modules.push_back(m);
  HdKernel *k = nullptr;
  HdStatus status = hd_module_kernel(m, "twice", cpu, &k);
  EXPECT_EQ(status, HD_ERR_TARGET) << error();
  o.target = "aarch64";
  ASSERT_EQ(load(), HD_OK);
  modules.push_back(m);
  expect_error(HD_ERR_TARGET, hd_module_kernel(m, "twice", cpu, &k), "hd_module_kernel", "options.target", "lacks");
}

TEST_F(Module, RunsAtAnyWidthAndLevel) {
  for (int width : {0, 1, 2, 4, 8, 16, 32}) {
    for (int level : {0, 2}) {
      HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
      o.width = width;
      o.opt_level = level;
      HdKernel *k = kernel(source(twice, &o), "twice", cpu);
      if (width) { EXPECT_EQ(hd_kernel_width(k), width); }
      EXPECT_EQ(run(k, cpu)[39], 78);
    }
  }
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.target = "x86-64-v2";
  EXPECT_EQ(run(kernel(source(twice, &o), "twice", cpu), cpu)[39], 78);
}

TEST_F(Module, DefinesConstants) {
  HdDefine n = {"N", "7"};
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.ndefines = 1;
  o.defines = &n;
  HdKernel *k = kernel(source("kernel k(f32 x[], const i32 N) { x[tid()] = f32(N); }", &o), "k", cpu);
  EXPECT_EQ(hd_kernel_param_count(k), 1) << "const parameters are gone";
  EXPECT_EQ(run(k, cpu)[3], 7);
}

// --- the cache ---

TEST_F(Module, IsFoundInTheCacheByTheNextProcess) {
  std::string path = folder.write("k.hd", twice);
  HdKernel *k = kernel(file(path), "twice", cpu);
  EXPECT_FALSE(hd_kernel_from_cache(k));
  EXPECT_GT(hd_kernel_times(k).llvm_emit, 0);
  auto first = run(k, cpu);
  EXPECT_EQ(entries(), 1u);
  reopen();
  HdModule *m = file(path);
  k = kernel(m, "twice", cpu);
  EXPECT_TRUE(hd_kernel_from_cache(k));
  EXPECT_EQ(hd_kernel_times(k).front, 0) << "the front end did not run";
  EXPECT_EQ(hd_kernel_times(k).llvm_emit, 0);
  EXPECT_EQ(run(k, cpu), first);
  EXPECT_EQ(run(kernel(m, "twice", interp), interp), first) << "the IR is made when it is wanted";
  const char *text;
  size_t size;
  EXPECT_EQ(hd_module_emit(m, nullptr, HD_EMIT_IR, nullptr, &text, &size), HD_OK) << error();
}

TEST_F(Module, CacheKeepsParametersAndStructs) {
  std::string path = folder.write(
      "k.hd", "struct P { vec3 x; i32 n; } kernel k(P p[,], f32 a, u8 out[]) { out[tid()] = u8(p[0, 0].n); }");
  auto describe = [&] {
    HdModule *m = file(path);
    HdKernel *k = kernel(m, "k", cpu);
    HdType p;
    EXPECT_EQ(hd_module_struct(m, "P", &p), HD_OK) << error();
    std::string r = std::to_string(p.size);
    for (int i = 0; i < hd_kernel_param_count(k); i++) {
      HdParam q = hd_kernel_param(k, i);
      char name[64];
      r += std::string(" ") + q.name + ":" + hd_type_name(q.type, name) + ":" + std::to_string(q.ndim) +
           (q.writes ? "w" : "");
    }
    return r;
  };
  std::string cold = describe();
  EXPECT_EQ(cold, "16 p:struct of 16 bytes:2 a:f32:0 out:u8:1w");
  reopen();
  EXPECT_EQ(describe(), cold);
}

TEST_F(Module, CacheSeesEveryChange) {
  auto cached = [&](const std::string &text, const HdModuleOptions *o) {
    HdKernel *k = kernel(source(text, o), "twice", cpu);
    return hd_kernel_from_cache(k);
  };
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  EXPECT_FALSE(cached(twice, &o));
  EXPECT_TRUE(cached(twice, &o));
  EXPECT_TRUE(cached(std::string("// a comment\n\n") + twice, &o)) << "the same IR is the same code";
  EXPECT_FALSE(cached("kernel twice(f32 x[]) { let i = tid(); x[i] = 3.0 * x[i]; }\n", &o));
  o.width = 4;
  EXPECT_FALSE(cached(twice, &o));
  o.width = 0, o.opt_level = 0;
  EXPECT_FALSE(cached(twice, &o));
  o.opt_level = 2, o.bounds = true;
  EXPECT_FALSE(cached(twice, &o));
  o.bounds = false, o.fast = true;
  EXPECT_FALSE(cached(twice, &o));
  o.fast = false, o.target = "x86-64-v2";
  EXPECT_FALSE(cached(twice, &o));
  o.target = nullptr;
  EXPECT_TRUE(cached(twice, &o));
}

TEST_F(Module, CacheFollowsImportedFiles) {
  std::string main = folder.write("main.hd", "import \"part.hd\";\nkernel k(f32 x[]) { x[tid()] = value(); }\n");
  std::string lib = folder.path + "/lib";
  mkdir(lib.c_str(), 0700);
  folder.write("lib/part.hd", "fn value() -> f32 { return 1.0; }\n");
  const char *paths[] = {lib.c_str()};
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.npaths = 1;
  o.paths = paths;
  auto value = [&] {
    float r = run(kernel(file(main, &o), "k", cpu), cpu)[0];
    reopen();
    return r;
  };
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(value(), 1);
  folder.write("lib/part.hd", "fn value() -> f32 { return 2.0; }\n");
  EXPECT_EQ(value(), 2) << "an imported file changed";
  folder.write("part.hd", "fn value() -> f32 { return 3.0; }\n");
  EXPECT_EQ(value(), 3) << "a file appeared that the import finds first";
  unlink((folder.path + "/part.hd").c_str());
  EXPECT_EQ(value(), 2) << "and it went";
}

TEST_F(Module, NoticesFilesThatChangeAfterLoading) {
  std::string main = folder.write("main.hd", "import \"part.hd\";\nkernel k(f32 x[]) { x[tid()] = value(); }\n");
  folder.write("part.hd", "fn value() -> f32 { return 1.0; }\n");
  file(main);
  reopen();
  HdModule *m = file(main); // known from the cache: the IR is not there
  folder.write("part.hd", "fn value() -> f32 { return 2.0; }\n");
  HdKernel *k = nullptr;
  expect_error(HD_ERR_SOURCE, hd_module_kernel(m, "k", cpu, &k), "hd_module_kernel", "", "changed since");
}

TEST_F(Module, SurvivesADamagedCache) {
  std::string path = folder.write("k.hd", twice);
  run(kernel(file(path), "twice", cpu), cpu);
  for (const char *damage : {"", "x"}) {
    reopen();
    for (auto &e : std::filesystem::directory_iterator(folder.path + "/cache")) {
      if (*damage)
        std::ofstream(e.path(), std::ios::app) << damage;
      else
        std::filesystem::resize_file(e.path(), 100);
    }
    HdKernel *k = kernel(file(path), "twice", cpu);
    EXPECT_FALSE(hd_kernel_from_cache(k));
    EXPECT_EQ(run(k, cpu)[5], 10);
  }
  reopen();
  EXPECT_TRUE(hd_kernel_from_cache(kernel(file(path), "twice", cpu))) << "it was written again";
}

TEST_F(Module, WorksWithoutACache) {
  close();
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  o.no_cache = true;
  ASSERT_EQ(hd_context_new(&o, &ctx), HD_OK);
  EXPECT_EQ(run(kernel(source(twice), "twice", cpu), cpu)[5], 10);
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/cache"));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Module, WarnsOnceWhereTheCacheCannotBeWritten) {
  close();
  std::string file_in_the_way = folder.write("cache", "not a folder");
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  std::vector<std::string> warnings;
  o.cache_dir = file_in_the_way.c_str();
  o.log = [](void *user, HdLogLevel level, const char *text) {
    if (level == HD_LOG_WARNING) static_cast<std::vector<std::string> *>(user)->push_back(text);
  };
  o.log_user = &warnings;
  ASSERT_EQ(hd_context_new(&o, &ctx), HD_OK);
  EXPECT_EQ(run(kernel(source(twice), "twice", cpu), cpu)[5], 10);
  source("kernel other() { }");
  EXPECT_EQ(warnings.size(), 1u);
  close();
}

TEST_F(Module, CacheCanBeListedAndCleared) {
  kernel(source("kernel a(f32 x[]) { x[tid()] = 1.0; } kernel b(f32 x[]) { x[tid()] = 2.0; }"), "a", cpu);
  std::vector<std::string> rows;
  auto list = [](void *user, const HdCacheEntry *e) {
    static_cast<std::vector<std::string> *>(user)->push_back(e->kernel);
    EXPECT_NE(std::string(e->target).find(" w"), std::string::npos) << e->target;
    EXPECT_GT(e->size, 100u);
    return true;
  };
  ASSERT_EQ(hd_cache_list(ctx, list, &rows), HD_OK);
  EXPECT_EQ(rows, std::vector<std::string>{"a"});
  expect_error(HD_ERR_ARG, hd_cache_list(ctx, nullptr, nullptr), "hd_cache_list", "visit", "NULL");
  int64_t removed = 0;
  ASSERT_EQ(hd_cache_clear(ctx, &removed), HD_OK);
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(entries(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path + "/cache"));
  EXPECT_EQ(hd_cache_clear(ctx, nullptr), HD_OK);
}

TEST_F(Module, TellsWhatTheCacheIsAskedFor) {
  auto fields = [&](const char *text, const HdModuleOptions *o = nullptr) {
    const char *f = "";
    EXPECT_EQ(hd_cache_fields(source(text, o), "twice", &f), HD_OK) << error();
    return std::string(f);
  };
  kernel(source(twice), "twice", cpu);
  std::string kept;
  auto keep = [](void *user, const HdCacheEntry *e) {
    *static_cast<std::string *>(user) = e->fields;
    return true;
  };
  ASSERT_EQ(hd_cache_list(ctx, keep, &kept), HD_OK);
  EXPECT_EQ(fields(twice), kept);
  EXPECT_NE(kept.find("\nkernel=twice\n"), std::string::npos) << kept;
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.width = 4;
  EXPECT_NE(fields(twice, &o).find("\nwidth=4\n"), std::string::npos);
  EXPECT_NE(fields("kernel twice(f32 x[]) { x[tid()] = 3.0; }"), kept);
  const char *f = nullptr;
  HdModule *m = source(twice);
  expect_error(HD_ERR_NOT_FOUND, hd_cache_fields(m, "thrice", &f), "hd_cache_fields", "name", "there are 'twice'");
  expect_error(HD_ERR_ARG, hd_cache_fields(m, nullptr, &f), "hd_cache_fields", "kernel", "NULL");
  expect_error(HD_ERR_ARG, hd_cache_fields(m, "twice", nullptr), "hd_cache_fields", "fields", "NULL");
  EXPECT_EQ(hd_cache_fields(nullptr, "twice", &f), HD_ERR_ARG);
}

TEST_F(Module, CacheCanBeVerified) {
  kernel(source(twice), "twice", cpu);
  std::vector<std::string> bad;
  int64_t whole = -1;
  auto note = [](void *user, const char *file, const char *why) {
    static_cast<std::vector<std::string> *>(user)->push_back(std::string(file) + " " + why);
    return true;
  };
  ASSERT_EQ(hd_cache_verify(ctx, note, &bad, &whole), HD_OK);
  EXPECT_EQ(whole, 2) << "the source's entry and the code's";
  for (auto &e : std::filesystem::directory_iterator(folder.path + "/cache"))
    if (e.path().extension() == ".code") std::filesystem::resize_file(e.path(), 99);
  ASSERT_EQ(hd_cache_verify(ctx, note, &bad, nullptr), HD_OK);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_NE(bad[0].find("damaged"), std::string::npos) << bad[0];
  expect_error(HD_ERR_ARG, hd_cache_verify(ctx, nullptr, nullptr, &whole), "hd_cache_verify", "visit", "NULL");
  EXPECT_EQ(hd_cache_verify(nullptr, note, &bad, &whole), HD_ERR_ARG);
}

// --- the stages ---

TEST_F(Module, ShowsItsStages) {
  HdModule *m = source(twice);
  const char *text = nullptr;
  size_t size = 0;
  auto emit = [&](HdEmit what, const char *target = nullptr) {
    EXPECT_EQ(hd_module_emit(m, nullptr, what, target, &text, &size), HD_OK) << error();
    EXPECT_EQ(text[size], 0);
    return std::string(text, size);
  };
  std::string plain = emit(HD_EMIT_IR), opt = emit(HD_EMIT_IR_OPT);
  EXPECT_NE(plain.find("kernel @twice("), std::string::npos) << plain;
  EXPECT_NE(opt.find("kernel @twice("), std::string::npos) << opt;
  EXPECT_NE(opt.find("affine 1"), std::string::npos) << opt;
  for (const std::string &again : {plain, opt}) {
    HdModule *back = ir(again);
    ASSERT_EQ(hd_module_emit(back, nullptr, HD_EMIT_IR, nullptr, &text, &size), HD_OK);
    if (&again == &plain) { EXPECT_EQ(std::string(text, size), again); }
    EXPECT_EQ(run(kernel(back, "twice", cpu), cpu)[7], 14);
  }
  EXPECT_NE(emit(HD_EMIT_LLVM).find("define"), std::string::npos);
  EXPECT_NE(emit(HD_EMIT_ASM).find("twice"), std::string::npos);
  EXPECT_NE(emit(HD_EMIT_ASM, "x86-64-v3").find("ymm"), std::string::npos);
  EXPECT_EQ(emit(HD_EMIT_OBJ).substr(0, 4), "\x7f"
                                            "ELF");
  EXPECT_NE(emit(HD_EMIT_ASM, "aarch64").find("ret"), std::string::npos);
}

TEST_F(Module, ShowsOneKernelOrAll) {
  HdModule *m = source("kernel a(f32 x[]) { x[tid()] = 1.0; } kernel b(f32 x[]) { x[tid()] = 2.0; }");
  const char *text = nullptr;
  size_t size = 0;
  for (HdEmit what : {HD_EMIT_IR, HD_EMIT_IR_OPT, HD_EMIT_LLVM, HD_EMIT_ASM}) {
    ASSERT_EQ(hd_module_emit(m, "b", what, nullptr, &text, &size), HD_OK) << error();
    std::string one(text, size);
    ASSERT_EQ(hd_module_emit(m, nullptr, what, nullptr, &text, &size), HD_OK) << error();
    EXPECT_GT(size, one.size() * 3 / 2) << what;
  }
  expect_error(HD_ERR_ARG, hd_module_emit(m, nullptr, HD_EMIT_OBJ, nullptr, &text, &size), "hd_module_emit", "kernel",
               "2 kernels");
  EXPECT_EQ(hd_module_emit(m, "a", HD_EMIT_OBJ, nullptr, &text, &size), HD_OK) << error();
  expect_error(HD_ERR_NOT_FOUND, hd_module_emit(m, "c", HD_EMIT_IR, nullptr, &text, &size), "hd_module_emit", "kernel",
               "'c'");
  EXPECT_EQ(hd_module_emit(m, "a", HD_EMIT_ASM, "vax", &text, &size), HD_ERR_TARGET) << error();
  expect_error(HD_ERR_ARG, hd_module_emit(m, "a", static_cast<HdEmit>(77), nullptr, &text, &size), "hd_module_emit",
               "what", "77");
  expect_error(HD_ERR_ARG, hd_module_emit(m, "a", HD_EMIT_IR, nullptr, nullptr, &size), "hd_module_emit", "data",
               "NULL");
}

} // namespace
