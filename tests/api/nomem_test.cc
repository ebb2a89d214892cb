// tests/api/nomem_test.cc -- every public call with its n-th allocation failing, for each n until it succeeds.
//
// A call may answer HD_OK or HD_ERR_NOMEM, nothing else. With the latter the record names the call, and the same call
// succeeds when memory is back. In the end the allocator has everything back.
#include <functional>
#include <map>

#include "api_fixture.h"
#include "heddle/algorithms.h"
#include "heddle/geometry.h"
#include "heddle/sim.h"
#include "heddle/sparse.h"

namespace {

// Counts what is out, and refuses.
struct Memory {
  static void *resize(void *user, void *p, size_t old_size, size_t new_size) {
    Memory *m = static_cast<Memory *>(user);
    if (new_size > old_size) {
      m->asked++;
      if (m->refuse_from && (m->for_good ? m->asked >= m->refuse_from : m->asked == m->refuse_from)) {
        m->refused++;
        return nullptr;
      }
    }
    if (p) {
      if (m->blocks.at(p) != old_size) m->wrong_sizes++;
      m->blocks.erase(p);
    }
    if (new_size == 0) {
      free(p);
      return nullptr;
    }
    // A new place each time, so that a stale pointer is found by AddressSanitizer.
    void *q = malloc(new_size);
    if (p) {
      memcpy(q, p, std::min(old_size, new_size));
      free(p);
    }
    m->blocks[q] = new_size;
    return q;
  }
  void refuse(int64_t n, bool good) { asked = refused = 0, refuse_from = n, for_good = good; }
  void allow() { refuse_from = 0; }

  HdAllocator allocator = {resize, this};
  int64_t asked = 0, refused = 0, refuse_from = 0, wrong_sizes = 0;
  bool for_good = false;
  std::map<void *, size_t> blocks;
};

class NoMemory : public testing::Test {
protected:
  void SetUp() override { open(folder.path + "/cache"); }
  void TearDown() override {
    hd_context_free(ctx);
    EXPECT_EQ(memory.blocks.size(), 0u) << "blocks that nobody gave back";
    EXPECT_EQ(memory.wrong_sizes, 0) << "blocks given back with another size";
  }

  void open(const std::string &cache) {
    HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
    o.allocator = &memory.allocator;
    o.threads = 2;
    o.cache_dir = cache.c_str();
    ASSERT_EQ(hd_context_new(&o, &ctx), HD_OK);
    ASSERT_EQ(hd_device_find(ctx, "cpu", &cpu), HD_OK);
    ASSERT_EQ(hd_device_find(ctx, "interp", &interp), HD_OK);
  }
  void reopen(const std::string &cache) {
    hd_context_free(ctx);
    ASSERT_EQ(memory.blocks.size(), 0u);
    open(cache);
  }
  std::string error() const {
    char text[1400];
    return hd_error_format(hd_context_error(ctx), text, sizeof text);
  }

  // Run `call` with its 1st, 2nd, .. allocation failing, once alone and once with all that follow; `undo` ends what a call
  // that succeeded has made, `failed` one that did not. Returns the number of allocations.
  int64_t each(
      const char *name, const std::function<HdStatus()> &call, const std::function<void()> &undo = [] {},
      const std::function<void()> &failed = [] {}) {
    int64_t n = 0;
    for (bool for_good : {true, false}) {
      for (n = 1;; n++) {
        memory.refuse(n, for_good);
        HdStatus status = call();
        memory.allow();
        if (status == HD_OK) {
          undo();
          if (!memory.refused) break;
          continue;
        }
        const HdError *e = hd_context_error(ctx);
        EXPECT_EQ(status, HD_ERR_NOMEM) << n << ": " << error();
        EXPECT_EQ(e->status, status) << n;
        EXPECT_GT(memory.refused, 0) << n << ": " << error();
        EXPECT_TRUE(e->call && std::string(e->call).compare(0, 3, "hd_") == 0) << n;
        EXPECT_TRUE(e->detail[0] && e->remedy && *e->remedy) << n;
        if (*name) { EXPECT_STREQ(e->call, name); }
        failed();
        if (HasFailure() || n > 5000) {
          ADD_FAILURE() << name << ", allocation " << n << (for_good ? " and all after it" : " alone");
          return n;
        }
      }
      EXPECT_EQ(call(), HD_OK) << error();
      undo();
    }
    return n - 1;
  }

