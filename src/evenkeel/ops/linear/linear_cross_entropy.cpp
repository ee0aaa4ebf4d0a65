// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/linear_cross_entropy.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/linear_cross_entropy_chunk.h"
#include "evenkeel/ops/linear/weight_gradient.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Tensor2 = std::tuple<Tensor, Tensor>;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

using LinearCrossEntropySignature = Tensor(const Tensor&, const Tensor&, const Tensor&,
                                           std::int64_t, double, std::optional<double>);
using LinearCrossEntropyForwardSignature = Tensor3(const Tensor&, const Tensor&, const Tensor&,
                                                   std::int64_t, double, std::optional<double>,
                                                   bool, bool);
using LinearCrossEntropyIntoSignature = Tensor2(const Tensor&, const Tensor&, const Tensor&,
                                                std::int64_t, double, std::optional<double>,
                                                const Tensor&);
using CrossEntropyRowsSignature = Tensor(const Tensor&, const Tensor&, double,
                                         std::optional<double>, bool);

/// Sums of rows of 512 first, then of these: one order for any number of threads.
Tensor fixed_order_sum(const Tensor& losses) {
  constexpr std::int64_t kRow = 512;
  const auto padded = (losses.numel() + kRow - 1) / kRow * kRow;
  auto rows = at::zeros({padded}, losses.options());
  rows.narrow(0, 0, losses.numel()).copy_(losses);
  return rows.view({-1, kRow}).sum(1).sum(0);
}

/// Uninitialized logits, [tokens, vocabulary]. On a GPU rows begin at multiples of 128 bytes, which
/// products of any vocabulary need to be fast.
Tensor logits_buffer(std::int64_t tokens, std::int64_t vocabulary, const Tensor& x) {
  constexpr std::int64_t kStep = 64;
  const auto row = x.is_cuda() ? (vocabulary + kStep - 1) / kStep * kStep : vocabulary;
  return at::empty({tokens, row}, x.options()).narrow(1, 0, vocabulary);
}

/// The tokens of a chunk. On a GPU chunks have about the same size: a small one is slow.
std::int64_t chunk_tokens(std::int64_t count, std::int64_t vocabulary, const Tensor& x) {
  const auto most = loss_chunk_tokens(vocabulary, x.element_size(), x.is_cuda());
  if (!x.is_cuda() || count <= most) return std::min(count, most);
  constexpr std::int64_t kStep = 64;
  const auto chunks = (count + most - 1) / most;
  return ((count + chunks - 1) / chunks + kStep - 1) / kStep * kStep;
}

/// Neighbouring tokens of the vocabulary.
struct VocabularyPart {
  std::int64_t first, count;
};

/// The parts whose products are computed separately. On a GPU one part is a multiple of 128: with
/// 100,278 tokens at once, an H100 computes at 40 % of its rate.
std::vector<VocabularyPart> vocabulary_parts(std::int64_t vocabulary, bool is_gpu) {
  constexpr std::int64_t kStep = 128;
  const auto even = vocabulary / kStep * kStep;
  if (!is_gpu || even == 0 || even == vocabulary) return {{0, vocabulary}};
  return {{0, even}, {even, vocabulary - even}};
}

void check_weight_gradient(const Tensor& dweight, const Tensor& weight) {
  TORCH_CHECK(dweight.sizes() == weight.sizes() &&
                  dweight.scalar_type() == opmath_dtype(weight.scalar_type()) &&
                  dweight.device() == weight.device(),
              "[linear_cross_entropy] the gradient of weight must be ", weight.sizes(), " of ",
              dtype_name(opmath_dtype(weight.scalar_type())), " on its device");
}

/// On every device: products by deterministic_matmul(), the rows between them by a kernel.
/// \param for_x    whether the gradient of x is required
/// \param dweight  undefined if the gradient of weight is not required
Tensor2 forward_and_gradient(const Tensor& x, const Tensor& weight, const Tensor& targets,
                             std::int64_t vocabulary, double scale, std::optional<double> softcap,
                             bool for_x, const Tensor& dweight) {
  static const auto cross_entropy_rows =
      registered_operator<CrossEntropyRowsSignature>("evenkeel::cross_entropy_rows_");
  const bool for_weight = dweight.defined();
  if (for_weight) check_weight_gradient(dweight, weight);
  const auto count = x.size(0);
  const auto tokens = chunk_tokens(count, vocabulary, x);
  const auto vocabulary_weight = weight.narrow(0, 0, vocabulary);
  const auto parts = vocabulary_parts(vocabulary, x.is_cuda());
  const auto losses = at::empty({count}, x.options().dtype(at::kDouble));
  const auto buffer = logits_buffer(tokens, vocabulary, x);
  auto dx = for_x ? empty_contiguous_like(x) : at::empty({0}, x.options());
  if (for_weight) {
    const auto first = count == 0 ? 0 : vocabulary;  // row that no token writes
    dweight.narrow(0, first, weight.size(0) - first).zero_();
  }
  for (std::int64_t first = 0; first < count; first += tokens) {
    const auto here = std::min(tokens, count - first);
    const auto part = x.narrow(0, first, here);
    const auto logits = buffer.narrow(0, 0, here);
    for (const auto& [from, size] : parts) {
      deterministic_matmul_out(logits.narrow(1, from, size), part,
                               vocabulary_weight.narrow(0, from, size).t());
    }
    losses.narrow(0, first, here)
        .copy_(cross_entropy_rows.call(logits, targets.narrow(0, first, here), scale, softcap,
                                       for_x || for_weight));
    for (const auto& [from, size] : parts) {
      const auto gradient = logits.narrow(1, from, size);
      if (for_x) {
        deterministic_matmul_out(dx.narrow(0, first, here), gradient,
                                 vocabulary_weight.narrow(0, from, size), /*is_added=*/from > 0);
      }
      if (!for_weight) continue;
      add_weight_gradient(dweight.narrow(0, from, size), gradient, part, /*is_first=*/first == 0);
    }
  }
  return {fixed_order_sum(losses).to(opmath_dtype(x.scalar_type())), dx};
}

