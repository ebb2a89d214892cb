// bench/measure.cc -- time, samples and turns.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "bench/bench.h"

namespace bench {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double CpuTime() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void Die(const std::string &why) {
  fprintf(stderr, "bench: %s\n", why.c_str());
  exit(2);
}

Spread Of(std::vector<double> s) {
  s.erase(std::remove_if(s.begin(), s.end(), [](double x) { return std::isnan(x); }), s.end());
  std::sort(s.begin(), s.end());
  size_t n = s.size();
  return n ? Spread{s[n / 2], s[n / 4], s[n * 3 / 4], s[0]} : Spread{};
}

std::vector<double> Scaled(const std::vector<double> &samples, double factor) {
  std::vector<double> r;
  for (double x : samples) r.push_back(x * factor);
  return r;
}

std::vector<double> Ratios(const std::vector<double> &over, const std::vector<double> &under) {
  std::vector<double> r;
  for (size_t i = 0; i < over.size(); i++) r.push_back(over[i] / under[i]);
  return r;
}

std::vector<std::vector<double>> Turns(int rounds, const std::vector<std::function<double()>> &turns) {
  std::vector<std::vector<double>> t(turns.size());
  std::vector<size_t> order(turns.size());
  for (size_t k = 0; k < order.size(); k++) order[k] = k;
  std::mt19937 random(1);
  for (int i = 0; i <= rounds; i++) {
    std::shuffle(order.begin(), order.end(), random); // what one leaves in the caches, another finds
    for (size_t k : order) {
      double seconds = turns[k]();
      if (i > 0) t[k].push_back(seconds);
    }
  }
  return t;
}

std::function<double()> Timed(const std::function<void()> &run, double (*clock)(), bool warm) {
  return [=] {
    // Two threads may find themselves on one CPU for some milliseconds after another program had the other.
    const double enough = 0.02;
    for (double begin = Now(); warm && Now() - begin < enough;) run();
    double start = clock();
    run();
    return clock() - start;
  };
}

std::vector<std::vector<double>> Alternate(int rounds, const std::vector<std::function<void()>> &runs,
                                           double (*clock)()) {
  std::vector<std::function<double()>> turns;
  for (const auto &run : runs) turns.push_back(Timed(run, clock));
  return Turns(rounds, turns);
}

} // namespace bench
