// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/operator_times.h"

#include <ATen/record_function.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace evenkeel::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// An operator that is running.
struct OpenOperator {
  Clock::time_point start;
  double child_seconds = 0;  // seconds of its callees
};

struct Record {
  std::vector<OpenOperator> open;
  OperatorSeconds seconds;
};

/// State of the callbacks, which LibTorch requires to be plain functions.
thread_local Record* recording = nullptr;

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  if (recording != nullptr) recording->open.push_back({Clock::now()});
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  if (recording == nullptr || recording->open.empty()) return;
  const auto [start, child_seconds] = recording->open.back();
  recording->open.pop_back();
  const double spent = std::chrono::duration<double>(Clock::now() - start).count();
  recording->seconds[function.name()] += spent - child_seconds;
  if (!recording->open.empty()) recording->open.back().child_seconds += spent;
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