Tensor2 linear_cross_entropy_into(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                  std::int64_t vocabulary, double scale,
                                  std::optional<double> softcap, const Tensor& dweight) {
  bump_version(dweight);
  return forward_and_gradient(x, weight, targets, vocabulary, scale, softcap, /*for_x=*/true,
                              dweight);
}

Tensor2 linear_cross_entropy_into_meta(const Tensor& x, const Tensor& /*weight*/,
                                       const Tensor& /*targets*/, std::int64_t /*vocabulary*/,
                                       double /*scale*/, std::optional<double> /*softcap*/,
                                       const Tensor& /*dweight*/) {
  return {at::empty({}, x.options().dtype(opmath_dtype(x.scalar_type()))),
          empty_contiguous_like(x)};
}

Tensor3 linear_cross_entropy_forward(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                     std::int64_t vocabulary, double scale,
                                     std::optional<double> softcap, bool for_x, bool for_weight) {
  const auto dweight =
      for_weight
          ? at::empty(weight.sizes(), weight.options().dtype(opmath_dtype(weight.scalar_type())))
          : Tensor();
  const auto [loss, dx] =
      forward_and_gradient(x, weight, targets, vocabulary, scale, softcap, for_x, dweight);
  return {loss, dx, for_weight ? dweight : at::empty({0}, weight.options())};
}

Tensor3 linear_cross_entropy_forward_meta(const Tensor& x, const Tensor& weight,
                                          const Tensor& /*targets*/, std::int64_t /*vocabulary*/,
                                          double /*scale*/, std::optional<double> /*softcap*/,
                                          bool for_x, bool for_weight) {
  const auto none = [](const Tensor& like_it) { return at::empty({0}, like_it.options()); };
  return {at::empty({}, x.options().dtype(opmath_dtype(x.scalar_type()))),
          for_x ? empty_contiguous_like(x) : none(x),
          for_weight ? empty_contiguous_like(weight).to(opmath_dtype(weight.scalar_type()))
                     : none(weight)};
}

Tensor cross_entropy_rows_meta(const Tensor& logits, const Tensor& targets, double /*scale*/,
                               std::optional<double> /*softcap*/, bool /*with_gradient*/) {
  TORCH_CHECK(targets.device() == logits.device(), "[cross_entropy_rows_] targets must be on ",
              logits.device(), " like logits, but are on ", targets.device());
  return at::empty_symint({logits.sym_size(0)}, logits.options().dtype(at::kDouble));
}

/// The state for the backward pass, if the weight has a gradient buffer.
struct WeightGradientState {
  GradientBuffer buffer;
  GradientBuffer::PendingGradient pending;
};

class LinearCrossEntropyFunction : public torch::autograd::Function<LinearCrossEntropyFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight,
                        const Tensor& targets, std::int64_t vocabulary, double scale,
                        std::optional<double> softcap, bool for_x, bool for_weight,
                        const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->saved_data["dtype"] = weight.scalar_type();
    if (*gradient_buffer) {
      static const auto op = registered_operator<LinearCrossEntropyIntoSignature>(
          "evenkeel::linear_cross_entropy_into");
      const auto pending = gradient_buffer->pending_gradient();
      const auto [loss, dx] = op.call(x, weight, targets, vocabulary, scale, softcap, *pending);
      ctx->save_for_backward({dx});
      ctx->saved_data["weight_gradient"] =
          saved_value(WeightGradientState{*gradient_buffer, pending});
      return loss;
    }
    static const auto op = registered_operator<LinearCrossEntropyForwardSignature>(
        "evenkeel::linear_cross_entropy_forward");
    const auto [loss, dx, dweight] =
        op.call(x, weight, targets, vocabulary, scale, softcap, for_x, for_weight);
    ctx->save_for_backward({dx, dweight});
    return loss;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    TORCH_CHECK(
        !at::GradMode::is_enabled(),
        "[linear_cross_entropy] can be differentiated once: its gradient is computed with the "
        "loss, and has none; leave out create_graph");
    const SavedTensors saved(ctx);
    Tensor dx, dweight;
    // A number of float32 keeps its digits, and dx its dtype.
    if (ctx->needs_input_grad(0)) dx = saved[0] * upstream[0];
    if (ctx->needs_input_grad(1)) {
      const auto found = ctx->saved_data.find("weight_gradient");
      if (found == ctx->saved_data.end()) {
        dweight = (saved[1] * upstream[0].to(saved[1].scalar_type()))
                      .to(ctx->saved_data["dtype"].toScalarType());
      } else {
        const auto& state = saved_value_as<WeightGradientState>(found->second);
        state.buffer.accumulate(state.pending, upstream[0]);
      }
    }
    const Tensor none;
    return {dx, dweight, none, none, none, none, none, none, none};
  }
};

