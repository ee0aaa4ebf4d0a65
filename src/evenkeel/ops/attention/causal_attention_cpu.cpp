// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "evenkeel/kernels/cpu/portable/causal_attention.h"
#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::AttentionSizes;
using kernels::cpu::BackwardBlocks;
using kernels::cpu::HeadRows;
using kernels::cpu::OpMathType;

/// A tensor whose last dimension (the values of a head) is contiguous; other strides are arbitrary.
Tensor with_contiguous_rows(const Tensor& x) {
  return x.stride(-1) == 1 || x.size(-1) == 1 ? x : x.contiguous();
}

/// Head h of sequence b of x, [B, T, heads, D].
template <typename scalar_t>
HeadRows<const KernelType<scalar_t>> head_in(const Tensor& x, std::int64_t b, std::int64_t h) {
  return {const_data<scalar_t>(x) + b * x.stride(0) + h * x.stride(2), x.stride(1)};
}
template <typename scalar_t>
HeadRows<KernelType<scalar_t>> head_out(const Tensor& x, std::int64_t b, std::int64_t h) {
  return {mutable_data<scalar_t>(x) + b * x.stride(0) + h * x.stride(2), x.stride(1)};
}

AttentionSizes sizes_of(const Tensor& q, const Tensor& k, double scale,
                        std::optional<double> softcap) {
  return {.queries = q.size(1),
          .keys = k.size(1),
          .width = q.size(3),
          .scale = scale,
          .softcap = softcap.value_or(0)};
}

/// Calls work(task, scratch) for every task, in parallel; each thread has its own scratch.
template <typename F, typename Work>
void for_each_task(std::int64_t tasks, std::int64_t scratch, const Tensor& like, const Work& work) {
  // Whole cache lines: aligned for the kernels, and without false sharing between threads.
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(F));
  const auto each = (scratch + kLine - 1) / kLine * kLine + kLine;
  const auto all = at::empty({cpu::thread_count(), each},
                             like.options().dtype(opmath_dtype(like.scalar_type())));
  auto* const begin = all.mutable_data_ptr<F>();
  cpu::parallel_for(0, tasks, /*grain=*/1, [&](std::int64_t first, std::int64_t last) {
    auto* const thread_scratch = begin + at::get_thread_num() * each;
    for (auto task = first; task < last; ++task) work(task, thread_scratch);
  });
}

/// The document starts of one sequence; null without a document mask.
class Documents {
 public:
  /// \param earlier  positions before the first query
  /// \throws c10::Error if a query sees no key, or if a start is before that of the previous query
  Documents(const std::optional<Tensor>& document_starts, std::int64_t past_length) {
    if (!document_starts) return;
    document_starts_ = document_starts->contiguous();
    for (std::int64_t b = 0; b < document_starts_.size(0); ++b) check((*this)[b], past_length);
  }
  const std::int32_t* operator[](std::int64_t b) const {
    return document_starts_.defined()
               ? document_starts_.const_data_ptr<std::int32_t>() + b * document_starts_.size(1)
               : nullptr;
  }

 private:
  void check(const std::int32_t* document_starts, std::int64_t past_length) const {
    std::int64_t least = 0;
    for (std::int64_t i = 0; i < document_starts_.size(1); ++i) {
      TORCH_CHECK(
          document_starts[i] >= least && document_starts[i] <= past_length + i,
          "[causal_attention] document_starts must be non-decreasing, from 0 to the query's own "
          "position, but that of query ",
          i, " at position ", past_length + i, " is ", document_starts[i], " after ", least);
      least = document_starts[i];
    }
  }

  Tensor document_starts_;
};

/// The number of parts into which the query heads of a key head are split: the fewest that balance
/// threads.
std::int64_t query_head_splits(std::int64_t group, std::int64_t others) {
  constexpr std::int64_t kTasksPerThread = 4;  // tasks a thread, which need not come out even
  const std::int64_t threads = cpu::thread_count();
  for (std::int64_t parts = 1; parts < group; ++parts) {
    const auto tasks = others * parts;
    if (group % parts == 0 && (tasks % threads == 0 || tasks >= kTasksPerThread * threads))
      return parts;
  }
  return group;
}

/// The outputs of the forward pass.
struct AttentionOutput {
  explicit AttentionOutput(const Tensor& q)
      : y(at::empty(q.sizes(), q.options())),
        lse(at::empty({q.size(0), q.size(2), q.size(1)}, opmath_options(q))) {}
  static at::TensorOptions opmath_options(const Tensor& q) {
    return q.options().dtype(opmath_dtype(q.scalar_type()));
  }
  Tensor y, lse;
  Tensor largest;  // [B, heads], dtype of lse, updated to the maximum; undefined: not computed
};

