// tools/gpu_check/timings.cc -- how long things take on this machine.
#include <algorithm>
#include <functional>

#include "device.h"

namespace gpu_check {

namespace {

// The least of several, in seconds.
double Least(int times, const std::function<void()> &f) {
  double best = 1e30;
  for (int i = 0; i < times; i++) {
    double start = Now();
    f();
    best = std::min(best, Now() - start);
  }
  return best;
}

void Table(const Options &o, const Pack &pack, Report *report) {
  CudaDevice *d = &gpu::Gpu::Get().device;
  Stream s(d);
  Kernel empty(d, o, pack, "empty"), add(d, o, pack, "add"), saxpy(d, o, pack, "saxpy");
  // A simulated device is slow; it says in its name that it is one.
  const bool real = !strstr(d->text, "Simulated");
  const int64_t n = real ? 1 << 26 : 1 << 16;
  const int launches = real ? 10000 : 200;
  struct Nothing {
    char none;
  } nothing = {};
  auto row = [&](const char *what, double value, const char *unit) {
    report->Say("time   %-52s %10.3f %s\n", what, value, unit);
  };

  row("a launch that nobody waits for",
      1e6 / launches *
          Least(3,
                [&] {
                  for (int i = 0; i < launches; i++) empty.Launch(s, 1, nothing);
                  s.Wait();
                }),
      "us");
  row("a launch and a wait",
      1e6 * Least(100,
                  [&] {
                    empty.Launch(s, 1, nothing);
                    s.Wait();
                  }),
      "us");
  Array x(d, n), y(d, n);
  s.Clear(x.View());
  s.Clear(y.View());
  s.Wait();
  HdError err = {};
  RtGraph *g = nullptr;
  Try(hdrt_graph_new(&d->base, &err, &g), err);
  s.get()->keeping = g;
  for (int i = 0; i < 100; i++) add.Launch(s, 1, AddArgs{ArgOf(x), 1});
  s.get()->keeping = nullptr;
  auto graph = [&] {
    for (int i = 0; i < 10; i++) Try(hdrt_stream_graph(s.get(), g, &err), err);
    s.Wait();
  };
  graph();
  row("a launch in a graph of 100", 1e6 / 1000 * Least(5, graph), "us");
  hdrt_graph_free(g);
  auto one_saxpy = [&] {
    for (int i = 0; i < 10; i++) saxpy.Launch(s, n, SaxpyArgs{0.5f, ArgOf(x), ArgOf(y)});
    s.Wait();
  };
  one_saxpy();
  row("saxpy, memory moved", 12e-9 * 10 * static_cast<double>(n) / Least(5, one_saxpy), "GB/s");
  std::vector<int32_t> pageable(static_cast<size_t>(n), 1);
  Pinned pinned(d, n);
  memset(pinned.data(), 0, static_cast<size_t>(n) * 4);
  const double bytes = 4e-9 * static_cast<double>(n);
  auto copy = [&](const RtView &from, const RtView &to) {
    return bytes / Least(3, [&] {
             s.Copy(from, to);
             s.Wait();
           });
  };
  row("pinned memory to the device", copy(pinned.View(), x.View()), "GB/s");
  row("the device to pinned memory", copy(x.View(), pinned.View()), "GB/s");
  row("pageable memory to the device", copy(ViewOf(pageable), x.View()), "GB/s");
  row("the device to pageable memory", copy(x.View(), ViewOf(pageable)), "GB/s");
  row("within the device, memory moved", 2 * copy(x.View(), y.View()), "GB/s");
  RtView few = Line(pageable.data(), 1024, 1, 4, nullptr), there = Line(x.data(), 1024, 1, 4, &d->base);
  row("4 KiB of pageable memory to the device, the call",
      1e6 / 100 *
          Least(5,
                [&] {
                  for (int i = 0; i < 100; i++) s.Copy(few, there);
                }),
      "us");
  s.Wait();
  row("a block in a stream's order, had and given back",
      1e6 / 100 *
          Least(5,
                [&] {
                  for (int i = 0; i < 100; i++) {
                    HdBlock *b;
                    void *data;
                    Try(s.get()->ops->alloc(s.get(), 1 << 20, &err, &b, &data), err);
                    s.get()->ops->release(s.get(), b);
                  }
                  s.Wait();
                }),
      "us");
}

} // namespace

void RunTimings(const Options &options, const Pack &pack, Report *report) {
  try {
    Table(options, pack, report);
  } catch (const std::exception &e) { report->Check("timings", e.what()); }
}

} // namespace gpu_check