void linear_cross_entropy_check(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                const LogitsOptions& options) {
  const auto vocabulary = options.vocabulary;
  check_dtype("linear_cross_entropy", "x", x);
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2 && x.sym_size(1) == weight.sym_size(1),
              "[linear_cross_entropy] x must be [n, D] and weight [rows, D], but they are ",
              x.sym_sizes(), " and ", weight.sym_sizes());
  TORCH_CHECK(x.scalar_type() == weight.scalar_type() && x.device() == weight.device(),
              "[linear_cross_entropy] weight must be ", dtype_name(x.scalar_type()), " on ",
              x.device(), " like x, but is ", dtype_name(weight.scalar_type()), " on ",
              weight.device());
  TORCH_CHECK(targets.dim() == 1 && targets.sym_size(0) == x.sym_size(0) &&
                  targets.scalar_type() == at::kLong && targets.device() == x.device(),
              "[linear_cross_entropy] targets must be [", x.sym_size(0), "] of int64 on ",
              x.device(), ", but are ", targets.sym_sizes(), " of ",
              dtype_name(targets.scalar_type()), " on ", targets.device());
  TORCH_CHECK(vocabulary >= 1 && weight.sym_size(0) >= vocabulary,
              "[linear_cross_entropy] vocabulary must be 1 to ", weight.sym_size(0),
              ", the rows of weight, but is ", vocabulary);
  check_softcap("linear_cross_entropy", options.softcap);
}

Tensor linear_cross_entropy_autograd(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                     std::int64_t vocabulary, double scale,
                                     std::optional<double> softcap) {
  linear_cross_entropy_check(x, weight, targets, {vocabulary, scale, softcap});
  const bool recorded = at::GradMode::is_enabled();
  const GradientBuffer none;
  return LinearCrossEntropyFunction::apply(x, weight, targets, vocabulary, scale, softcap,
                                           recorded && x.requires_grad(),
                                           recorded && weight.requires_grad(), &none);
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LogitsOptions& options, const GradientBuffer& gradient_buffer) {
  if (gradient_buffer && at::GradMode::is_enabled() && weight.requires_grad()) {
    linear_cross_entropy_check(x, weight, targets, options);
    return LinearCrossEntropyFunction::apply(x, weight, targets, options.vocabulary, options.scale,
                                             options.softcap,
                                             /*for_x=*/true, /*for_weight=*/true, &gradient_buffer);
  }
  static const auto op =
      registered_operator<LinearCrossEntropySignature>("evenkeel::linear_cross_entropy");
  return op.call(x, weight, targets, options.vocabulary, options.scale, options.softcap);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale=1., float? softcap=None) -> Tensor");
  m.def(
      "linear_cross_entropy_forward(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale, float? softcap, bool for_x, bool for_weight)"
      " -> (Tensor loss, Tensor dx, Tensor dweight)");
  m.def(
      "linear_cross_entropy_into(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale, float? softcap, Tensor(a!) dweight) -> (Tensor loss, Tensor dx)");
  m.def(
      "cross_entropy_rows_(Tensor(a!) logits, Tensor targets, float scale, float? softcap,"
      " bool with_gradient) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("linear_cross_entropy", linear_cross_entropy_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("linear_cross_entropy_forward", linear_cross_entropy_forward);
  m.impl("linear_cross_entropy_into", linear_cross_entropy_into);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("linear_cross_entropy_forward", linear_cross_entropy_forward);
  m.impl("linear_cross_entropy_into", linear_cross_entropy_into);
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("linear_cross_entropy_forward", linear_cross_entropy_forward_meta);
  m.impl("linear_cross_entropy_into", linear_cross_entropy_into_meta);
  m.impl("cross_entropy_rows_", cross_entropy_rows_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("linear_cross_entropy_forward", autograd_not_implemented());
  m.impl("linear_cross_entropy_into", autograd_not_implemented());
  m.impl("cross_entropy_rows_", autograd_not_implemented());
}

}  // namespace evenkeel::ops