void attend(const Tensor& q_any, const Tensor& k_any, const Tensor& v_any, double scale,
            std::optional<double> softcap, const std::optional<Tensor>& document_starts,
            const AttentionOutput& output) {
  check_attention(q_any, k_any, v_any, document_starts);
  if (output.y.numel() == 0) return;
  const auto q = with_contiguous_rows(q_any), k = with_contiguous_rows(k_any),
             v = with_contiguous_rows(v_any);
  const auto sizes = sizes_of(q, k, scale, softcap);
  const auto heads = q.size(2);
  const auto group = heads / k.size(2);
  const auto heads_per_task =
      group / query_head_splits(group, q.size(0) * k.size(2));  // query heads of a task
  const Documents documents(document_starts, sizes.keys - sizes.queries);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "causal_attention_forward", [&] {
    using T = KernelType<scalar_t>;
    auto* const largest =
        output.largest.defined() ? mutable_data<OpMathType<T>>(output.largest) : nullptr;
    for_each_task<OpMathType<T>>(
        q.size(0) * heads / heads_per_task, kernels::cpu::causal_attention_scratch<T>(sizes), q,
        [&](std::int64_t task, OpMathType<T>* scratch) {
          const auto first = task * heads_per_task;  // of all query heads
          const auto b = first / heads, h = first % heads;
          kernels::cpu::causal_attention<T>(
              sizes,
              {.q = head_in<scalar_t>(q, b, h),
               .k = head_in<scalar_t>(k, b, h / group),
               .v = head_in<scalar_t>(v, b, h / group),
               .y = head_out<scalar_t>(output.y, b, h),
               .lse = mutable_data<OpMathType<T>>(output.lse) + first * sizes.queries,
               .document_starts = documents[b],
               .heads = heads_per_task,
               .q_head = q.stride(2),
               .y_head = output.y.stride(2),
               .largest = largest == nullptr ? nullptr : largest + first},
              scratch);
        });
  });
}

std::tuple<Tensor, Tensor> causal_attention_forward_cpu(
    const Tensor& q, const Tensor& k, const Tensor& v, double scale, std::optional<double> softcap,
    const std::optional<Tensor>& document_starts) {
  const AttentionOutput output(q);
  attend(q, k, v, scale, softcap, document_starts, output);
  return {output.y, output.lse};
}

/// The inputs of the backward pass; the values of a head are contiguous in dy, q, k, v and y.
struct AttentionBackward {
  Tensor dy, q, k, v, y;
  Tensor lse;  // [B, heads, T], contiguous, float32 for bfloat16
  AttentionSizes sizes;
};

/// The outputs of the backward pass.
struct AttentionGradients {
  Tensor dq, dk, dv;
};

/// The tasks of the backward pass of one key head.
struct Pieces {
  std::int64_t count = 1;  // 1: the whole, in one task
  BackwardBlocks blocks;

  /// Tasks of a key head.
  std::int64_t tasks() const { return count == 1 ? 1 : 2 * count; }
  /// Task `task` of a key head: parts of dq and of dk and dv alternate. A query sees all keys
  /// before it, if it has no document mask, so parts of equal work end at square roots.
  kernels::cpu::AttentionPart part(std::int64_t task, const AttentionSizes& sizes) const {
    if (count == 1) return kernels::cpu::whole_part(sizes);
    const auto share = [&](std::int64_t i) {
      return std::sqrt(static_cast<double>(i) / static_cast<double>(count));
    };
    const auto i = task / 2;
    if (task % 2 == 0) {
      return {.query_begin = in_blocks(share(i), sizes.queries, blocks.queries),
              .query_end = in_blocks(share(i + 1), sizes.queries, blocks.queries)};
    }
    return {.key_begin = in_blocks(1 - share(count - i), sizes.keys, blocks.keys),
            .key_end = in_blocks(1 - share(count - i - 1), sizes.keys, blocks.keys)};
  }

 private:
  /// The nearest whole number of blocks to a share of `all`; `all` at share 1.
  static std::int64_t in_blocks(double share, std::int64_t all, std::int64_t block) {
    const std::int64_t near =
        std::llround(share * static_cast<double>(all) / static_cast<double>(block));
    return share >= 1 ? all : std::min(all, near * block);
  }
};

/// The pieces of each of `heads` key heads. The whole has five products of a query and a key; parts
/// compute the scores twice, seven products. They pay where whole key heads leave threads without
/// work. Bits do not depend on it.
Pieces pieces_of(std::int64_t heads, const AttentionSizes& sizes, const BackwardBlocks& blocks) {
  constexpr std::int64_t kTasksPerThread = 4;
  constexpr double kWhole = 5, kParts = 7, kWorthwhile = 0.95;
  const std::int64_t threads = cpu::thread_count();
  const auto rounds = [&](std::int64_t tasks) {
    return static_cast<double>(kernels::blocks_of(tasks, threads));
  };
  const auto most = std::min(sizes.queries / blocks.queries, sizes.keys / blocks.keys);
  const auto wanted = kernels::blocks_of(kTasksPerThread * threads, heads);
  const Pieces pieces{.count = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most)),
                      .blocks = blocks};
  const auto count = static_cast<double>(pieces.count);
  const bool pays =
      rounds(heads * pieces.count) * kParts / count < kWorthwhile * kWhole * rounds(heads);
  return pays ? pieces : Pieces{};
}

