// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/linear_cross_entropy_forward.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/linear_cross_entropy.h"
#include "evenkeel/ops/linear/linear_cross_entropy_chunk.h"
#include "evenkeel/ops/linear/weight_gradient.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

using CrossEntropyRowsSignature = Tensor(const Tensor&, const Tensor&, double,
                                         std::optional<double>, bool, double);

/// The sum of [n]: sums of rows of 512 first, then of these: one order for any number of threads.
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

/// logits = x weight^T
void logits_into(const Tensor& logits, const Tensor& x, const Tensor& weight,
                 const std::vector<VocabularyPart>& parts) {
  for (const auto& [from, size] : parts) {
    deterministic_matmul_out(logits.narrow(1, from, size), x, weight.narrow(0, from, size).t());
  }
}

/// What one pass over the tokens computes.
struct LossAndGradient {
  Tensor loss, parts;  // [], [2]
  Tensor dx;           // [0] if it is not required
};

/// \param rows  [2, n], from cross_entropy_rows_
LossAndGradient with_sums(const Tensor& rows, double z_loss, const Tensor& dx) {
  const auto dtype = opmath_dtype(dx.scalar_type());
  const auto cross_entropy = fixed_order_sum(rows[0]), squared_lse = fixed_order_sum(rows[1]);
  const auto total = z_loss == 0 ? cross_entropy : cross_entropy + squared_lse * z_loss;
  return {total.to(dtype), at::stack({cross_entropy, squared_lse}).to(dtype), dx};
}

/// On every device: products by deterministic_matmul(), the rows between them by a kernel.
/// \param for_x    whether the gradient of x is required
/// \param dweight  undefined if the gradient of weight is not required
LossAndGradient forward_and_gradient(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                     const LogitsOptions& options, bool for_x,
                                     const Tensor& dweight) {
  static const auto cross_entropy_rows =
      registered_operator<CrossEntropyRowsSignature>("evenkeel::cross_entropy_rows_");
  const bool for_weight = dweight.defined();
  if (for_weight) check_weight_gradient(dweight, weight);
  const auto count = x.size(0), vocabulary = options.vocabulary;
  const auto tokens = chunk_tokens(count, vocabulary, x);
  const auto vocabulary_weight = weight.narrow(0, 0, vocabulary);
  const auto parts = vocabulary_parts(vocabulary, x.is_cuda());
  const auto losses = at::empty({2, count}, x.options().dtype(at::kDouble));
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
    logits_into(logits, part, vocabulary_weight, parts);
    losses.narrow(1, first, here)
        .copy_(cross_entropy_rows.call(logits, targets.narrow(0, first, here), options.scale,
                                       options.softcap, for_x || for_weight, options.z_loss));
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
  return with_sums(losses, options.z_loss, dx);
}

Tensor3 linear_cross_entropy_into(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                  std::int64_t vocabulary, double scale,
                                  std::optional<double> softcap, const Tensor& dweight,
                                  double z_loss) {
  bump_version(dweight);
  const auto [loss, parts, dx] =
      forward_and_gradient(x, weight, targets, {vocabulary, scale, softcap, z_loss},
                           /*for_x=*/true, dweight);
  return {loss, parts, dx};
}

Tensor3 linear_cross_entropy_into_meta(const Tensor& x, const Tensor& /*weight*/,
                                       const Tensor& /*targets*/, std::int64_t /*vocabulary*/,
                                       double /*scale*/, std::optional<double> /*softcap*/,
                                       const Tensor& /*dweight*/, double /*z_loss*/) {
  const auto sums = x.options().dtype(opmath_dtype(x.scalar_type()));
  return {at::empty({}, sums), at::empty({2}, sums), empty_contiguous_like(x)};
}

Tensor4 linear_cross_entropy_forward(const Tensor& x, const Tensor& weight, const Tensor& targets,
                                     std::int64_t vocabulary, double scale,
                                     std::optional<double> softcap, bool for_x, bool for_weight,
                                     double z_loss) {
  const auto dweight =
      for_weight
          ? at::empty(weight.sizes(), weight.options().dtype(opmath_dtype(weight.scalar_type())))
          : Tensor();
  const auto [loss, parts, dx] = forward_and_gradient(
      x, weight, targets, {vocabulary, scale, softcap, z_loss}, for_x, dweight);
  return {loss, parts, dx, for_weight ? dweight : at::empty({0}, weight.options())};
}

Tensor4 linear_cross_entropy_forward_meta(const Tensor& x, const Tensor& weight,
                                          const Tensor& /*targets*/, std::int64_t /*vocabulary*/,
                                          double /*scale*/, std::optional<double> /*softcap*/,
                                          bool for_x, bool for_weight, double /*z_loss*/) {
  const auto none = [](const Tensor& like_it) { return at::empty({0}, like_it.options()); };
  const auto sums = x.options().dtype(opmath_dtype(x.scalar_type()));
  return {at::empty({}, sums), at::empty({2}, sums), for_x ? empty_contiguous_like(x) : none(x),
          for_weight ? empty_contiguous_like(weight).to(opmath_dtype(weight.scalar_type()))
                     : none(weight)};
}

Tensor cross_entropy_rows_meta(const Tensor& logits, const Tensor& targets, double /*scale*/,
                               std::optional<double> /*softcap*/, bool /*with_gradient*/,
                               double /*z_loss*/) {
  TORCH_CHECK(targets.device() == logits.device(), "[cross_entropy_rows_] targets must be on ",
              logits.device(), " like logits, but are on ", targets.device());
  return at::empty_symint({2, logits.sym_size(0)}, logits.options().dtype(at::kDouble));
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "linear_cross_entropy_forward(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale, float? softcap, bool for_x, bool for_weight, float z_loss=0.)"
      " -> (Tensor loss, Tensor parts, Tensor dx, Tensor dweight)");
  m.def(
      "linear_cross_entropy_into(Tensor x, Tensor weight, Tensor targets, int vocabulary,"
      " float scale, float? softcap, Tensor(a!) dweight, float z_loss=0.)"
      " -> (Tensor loss, Tensor parts, Tensor dx)");
  m.def(
      "cross_entropy_rows_(Tensor(a!) logits, Tensor targets, float scale, float? softcap,"
      " bool with_gradient, float z_loss=0.) -> Tensor");
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