  Folder folder;
  Memory memory;
  HdContext *ctx = nullptr;
  HdDevice cpu, interp;
  HdType f32 = hd_type_scalar(HD_F32);
};

const char *const source = R"(
import "part.hd";
struct Body { vec3 x; f32 m; }
kernel twice(f32 x[]) { let i = tid(); x[i] = scale() * x[i] + sin(0.0); }
kernel bodies(Body b[], i32 n) { for (i in 0..n) { if (b[i].m > 1.0) { b[i].x = normalize(b[i].x); } } }
)";

TEST_F(NoMemory, OfAContext) {
  hd_context_free(ctx);
  ctx = nullptr;
  std::string dir = folder.path + "/cache";
  HdContextOptions o = HD_CONTEXT_OPTIONS_INIT;
  o.allocator = &memory.allocator;
  o.threads = 3;
  o.cache_dir = dir.c_str();
  int64_t n = 1;
  for (;; n++) {
    HdContext *c = nullptr;
    memory.refuse(n, false);
    HdStatus status = hd_context_new(&o, &c);
    memory.allow();
    hd_context_free(c);
    EXPECT_TRUE(memory.blocks.empty()) << n;
    if (status == HD_OK) break;
    EXPECT_EQ(status, HD_ERR_NOMEM);
    EXPECT_EQ(c, nullptr);
  }
  EXPECT_GT(n, 2);
}

TEST_F(NoMemory, OfDevicesArraysAndStreams) {
  HdDeviceInfo info;
  each("hd_device_info", [&] { return hd_device_info(ctx, cpu, &info); });
  HdArray a, b;
  int64_t n[2] = {30, 7};
  auto free_a = [&] { hd_array_free(ctx, &a); };
  each("hd_array_new", [&] { return hd_array_new(ctx, cpu, f32, 2, n, &a); }, free_a);
  int64_t large = 20 << 20; // of a size that no pool keeps
  EXPECT_GT(each("hd_array_new", [&] { return hd_array_new(ctx, cpu, f32, 1, &large, &a); }, free_a), 0);
  each("hd_array_zeros", [&] { return hd_array_zeros(ctx, interp, f32, 2, n, &a); }, free_a);
  ASSERT_EQ(hd_array_zeros(ctx, cpu, f32, 2, n, &a), HD_OK);
  ASSERT_EQ(hd_array_zeros(ctx, cpu, f32, 2, n, &b), HD_OK);
  for (HdStreamMode mode : {HD_STREAM_SYNC, HD_STREAM_ASYNC}) {
    HdStream *s = nullptr;
    EXPECT_GT(each("hd_stream_new", [&] { return hd_stream_new(ctx, cpu, mode, &s); }, [&] { hd_stream_free(s); }), 0);
    ASSERT_EQ(hd_stream_new(ctx, cpu, mode, &s), HD_OK);
    HdArray on = {};
    const int64_t some = 3;
    EXPECT_GT(each(
                  "hd_array_new_on",
                  [&] {
                    hd_device_trim(ctx, cpu, 0);
                    return hd_array_new_on(s, f32, 1, &some, &on);
                  },
                  [&] { EXPECT_EQ(hd_array_free_on(s, &on), HD_OK); }),
              0);
    EXPECT_EQ(each("hd_array_copy", [&] { return hd_array_copy(s, a, b); }), 0);
    EXPECT_EQ(each("hd_array_clear", [&] { return hd_array_clear(s, b); }), 0);
    EXPECT_EQ(each("hd_stream_wait", [&] { return hd_stream_wait(s); }), 0);
    hd_stream_free(s);
  }
  hd_array_free(ctx, &a);
  hd_array_free(ctx, &b);
}

