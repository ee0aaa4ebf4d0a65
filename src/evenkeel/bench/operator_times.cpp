// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/operator_times.h"

#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Elapsed time, and CPU time of all threads, in seconds.
struct Moment {
  double elapsed = 0, cpu = 0;
  Moment operator-(const Moment& other) const { return {elapsed - other.elapsed, cpu - other.cpu}; }
  void add(const Moment& other) { elapsed += other.elapsed, cpu += other.cpu; }
  static Moment now() {
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return {std::chrono::duration<double>(Clock::now().time_since_epoch()).count(),
            static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec)};
  }
};

/// An operator that is running in this thread.
struct OpenOperator {
  Moment start;
  Moment callees{};  // spent in its callees
};

/// The sums of all threads: of a GPU the backward pass has a thread of its own.
struct Record {
  std::mutex mutex;
  OperatorTimes times;
};

/// State of the callbacks, which LibTorch requires to be plain functions.
std::atomic<Record*> recording = nullptr;
thread_local std::vector<OpenOperator> open_operators;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  if (recording == nullptr || at::in_parallel_region()) return nullptr;
  ops::synchronize_gpu();  // what the caller has launched is the caller's time
  open_operators.push_back({Moment::now()});
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  auto* const record = recording.load();
  if (record == nullptr || open_operators.empty() || at::in_parallel_region()) return;
  ops::synchronize_gpu();
  const auto [start, callees] = open_operators.back();
  open_operators.pop_back();
  const auto spent = Moment::now() - start, own = spent - callees;
  if (!open_operators.empty()) open_operators.back().callees.add(spent);
  const std::lock_guard lock(record->mutex);
  record->times.seconds[function.name()] += own.elapsed;
  record->times.cpu_seconds[function.name()] += own.cpu;
}

}  // namespace

OperatorSeconds OperatorTimes::serial_seconds(int threads) const {
  const auto serial = [threads](double elapsed_of, double cpu_of) {
    return std::max(0.0, threads * elapsed_of - cpu_of) / (threads - 1);
  };
  OperatorSeconds out;
  double rest = elapsed, cpu_rest = cpu;
  for (const auto& [name, own] : seconds) {
    out[name] = serial(own, cpu_seconds.at(name));
    rest -= own;
    cpu_rest -= cpu_seconds.at(name);
  }
  out["between"] = serial(rest, cpu_rest);
  return out;
}

OperatorTimes operator_times(const std::function<void()>& work) {
  Record record;
  recording = &record;
  const auto start = Moment::now();
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
  work();
  ops::synchronize_gpu();
  const auto spent = Moment::now() - start;
  at::removeCallback(handle);
  recording = nullptr;
  record.times.elapsed = spent.elapsed;
  record.times.cpu = spent.cpu;
  return record.times;
}

std::string step_part_of(const std::string& name) {
  struct Rule {
    std::string_view word, part;
  };
  static constexpr std::array<Rule, 13> kRules = {{{"attention", "attention"},
                                                   {"weight_gradient", "products"},
                                                   {"cross_entropy", "loss"},
                                                   {"swiglu", "activation"},
                                                   {"adamw", "optimizer"},
                                                   {"sum_of_squares", "optimizer"},
                                                   {"norm", "norms"},
                                                   {"affine", "norms"},
                                                   {"rope", "norms"},
                                                   {"linear", "products"},
                                                   {"matmul", "products"},
                                                   {"bmm", "products"},
                                                   {"mm", "products"}}};
  for (const auto& [word, part] : kRules) {
    if (name.find(word) != std::string::npos) return std::string(part);
  }
  return "other";
}

}  // namespace evenkeel::bench
