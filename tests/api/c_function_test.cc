// tests/api/c_function_test.cc -- a program's own functions in kernels: given, missing, mistaken, and in the cache.
#include <atomic>

#include "api_fixture.h"

namespace {

extern "C" {
static float half_of(float x) { return x * 0.5f; }
static float third_of(float x) { return x / 3.0f; }
static float length_of(const float v[3]) { return v[0] + v[1] + v[2]; }
static std::atomic<int> seen;
static void note(int32_t i) { seen += i; }
struct View {
  float *data;
  int64_t length, stride;
};
static float raise(const View *v, int32_t i) {
  v->data[i * v->stride] += 100;
  return (float)v->length;
}
}

template <class F> HdCFunction C(const char *signature, F f) { return {signature, (void (*)(void))f}; }

const char kSource[] = R"(
extern fn scale(f32 x) -> f32;
@pure extern fn length_of(vec3 v) -> f32;
extern fn note(i32 i);
extern fn raise(f32 x[], i32 i) -> f32;
kernel k(f32 x[], f32 y[], vec3 v[]) {
  let i = tid();
  y[i] = scale(x[i]) + length_of(v[i]);
  if (i % 2 == 0) note(i);
  if (i == 3) y[i] = raise(x, i);
}
kernel plain(f32 x[]) { x[tid()] += 1; }
)";

struct CFunction : Api {
  std::vector<HdCFunction> functions = {C("scale(f32) -> f32", half_of), C("length_of( vec<f32,3> )->f32", length_of),
                                        C("note(i32)", note), C("raise(array<f32, 1>, i32) -> f32", raise)};
  HdModuleOptions Options() {
    HdModuleOptions o = HD_MODULE_OPTIONS_INIT;
    o.nfunctions = (int32_t)functions.size();
    o.functions = functions.data();
    return o;
  }
  HdModule *Load(const std::string &text = kSource) {
    HdModuleOptions o = Options();
    return source(text, &o);
  }
  std::vector<float> Run(HdModule *m, HdDevice device, bool *cached = nullptr) {
    HdKernel *k = kernel(m, "k", device);
    if (!k) return {};
    if (cached) *cached = hd_kernel_from_cache(k);
    int64_t n = 100;
    HdArray x = zeros(device, hd_type_scalar(HD_F32), {n}), y = zeros(device, hd_type_scalar(HD_F32), {n}),
            v = zeros(device, hd_type_vec(HD_F32, 3), {n});
    for (int i = 0; i < n; i++) data<float>(x)[i] = (float)i, data<float>(v)[3 * i + 1] = 0.25f;
    HdArg args[] = {hd_arg_array(&x), hd_arg_array(&y), hd_arg_array(&v)};
    EXPECT_EQ(hd_launch(k, stream(device), 1, &n, 3, args), HD_OK) << error();
    EXPECT_EQ(data<float>(x)[3], 103);
    return {data<float>(y), data<float>(y) + n};
  }
};

TEST_F(CFunction, IsCalledFromCompiledCodeAndFromTheInterpreter) {
  HdModule *m = Load();
  for (HdDevice device : {cpu, interp}) {
    seen = 0;
    auto y = Run(m, device);
    ASSERT_EQ(y.size(), 100u);
    for (int i = 0; i < 100; i++) ASSERT_EQ(y[(size_t)i], i == 3 ? 100.0f : (float)i * 0.5f + 0.25f) << i;
    EXPECT_EQ(seen, 49 * 50);
  }
}

TEST_F(CFunction, MayWriteTheArraysThatItIsGiven) {
  HdKernel *k = kernel(Load(), "k", cpu);
  EXPECT_TRUE(hd_kernel_param(k, 0).writes) << "x goes to raise";
  EXPECT_TRUE(hd_kernel_param(k, 1).writes);
  EXPECT_FALSE(hd_kernel_param(k, 2).writes);
}

TEST_F(CFunction, IsFoundByNameWhenCodeComesFromTheCache) {
  bool cached = true;
  EXPECT_EQ(Run(Load(), cpu, &cached)[10], 5.25f);
  EXPECT_FALSE(cached);
  close();
  open(2);
  functions[0] = C("scale(f32) -> f32", third_of); // the next process has another function at another address
  EXPECT_EQ(Run(Load(), cpu, &cached)[30], 10.25f);
  EXPECT_TRUE(cached);
  close();
  open(2);
  functions.erase(functions.begin());
  HdKernel *k = nullptr;
  expect_error(HD_ERR_NOT_FOUND, hd_module_kernel(Load(), "k", cpu, &k), "hd_module_kernel", "options.functions",
               "kernel 'k' calls the C function 'scale(f32) -> f32', and the module was loaded without it");
}

