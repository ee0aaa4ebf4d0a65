// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/optim/adamw.h"
#include "evenkeel/ops/optim/sum_of_squares.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

using ops::AdamwBuffers;

constexpr ops::AdamwStep kAdamwStep{.lr = 0.01,
                                    .beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-8,
                                    .weight_decay = 0.1,
                                    .gradient_scale = 0.5,
                                    .step = 3};

/// Two steps of `update` on copies of the buffers, between which something else writes the bfloat16
/// copy, and what it leaves in them.
/// \param in  weight, first, second, gradient
template <typename Update>
Tensors updated(const Tensors& in, const Update& update) {
  const AdamwBuffers buffers{
      .weight = in[0].clone(),
      .first = in[1].clone(),
      .second = in[2].clone(),
      .gradient = in[3],
      .copy = at::empty(in[0].sizes(), in[0].options().dtype(at::kBFloat16))};
  update(buffers, kAdamwStep);
  buffers.copy->slice(0, 0, in[0].size(0), 3).fill_(8);
  auto take_over = kAdamwStep;
  take_over.take_over = true;
  update(buffers, take_over);
  return {buffers.weight, buffers.first, buffers.second, *buffers.copy};
}

/// One of the buffers replaced.
void refused_update(at::Tensor AdamwBuffers::* member, const at::Tensor& bad) {
  AdamwBuffers buffers{.weight = at::zeros({4}),
                       .first = at::zeros({4}),
                       .second = at::zeros({4}),
                       .gradient = at::zeros({4}),
                       .copy = at::empty({4}, at::kBFloat16)};
  buffers.*member = bad;
  ops::adamw_(buffers, {.lr = 1, .step = 1});
}

void refused_without_copy() {
  ops::adamw_({.weight = at::zeros({4}),
               .first = at::zeros({4}),
               .second = at::zeros({4}),
               .gradient = at::zeros({4}),
               .copy = std::nullopt},
              {.lr = 1, .step = 1, .take_over = true});
}

void refused_copy_or_step(at::ScalarType copy, std::int64_t step) {
  ops::adamw_({.weight = at::zeros({4}),
               .first = at::zeros({4}),
               .second = at::zeros({4}),
               .gradient = at::zeros({4}),
               .copy = at::empty({4}, copy)},
              {.lr = 1, .step = step});
}

OperatorCase adamw_case() {
  return {.name = "adamw_",
          .inputs =
              [](std::int64_t n) {
                return Inputs{
                    vector(n), vector(n), {at::rand({n}, at::kDouble), Role::vector}, rows({n})};
              },
          .run = [](const Tensors& in) { return updated(in, ops::adamw_); },
          .formula = [](const Tensors& in) { return updated(in, ops::reference::adamw_); },
          .tolerance = {.float32 = 1e-6, .bfloat16 = 1e-6},
          .refusals =
              {{"[adamw_] weight must be float32 or float64, but is bfloat16",
                [] { refused_update(&AdamwBuffers::weight, at::zeros({4}, at::kBFloat16)); }},
               {"[adamw_] weight must be flat and contiguous, but is [2, 2] with strides [2, 1]",
                [] { refused_update(&AdamwBuffers::weight, at::zeros({2, 2})); }},
               {"[adamw_] second must be float32 on cpu like weight, but is float64 on cpu",
                [] { refused_update(&AdamwBuffers::second, at::zeros({4}, at::kDouble)); }},
               {"[adamw_] gradient must be flat and contiguous, but is [4] with strides [2]",
                [] { refused_update(&AdamwBuffers::gradient, at::zeros({8}).slice(0, 0, 8, 2)); }},
               {"[adamw_] gradient must be [4] on cpu like weight, but is [5] on cpu",
                [] { refused_update(&AdamwBuffers::gradient, at::zeros({5})); }},
               {"[adamw_] copy must be bfloat16, but is float32",
                [] { refused_copy_or_step(at::kFloat, 1); }},
               {"[adamw_] take_over needs a copy in bfloat16, but copy is None; pass the copy",
                refused_without_copy},
               {"[adamw_] step must be >= 1, but is 0",
                [] { refused_copy_or_step(at::kBFloat16, 0); }}},
          .rows = 10'000,
          .rows_of_threads = 200'001,
          .has_gradient = false,
          .takes_strides = false};
}

OperatorCase sum_of_squares_case() {
  return {
      .name = "sum_of_squares",
      .inputs = [](std::int64_t n) { return Inputs{rows({n, 50})}; },
      .run =
          [](const Tensors& in) {
            return Tensors{at::scalar_tensor(ops::sum_of_squares(in[0]), at::kDouble)};
          },
      .formula =
          [](const Tensors& in) {
            return Tensors{at::scalar_tensor(ops::reference::sum_of_squares(in[0]), at::kDouble)};
          },
      .refusals = {{"[sum_of_squares] x must be float32, bfloat16 or float64, but is int64",
                    [] { ops::sum_of_squares(at::zeros({2}, at::kLong)); }}},
      .rows_of_threads = 20'000,
      .has_gradient = false,
      .takes_meta = false};  // a number, not a tensor
}

}  // namespace

std::vector<OperatorCase> optim_cases() {
  return {adamw_case(), sum_of_squares_case()};
}

}  // namespace evenkeel::testing
