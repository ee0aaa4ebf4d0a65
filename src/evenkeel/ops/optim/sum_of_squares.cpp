// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/sum_of_squares.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <torch/library.h>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

const auto& sum_of_squares_operator() {
  static const auto op =
      registered_operator<at::Tensor(const at::Tensor&)>("evenkeel::sum_of_squares");
  return op;
}

}  // namespace

double sum_of_squares(const at::Tensor& x) {
  return sums_of_squares({x}).front();
}

std::vector<double> sums_of_squares(const std::vector<at::Tensor>& all) {
  std::vector<at::Tensor> sums;
  sums.reserve(all.size());
  for (const auto& x : all) sums.push_back(sum_of_squares_operator().call(x));
  if (sums.empty()) return {};
  const auto values = at::stack(sums).cpu();
  const auto* const begin = values.const_data_ptr<double>();
  return {begin, begin + values.numel()};
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("sum_of_squares(Tensor x) -> Tensor");
}

namespace {

/// The result has no gradient: it is for monitoring.
at::Tensor sum_of_squares_autograd(const at::Tensor& x) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return sum_of_squares_operator().call(x);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("sum_of_squares", sum_of_squares_autograd);
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

at::Tensor sum_of_squares_meta(const at::Tensor& x) {
  check_dtype("sum_of_squares", "x", x);
  return at::empty({}, x.options().dtype(at::kDouble));
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sum_of_squares", sum_of_squares_meta);
}

}  // namespace evenkeel::ops