TEST_F(NoMemory, OfEventsAndGraphs) {
  HdEvent *e = nullptr;
  EXPECT_GT(each("hd_event_new", [&] { return hd_event_new(ctx, cpu, &e); }, [&] { hd_event_free(e); }), 0);
  HdStream *s = nullptr;
  HdGraph *g = nullptr;
  HdArray a;
  int64_t n = 10;
  ASSERT_EQ(hd_array_zeros(ctx, cpu, f32, 1, &n, &a), HD_OK);
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK);
  auto drop = [&] {
    ASSERT_EQ(hd_graph_end(s, &g), HD_OK);
    hd_graph_free(g);
  };
  EXPECT_GT(each("hd_graph_begin", [&] { return hd_graph_begin(s); }, drop), 0);
  {
    EXPECT_EQ(hd_graph_begin(s), HD_OK);
    memory.refuse(1, true);
    HdStatus kept = hd_array_clear(s, a);
    memory.allow();
    EXPECT_EQ(kept, HD_ERR_NOMEM);
    EXPECT_EQ(hd_graph_end(s, &g), HD_ERR_NOMEM) << "a graph that lacks something is none";
    EXPECT_EQ(hd_array_clear(s, a), HD_OK) << "the stream is as before";
  }
  ASSERT_EQ(hd_graph_begin(s), HD_OK);
  memory.refuse(1, true);
  HdStatus ended = hd_graph_end(s, &g);
  memory.allow();
  EXPECT_EQ(ended, HD_ERR_NOMEM) << error();
  hd_stream_free(s);
  hd_array_free(ctx, &a);
}

TEST_F(NoMemory, OfArraysGivesBackWhatIsKeptFirst) {
  // The pool keeps freed blocks of other sizes; when the allocator has no more they go before the call fails.
  HdArray a, b;
  int64_t small = 100, large = 1000;
  ASSERT_EQ(hd_array_new(ctx, cpu, f32, 1, &small, &a), HD_OK);
  hd_array_free(ctx, &a);
  size_t kept = memory.blocks.size();
  memory.refuse(1, false);
  EXPECT_EQ(hd_array_new(ctx, cpu, f32, 1, &large, &b), HD_OK);
  memory.allow();
  EXPECT_EQ(memory.blocks.size(), kept);
  hd_array_free(ctx, &b);
}

TEST_F(NoMemory, OfModules) {
  std::string path = folder.write("k.hd", source);
  folder.write("part.hd", "fn scale() -> f32 { return 2.0; }\n");
  HdDefine define = {"N", "3"};
  const char *paths[] = {folder.path.c_str()};
  HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
  o.ndefines = 1, o.defines = &define, o.npaths = 1, o.paths = paths;
  std::string more = std::string(source) + "const i32 N = 1;\n";
  HdModule *m = nullptr;
  auto end = [&] { hd_module_free(m); };
  EXPECT_GT(each("hd_module_load_file", [&] { return hd_module_load_file(ctx, path.c_str(), nullptr, &m); }, end), 0);
  reopen(""); // no cache: the front end runs each time
  EXPECT_GT(each("hd_module_load_file", [&] { return hd_module_load_file(ctx, path.c_str(), nullptr, &m); }, end), 0);
  EXPECT_GT(each(
                "hd_module_load_source",
                [&] { return hd_module_load_source(ctx, "k.hd", more.data(), more.size(), &o, &m); }, end),
            0);
  ASSERT_EQ(hd_module_load_file(ctx, path.c_str(), nullptr, &m), HD_OK);
  const char *data;
  size_t size;
  ASSERT_EQ(hd_module_emit(m, nullptr, HD_EMIT_IR, nullptr, &data, &size), HD_OK);
  std::string ir(data, size);
  hd_module_free(m);
  EXPECT_GT(
      each("hd_module_load_ir", [&] { return hd_module_load_ir(ctx, "k.ir", ir.data(), ir.size(), &o, &m); }, end), 0);
}

TEST_F(NoMemory, OfDiagnostics) {
  // A module that does not compile is HD_ERR_SOURCE with all diagnostics, or HD_ERR_NOMEM.
  std::string wrong = "kernel k(f32 x[]) { x[tid()] = yy; undefined(); let z = 1 + true; }\n";
  for (int64_t n = 1;; n++) {
    HdModule *m = nullptr;
    memory.refuse(n, true);
    HdStatus status = hd_module_load_source(ctx, "w.hd", wrong.data(), wrong.size(), nullptr, &m);
    memory.allow();
    EXPECT_EQ(m, nullptr);
    if (!memory.refused) {
      EXPECT_EQ(status, HD_ERR_SOURCE);
      EXPECT_NE(std::string(hd_context_diagnostics(ctx)).find("undefined"), std::string::npos);
      break;
    }
    ASSERT_EQ(status, HD_ERR_NOMEM) << n << error();
  }
}

