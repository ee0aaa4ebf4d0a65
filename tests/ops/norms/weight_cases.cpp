// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/normalize.h"
#include "evenkeel/ops/norms/sigma_reparam.h"
#include "evenkeel/ops/norms/weight_norm.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

namespace reference = ops::reference;

constexpr std::int64_t kColumns = 70;

OperatorCase weight_norm_case() {
  return {.name = "weight_norm",
          .inputs = [](std::int64_t n) { return Inputs{rows({n, kColumns}), vector(n)}; },
          .run = [](const Tensors& in) { return Tensors{ops::weight_norm(in[0], in[1])}; },
          .formula =
              [](const Tensors& in) { return Tensors{reference::weight_norm_rows(in[0], in[1])}; },
          .refusals =
              {{"[weight_norm] v must be [rows, columns], but is [3]",
                [] { ops::weight_norm(at::ones({3}), at::ones({3})); }},
               {"[weight_norm] row_gain must be [3] of float32 on cpu, but is [4] of float32 on "
                "cpu",
                [] { ops::weight_norm(at::ones({3, 4}), at::ones({4})); }}}};
}

Inputs sigma_inputs(std::int64_t n) {
  return {rows({n, kColumns}),
          {at::full({1}, 0.7, at::kDouble), Role::vector},
          {at::rand({n}, at::kDouble), Role::constant},
          {at::rand({kColumns}, at::kDouble), Role::constant}};
}

OperatorCase sigma_reparam_case() {
  return {
      .name = "sigma_reparam",
      .inputs = sigma_inputs,
      .run =
          [](const Tensors& in) { return Tensors{ops::sigma_reparam(in[0], in[1], in[2], in[3])}; },
      .formula =
          [](const Tensors& in) {
            return Tensors{reference::sigma_rows(in[0], in[1], in[2], in[3])};
          },
      .refusals = {{"[sigma_reparam] left must be [3] of float32 on cpu, but is [4] of float32 "
                    "on cpu",
                    [] {
                      ops::sigma_reparam(at::ones({3, 4}), at::ones({1}), at::ones({4}),
                                         at::ones({4}));
                    }},
                   {"[sigma_reparam] gamma must be [1] of float32 on cpu, but is [2] of float32 "
                    "on cpu",
                    [] {
                      ops::sigma_reparam(at::ones({3, 4}), at::ones({2}), at::ones({3}),
                                         at::ones({4}));
                    }}},
      .rows_of_threads = 3000};
}

OperatorCase power_iteration_case() {
  const auto run = [](const Tensors& in) {
    const auto left = in[2].clone(), right = in[3].clone();
    ops::power_iteration_(in[0], left, right);
    return Tensors{left.contiguous(), right.contiguous()};
  };
  const auto formula = [](const Tensors& in) {
    const auto unit = [](const at::Tensor& x) { return x / x.norm(); };
    const auto left = unit(at::mv(in[0], in[3]));
    return Tensors{left, unit(at::mv(in[0].t(), left))};
  };
  return {
      .name = "power_iteration_",
      .inputs = sigma_inputs,
      .run = run,
      .formula = formula,
      .refusals = {{"[power_iteration_] right must be [4] of float32 on cpu, but is [3] of "
                    "float32 on cpu",
                    [] { ops::power_iteration_(at::ones({3, 4}), at::ones({3}), at::ones({3})); }}},
      .rows_of_threads = 3000,
      .has_gradient = false};
}

OperatorCase normalize_case(std::int64_t dim) {
  const auto inputs = [](std::int64_t n) {
    auto w = at::randn({n, 40}, at::kDouble);
    if (n > 1) w[1].zero_();
    w.select(1, 2).zero_();
    return Inputs{{w}};
  };
  const auto run = [=](const Tensors& in) {
    const auto w = in[0].clone();
    ops::normalize_(w, dim);
    return Tensors{w.contiguous()};
  };
  const auto formula = [=](const Tensors& in) {
    const auto length = in[0].norm(2, {dim}, /*keepdim=*/true);
    return Tensors{in[0] / at::where(length > 0, length, 1.0)};
  };
  return {.name = dim == 1 ? "normalize_rows" : "normalize_columns",
          .inputs = inputs,
          .run = run,
          .formula = formula,
          .refusals = {{"[normalize_] w must be a matrix, but is [3]",
                        [] { ops::normalize_(at::ones({3}), 0); }},
                       {"[normalize_] dim must be 0 or 1, but is 2",
                        [] { ops::normalize_(at::ones({3, 3}), 2); }}},
          .rows_of_threads = 3000,
          .has_gradient = false};
}

}  // namespace

std::vector<OperatorCase> weight_cases() {
  return {weight_norm_case(), sigma_reparam_case(), power_iteration_case(), normalize_case(1),
          normalize_case(0)};
}

}  // namespace evenkeel::testing
