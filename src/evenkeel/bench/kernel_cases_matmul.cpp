// SPDX-License-Identifier: Apache-2.0
// Compute-bound operators: attention, loss head, mixture of experts.
#include <ATen/ATen.h>

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/bench/kernel_cases.h"
#include "evenkeel/bench/passes.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/linear_cross_entropy.h"

namespace evenkeel::bench {

namespace {

using at::Tensor;

/// Query [B, T, H, D]; key and value [B, T, kv_heads, D].
struct AttentionShape {
  std::int64_t rows, positions, heads, kv_heads, width;
};

/// Transposes [B, S, heads, D] to [B, heads, S, D], and back.
Tensor transposed_heads(const Tensor& x) {
  return x.transpose(1, 2);
}

/// LibTorch's flash attention, causal. \param in  query, key, value
Tensors flash(const Tensors& in, double scale) {
  const auto& q = in[0];
  if (q.is_cuda()) {
    return {transposed_heads(at::scaled_dot_product_attention(
        transposed_heads(q), transposed_heads(in[1]), transposed_heads(in[2]), {}, 0.0,
        /*is_causal=*/true, scale, /*enable_gqa=*/true))};
  }
  return {transposed_heads(std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      transposed_heads(in[0]), transposed_heads(in[1]), transposed_heads(in[2]), 0.0,
      /*is_causal=*/true, {}, scale)))};
}

/// Causal attention of random operands, compared with LibTorch's flash attention.
KernelCase attention_case(const AttentionShape& shape, bool is_forward, at::ScalarType dtype) {
  const auto& [rows, positions, heads, kv_heads, width] = shape;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  const auto make = [=] {
    const at::TensorOptions there(ops::compute_device());
    return Tensors{at::randn({rows, positions, heads, width}, there).to(dtype),
                   at::randn({rows, positions, kv_heads, width}, there).to(dtype),
                   at::randn({rows, positions, kv_heads, width}, there).to(dtype)};
  };
  const auto pairs = static_cast<double>(rows * heads * positions * positions) / 2;
  KernelCase result{.op = "attention",
                    .pass = is_forward ? "forward" : "backward",
                    .dtype = ops::dtype_name(dtype),
                    .shape = text(rows, " x ", positions, ", ", heads, ":", kv_heads, ", ", width),
                    .flops = pairs * static_cast<double>(4 * width) * (is_forward ? 1 : 2.5)};
  result.arms = [=] {
    const Function ours = [=](const Tensors& in) {
      return Tensors{ops::causal_attention(in[0], in[1], in[2], scale)};
    };
    const Function torch = [=](const Tensors& in) { return flash(in, scale); };
    constexpr double kBytes = 1e9;  // compute-bound, so two copies of the inputs are enough
    if (!is_forward) {
      return std::vector<Arm>{backward_arm("ours", ours, make, kBytes),
                              backward_arm("torch", torch, make, kBytes)};
    }
    const auto inputs = std::make_shared<RotatingBuffers<Tensors>>(kBytes, make);
    return std::vector<Arm>{forward_arm("ours", ours, inputs), forward_arm("torch", torch, inputs)};
  };
  return result;
}

/// The loss head, forward and backward, compared with its three GEMMs: logits, gradient of x,
/// gradient of the weight. x [rows, width], weight [vocabulary, width].
KernelCase head_case(std::int64_t rows, std::int64_t width, std::int64_t vocabulary,
                     at::ScalarType dtype) {
  KernelCase result{
      .op = "linear_cross_entropy",
      .pass = "both",
      .dtype = ops::dtype_name(dtype),
      .shape = text(rows, " x ", width, " x ", vocabulary),
      .flops = 6.0 * static_cast<double>(rows * width) * static_cast<double>(vocabulary),
      .allowed = 1.25};
  result.arms = [=] {
    const at::TensorOptions there(ops::compute_device());
    const auto x = at::randn({rows, width}, there).to(dtype).requires_grad_();
    const auto weight = (0.02 * at::randn({vocabulary, width}, there)).to(dtype).requires_grad_();
    const auto targets = at::randint(vocabulary, {rows}, there.dtype(at::kLong));
    const auto gradient = (at::rand({rows, vocabulary}, there) / vocabulary).to(dtype);
    const auto run = [=](const std::function<Tensor()>& loss) {
      return [=] {
        loss().backward();
        x.mutable_grad().reset();
        weight.mutable_grad().reset();
      };
    };
    const auto ours = [=] {
      return ops::linear_cross_entropy(x, weight, targets, {.vocabulary = vocabulary});
    };
    const auto formula = [=] {
      return ops::reference::cross_entropy_sum(at::linear(x, weight).to(at::kFloat), targets);
    };
    const auto gemms = [=] {
      const auto a = x.detach(), w = weight.detach();
      at::linear(a, w);
      at::mm(gradient, w);
      at::mm(gradient.t(), a);
    };
    return std::vector<Arm>{{"ours", run(ours)}, {"probe", gemms}, {"formula", run(formula)}};
  };
  return result;
}

/// The sizes of a mixture-of-experts sublayer.
struct MixtureShape {
  std::int64_t tokens, width, inner, experts, top_k;
};

