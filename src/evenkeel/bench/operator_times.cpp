// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/operator_times.h"

#include <ATen/record_function.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "evenkeel/ops/common/gpu.h"

namespace evenkeel::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// An operator that is running in this thread.
struct OpenOperator {
  Clock::time_point start;
  double child_seconds = 0;  // seconds of its callees
};

/// The sums of all threads: of a GPU the backward pass has a thread of its own.
struct Record {
  std::mutex mutex;
  OperatorSeconds seconds;
};

/// State of the callbacks, which LibTorch requires to be plain functions.
std::atomic<Record*> recording = nullptr;
thread_local std::vector<OpenOperator> open_operators;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  if (recording == nullptr) return nullptr;
  ops::synchronize_gpu();  // what the caller has launched is the caller's time
  open_operators.push_back({Clock::now()});
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  auto* const record = recording.load();
  if (record == nullptr || open_operators.empty()) return;
  ops::synchronize_gpu();
  const auto [start, child_seconds] = open_operators.back();
  open_operators.pop_back();
  const double spent = std::chrono::duration<double>(Clock::now() - start).count();
  if (!open_operators.empty()) open_operators.back().child_seconds += spent;
  const std::lock_guard lock(record->mutex);
  record->seconds[function.name()] += spent - child_seconds;
}

}  // namespace

OperatorSeconds seconds_by_operator(const std::function<void()>& work) {
  Record record;
  recording = &record;
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  recording = nullptr;
  return record.seconds;
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
