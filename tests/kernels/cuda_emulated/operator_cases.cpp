// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "kernels/cuda_emulated/adapters.h"
#include "kernels/cuda_emulated/launch.h"
#include "kernels/cuda_emulated/refusals_of_values.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {

namespace {

/// Rows of the tables, which have more on the CPU.
constexpr std::int64_t kRows = 20;

/// Attention to more keys than this takes seconds here.
constexpr std::int64_t kMostKeys = 49;
bool is_small(const OperatorCase& one) {
  if (!one.name.starts_with("causal_attention_")) return true;
  return one.inputs(0)[1].value.size(1) <= kMostKeys;
}

bool launches_kernels(const OperatorCase& one) {
  const auto before = emulated::launch_count();
  emulated::card().is_absent = true;
  at::manual_seed(0);
  Tensors inputs;
  for (const auto& each : one.inputs(2)) inputs.push_back(each.value);
  try {
    one.run(inputs);
  } catch (const c10::Error&) {  // the first launch has failed
  }
  emulated::card().is_absent = false;
  return emulated::launch_count() != before;
}

/// Odd widths, and widths of which a thread holds 1 to many packs of 16 bytes. No more than a few
/// for norms that norm_rows_test.cpp tries at others. A row of one value has results that are 0 but
/// for rounding, with some operators.
const std::vector<std::int64_t> kFewWidths = {7, 257, 2056};
const std::vector<std::int64_t> kOtherWidths = {7, 33, 257, 768, 1536, 2056, 8200};
const std::vector<std::int64_t> kWidths = {1, 7, 33, 257, 768, 1536, 2056, 8200};

/// Inputs of an operator of the tables at any width: its formula takes all widths.
struct AnyWidth {
  const char* name;
  Inputs (*inputs)(std::int64_t n, std::int64_t width);
  std::vector<std::int64_t> widths = kWidths;
};

Inputs with_vectors(std::int64_t n, std::int64_t width, int matrices, int vectors) {
  Inputs all;
  for (int i = 0; i < matrices; ++i) all.push_back(rows({n, width}));
  for (int i = 0; i < vectors; ++i) all.push_back(vector(width));
  return all;
}

const AnyWidth kAnyWidth[] = {
    {"rms_norm", [](auto n, auto width) { return with_vectors(n, width, 1, 1); }},
    {"add_rms_norm", [](auto n, auto width) { return with_vectors(n, width, 2, 1); }},
    {"layer_norm", [](auto n, auto width) { return with_vectors(n, width, 1, 2); }, kOtherWidths},
    {"affine", [](auto n, auto width) { return with_vectors(n, width, 1, 2); }},
    {"swiglu", [](auto n, auto width) { return with_vectors(n, 2 * width, 1, 0); }},
    {"bounded_tanh",
     [](auto n, auto width) {
       return Inputs{rows({n, width}), value_float64(0.7), value_float64(-0.2), vector(width),
                     vector(width)};
     },
     kFewWidths},
    {"seed_norm",
     [](auto n, auto width) {
       auto beta = vector(width);
       beta.value /= static_cast<double>(width);
       return Inputs{rows({n, width}), vector(width), beta, vector(width), vector(width)};
     },
     kFewWidths},
    {"row_norm_of_length", [](auto n, auto width) { return with_vectors(n, width, 1, 2); },
     kFewWidths},
    {"row_norm_of_a_part", [](auto n, auto width) { return with_vectors(n, width, 1, 2); },
     kFewWidths},
    {"sphere_step",
     [](auto n, auto width) {
       return Inputs{
           rows({n, width}), rows({n, width}), {at::rand({width}, at::kDouble), Role::float64}};
     },
     kFewWidths},
    {"geodesic_step",
     [](auto n, auto width) {
       return Inputs{rows({n, width}), rows({n, width}), value_float64(0.7), value_float64(0.05)};
     },
     kFewWidths},
    {"weight_norm", [](auto n, auto width) { return Inputs{rows({n, width}), vector(n)}; },
     kFewWidths},
    {"scale_rows", [](auto n, auto width) { return Inputs{rows({n, width}), vector(n)}; },
     kFewWidths},
    {"embedding",
     [](auto n, auto width) {
       return Inputs{rows({7, width}), {at::randint(7, {n}, at::kLong), Role::index}};
     }},
    {"sum_of_squares", [](auto n, auto width) {
       return Inputs{rows({width == 8200 ? 100 * n : n, width})};  // several kBlockValues
     }}};

/// Rows for this width: once several blocks of kBlockRows.
constexpr std::int64_t kWidthOfManyRows = 7;
std::int64_t rows_for(std::int64_t width) {
  return width == kWidthOfManyRows ? 130 : width < 100 ? 9 : 2;
}

std::vector<OperatorCase> cases_of_other_widths(const OperatorCase& one) {
  std::vector<OperatorCase> all;
  for (const auto& any : kAnyWidth) {
    for (const auto width : any.widths) {
      if (one.name != any.name) continue;
      auto other = one;
      other.name += "_of_width_" + std::to_string(width);
      other.inputs = [=](std::int64_t n) { return any.inputs(n, width); };
      other.refusals = {};
      other.rows = rows_for(width);
      other.rows_of_threads = width == kWidthOfManyRows ? other.rows : 0;
      if (width != kWidthOfManyRows) other.threads = {};
      other.takes_strides = other.takes_meta = false;
      all.push_back(other);
    }
  }
  return all;
}

/// Whether gradients are sums of many terms of both signs, which a CUDA kernel computes in float32
/// (on the CPU in float64): what is left of them has fewer right digits.
bool has_cancelling_gradients(const OperatorCase& one) {
  const std::vector<std::string> names = {"add_rms_norm", "bounded",   "geodesic_step", "row_norm",
                                          "scale_rows",   "seed_norm", "sphere_step"};
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return one.name.starts_with(name); });
}

/// Moves refusals that depend on values out of the promises of the operator.
void separate_refusals(OperatorCase& one) {
  const auto is_of_values = [](const Refusal& refusal) {
    const std::string_view message = refusal.message;
    return message.find("is not below the vocabulary of") != message.npos ||
           message.find("must begin with 0, end with") != message.npos ||
           message.find("must be 0 to") != message.npos ||
           message.find("must be non-decreasing, from 0") != message.npos;
  };
  for (const auto& each : one.refusals) {
    if (is_of_values(each)) refusals_of_values().push_back(each);
  }
  std::erase_if(one.refusals, is_of_values);
}

}  // namespace

std::vector<Refusal>& refusals_of_values() {
  static std::vector<Refusal> all;
  return all;
}

/// The operators that have a CUDA adapter.
std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all;
  refusals_of_values().clear();  // GoogleTest calls this function several times
  for (const auto& room : {norm_cases(), weight_cases(), linear_cases(), attention_cases(),
                           moe_cases(), optim_cases()}) {
    for (auto one : room) {
      if (!is_small(one) || !launches_kernels(one)) continue;
      const bool has_rows = one.rows < 1000;  // else flat buffers
      if (has_rows) one.rows = std::min(one.rows, kRows);
      one.rows_of_threads = std::min(one.rows_of_threads, one.rows);
      one.threads = {2};  // last to first
      separate_refusals(one);
      if (has_cancelling_gradients(one)) one.tolerance.narrow_gradient = 256 * 0x1p-24;
      const auto others = cases_of_other_widths(one);
      all.push_back(one);
      all.insert(all.end(), others.begin(), others.end());
    }
  }
  return all;
}

}  // namespace evenkeel::testing