TEST_F(NoMemory, OfKernelsThatAreCompiled) {
  folder.write("part.hd", "fn scale() -> f32 { return 2.0; }\n");
  std::string path = folder.write("k.hd", source);
  HdModule *m = nullptr;
  for (HdDevice device : {cpu, interp}) {
    reopen("");
    // The module remembers what it has made, so each try is a new one.
    auto call = [&] {
      int64_t n = memory.refuse_from;
      memory.allow();
      EXPECT_EQ(hd_module_load_file(ctx, path.c_str(), nullptr, &m), HD_OK) << error();
      memory.refuse(n, memory.for_good);
      HdKernel *k = nullptr;
      return hd_module_kernel(m, "bodies", device, &k);
    };
    auto again = [&] {
      HdKernel *k = nullptr;
      EXPECT_EQ(hd_module_kernel(m, "bodies", device, &k), HD_OK) << "the same module can be asked again: " << error();
      hd_module_free(m);
    };
    EXPECT_GT(each("hd_module_kernel", call, [&] { hd_module_free(m); }, again), 1);
  }
}

TEST_F(NoMemory, OfKernelsInTheCache) {
  folder.write("part.hd", "fn scale() -> f32 { return 2.0; }\n");
  std::string path = folder.write("k.hd", source);
  HdModule *m = nullptr;
  HdKernel *k = nullptr;
  ASSERT_EQ(hd_module_load_file(ctx, path.c_str(), nullptr, &m), HD_OK) << error();
  ASSERT_EQ(hd_module_kernel(m, "twice", cpu, &k), HD_OK) << error();
  hd_module_free(m);
  auto call = [&]() -> HdStatus {
    HdStatus status = hd_module_load_file(ctx, path.c_str(), nullptr, &m);
    if (status != HD_OK) return status;
    status = hd_module_kernel(m, "twice", cpu, &k);
    if (status == HD_OK) return status;
    hd_module_free(m);
    return status;
  };
  EXPECT_GT(each("", call, [&] { hd_module_free(m); }), 1);
  auto count = [](void *n, const HdCacheEntry *) { return ++*static_cast<int *>(n) > 0; };
  int entries = 0;
  EXPECT_GT(each("hd_cache_list", [&] { return hd_cache_list(ctx, count, &entries); }), 0);
  auto bad = [](void *, const char *, const char *) { return true; };
  int64_t whole;
  EXPECT_GT(each("hd_cache_verify", [&] { return hd_cache_verify(ctx, bad, nullptr, &whole); }), 0);
  each("hd_cache_clear", [&] { return hd_cache_clear(ctx, nullptr); });
}

TEST_F(NoMemory, OfLaunches) {
  HdModule *m = nullptr;
  ASSERT_EQ(hd_module_load_source(ctx, "t", "kernel t(f32 x[]) { x[tid()] = 1.0; }", 38, nullptr, &m), HD_ERR_SOURCE)
      << "the size counts";
  const char *text = "kernel t(f32 x[]) { let i = tid(); x[i] = x[i] + sin(0.0); }";
  ASSERT_EQ(hd_module_load_source(ctx, "t", text, strlen(text), nullptr, &m), HD_OK) << error();
  for (HdDevice device : {cpu, interp}) {
    HdKernel *k = nullptr;
    HdStream *s = nullptr;
    HdArray a, gaps;
    int64_t n = 100, half = 50;
    ASSERT_EQ(hd_module_kernel(m, "t", device, &k), HD_OK) << error();
    ASSERT_EQ(hd_stream_new(ctx, device, HD_STREAM_SYNC, &s), HD_OK);
    ASSERT_EQ(hd_array_zeros(ctx, device, f32, 1, &n, &a), HD_OK);
    ASSERT_EQ(hd_array_slice(ctx, a, 0, 0, n, 2, &gaps), HD_OK);
    HdArg arg = hd_arg_array(&a), gap = hd_arg_array(&gaps);
    int64_t dense = each("hd_launch", [&] { return hd_launch(k, s, 1, &n, 1, &arg); });
    int64_t first = each("hd_launch", [&] { return hd_launch(k, s, 1, &half, 1, &gap); });
    EXPECT_EQ(dense == 0, device.kind == HD_DEVICE_CPU) << "a launch of machine code allocates nothing";
    EXPECT_EQ(first == 0, device.kind == HD_DEVICE_CPU) << "made by the failing launches' last";
    hd_array_free(ctx, &a);
    hd_stream_free(s);
  }
  hd_module_free(m);
}

