// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <tuple>
#include <utility>

#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/attention/causal_attention_library.h"
#include "evenkeel/ops/attention/cudnn_backward.h"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::AttentionSizes;
using kernels::cuda::HeadTensor;
using kernels::cuda::OpMathType;

/// What computes a pass. All of them save y and the log-sum-exp, so that the forward and backward
/// pass may differ.
enum class AttentionBackend {
  automatic,        // equal bits for equal inputs, if required: see backend_of()
  cudnn,            // cuDNN; the sums of dq have no order
  cudnn_ordered,    // cuDNN; the sums of dq have an order. Forward as cudnn
  flash,            // FlashAttention 2 of LibTorch; dq is added in order
  flash_unordered,  // the same with atomic additions to dq
  fused             // kernels/cuda/causal_attention.cuh; takes everything
};

constexpr std::array<std::pair<AttentionBackend, const char*>, 6> kBackends = {
    {{AttentionBackend::automatic, "automatic"},
     {AttentionBackend::cudnn, "cudnn"},
     {AttentionBackend::cudnn_ordered, "cudnn_ordered"},
     {AttentionBackend::flash, "flash"},
     {AttentionBackend::flash_unordered, "flash_unordered"},
     {AttentionBackend::fused, "fused"}}};

std::atomic<AttentionBackend> requested_backend = AttentionBackend::automatic;

/// For tests and benchmarks: the backend of all later calls of the process that it takes; other
/// calls are as before.
/// \return the name of the last backend
std::string attention_backend(std::string name) {
  const auto named = [&](const auto& one) { return one.second == name; };
  const auto* const found = std::find_if(kBackends.begin(), kBackends.end(), named);
  TORCH_CHECK(found != kBackends.end(),
              "[attention_backend] the name must be automatic, cudnn, cudnn_ordered, flash, "
              "flash_unordered or fused, but is ",
              name);
  const auto last = requested_backend.exchange(found->first);
  const auto is_last = [&](const auto& one) { return one.first == last; };
  return std::find_if(kBackends.begin(), kBackends.end(), is_last)->second;
}

/// The options that decide on the backend.
struct AttentionOptions {
  double scale = 1;
  std::optional<double> softcap;
  std::optional<Tensor> document_starts;
  bool is_backward = false;
};

/// The backend of one call: as requested, or the fastest; with deterministic algorithms the fastest
/// that gives equal bits for equal inputs.
AttentionBackend backend_of(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const auto requested = requested_backend.load();
  const bool is_plain = !options.softcap && !options.document_starts;
  if (requested == AttentionBackend::fused || !is_plain || !is_taken_by_flash(q)) {
    return AttentionBackend::fused;
  }
  const bool is_automatic = requested == AttentionBackend::automatic;
  const bool is_deterministic = at::globalContext().deterministicAlgorithms();
  const bool is_ordered = options.is_backward && (requested == AttentionBackend::cudnn_ordered ||
                                                  (is_automatic && is_deterministic));
  const bool is_cudnn = is_automatic || requested == AttentionBackend::cudnn ||
                        requested == AttentionBackend::cudnn_ordered;
  if (is_cudnn && is_taken_by_cudnn(q, k)) {
    if (!is_ordered) return AttentionBackend::cudnn;
    if (takes_ordered_cudnn(q, k, options.scale)) return AttentionBackend::cudnn_ordered;
  }
  return requested == AttentionBackend::flash_unordered ? requested : AttentionBackend::flash;
}

/// A tensor whose last dimension (the values of a head) is contiguous; other strides are arbitrary.
Tensor with_dense_heads(const Tensor& x) {
  return x.stride(-1) == 1 || x.size(-1) == 1 ? x : x.contiguous();
}

template <typename scalar_t>
HeadTensor<const KernelType<scalar_t>> heads_in(const Tensor& x) {
  return {const_data<scalar_t>(x), x.stride(0), x.stride(1), x.stride(2)};
}
template <typename scalar_t>
HeadTensor<KernelType<scalar_t>> heads_out(const Tensor& x) {
  return {mutable_data<scalar_t>(x), x.stride(0), x.stride(1), x.stride(2)};
}

const std::int32_t* starts_data(const std::optional<Tensor>& document_starts) {
  return document_starts ? document_starts->const_data_ptr<std::int32_t>() : nullptr;
}

AttentionSizes sizes_on_cuda(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  TORCH_CHECK(q.size(3) <= kernels::cuda::kMaxHeadWidth,
              "[causal_attention] the width of a head on CUDA must be at most ",
              kernels::cuda::kMaxHeadWidth, ", but is ", q.size(3));
  return {.batch = q.size(0),
          .queries = q.size(1),
          .keys = k.size(1),
          .heads = q.size(2),
          .kv_heads = k.size(2),
          .width = q.size(3),
          .scale = options.scale,
          .softcap = options.softcap.value_or(0)};
}

Tensor empty_per_query(const Tensor& q) {
  return at::empty({q.size(0), q.size(2), q.size(1)},
                   q.options().dtype(opmath_dtype(q.scalar_type())));
}

std::tuple<Tensor, Tensor> fused_forward(const Tensor& q_any, const Tensor& k_any,
                                         const Tensor& v_any, const AttentionOptions& options) {
  const auto q = with_dense_heads(q_any), k = with_dense_heads(k_any), v = with_dense_heads(v_any);
  const auto sizes = sizes_on_cuda(q, k, options);
  auto y = empty_contiguous_like(q);
  auto lse = empty_per_query(q);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "causal_attention_forward", [&] {
    using T = KernelType<scalar_t>;
    cuda::check(kernels::cuda::causal_attention<T>(
        {.q = heads_in<scalar_t>(q),
         .k = heads_in<scalar_t>(k),
         .v = heads_in<scalar_t>(v),
         .y = heads_out<scalar_t>(y),
         .lse = mutable_data<OpMathType<T>>(lse),
         .document_starts = starts_data(options.document_starts)},
        sizes, cuda::stream()));
  });
  return {y, lse};
}

