// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/routes.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/gathered_sum.h"
#include "evenkeel/ops/cpu.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The k largest of `scores`, into `chosen`. A comparison with what is not a number is false, so
/// that any k are distinct.
template <typename T>
void choose(const T* scores, std::int64_t experts, std::int64_t k, std::int64_t* chosen) {
  for (std::int64_t j = 0; j < k; ++j) {
    const auto is_free = [&](std::int64_t e) {
      for (std::int64_t i = 0; i < j; ++i) {
        if (chosen[i] == e) return false;
      }
      return true;
    };
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      if ((best < 0 || scores[e] > scores[best]) && is_free(e)) best = e;
    }
    chosen[j] = best;
  }
}

/// Row n of the result is the sum of some rows of x: those named by row n of `rows`.
/// \param rows  [n] or [n, count]
at::Tensor sums_of_rows(const at::Tensor& x, const at::Tensor& rows) {
  const auto from = x.contiguous();
  const auto count = rows.dim() == 1 ? 1 : rows.size(1);
  const auto width = from.size(1);
  const auto y = at::empty({rows.size(0), width}, from.options());
  const auto* const named = rows.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, from.scalar_type(), "sums_of_rows", [&] {
    const auto* const source = ops::cpu::in<scalar_t>(from);
    auto* const to = ops::cpu::out<scalar_t>(y);
    ops::cpu::for_each_row(y.size(0), [&](std::int64_t n) {
      kernels::cpu::gathered_sum(source, named + n * count, count, to + n * width, width);
    });
  });
  return y;
}

/// sums_of_rows(x, there); the gradient is sums_of_rows(dy, back).
class Moved : public torch::autograd::Function<Moved> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& there,
                            const at::Tensor& back) {
    ctx->save_for_backward({back});
    return sums_of_rows(x, there);
  }
  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    return {sums_of_rows(upstream[0], ctx->get_saved_variables()[0]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor Routes::counts() const {
  return starts.narrow(0, 1, experts()) - starts.narrow(0, 0, experts());
}

Routes routes_of(const at::Tensor& scores, std::int64_t k) {
  const auto tokens = scores.size(0);
  const auto experts = scores.size(1);
  EK_ASSERT(1 <= k && k <= experts);
  const auto whole = scores.options().dtype(at::kLong);
  Routes routes = {.chosen = at::empty({tokens, k}, whole),
                   .order = at::empty({tokens * k}, whole),
                   .token = at::empty({tokens * k}, whole),
                   .place = at::empty({tokens, k}, whole),
                   .starts = at::zeros({experts + 1}, whole)};
  const auto given = scores.detach().contiguous();
  auto* const chosen = routes.chosen.mutable_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "routes_of", [&] {
    const auto* const from = given.const_data_ptr<scalar_t>();
    ops::cpu::for_each_row(
        tokens, [&](std::int64_t n) { choose(from + n * experts, experts, k, chosen + n * k); });
  });
  // Sorted by counting: stable, and as long as one pass over the choices.
  auto* const starts = routes.starts.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens * k; ++i) ++starts[chosen[i] + 1];
  for (std::int64_t e = 0; e < experts; ++e) starts[e + 1] += starts[e];
  std::vector<std::int64_t> next(starts, starts + experts);
  auto* const order = routes.order.mutable_data_ptr<std::int64_t>();
  auto* const token = routes.token.mutable_data_ptr<std::int64_t>();
  auto* const place = routes.place.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens * k; ++i) {
    const auto at = next[static_cast<std::size_t>(chosen[i])]++;
    order[at] = i;
    token[at] = i / k;
    place[i] = at;
  }
  return routes;
}

at::Tensor sent(const at::Tensor& x, const Routes& routes) {
  return Moved::apply(x, routes.token, routes.place);
}

at::Tensor brought_back(const at::Tensor& x, const Routes& routes) {
  return Moved::apply(x, routes.place, routes.token);
}

}  // namespace evenkeel::nn
