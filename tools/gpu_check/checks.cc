// tools/gpu_check/checks.cc -- what a kernel's results do not show: copies of every kind, the order of streams, graphs, memory that is
// used again, faults, refusals, and that the device is well after them.
#include <functional>

#include "device.h"

namespace gpu_check {

namespace {

std::vector<int32_t> Numbers(int64_t n, int32_t from = 0) {
  std::vector<int32_t> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; i++) v[static_cast<size_t>(i)] = from + static_cast<int32_t>(i);
  return v;
}

void WantSame(const std::vector<int32_t> &want, const int32_t *got, const std::string &what) {
  for (size_t i = 0; i < want.size(); i++)
    if (want[i] != got[i])
      throw std::runtime_error(what + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " +
                               std::to_string(want[i]));
}

class Checks {
public:
  Checks(const Options &options, const Pack &pack) : d_(&gpu::Gpu::Get().device), options_(options), pack_(pack) {}

  // Small copies go through a stage, large ones do not; views have gaps.
  void Copies() {
    Stream s(d_);
    for (int64_t n : {1, 1000, 100000, 5000001}) {
      std::vector<int32_t> out = Numbers(n), back(out.size()), half(out.size(), -1);
      Array a(d_, n), b(d_, n);
      Pinned p(d_, n);
      s.Copy(ViewOf(out), a.View());
      s.Copy(a.View(), b.View());
      s.Copy(b.View(), p.View());
      s.Copy(b.View(), ViewOf(back));
      s.Wait();
      WantSame(out, back.data(), "pageable, " + std::to_string(n));
      WantSame(out, p.data(), "pinned, " + std::to_string(n));
      s.Clear(a.View(0, 2));
      s.Copy(p.View(), b.View());
      s.Copy(b.View(0, 3), a.View(0, 3));
      s.Copy(a.View(0, 2), ViewOf(half, 0, 2));
      s.Wait();
      for (int64_t i = 0; i < n; i++)
        Want(half[static_cast<size_t>(i)] == (i % 2   ? -1
                                              : i % 6 ? 0
                                                      : static_cast<int32_t>(i)),
             "with gaps, element " + std::to_string(i));
    }
  }

  void OrderOfStreams() {
    Kernel add(d_, options_, pack_, "add");
    Stream one(d_), two(d_);
    Event done(d_), begin(d_), end(d_);
    const int64_t n = 1 << 16; // few enough to be staged
    Array x(d_, n), y(d_, n);
    std::vector<int32_t> zero(static_cast<size_t>(n), 0), back(zero.size()), again(zero.size());
    one.Copy(ViewOf(zero), x.View());
    begin.Record(one);
    for (int i = 0; i < 100; i++) add.Launch(one, n, AddArgs{ArgOf(x), 1});
    done.Record(one);
    end.Record(one);
    done.MakeWait(two);
    two.Copy(x.View(), y.View());
    two.Copy(y.View(), ViewOf(back));
    two.Copy(ViewOf(back), y.View()); // what is on its way to the host, in the stream's order
    two.Copy(y.View(), ViewOf(again));
    two.Wait();
    one.Wait();
    WantSame(std::vector<int32_t>(zero.size(), 100), back.data(), "after an event");
    WantSame(std::vector<int32_t>(zero.size(), 100), again.data(), "by way of the host");
    double ms = begin.To(end);
    Want(ms > 0 && ms < 60000, "100 launches took " + std::to_string(ms) + " ms by the events");
  }

  void Graphs() {
    Kernel add(d_, options_, pack_, "add");
    Stream s(d_), other(d_);
    const int64_t n = 5000;
    Array x(d_, n), y(d_, n);
    std::vector<int32_t> out = Numbers(n), back(out.size());
    HdError err = {};
    RtGraph *g = nullptr;
    Try(hdrt_graph_new(&d_->base, &err, &g), err);
    struct End {
      RtGraph *g;
      ~End() { hdrt_graph_free(g); }
    } end{g};
    s.get()->keeping = g;
    s.Copy(ViewOf(out), x.View());
    for (int i = 0; i < 50; i++) add.Launch(s, n, AddArgs{ArgOf(x), 1});
    s.Copy(x.View(), y.View());
    s.Copy(y.View(), ViewOf(back));
    s.get()->keeping = nullptr;
    Want(g->failed == HD_OK && g->count == 53, "it was not kept");
    for (int round = 0; round < 4; round++) {
      AddArgs args = {ArgOf(x), 10 * round};
      if (round) hdrt_graph_set_launch(g, 7, add.code(), &args);
      Stream &on = round == 2 ? other : s;
      for (int32_t &v : out) v++;
      Try(hdrt_stream_graph(on.get(), g, &err), err);
      on.Wait();
      std::vector<int32_t> want = out;
      for (int32_t &v : want) v += round ? 49 + 10 * round : 50;
      WantSame(want, back.data(), "round " + std::to_string(round));
    }
    const CudaGraph *made = static_cast<const CudaGraph *>(g->own);
    Want(made && made->exec, "the driver's graphs are not used");
  }