AttentionOptions options_of(double scale, std::optional<double> softcap,
                            const std::optional<Tensor>& document_starts, bool is_backward) {
  return {.scale = scale,
          .softcap = softcap,
          .document_starts =
              document_starts ? std::optional(document_starts->contiguous()) : std::nullopt,
          .is_backward = is_backward};
}

std::tuple<Tensor, Tensor> causal_attention_forward_cuda(
    const Tensor& q, const Tensor& k, const Tensor& v, double scale, std::optional<double> softcap,
    const std::optional<Tensor>& document_starts) {
  check_attention(q, k, v, document_starts);
  const c10::cuda::CUDAGuard on_device_of_q(q.device());
  if (q.numel() == 0) return {empty_contiguous_like(q), empty_per_query(q)};
  const auto options = options_of(scale, softcap, document_starts, /*is_backward=*/false);
  switch (backend_of(q, k, options)) {
    case AttentionBackend::cudnn:
      return cudnn_attention(q, k, v, scale);
    case AttentionBackend::flash:
    case AttentionBackend::flash_unordered:
      return flash_attention(q, k, v, scale);
    default:
      return fused_forward(q, k, v, options);
  }
}

QueryKeyValueGradients fused_backward(const AttentionResults& in, const AttentionOptions& options) {
  const auto q = with_dense_heads(in.q), k = with_dense_heads(in.k), v = with_dense_heads(in.v),
             y = with_dense_heads(in.y), dy = with_dense_heads(in.dy);
  const auto lse = in.lse.contiguous(), delta = empty_per_query(q);
  const auto sizes = sizes_on_cuda(q, k, options);
  const QueryKeyValueGradients out = {empty_contiguous_like(q), empty_contiguous_like(k),
                                      empty_contiguous_like(v)};
  const auto& [dq, dk, dv] = out;
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "causal_attention_backward", [&] {
    using T = KernelType<scalar_t>;
    cuda::check(kernels::cuda::causal_attention_backward<T>(
        {.dy = heads_in<scalar_t>(dy),
         .q = heads_in<scalar_t>(q),
         .k = heads_in<scalar_t>(k),
         .v = heads_in<scalar_t>(v),
         .y = heads_in<scalar_t>(y),
         .lse = const_data<OpMathType<T>>(lse),
         .delta = mutable_data<OpMathType<T>>(delta),
         .dq = heads_out<scalar_t>(dq),
         .dk = heads_out<scalar_t>(dk),
         .dv = heads_out<scalar_t>(dv),
         .document_starts = starts_data(options.document_starts)},
        sizes, cuda::stream()));
  });
  return out;
}

QueryKeyValueGradients causal_attention_backward_cuda(
    const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y,
    const Tensor& lse, double scale, std::optional<double> softcap,
    const std::optional<Tensor>& document_starts) {
  check_attention(q, k, v, document_starts);
  check_same("causal_attention_backward", "dy", dy, "q", q);
  check_same("causal_attention_backward", "y", y, "q", q);
  const c10::cuda::CUDAGuard on_device_of_q(q.device());
  if (q.numel() == 0) {
    return {empty_contiguous_like(q), empty_contiguous_like(k).zero_(),
            empty_contiguous_like(v).zero_()};
  }
  const auto options = options_of(scale, softcap, document_starts, /*is_backward=*/true);
  const AttentionResults in = {.dy = dy, .q = q, .k = k, .v = v, .y = y, .lse = lse};
  switch (backend_of(q, k, options)) {
    case AttentionBackend::cudnn:
      return cudnn_attention_backward(in, scale);
    case AttentionBackend::cudnn_ordered:
      return ordered_cudnn_backward(in, scale);
    case AttentionBackend::flash:
      return flash_attention_backward(in, scale, /*is_ordered=*/true);
    case AttentionBackend::flash_unordered:
      return flash_attention_backward(in, scale, /*is_ordered=*/false);
    default:
      return fused_backward(in, options);
  }
}

Tensor largest_scores_cuda(const Tensor& q_any, const Tensor& k_any, double scale,
                           const std::optional<Tensor>& document_starts) {
  check_attention(q_any, k_any, k_any, document_starts);
  const c10::cuda::CUDAGuard on_device_of_q(q_any.device());
  const auto q = with_dense_heads(q_any), k = with_dense_heads(k_any);
  const auto options = options_of(scale, std::nullopt, document_starts, /*is_backward=*/false);
  const auto sizes = sizes_on_cuda(q, k, options);
  Tensor largest;
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "largest_scores", [&] {
    using T = KernelType<scalar_t>;
    largest = at::empty({sizes.batch, sizes.heads, kernels::cuda::score_tiles<T>(sizes)},
                        q.options().dtype(opmath_dtype(q.scalar_type())));
    cuda::check(kernels::cuda::largest_scores<T>(
        {.q = heads_in<scalar_t>(q),
         .k = heads_in<scalar_t>(k),
         .v = {},
         .y = {},
         .lse = nullptr,
         .document_starts = starts_data(options.document_starts)},
        sizes, mutable_data<OpMathType<T>>(largest), cuda::stream()));
  });
  return largest.amax({0, 2}).to(at::kDouble);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("attention_backend(str name) -> str", attention_backend);
}

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("causal_attention_forward", causal_attention_forward_cuda);
  m.impl("causal_attention_backward", causal_attention_backward_cuda);
  m.impl("largest_scores", largest_scores_cuda);
}

}  // namespace evenkeel::ops