TEST_F(NoMemory, OfAKernelForArraysWithGaps) {
  reopen("");
  const char *text = "kernel t(f32 x[]) { x[tid()] = 1.0; }";
  HdModule *m = nullptr;
  HdStream *s = nullptr;
  HdArray a, gaps;
  int64_t n = 100, half = 50;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK);
  ASSERT_EQ(hd_array_zeros(ctx, cpu, f32, 1, &n, &a), HD_OK);
  ASSERT_EQ(hd_array_slice(ctx, a, 0, 0, n, 2, &gaps), HD_OK);
  HdArg arg = hd_arg_array(&gaps);
  for (int64_t i = 1;; i++) {
    HdKernel *k = nullptr;
    ASSERT_EQ(hd_module_load_source(ctx, "t", text, strlen(text), nullptr, &m), HD_OK) << error();
    ASSERT_EQ(hd_module_kernel(m, "t", cpu, &k), HD_OK) << error();
    memory.refuse(i, false);
    HdStatus status = hd_launch(k, s, 1, &half, 1, &arg);
    memory.allow();
    bool refused = memory.refused > 0;
    EXPECT_EQ(status, refused ? HD_ERR_NOMEM : HD_OK) << error();
    if (status != HD_OK) { EXPECT_STREQ(hd_context_error(ctx)->call, "hd_launch"); }
    EXPECT_EQ(hd_launch(k, s, 1, &half, 1, &arg), HD_OK) << error();
    EXPECT_EQ(static_cast<float *>(a.data)[98], 1);
    hd_module_free(m);
    if (!refused) break;
    ASSERT_LT(i, 1000);
  }
  hd_array_free(ctx, &a);
  hd_stream_free(s);
}

TEST_F(NoMemory, OfStages) {
  const char *text = "kernel t(f32 x[]) { x[tid()] = x[tid()] / 3.0; }";
  HdModule *m = nullptr;
  const char *data;
  size_t size;
  reopen("");
  ASSERT_EQ(hd_module_load_source(ctx, "t", text, strlen(text), nullptr, &m), HD_OK) << error();
  for (HdEmit what : {HD_EMIT_IR, HD_EMIT_IR_OPT, HD_EMIT_LLVM, HD_EMIT_ASM, HD_EMIT_OBJ})
    EXPECT_GT(each("hd_module_emit", [&] { return hd_module_emit(m, nullptr, what, nullptr, &data, &size); }), 0)
        << what;
  EXPECT_EQ(data[size], 0);
  const char *fields;
  each("hd_cache_fields", [&] { return hd_cache_fields(m, "t", &fields); });
  hd_module_free(m);
}

// All kinds of things that the builder makes.
HdStatus build(HdContext *ctx, HdModule **m) {
  HdBuilder *b = nullptr;
  HdStatus status = hd_builder_new(ctx, "built", &b);
  if (status != HD_OK) return status;
  hd_build_at(b, "front.x", 3, 1);
  const HdIrType *f = hd_build_type(b, hd_type_scalar(HD_F32)), *i32 = hd_build_type(b, hd_type_scalar(HD_I32));
  const HdIrType *v = hd_build_type(b, hd_type_vec(HD_F32, 3));
  const HdIrType *parts[] = {v, f};
  const char *names[] = {"x", "m"};
  const HdIrType *body = hd_build_struct(b, "Body", 2, names, parts), *two = hd_build_fixed(b, f, 2);
  hd_build_function(b, "half", 1, &f, names, 1, &f);
  HdIrValue *half = hd_build_op2(b, HD_OP_MUL, hd_build_param(b, 0), hd_build_float(b, HD_F32, 0.5));
  hd_build_return(b, 1, &half);
  hd_build_end(b);
  const HdIrType *params[] = {hd_build_array(b, body, 1), hd_build_array(b, i32, 1)};
  hd_build_kernel(b, "k", 2, params, nullptr);
  HdIrValue *bodies = hd_build_param(b, 0), *count = hd_build_param(b, 1), *at = hd_build_tid(b, 0);
  HdIrValue *p = hd_build_index(b, bodies, 1, &at), *all = hd_build_load(b, p), *x = hd_build_extract(b, all, 0);
  HdIrValue *length = hd_build_call(b, "length", 1, &x), *called = hd_build_call(b, "half", 1, &length);
  hd_build_assert(b, hd_build_op2(b, HD_OP_LT, at, hd_build_dim(b, 0)), "inside");
  HdIrValue *local = hd_build_alloca(b, two), *zero = hd_build_int(b, HD_I32, 0);
  hd_build_store(b, hd_build_elem(b, local, zero), called);
  hd_build_loop(b, 1, &zero, 1, &i32);
  HdIrValue *i = hd_build_carried(b, 0), *next = hd_build_op2(b, HD_OP_ADD, i, hd_build_int(b, HD_I32, 1));
  hd_build_if(b, hd_build_op2(b, HD_OP_GE, i, hd_build_length(b, count, 0)), 0, nullptr);
  hd_build_break(b, 1, &i);
  hd_build_close(b);
  hd_build_continue(b, 1, &next);
  hd_build_close(b);
  HdIrValue *n = hd_build_result(b, 0), *f_n = hd_build_convert(b, f, n), *bits = hd_build_bitcast(b, i32, f_n);
  HdIrValue *three[] = {called, f_n, called}, *made = hd_build_make(b, v, 3, three);
  made = hd_build_insert(b, made, 1, hd_build_extract_at(b, made, zero));
  made = hd_build_insert_at(b, made, zero, hd_build_load(b, hd_build_elem(b, local, zero)));
  hd_build_store(b, hd_build_member(b, p, 0), made);
  hd_build_if(b, hd_build_bool(b, true), 1, &i32);
  hd_build_yield(b, 1, &bits);
  hd_build_else(b);
  hd_build_yield(b, 1, &zero);
  hd_build_close(b);
  hd_build_atomic(b, HD_OP_ATOMIC_ADD, hd_build_index(b, count, 1, &zero), hd_build_result(b, 0), nullptr);
  hd_build_return(b, 0, nullptr);
  hd_build_end(b);
  status = hd_builder_finish(b, nullptr, m);
  hd_builder_free(b);
  return status;
}

