// tests/api/null_test.cc -- a call that is given NULL where it wants something says so; it never crashes.
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "api_fixture.h"
#include "heddle/algorithms.h"
#include "heddle/builder.h"
#include "heddle/cache.h"
#include "heddle/geometry.h"
#include "heddle/graph.h"
#include "heddle/sim.h"
#include "heddle/sparse.h"
#include "heddle/texture.h"

// All that return a status, free something or build IR.
// clang-format off
#define CALLS(X)                                                                                                       \
  X(hd_algorithms_new) X(hd_algorithms_free) X(hd_sort_keys) X(hd_sort_pairs) X(hd_sort_segments) X(hd_scan) X(hd_reduce)\
  X(hd_dot) X(hd_matmul) X(hd_fft) X(hd_run_lengths) X(hd_compact) X(hd_histogram) X(hd_array_new) X(hd_array_zeros)   \
  X(hd_array_new_on) X(hd_array_new_pinned) X(hd_array_borrow) X(hd_array_free) X(hd_array_free_on)                    \
  X(hd_array_slice) X(hd_array_transpose) X(hd_array_reshape) X(hd_array_expand) X(hd_array_copy) X(hd_array_clear)    \
  X(hd_builder_new) X(hd_builder_free) X(hd_builder_finish) X(hd_build_type) X(hd_build_struct) X(hd_build_fixed)      \
  X(hd_build_array) X(hd_build_type_of) X(hd_build_kernel) X(hd_build_function) X(hd_build_extern) X(hd_build_param)   \
  X(hd_build_end) X(hd_build_at) X(hd_build_int) X(hd_build_float) X(hd_build_bool) X(hd_build_op) X(hd_build_op1)     \
  X(hd_build_op2) X(hd_build_op3) X(hd_build_convert) X(hd_build_bitcast) X(hd_build_make) X(hd_build_extract)         \
  X(hd_build_insert) X(hd_build_extract_at) X(hd_build_insert_at) X(hd_build_call) X(hd_build_length)                  \
  X(hd_build_index) X(hd_build_alloca) X(hd_build_member) X(hd_build_elem) X(hd_build_load) X(hd_build_store)          \
  X(hd_build_atomic) X(hd_build_tid) X(hd_build_dim) X(hd_build_assert) X(hd_build_printf) X(hd_build_group)           \
  X(hd_build_group_tid) X(hd_build_group_id) X(hd_build_group_size) X(hd_build_shared) X(hd_build_barrier)             \
  X(hd_build_shuffle) X(hd_build_ballot) X(hd_build_mma) X(hd_build_if) X(hd_build_else) X(hd_build_loop) X(hd_build_carried)\
  X(hd_build_yield) X(hd_build_break) X(hd_build_continue) X(hd_build_return) X(hd_build_close) X(hd_build_result)     \
  X(hd_cache_list) X(hd_cache_verify) X(hd_cache_fields) X(hd_cache_clear) X(hd_context_new) X(hd_context_free)        \
  X(hd_context_fail) X(hd_device_at) X(hd_device_find) X(hd_device_info) X(hd_device_memory) X(hd_device_trim)         \
  X(hd_event_new) X(hd_event_free) X(hd_event_record) X(hd_stream_wait_event) X(hd_event_wait) X(hd_event_elapsed)     \
  X(hd_bvh_new) X(hd_bvh_free) X(hd_bvh_refit) X(hd_bvh_rebuild) X(hd_mesh_new) X(hd_mesh_free) X(hd_mesh_refit)       \
  X(hd_mesh_mass) X(hd_convex_hull_new) X(hd_convex_hull_free) X(hd_hash_grid_new) X(hd_hash_grid_free)                \
  X(hd_hash_grid_build) X(hd_dense_grid_new) X(hd_dense_grid_free) X(hd_mesh_data_load) X(hd_mesh_data_read)           \
  X(hd_mesh_data_free) X(hd_mesh_data_save) X(hd_mesh_distances) X(hd_surface_new) X(hd_surface_free)                  \
  X(hd_surface_extract) X(hd_volume_load) X(hd_volume_read) X(hd_volume_free) X(hd_volume_new) X(hd_volume_save)       \
  X(hd_image_new) X(hd_image_free) X(hd_image_write) X(hd_graph_begin) X(hd_graph_end) X(hd_graph_free) X(hd_graph_launch) X(hd_graph_set_args) X(hd_launch)\
  X(hd_module_load_file) X(hd_module_load_source) X(hd_module_load_ir) X(hd_module_free) X(hd_module_struct)           \
  X(hd_module_kernel) X(hd_module_emit) X(hd_module_compile) X(hd_sim_particles_new) X(hd_sim_particles_free)          \
  X(hd_sim_particles_step) X(hd_sim_particles_energy) X(hd_sim_cloth_new) X(hd_sim_cloth_free) X(hd_sim_cloth_pin)     \
  X(hd_sim_cloth_step) X(hd_sim_cloth_normals) X(hd_sim_cloth_max_stretch) X(hd_sim_render_new)                        \
  X(hd_sim_render_free) X(hd_sim_render_particles) X(hd_sim_render_cloth) X(hd_sim_render_scene)                       \
  X(hd_sim_render_picture) X(hd_sparse_new) X(hd_sparse_free) X(hd_sparse_transpose) X(hd_sparse_to_csr)               \
  X(hd_sparse_add) X(hd_sparse_multiply) X(hd_sparse_jacobi) X(hd_sparse_apply) X(hd_solve_cg) X(hd_solve_bicgstab)    \
  X(hd_solve_gmres) X(hd_stream_new) X(hd_stream_free) X(hd_stream_wait) X(hd_bvh_new_groups) X(hd_mesh_new_groups)    \
  X(hd_texture_new) X(hd_texture_free) X(hd_texture_write) X(hd_texture_read) X(hd_texture_make_levels)