/// A task is one key head of one sequence, with the query heads that read it, or a part of it.
template <typename scalar_t>
void attend_backward(const AttentionBackward& in, const Documents& documents,
                     const AttentionGradients& out) {
  using T = KernelType<scalar_t>;
  using F = OpMathType<T>;
  const auto kv_heads = in.k.size(2);
  const auto group = in.q.size(2) / kv_heads;
  const auto queries = in.sizes.queries;
  const auto* const lse = const_data<F>(in.lse, in.q.size(0) * in.q.size(2) * queries);
  const auto scratch_size = kernels::cpu::causal_attention_backward_scratch<T>(in.sizes);
  const auto all_heads = in.q.size(0) * kv_heads;
  const auto pieces =
      pieces_of(all_heads, in.sizes, kernels::cpu::causal_attention_backward_blocks<T>());
  const auto work = [&](std::int64_t task, F* scratch) {
    const auto head = task / pieces.tasks();
    const auto part = pieces.part(task % pieces.tasks(), in.sizes);
    if (!part.has_dq() && !part.has_dk_dv()) return;  // fewer blocks than pieces
    const auto b = head / kv_heads, h = head % kv_heads;
    kernels::cpu::causal_attention_backward<T>(in.sizes,
                                               {.q = head_in<scalar_t>(in.q, b, h * group),
                                                .k = head_in<scalar_t>(in.k, b, h),
                                                .v = head_in<scalar_t>(in.v, b, h),
                                                .y = head_in<scalar_t>(in.y, b, h * group),
                                                .dy = head_in<scalar_t>(in.dy, b, h * group),
                                                .lse = lse + head * group * queries,
                                                .dq = head_out<scalar_t>(out.dq, b, h * group),
                                                .dk = head_out<scalar_t>(out.dk, b, h),
                                                .dv = head_out<scalar_t>(out.dv, b, h),
                                                .document_starts = documents[b],
                                                .heads = group,
                                                .q_head = in.q.stride(2),
                                                .y_head = in.y.stride(2),
                                                .dy_head = in.dy.stride(2),
                                                .dq_head = out.dq.stride(2),
                                                .part = part},
                                               scratch);
  };
  for_each_task<F>(all_heads * pieces.tasks(), scratch_size, in.q, work);
}

std::tuple<Tensor, Tensor, Tensor> causal_attention_backward_cpu(
    const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y,
    const Tensor& lse, double scale, std::optional<double> softcap,
    const std::optional<Tensor>& document_starts) {
  check_attention(q, k, v, document_starts);
  check_same("causal_attention_backward", "dy", dy, "q", q);
  check_same("causal_attention_backward", "y", y, "q", q);
  const AttentionBackward in = {.dy = with_contiguous_rows(dy),
                                .q = with_contiguous_rows(q),
                                .k = with_contiguous_rows(k),
                                .v = with_contiguous_rows(v),
                                .y = with_contiguous_rows(y),
                                .lse = lse.contiguous(),
                                .sizes = sizes_of(q, k, scale, softcap)};
  const Documents documents(document_starts, in.sizes.keys - in.sizes.queries);
  const AttentionGradients out = {.dq = at::empty(q.sizes(), q.options()),
                                  .dk = at::empty(k.sizes(), k.options()),
                                  .dv = at::empty(v.sizes(), v.options())};
  if (out.dq.numel() == 0) return {out.dq, out.dk.zero_(), out.dv.zero_()};
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "causal_attention_backward",
                                 [&] { attend_backward<scalar_t>(in, documents, out); });
  return {out.dq, out.dk, out.dv};
}

/// A forward pass with the keys as values; only its largest scores are used.
Tensor largest_scores_cpu(const Tensor& q, const Tensor& k, double scale,
                          const std::optional<Tensor>& document_starts) {
  AttentionOutput output(q);
  constexpr auto kNone = -std::numeric_limits<double>::infinity();
  const auto batch = std::max<std::int64_t>(q.size(0), 1);  // amax() of no row is an error
  output.largest = at::full({batch, q.size(2)}, kNone, AttentionOutput::opmath_options(q));
  attend(q, k, /*v_any=*/k, scale, std::nullopt, document_starts, output);
  return output.largest.to(at::kDouble).amax(0);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("causal_attention_forward", causal_attention_forward_cpu);
  m.impl("causal_attention_backward", causal_attention_backward_cpu);
  m.impl("largest_scores", largest_scores_cpu);
}

}  // namespace evenkeel::ops