TEST_F(NoMemory, OfTheBuilder) {
  HdModule *m = nullptr;
  EXPECT_GT(each("", [&] { return build(ctx, &m); }, [&] { hd_module_free(m); }), 3);
}

TEST_F(NoMemory, OfTheBuildersEnd) {
  // hd_builder_finish can be called again when there is memory.
  HdBuilder *b = nullptr;
  ASSERT_EQ(hd_builder_new(ctx, "built", &b), HD_OK);
  hd_build_kernel(b, "k", 0, nullptr, nullptr);
  hd_build_return(b, 0, nullptr);
  hd_build_end(b);
  HdModule *m = nullptr;
  EXPECT_GT(
      each("hd_builder_finish", [&] { return hd_builder_finish(b, nullptr, &m); }, [&] { hd_module_free(m); }), 0);
  hd_builder_free(b);
}

TEST_F(NoMemory, OfSimulations) {
  HdStream *s = nullptr;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK);
  HdSimParticles *p = nullptr;
  HdSimCloth *c = nullptr;
  HdSimRender *r = nullptr;
  float x[6] = {0, 1, 0, 0.5f, 1, 0};
  HdSimClothOptions small = HD_SIM_CLOTH_OPTIONS_INIT;
  small.rows = small.cols = 4;
  auto particles = [&] { return hd_sim_particles_new(ctx, s, nullptr, 2, x, &p); };
  auto cloth = [&] { return hd_sim_cloth_new(ctx, s, &small, &c); };
  auto render = [&] { return hd_sim_render_new(ctx, s, 16, 16, &r); };
  // With their kernels in the cache, for compiling is tested above.
  ASSERT_EQ(particles(), HD_OK) << error();
  hd_sim_particles_free(p);
  ASSERT_EQ(cloth(), HD_OK) << error();
  hd_sim_cloth_free(c);
  ASSERT_EQ(render(), HD_OK) << error();
  hd_sim_render_free(r);
  EXPECT_GT(each("", particles, [&] { hd_sim_particles_free(p); }), 10);
  EXPECT_GT(each("", cloth, [&] { hd_sim_cloth_free(c); }), 10);
  EXPECT_GT(each("", render, [&] { hd_sim_render_free(r); }), 10);
  ASSERT_EQ(particles(), HD_OK);
  ASSERT_EQ(cloth(), HD_OK);
  ASSERT_EQ(render(), HD_OK);
  HdSimCamera camera = {{0, 1, 4}, {0, 1, 0}, 40};
  HdArray out;
  double energy;
  float stretch;
  each("", [&] { return hd_sim_particles_step(p, 1e-4f, 1); });
  each("", [&] { return hd_sim_particles_energy(p, &energy); });
  each("", [&] { return hd_sim_cloth_step(c, 1e-3f); });
  each("", [&] { return hd_sim_cloth_pin(c, 0, 0, true); });
  each("", [&] { return hd_sim_cloth_normals(c, &out); });
  each("", [&] { return hd_sim_cloth_max_stretch(c, &stretch); });
  each("", [&] { return hd_sim_render_particles(r, &camera, p); });
  each("", [&] { return hd_sim_render_cloth(r, &camera, c); });
  each("", [&] { return hd_sim_render_scene(r, &camera, 0, 1); });
  each("", [&] { return hd_sim_render_picture(r, &out); });
  hd_sim_render_free(r);
  hd_sim_cloth_free(c);
  hd_sim_particles_free(p);
  hd_stream_free(s);
}