  // Blocks that one stream lets go serve another, in order.
  void Memory() {
    Kernel add(d_, options_, pack_, "add");
    Stream s[2] = {Stream(d_), Stream(d_)};
    const int64_t n = 1 << 14;
    Array sum(d_, n);
    std::vector<int32_t> back(static_cast<size_t>(n));
    HdError err = {};
    s[0].Clear(sum.View());
    s[0].Wait();
    for (int i = 0; i < 200; i++) {
      Stream &on = s[i % 2];
      HdBlock *block;
      void *data;
      Try(on.get()->ops->alloc(on.get(), static_cast<size_t>(n) * 4, &err, &block, &data), err);
      RtView v = Line(data, n, 1, 4, &d_->base);
      on.Clear(v);
      add.Launch(on, n, AddArgs{{data, n, 1}, i});
      if (i == 199) on.Copy(v, sum.View());
      on.get()->ops->release(on.get(), block);
    }
    s[0].Wait();
    s[1].Copy(sum.View(), ViewOf(back));
    s[1].Wait();
    WantSame(std::vector<int32_t>(back.size(), 199), back.data(), "the last block");
    CudaMemory m = {};
    Try(hdcu_enter(d_, &err), err);
    HdStatus status = hdcu_memory(d_, &err, &m);
    if (status == HD_OK) status = hdcu_pool_trim(d_, 0, &err);
    hdcu_leave(d_);
    Try(status, err);
    Want(m.kept <= 64u << 20, "kept for reuse: " + std::to_string(m.kept) + " bytes");
    status = d_->base.ops->alloc(&d_->base, static_cast<size_t>(1) << 45, &err, nullptr, nullptr);
    Want(status == HD_ERR_NOMEM && strstr(err.detail, "asked for 32 TiB"), std::string("32 TiB: ") + err.detail);
  }

  void Faults() {
    Kernel positive(d_, options_, pack_, "positive");
    Stream s(d_);
    std::vector<int32_t> numbers = Numbers(1000, -5);
    Array x(d_, 1000);
    s.Copy(ViewOf(numbers), x.View());
    positive.Launch(s, 1000, PositiveArgs{ArgOf(x)});
    std::string said = s.Wait();
    Want(said.find("not positive") != std::string::npos, "the assert said '" + said + "'");
    Want(s.Wait().empty(), "it was told twice");
  }

  // The layouts of matrices are those of the units.
  void Matrices() {
    Kernel matrices(d_, options_, pack_, "matrices");
    Stream s(d_);
    Array halves(d_, 128), shorts(d_, 128), doubles(d_, 64);
    matrices.Launch(s, 32, MatricesArgs{ArgOf(halves), ArgOf(shorts), ArgOf(doubles)});
    const std::pair<const char *, const Array *> all[] = {{"f16", &halves}, {"bf16", &shorts}, {"f64", &doubles}};
    for (const auto &[name, a] : all) {
      std::vector<int32_t> want(static_cast<size_t>(a->size())), got(want.size());
      const int along = a->size() == 64 ? 4 : 16;
      for (int r = 0; r < static_cast<int>(want.size()) / 8; r++)
        for (int c = 0; c < 8; c++) {
          int sum = r - 2 * c;
          for (int k = 0; k < along; k++) sum += ((r * 7 + k * 5) % 13 - 6) * ((k * 3 + c * 11) % 9 - 4);
          want[static_cast<size_t>(r * 8 + c)] = sum;
        }
      s.Copy(a->View(), ViewOf(got));
      s.Wait();
      WantSame(want, got.data(), name);
    }
  }

  void Refusals() {
    HdError err = {};
    RtCode code = {};
    RtArtifact a = {};
    const char text[] = ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k() { nonsense; }\n";
    a.kind = RT_CODE_PTX;
    a.sig.kernel = a.symbol = "k";
    a.code = text;
    a.code_size = sizeof text;
    a.rank = 1;
    a.block = 128;
    Want(hdcu_load(&d_->base, &a, &err, &code) != HD_OK, "nonsense was taken for PTX");
    Want(strstr(err.detail, "cuModuleLoadDataEx gave 218"), std::string("nonsense: ") + err.detail);
    Faults(); // the device is well
  }

  void Peers() {
    CuDriver &driver = gpu::Gpu::Get().driver;
    if (driver.count < 2) return;
    HdError err = {};
    struct Second {
      CudaDevice d = {};
      ~Second() {
        if (d.base.ops) hdcu_device_end(&d);
      }
    } second;
    Try(hdcu_device_init(&second.d, &driver, 1, &hdb_system_allocator, &err), err);
    std::vector<int32_t> out = Numbers(3000000), back(out.size());
    Array a(d_, 3000000), b(&second.d, 3000000), c(d_, 3000000);
    Stream s(d_);
    s.Copy(ViewOf(out), a.View());
    s.Copy(a.View(), b.View());
    s.Copy(b.View(), c.View());
    s.Copy(c.View(), ViewOf(back));
    s.Wait();
    WantSame(out, back.data(), "there and back");
  }

private:
  CudaDevice *d_;
  const Options &options_;
  const Pack &pack_;
};

} // namespace

void RunChecks(const Options &options, const Pack &pack, Report *report) {
  Checks c(options, pack);
  const std::pair<const char *, std::function<void()>> all[] = {
      {"copies", [&] { c.Copies(); }},     {"the order of streams", [&] { c.OrderOfStreams(); }},
      {"graphs", [&] { c.Graphs(); }},     {"memory", [&] { c.Memory(); }},
      {"faults", [&] { c.Faults(); }},     {"products of matrices by units", [&] { c.Matrices(); }},
      {"refusals", [&] { c.Refusals(); }}, {"copies between two devices, if there are two", [&] { c.Peers(); }},
  };
  for (const auto &[name, check] : all) {
    std::string problem;
    try {
      check();
    } catch (const std::exception &e) { problem = e.what(); }
    report->Check(name, problem);
  }
}

} // namespace gpu_check