TEST_F(CFunction, IsNamedWhenItIsMissing) {
  functions.pop_back();
  HdModule *m = Load();
  for (HdDevice device : {cpu, interp}) {
    HdKernel *k = nullptr;
    expect_error(HD_ERR_NOT_FOUND, hd_module_kernel(m, "k", device, &k), "hd_module_kernel", "options.functions",
                 "kernel 'k' calls the C function 'raise(array<f32, 1>, i32) -> f32'");
    EXPECT_EQ(k, nullptr);
    EXPECT_NE(kernel(m, "plain", device), nullptr) << "other kernels need it not";
  }
}

TEST_F(CFunction, IsNamedWhenItsSignatureDiffers) {
  functions[0].signature = "scale(f64) -> f32";
  HdModule *m = Load();
  for (HdDevice device : {cpu, interp}) {
    HdKernel *k = nullptr;
    expect_error(HD_ERR_TYPE, hd_module_kernel(m, "k", device, &k), "hd_module_kernel", "options.functions",
                 "the module declares the C function 'scale(f32) -> f32', and was given 'scale(f64) -> f32'");
  }
}

TEST_F(CFunction, IsRefusedWhenItIsNoFunction) {
  struct {
    HdCFunction f;
    const char *says;
  } cases[] = {{C("note(i32)", note), "'note' is given twice"},
               {C("note i32", note), "number 4: 'note i32' is no signature"},
               {C("(i32)", note), "is no signature"},
               {{"more(i32)", nullptr}, "number 4 has no address"},
               {{nullptr, functions[0].address}, "number 4 has no signature"}};
  for (auto &c : cases) {
    functions.resize(4);
    functions.push_back(c.f);
    HdModuleOptions o = Options();
    HdModule *m = nullptr;
    expect_error(HD_ERR_OPTION, hd_module_load_source(ctx, "k.hd", kSource, sizeof kSource - 1, &o, &m),
                 "hd_module_load_source", "options.functions", c.says);
  }
}

TEST_F(CFunction, IsNotForGpus) {
  HdModule *m = Load();
  const char *text;
  size_t size;
  expect_error(HD_ERR_UNSUPPORTED, hd_module_emit(m, "k", HD_EMIT_PTX, "sm_75", &text, &size), "hd_module_emit", "",
               "kernel 'k': it calls the C function 'scale', which only the CPU can");
  EXPECT_EQ(hd_context_error(ctx)->where.line, 8);
  EXPECT_EQ(hd_module_emit(m, "plain", HD_EMIT_PTX, "sm_75", &text, &size), HD_OK) << error();
  // Nor one that is given a composite.
  static const char whole[] = "extern fn trace(mat33 m) -> f32;\n"
                              "kernel t(f32 o[]) { o[0] = trace(mat33(1, 2, 3, 4, 5, o[1], 7, 8, 9)); }\n";
  HdModule *t = nullptr;
  ASSERT_EQ(hd_module_load_source(ctx, "t.hd", whole, sizeof whole - 1, nullptr, &t), HD_OK) << error();
  expect_error(HD_ERR_UNSUPPORTED, hd_module_emit(t, "t", HD_EMIT_PTX, "sm_75", &text, &size), "hd_module_emit", "",
               "kernel 't': it calls the C function 'trace', which only the CPU can");
  hd_module_free(t);
}

TEST_F(CFunction, StandsInTheTextOfTheIr) {
  const char *text;
  size_t size;
  ASSERT_EQ(hd_module_emit(Load(), "k", HD_EMIT_IR, nullptr, &text, &size), HD_OK);
  std::string ir_text(text, size);
  EXPECT_NE(ir_text.find("extern @length_of(%v: vec<f32, 3>) -> f32 pure"), std::string::npos) << ir_text;
  HdModuleOptions o = Options();
  EXPECT_EQ(Run(ir(ir_text, &o), cpu)[10], 5.25f);
}

