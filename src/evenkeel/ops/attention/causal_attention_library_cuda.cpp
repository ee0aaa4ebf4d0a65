// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "evenkeel/ops/attention/causal_attention_library.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

constexpr std::int64_t kWidthStep = 8;         // of both libraries
constexpr std::int64_t kMaxFlashWidth = 256;   // forward and backward
constexpr std::int64_t kMaxCudnnWidth = 128;   // on every card that has it
constexpr std::int64_t kMaxCudnnSize = 65535;  // of the batch, and of heads
constexpr std::int64_t kCudnnLengthStep = 128;

/// The values of a result that belong to heads of this width.
Tensor without_padding(const Tensor& x, std::int64_t width) {
  return x.size(-1) == width ? x.contiguous() : x.narrow(-1, 0, width).contiguous();
}

/// Switches to deterministic algorithms, and back at the end of the scope. New tensors are not
/// filled.
class DeterministicScope {
 public:
  explicit DeterministicScope(bool is_on)
      : was_on_(context().deterministicAlgorithms()),
        only_warned_(context().deterministicAlgorithmsWarnOnly()),
        filled_(context().deterministicFillUninitializedMemory()) {
    context().setDeterministicFillUninitializedMemory(false);
    context().setDeterministicAlgorithms(is_on, /*warn_only=*/false);
  }
  ~DeterministicScope() {
    context().setDeterministicAlgorithms(was_on_, only_warned_);
    context().setDeterministicFillUninitializedMemory(filled_);
  }
  DeterministicScope(const DeterministicScope&) = delete;
  DeterministicScope& operator=(const DeterministicScope&) = delete;

 private:
  static at::Context& context() { return at::globalContext(); }
  bool was_on_, only_warned_, filled_;
};

/// [B, T, heads, D] as [B, heads, T, D] and back.
Tensor swapped(const Tensor& x) {
  return x.transpose(1, 2);
}

// The dimensions of cuDNN's log-sum-exp: LibTorch 2.11 returns [B, heads, T, 1], and wants it back;
// newer ones drop the last dimension.
std::atomic<std::int64_t> cudnn_lse_dimensions = 4;

}  // namespace

Tensor library_operand(const Tensor& x) {
  const auto width = x.size(-1), rest = width % kWidthStep;
  if (rest != 0) return at::constant_pad_nd(x, {0, kWidthStep - rest});
  const auto dense = x.contiguous();
  const auto address = reinterpret_cast<std::uintptr_t>(dense.const_data_ptr());
  return address % 16 == 0 ? dense : dense.clone();
}

Tensor flash_operand(const Tensor& x) {
  const auto is_step = [](std::int64_t size) { return size % kWidthStep == 0; };
  const auto address = reinterpret_cast<std::uintptr_t>(x.const_data_ptr());
  const bool is_loadable = x.stride(-1) == 1 && is_step(x.size(-1)) && address % 16 == 0 &&
                           std::ranges::all_of(x.strides().slice(0, x.dim() - 1), is_step);
  return is_loadable ? x : library_operand(x);
}

bool is_taken_by_flash(const Tensor& q) {
  return q.scalar_type() == at::kBFloat16 && q.size(3) <= kMaxFlashWidth;
}

bool is_taken_by_cudnn(const Tensor& q, const Tensor& k) {
  return is_taken_by_flash(q) && q.size(1) == k.size(1) && q.size(1) % kCudnnLengthStep == 0 &&
         q.size(3) % kWidthStep == 0 && q.size(3) <= kMaxCudnnWidth && q.size(0) <= kMaxCudnnSize &&
         q.size(2) <= kMaxCudnnSize;
}

std::tuple<Tensor, Tensor> flash_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                           double scale) {
  // y has the order of strides of q, so that q is contiguous.
  const auto results = at::_flash_attention_forward(
      library_operand(q), flash_operand(k), flash_operand(v), /*cum_seq_q=*/std::nullopt,
      /*cum_seq_k=*/std::nullopt, q.size(1), k.size(1), /*dropout_p=*/0, /*is_causal=*/true,
      /*return_debug_mask=*/false, scale);
  return {without_padding(std::get<0>(results), q.size(3)), std::get<1>(results)};
}

QueryKeyValueGradients flash_attention_backward(const AttentionResults& in, double scale,
                                                bool is_ordered) {
  const DeterministicScope scope(is_ordered);
  const auto random_state = at::empty({2}, in.q.options().dtype(at::kUInt64));  // of no dropout
  const auto [dq, dk, dv] = at::_flash_attention_backward(
      library_operand(in.dy), library_operand(in.q), library_operand(in.k), library_operand(in.v),
      library_operand(in.y), in.lse.contiguous(), /*cum_seq_q=*/Tensor(), /*cum_seq_k=*/Tensor(),
      in.q.size(1), in.k.size(1), /*dropout_p=*/0, /*is_causal=*/true, random_state, random_state,
      scale);
  const auto width = in.q.size(3);
  return {without_padding(dq, width), without_padding(dk, width), without_padding(dv, width)};
}

std::tuple<Tensor, Tensor> cudnn_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                           double scale) {
  const auto results = at::_scaled_dot_product_cudnn_attention(
      swapped(library_operand(q)), swapped(library_operand(k)), swapped(library_operand(v)),
      /*attn_bias=*/std::nullopt, /*compute_log_sumexp=*/true, /*dropout_p=*/0, /*is_causal=*/true,
      /*return_debug_mask=*/false, scale);
  const auto& lse = std::get<1>(results);
  cudnn_lse_dimensions = lse.dim();
  return {swapped(std::get<0>(results)).contiguous(),
          lse.reshape({q.size(0), q.size(2), q.size(1)})};
}

QueryKeyValueGradients cudnn_attention_backward(const AttentionResults& in, double scale) {
  const auto seed = at::empty({}, in.q.options().dtype(at::kLong));  // of no dropout
  const auto lse = in.lse.contiguous();
  const auto [dq, dk, dv] = at::_scaled_dot_product_cudnn_attention_backward(
      swapped(library_operand(in.dy)), swapped(library_operand(in.q)),
      swapped(library_operand(in.k)), swapped(library_operand(in.v)),
      swapped(library_operand(in.y)), cudnn_lse_dimensions == 4 ? lse.unsqueeze(-1) : lse, seed,
      seed, /*attn_bias=*/Tensor(), /*cum_seq_q=*/Tensor(), /*cum_seq_k=*/Tensor(), in.q.size(1),
      in.k.size(1), /*dropout_p=*/0, /*is_causal=*/true, scale);
  return {swapped(dq).contiguous(), swapped(dk).contiguous(), swapped(dv).contiguous()};
}

}  // namespace evenkeel::ops