#define HANDLES(X)                                                                                                     \
  X(HdContext) X(HdStream) X(HdModule) X(HdKernel) X(HdEvent) X(HdGraph) X(HdImage) X(HdBuilder) X(HdIrValue) X(HdAlgorithms)\
  X(HdBvh) X(HdMesh) X(HdHashGrid) X(HdSurface) X(HdVolume) X(HdSparse) X(HdSimParticles) X(HdSimCloth)                \
  X(HdSimRender) X(HdTexture)
// clang-format on

namespace {

// One of each type that calls take. A call may spoil them: it runs in a process of its own.
#define HANDLE(T) T *a##T;
struct Things {
  HANDLES(HANDLE)
  HdDevice cpu;
  HdArray array;
  alignas(64) char bytes[1 << 16];
} things;

template <class T> T Valid() {
  using Bare = std::remove_const_t<std::remove_pointer_t<T>>;
#define IS(H)                                                                                                          \
  if constexpr (std::is_pointer_v<T> && std::is_same_v<Bare, H>) return things.a##H;
  HANDLES(IS)
  if constexpr (std::is_same_v<T, HdDevice>)
    return things.cpu;
  else if constexpr (std::is_same_v<T, HdArray>)
    return things.array;
  else if constexpr (std::is_same_v<T, HdType>)
    return hd_type_scalar(HD_F32);
  else if constexpr (std::is_same_v<T, const char *>)
    return "x";
  else if constexpr (std::is_pointer_v<T> && std::is_function_v<Bare>)
    return nullptr;
  else if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(things.bytes);
  else if constexpr (std::is_class_v<T>)
    return T{};
  else
    return static_cast<T>(1);
}

// How a process that does `work` ended: "" if well.
template <class F> std::string Ended(F work) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : WEXITSTATUS(status) ? "an exit" : "";
}

// The call with each of its pointers NULL in turn, and each two of them, the other arguments being there: options of zeros are
// often refused before the rest is looked at, and NULL stands for the usual ones.
template <class R, class... A, size_t... I> void Sweep(const char *name, R (*call)(A...), std::index_sequence<I...>) {
  auto without = [&](size_t one, size_t other) {
    std::tuple<A...> args{Valid<A>()...};
    ((I == one || I == other ? void(std::get<I>(args) = A{}) : void()), ...);
    std::apply(call, args);
  };
  const bool pointer[] = {std::is_pointer_v<A>...};
  for (size_t i = 0; i < sizeof...(A); i++) {
    for (size_t j = 0; j <= i; j++) {
      if (!pointer[i] || !pointer[j]) continue;
      EXPECT_EQ(Ended([&] { without(i, j); }), "") << name << " without its arguments " << j << " and " << i;
    }
  }
}
template <class R, class... A> void Sweep(const char *name, R (*call)(A...)) {
  Sweep(name, call, std::index_sequence_for<A...>());
}