/// The operands of one mixture-of-experts sublayer; all but `dy` are leaves of the autograd graph.
struct MixtureTensors {
  Tensor x;                          // [1, tokens, width]
  Tensor dy;                         // [1, tokens, width]
  Tensor router;                     // [experts, width], float32
  Tensor up_gate;                    // [experts, 2 * inner, width]
  Tensor down;                       // [experts, width, inner]
  Tensor dense_up_gate, dense_down;  // [2 * top_k * inner, width], [width, top_k * inner]
};

MixtureTensors mixture_tensors(const MixtureShape& shape, at::ScalarType dtype) {
  const auto& [tokens, width, inner, experts, top_k] = shape;
  const at::TensorOptions there(ops::compute_device());
  const auto leaf = [&](at::IntArrayRef sizes) {
    return (0.05 * at::randn(sizes, there)).to(dtype).requires_grad_();
  };
  MixtureTensors all;
  all.x = at::randn({1, tokens, width}, there).to(dtype).requires_grad_();
  all.dy = at::randn({1, tokens, width}, there).to(dtype);
  all.router = (0.05 * at::randn({experts, width}, there)).requires_grad_();
  all.up_gate = leaf({experts, 2 * inner, width});
  all.down = leaf({experts, width, inner});
  all.dense_up_gate = leaf({2 * top_k * inner, width});
  all.dense_down = leaf({width, top_k * inner});
  return all;
}

/// The mixture of experts, the dense sublayer with equal FLOPs, and a loop over the experts.
std::vector<Arm> mixture_arms(const MixtureShape& shape, at::ScalarType dtype) {
  const auto all = mixture_tensors(shape, dtype);
  // As in training: GEMMs accumulate into float32 gradients.
  const auto sums = std::make_shared<std::vector<ops::GradientBuffer>>();
  const auto summed = [&](const Tensor& weight) {
    sums->emplace_back(at::empty(weight.sizes(), weight.options().dtype(at::kFloat)));
    return nn::Matrix(weight, {}, sums->back());
  };
  const auto run = [=](const std::function<Tensor()>& forward) {
    return [=] {
      forward().backward(all.dy);
      for (const auto& sum : *sums) sum.reset();
      for (const auto& each : {all.x, all.router, all.up_gate, all.down}) {
        each.mutable_grad().reset();
      }
    };
  };
  nn::MixtureOfExperts mixture;
  mixture.router = all.router;
  mixture.up_gate = summed(all.up_gate);
  mixture.down = summed(all.down);
  mixture.top_k = shape.top_k;
  auto loop = mixture;
  loop.up_gate = nn::Matrix(all.up_gate);
  loop.down = nn::Matrix(all.down);
  loop.fused = false;
  nn::FeedForward dense;
  dense.up_gate = summed(all.dense_up_gate);
  dense.down = summed(all.dense_down);
  constexpr auto kMode = nn::Mode::training;
  return {{"ours", run([=] { return mixture(all.x, kMode); })},
          {"probe", run([=] { return dense(all.x, kMode); })},
          {"formula", run([=] { return loop(all.x, kMode); })}};
}

/// A mixture-of-experts sublayer, forward and backward with all gradients. Its baseline is the
/// dense sublayer with equal FLOPs per token; its formula is a loop over the experts.
KernelCase mixture_case(const MixtureShape& shape, at::ScalarType dtype) {
  const auto& [tokens, width, inner, experts, top_k] = shape;
  const auto values = static_cast<double>(tokens * width) * static_cast<double>(inner * top_k);
  return {.op = "mixture",
          .pass = "both",
          .dtype = ops::dtype_name(dtype),
          .shape = text(tokens, " x ", width, ", ", top_k, " of ", experts, " x ", inner),
          .flops = 6.0 * 3.0 * values,
          .allowed = 1.15,
          .arms = [=] { return mixture_arms(shape, dtype); }};
}

}  // namespace

namespace {

/// Sizes that fill a GPU, of the paper's models.
std::vector<KernelCase> gpu_matmul_cases() {
  std::vector<KernelCase> cases;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const std::int64_t rows = dtype == at::kFloat ? 2 : 8;
    for (const auto& shape :
         {AttentionShape{rows, 2048, 16, 4, 48}, AttentionShape{rows, 4096, 16, 4, 64},
          AttentionShape{rows, 4096, 16, 4, 128}}) {
      for (const bool is_forward : {true, false}) {
        cases.push_back(attention_case(shape, is_forward, dtype));
      }
    }
    cases.push_back(head_case(16384, 1536, 50'304, dtype));
    cases.push_back(mixture_case({16384, 2048, 1024, 64, 8}, dtype));
  }
  return cases;
}

}  // namespace

std::vector<KernelCase> matmul_cases() {
  if (ops::compute_device().is_cuda()) return gpu_matmul_cases();
  std::vector<KernelCase> cases;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& shape :
         {AttentionShape{8, 256, 4, 2, 32}, AttentionShape{4, 512, 16, 4, 96},
          AttentionShape{2, 1024, 16, 4, 48}, AttentionShape{2, 1024, 16, 4, 64},
          AttentionShape{2, 1024, 16, 4, 128}, AttentionShape{1, 2048, 16, 4, 64}}) {
      for (const bool is_forward : {true, false}) {
        cases.push_back(attention_case(shape, is_forward, dtype));
      }
    }
    cases.push_back(head_case(4096, 768, 32'000, dtype));
    cases.push_back(mixture_case({4096, 512, 256, 64, 8}, dtype));
    cases.push_back(mixture_case({2048, 128, 176, 8, 2}, dtype));
  }
  return cases;
}

}  // namespace evenkeel::bench