TEST_F(CFunction, IsOneInAllFilesThatDeclareIt) {
  folder.write("part.hd", "extern fn scale(f32 x) -> f32;\nfn twice(f32 x) -> f32 { return scale(scale(x)); }\n");
  std::string path = folder.write("k.hd", "import \"part.hd\";\nextern fn scale(f32 x) -> f32;\n"
                                          "kernel k(f32 x[], f32 y[], vec3 v[]) { let i = tid();\n"
                                          "  y[i] = twice(scale(x[i])); if (i == 3) x[i] += 100; }\n");
  HdModuleOptions o = Options();
  HdModule *m = nullptr;
  ASSERT_EQ(hd_module_load_file(ctx, path.c_str(), &o, &m), HD_OK) << error() << hd_context_diagnostics(ctx);
  modules.push_back(m);
  EXPECT_EQ(Run(m, cpu)[10], 1.25f);
  path = folder.write(
      "k.hd", "import \"part.hd\";\nextern fn scale(f64 x) -> f32;\nkernel k(f32 x[]) { x[0] = twice(x[0]); }\n");
  m = nullptr;
  EXPECT_EQ(hd_module_load_file(ctx, path.c_str(), &o, &m), HD_ERR_SOURCE);
  EXPECT_NE(std::string(hd_context_diagnostics(ctx)).find("[extern_twice]"), std::string::npos);
}

// The names of kernels and C functions are known outside of the module, and an imported function may have one of them.
TEST_F(CFunction, KeepsItsNameAsKernelsDo) {
  folder.write("part.hd", "fn second(f32 x) -> f32 { return x + 1; }\nfn scale(vec3 v) -> f32 { return v.x; }\n");
  std::string path =
      folder.write("k.hd", "import \"part.hd\";\nkernel first(f32 x[]) { x[0] = second(x[0]) + scale(vec3(x[1])); }\n"
                           "extern fn scale(f32 x) -> f32;\nkernel second(f32 x[]) { x[0] = scale(x[0]); }\n");
  HdModuleOptions o = Options();
  HdModule *m = nullptr;
  ASSERT_EQ(hd_module_load_file(ctx, path.c_str(), &o, &m), HD_OK) << error() << hd_context_diagnostics(ctx);
  modules.push_back(m);
  ASSERT_EQ(hd_module_kernel_count(m), 2);
  EXPECT_NE(kernel(m, "first", cpu), nullptr);
  EXPECT_NE(kernel(m, "second", cpu), nullptr);
}

TEST_F(CFunction, CanBeDeclaredByABuilder) {
  HdBuilder *b;
  HdModule *m;
  ASSERT_EQ(hd_builder_new(ctx, "built", &b), HD_OK);
  const HdIrType *f32 = hd_build_type(b, hd_type_scalar(HD_F32)), *list = hd_build_array(b, f32, 1);
  const HdIrType *all[] = {list, list, hd_build_array(b, hd_build_type(b, hd_type_vec(HD_F32, 3)), 1)};
  const HdIrType *raise_takes[] = {list, hd_build_type(b, hd_type_scalar(HD_I32))};
  hd_build_extern(b, "scale", true, 1, &f32, f32);
  hd_build_extern(b, "raise", false, 2, raise_takes, f32);
  hd_build_kernel(b, "k", 3, all, nullptr);
  HdIrValue *i = hd_build_tid(b, 0), *at = hd_build_index(b, hd_build_param(b, 0), 1, &i);
  HdIrValue *x = hd_build_load(b, at), *r[] = {hd_build_param(b, 0), i};
  hd_build_call(b, "raise", 2, r);
  hd_build_store(b, hd_build_index(b, hd_build_param(b, 1), 1, &i), hd_build_call(b, "scale", 1, &x));
  hd_build_return(b, 0, nullptr);
  hd_build_end(b);
  HdModuleOptions o = Options();
  ASSERT_EQ(hd_builder_finish(b, &o, &m), HD_OK) << error();
  modules.push_back(m);
  hd_builder_free(b);
  for (HdDevice device : {cpu, interp}) EXPECT_EQ(Run(m, device)[10], 5.0f);

  ASSERT_EQ(hd_builder_new(ctx, "wrong", &b), HD_OK);
  EXPECT_EQ(hd_build_extern(b, "a b", false, 0, nullptr, nullptr), nullptr);
  expect_error(HD_ERR_TYPE, hd_builder_finish(b, &o, &m), "hd_builder_finish", "",
               "hd_build_extern: @a b: a C function's name is letters, digits and _");
  hd_builder_free(b);
}

} // namespace