class Null : public Api {
protected:
  void SetUp() override {
    open(1);
    HdModule *m = source("kernel k(f32 x[]) { x[tid()] = 1; }");
    HdBuilder *b;
    Things &t = things;
    t.cpu = cpu;
    t.array = zeros(cpu, hd_type_scalar(HD_F32), {4});
    t.aHdContext = ctx;
    t.aHdModule = m;
    t.aHdStream = stream(cpu);
    t.aHdKernel = kernel(m, "k", cpu);
    HdArray corner = zeros(cpu, hd_type_vec(HD_F32, 3), {3}), face = zeros(cpu, hd_type_vec(HD_I32, 3), {1});
    HdArray i32 = zeros(cpu, hd_type_scalar(HD_I32), {1}), voxel = zeros(cpu, hd_type_vec(HD_I32, 3), {1});
    HdArray value = zeros(cpu, hd_type_scalar(HD_F32), {1});
    const float x[3] = {0, 0, 0};
    const int64_t texels[] = {2};
    EXPECT_EQ(hd_event_new(ctx, cpu, &t.aHdEvent), HD_OK);
    EXPECT_EQ(hd_graph_begin(t.aHdStream), HD_OK);
    EXPECT_EQ(hd_graph_end(t.aHdStream, &t.aHdGraph), HD_OK);
    EXPECT_EQ(hd_builder_new(ctx, "null", &b), HD_OK);
    t.aHdBuilder = b;
    EXPECT_EQ(hd_algorithms_new(ctx, t.aHdStream, nullptr, &t.aHdAlgorithms), HD_OK) << error();
    EXPECT_EQ(hd_bvh_new(ctx, t.aHdStream, nullptr, corner, corner, &t.aHdBvh), HD_OK) << error();
    EXPECT_EQ(hd_mesh_new(ctx, t.aHdStream, nullptr, corner, face, &t.aHdMesh), HD_OK) << error();
    EXPECT_EQ(hd_hash_grid_new(ctx, t.aHdStream, nullptr, &t.aHdHashGrid), HD_OK) << error();
    EXPECT_EQ(hd_surface_new(ctx, t.aHdStream, &t.aHdSurface), HD_OK) << error();
    EXPECT_EQ(hd_volume_new(ctx, t.aHdStream, nullptr, voxel, &t.aHdVolume), HD_OK) << error();
    EXPECT_EQ(hd_sparse_new(t.aHdAlgorithms, 1, 1, 1, i32, i32, value, &t.aHdSparse), HD_OK) << error();
    EXPECT_EQ(hd_texture_new(ctx, t.aHdStream, nullptr, 1, texels, x, &t.aHdTexture), HD_OK) << error();
    EXPECT_EQ(hd_sim_particles_new(ctx, t.aHdStream, nullptr, 1, x, &t.aHdSimParticles), HD_OK) << error();
    EXPECT_EQ(hd_sim_cloth_new(ctx, t.aHdStream, nullptr, &t.aHdSimCloth), HD_OK) << error();
    EXPECT_EQ(hd_sim_render_new(ctx, t.aHdStream, 4, 4, &t.aHdSimRender), HD_OK) << error();
  }
  void TearDown() override {
    Things &t = things;
    hd_texture_free(t.aHdTexture);
    hd_sim_render_free(t.aHdSimRender);
    hd_sim_cloth_free(t.aHdSimCloth);
    hd_sim_particles_free(t.aHdSimParticles);
    hd_sparse_free(t.aHdSparse);
    hd_volume_free(t.aHdVolume);
    hd_surface_free(t.aHdSurface);
    hd_hash_grid_free(t.aHdHashGrid);
    hd_mesh_free(t.aHdMesh);
    hd_bvh_free(t.aHdBvh);
    hd_algorithms_free(t.aHdAlgorithms);
    hd_builder_free(t.aHdBuilder);
    hd_graph_free(t.aHdGraph);
    hd_event_free(t.aHdEvent);
    close();
  }
};

TEST_F(Null, ArgumentsAreSurvivedByAllCalls) {
#define SWEEP(call) Sweep(#call, call);
  CALLS(SWEEP)
}

TEST_F(Null, TableHasAllCallsOfTheHeaders) {
#define NAME(call) #call,
  const std::set<std::string> table{CALLS(NAME)};
  std::regex call(R"(HD_API\s+(\w+)[ *]+(hd_\w+)\(([^;]*)\);)");
  int32_t found = 0;
  for (auto &e : std::filesystem::directory_iterator("include/heddle")) {
    std::ifstream f(e.path());
    std::string text((std::istreambuf_iterator<char>(f)), {});
    for (std::sregex_iterator i(text.begin(), text.end(), call), end; i != end; ++i) {
      std::string name = (*i)[2];
      bool wanted = (*i)[1] == "HdStatus" || name.rfind("hd_build_", 0) == 0 || name.find("_free") != std::string::npos;
      bool pointers = std::string((*i)[3]).find_first_of("*[") != std::string::npos;
      if (!wanted || !pointers) continue;
      found++;
      EXPECT_TRUE(table.count(name)) << name;
    }
  }
  EXPECT_GT(found, 150);
}

} // namespace