TEST_F(NoMemory, OfGeometry) {
  HdStream *s = nullptr;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK);
  const int64_t npoints = 4, nfaces = 4;
  float x[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  int32_t f[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  HdArray points, faces;
  ASSERT_EQ(hd_array_borrow(ctx, cpu, hd_type_vec(HD_F32, 3), 1, &npoints, nullptr, x, &points), HD_OK);
  ASSERT_EQ(hd_array_borrow(ctx, cpu, hd_type_vec(HD_I32, 3), 1, &nfaces, nullptr, f, &faces), HD_OK);
  HdBvh *b = nullptr;
  HdMesh *m = nullptr;
  HdHashGrid *g = nullptr;
  HdBvhOptions sorted = HD_BVH_OPTIONS_INIT;
  sorted.builder = HD_BVH_MORTON;
  sorted.leaf = 1;
  HdBvhOptions host = HD_BVH_OPTIONS_INIT;
  HdHashGridOptions small = HD_HASH_GRID_OPTIONS_INIT;
  small.dims[0] = small.dims[1] = small.dims[2] = 4;
  auto mesh = [&] { return hd_mesh_new(ctx, s, nullptr, points, faces, &m); };
  auto grid = [&] {
    HdStatus status = hd_hash_grid_new(ctx, s, &small, &g);
    if (status == HD_OK && (status = hd_hash_grid_build(g, points)) != HD_OK) hd_hash_grid_free(g);
    return status;
  };
  auto with = [&](const HdBvhOptions *o) {
    auto tree = [&, o] { return hd_bvh_new(ctx, s, o, points, points, &b); };
    ASSERT_EQ(tree(), HD_OK) << error(); // its kernels are in the cache now
    hd_bvh_free(b);
    EXPECT_GT(each("", tree, [&] { hd_bvh_free(b); }), 10);
    ASSERT_EQ(tree(), HD_OK);
    HdArray two = points;
    two.length[0] = 2;
    bool less = false;
    each("", [&] { return hd_bvh_rebuild(b, less ? points : two, less ? points : two); }, [&] { less = !less; });
    hd_bvh_free(b);
  };
  with(&host);
  with(&sorted);
  ASSERT_EQ(mesh(), HD_OK) << error();
  hd_mesh_free(m);
  EXPECT_GT(each("", mesh, [&] { hd_mesh_free(m); }), 20);
  HdDenseGrid field = {};
  const int64_t four[3] = {4, 4, 4};
  const float origin[3] = {0, 0, 0}, spacing[3] = {1, 1, 1};
  auto dense = [&] { return hd_dense_grid_new(ctx, cpu, four, origin, spacing, &field); };
  each("", dense, [&] { hd_dense_grid_free(ctx, &field); });
  ASSERT_EQ(dense(), HD_OK);
  auto distances = [&] {
    HdStatus status = mesh();
    if (status == HD_OK && (status = hd_mesh_distances(m, nullptr, &field)) != HD_OK) hd_mesh_free(m);
    return status;
  };
  ASSERT_EQ(distances(), HD_OK) << error();
  hd_mesh_free(m);
  EXPECT_GT(each("", distances, [&] { hd_mesh_free(m); }), 25);
  HdSurface *surface = nullptr;
  auto level = [&] {
    HdStatus status = hd_surface_new(ctx, s, &surface);
    static_cast<float *>(field.values.data)[21] = -1;
    if (status == HD_OK && (status = hd_surface_extract(surface, &field, -0.5f)) != HD_OK) hd_surface_free(surface);
    return status;
  };
  ASSERT_EQ(level(), HD_OK) << error();
  EXPECT_EQ(hd_array_count(hd_surface_faces(surface)), 8);
  hd_surface_free(surface);
  EXPECT_GT(each("", level, [&] { hd_surface_free(surface); }), 10);
  hd_dense_grid_free(ctx, &field);
  HdVolume *volume = nullptr;
  auto sparse = [&] { return hd_volume_new(ctx, s, nullptr, points, &volume); };
  ASSERT_EQ(sparse(), HD_OK) << error();
  std::string path = folder.path + "/x.nvdb";
  for (bool zip : {false, true}) {
    EXPECT_GT(each("hd_volume_save", [&] { return hd_volume_save(volume, path.c_str(), zip); }), 1);
    HdVolume *read = nullptr;
    auto load = [&] { return hd_volume_load(ctx, s, path.c_str(), nullptr, &read); };
    EXPECT_GT(each("", load, [&] { hd_volume_free(read); }), 1);
  }
  hd_volume_free(volume);
  EXPECT_GT(each("", sparse, [&] { hd_volume_free(volume); }), 10);
  ASSERT_EQ(grid(), HD_OK) << error();
  hd_hash_grid_free(g);
  EXPECT_GT(each("", grid, [&] { hd_hash_grid_free(g); }), 10);
  hd_stream_free(s);
}

TEST_F(NoMemory, OfAlgorithms) {
  HdStream *s = nullptr;
  ASSERT_EQ(hd_stream_new(ctx, cpu, HD_STREAM_SYNC, &s), HD_OK);
  const int64_t n = 3000, one = 1, three = 3;
  HdType i32 = hd_type_scalar(HD_I32);
  HdArray keys, values, runs, lengths, count, place, row, b, x, block;
  for (HdArray *a : {&keys, &values, &runs, &lengths}) ASSERT_EQ(hd_array_zeros(ctx, cpu, i32, 1, &n, a), HD_OK);
  for (HdArray *a : {&count, &place}) ASSERT_EQ(hd_array_zeros(ctx, cpu, i32, 1, &one, a), HD_OK);
  ASSERT_EQ(hd_array_zeros(ctx, cpu, i32, 1, &three, &row), HD_OK);
  for (HdArray *a : {&b, &x, &block}) ASSERT_EQ(hd_array_zeros(ctx, cpu, f32, 1, &three, a), HD_OK);
  for (int k = 0; k < 3; k++) {
    static_cast<int32_t *>(row.data)[k] = k;
    static_cast<float *>(block.data)[k] = static_cast<float *>(b.data)[k] = float(k + 1);
  }
  // Each with an object of its own, which has no kernels and no memory yet.
  auto with = [&](const std::function<HdStatus(HdAlgorithms *)> &call) {
    auto whole = [&] {
      HdAlgorithms *a = nullptr;
      HdStatus status = hd_algorithms_new(ctx, s, nullptr, &a);
      if (status == HD_OK) status = call(a);
      hd_algorithms_free(a);
      return status;
    };
    ASSERT_EQ(whole(), HD_OK) << error(); // the kernels are in the cache from here on
    EXPECT_GT(each("", whole), 5);
  };
  with([&](HdAlgorithms *a) { return hd_sort_pairs(a, keys, values, nullptr); });
  with([&](HdAlgorithms *a) { return hd_sort_segments(a, row, keys, &values, nullptr); });
  with([&](HdAlgorithms *a) { return hd_reduce(a, HD_REDUCE_ARGMAX, keys, place); });
  with([&](HdAlgorithms *a) { return hd_run_lengths(a, keys, runs, lengths, count); });
  with([&](HdAlgorithms *a) {
    HdSparse *m = nullptr, *twice = nullptr, *product = nullptr;
    HdStatus status = hd_sparse_new(a, 3, 3, 1, row, row, block, &m);
    if (status == HD_OK) status = hd_sparse_add(1, m, 1, m, &twice);
    if (status == HD_OK) status = hd_sparse_multiply(m, twice, &product);
    if (status == HD_OK) status = hd_solve_gmres(a, hd_sparse_operator(product), b, x, nullptr, nullptr);
    for (HdSparse *each : {m, twice, product}) hd_sparse_free(each);
    return status;
  });
  for (HdArray *a : {&keys, &values, &runs, &lengths, &count, &place, &row, &b, &x, &block}) hd_array_free(ctx, a);
  hd_stream_free(s);
}

} // namespace
