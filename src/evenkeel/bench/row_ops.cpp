// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/row_ops.h"

#include <ATen/ATen.h>

#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/attention/qkv_norm_rope.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/swiglu.h"
#include "evenkeel/ops/norms/add_rms_norm.h"
#include "evenkeel/ops/norms/affine.h"
#include "evenkeel/ops/norms/bounded.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/norms/seed_norm.h"
#include "evenkeel/ops/norms/sphere.h"

namespace evenkeel::bench {

namespace {

using at::Tensor;

constexpr double kEpsilon = 1e-5;

Tensor composed_rms(const Tensor& x, const Tensor& gain) {
  return x * at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + kEpsilon) * gain;
}

Tensor composed_layer(const Tensor& x, const Tensor& gain, const Tensor& bias) {
  const auto centred = x - x.mean(-1, /*keepdim=*/true);
  const auto variance = centred.square().mean(-1, /*keepdim=*/true);
  return centred * at::rsqrt(variance + kEpsilon) * gain + bias;
}

Tensor like_x(const Tensor& vector, const Tensor& x) {
  return vector.to(x.scalar_type());
}

/// Creates `count` tensors [rows, width], then `vectors` tensors [width].
std::function<Tensors(at::ScalarType)> rows_and_vectors(std::int64_t rows, std::int64_t width,
                                                        int count, int vectors) {
  return [=](at::ScalarType dtype) {
    Tensors in;
    const at::TensorOptions there(ops::compute_device());
    for (int i = 0; i < count; ++i) in.push_back(at::randn({rows, width}, there).to(dtype));
    for (int i = 0; i < vectors; ++i) in.push_back(at::rand({width}, there) + 0.5);
    return in;
  };
}

RowOp rms_norm(std::int64_t rows, std::int64_t width) {
  return {.name = "rms_norm",
          .shape = text(rows, " x ", width),
          .rows = rows,
          .width = width,
          .forward = {1, 1},
          .backward = {2, 1},
          .inputs = rows_and_vectors(rows, width, 1, 1),
          .ours = [](const Tensors& in) { return Tensors{ops::rms_norm(in[0], in[1], kEpsilon)}; },
          .formula =
              [](const Tensors& in) { return Tensors{composed_rms(in[0], like_x(in[1], in[0]))}; }};
}

RowOp layer_norm(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "layer_norm";
  op.inputs = rows_and_vectors(rows, width, 1, 2);
  op.ours = [](const Tensors& in) {
    return Tensors{ops::layer_norm(in[0], in[1], in[2], kEpsilon)};
  };
  op.formula = [](const Tensors& in) {
    return Tensors{composed_layer(in[0], like_x(in[1], in[0]), like_x(in[2], in[0]))};
  };
  op.torch = [](const Tensors& in) {
    return Tensors{at::layer_norm(in[0], {in[0].size(-1)}, like_x(in[1], in[0]),
                                  like_x(in[2], in[0]), kEpsilon)};
  };
  return op;
}

/// LibTorch has no fused add and norm. Its RMSNorm on the CPU is composed of plain operators.
RowOp add_rms_norm(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "add_rms_norm";
  op.forward = {2, 2};
  op.backward = {3, 1};
  op.inputs = rows_and_vectors(rows, width, 2, 1);
  op.ours = [](const Tensors& in) {
    const auto [sum, y] = ops::add_rms_norm(in[0], in[1], in[2], kEpsilon);
    return Tensors{sum, y};
  };
  op.formula = [](const Tensors& in) {
    const auto sum = in[0] + in[1];
    return Tensors{sum, composed_rms(sum, like_x(in[2], sum))};
  };
  return op;
}

RowOp swiglu(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "swiglu";
  op.allowed_forward = op.allowed_backward = 1.25;
  op.forward = {2, 1};
  op.backward = {3, 2};
  op.inputs = rows_and_vectors(rows, 2 * width, 1, 0);
  op.ours = [](const Tensors& in) { return Tensors{ops::swiglu(in[0])}; };
  op.formula = [](const Tensors& in) { return Tensors{ops::reference::swiglu(in[0])}; };
  return op;
}

Tensor composed_rope(const Tensor& x, const Tensor& cos_sin) {
  const auto halves = x.chunk(2, -1);
  const auto c = cos_sin.select(1, 0).unsqueeze(1), s = cos_sin.select(1, 1).unsqueeze(1);
  return at::cat({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1);
}

/// The rotary embedding with or without norms, 16 query heads and 4 key heads.
/// \param normed  false: rotary embedding only
RowOp qkv_norm_rope(std::int64_t rows, std::int64_t width, bool normed) {
  constexpr std::int64_t kHeads = 16, kKeyHeads = 4, kAll = kHeads + 2 * kKeyHeads;
  const auto angle = at::rand({rows, width / 2});
  const auto cos_sin = at::stack({angle.cos(), angle.sin()}, 1).to(ops::compute_device());
  RowOp op;
  op.name = normed ? "qkv_norm_rope" : "rope";
  op.shape = text(rows, " x ", kAll, " x ", width);
  op.rows = rows;
  op.width = kAll * width;
  op.forward = {1, 1};
  op.backward = {normed ? 2 : 1, 1};
  op.inputs = [=](at::ScalarType dtype) {
    const at::TensorOptions there(ops::compute_device());
    Tensors in = {at::randn({1, rows, kAll * width}, there).to(dtype)};
    for (int i = 0; normed && i < 3; ++i) in.push_back(at::rand({width}, there) + 0.5);
    return in;
  };
  op.ours = [=](const Tensors& in) {
    const auto norm = [&](std::size_t i) {
      return normed ? ops::HeadNorm{in[i], kEpsilon} : ops::HeadNorm{};
    };
    const auto [q, k, v] =
        ops::qkv_norm_rope(in[0], cos_sin, kHeads, kKeyHeads, norm(1), norm(2), norm(3));
    return Tensors{q, k, v};
  };
  op.formula = [=](const Tensors& in) {
    const auto heads = in[0].unflatten(-1, {kAll, width});
    const auto angles = cos_sin.to(in[0].scalar_type());
    const auto part = [&](std::int64_t first, std::int64_t count, std::size_t i) {
      const auto x = heads.narrow(2, first, count);
      return normed ? composed_rms(x, like_x(in[i], x)) : x;
    };
    return Tensors{composed_rope(part(0, kHeads, 1), angles),
                   composed_rope(part(kHeads, kKeyHeads, 2), angles),
                   part(kHeads + kKeyHeads, kKeyHeads, 3)};
  };
  return op;
}

/// Removes the goals of an operator. Operators without a goal compute in float64, for less common
/// norm kinds and residual updates.
RowOp without_goal(RowOp op) {
  op.allowed_forward = op.allowed_backward = 0;
  return op;
}

RowOp affine(std::int64_t rows, std::int64_t width) {
  auto op = without_goal(layer_norm(rows, width));
  op.name = "affine";
  op.ours = [](const Tensors& in) { return Tensors{ops::affine(in[0], in[1], in[2])}; };
  op.formula = [](const Tensors& in) {
    return Tensors{in[0] * like_x(in[1], in[0]) + like_x(in[2], in[0])};
  };
  op.torch = {};
  return op;
}

RowOp row_norm(std::int64_t rows, std::int64_t width) {
  auto op = without_goal(rms_norm(rows, width));
  op.name = "row_norm";
  op.ours = [](const Tensors& in) {
    return Tensors{ops::row_norm(in[0], in[1], std::nullopt,
                                 {.epsilon = kEpsilon, .epsilon_at = ops::EpsilonAt::outside})};
  };
  return op;
}

RowOp column_norm(std::int64_t rows, std::int64_t width) {
  auto op = without_goal(rms_norm(rows, width));
  op.name = "column_norm";
  op.inputs = rows_and_vectors(rows, width, 1, 2);
  op.ours = [](const Tensors& in) {
    const auto gain = in[1].to(at::kDouble), bias = in[2].to(at::kDouble);
    return Tensors{ops::column_norm(in[0].unsqueeze(0), gain, bias, kEpsilon).y};
  };
  op.formula = [](const Tensors& in) {
    return Tensors{composed_layer(in[0].t(), like_x(in[1], in[0]).unsqueeze(1),
                                  like_x(in[2], in[0]).unsqueeze(1))
                       .t()
                       .unsqueeze(0)};
  };
  return op;
}

RowOp bounded(std::int64_t rows, std::int64_t width) {
  auto op = affine(rows, width);
  op.name = "bounded";
  op.ours = [](const Tensors& in) {
    const auto alpha = at::full({1}, 0.5, in[0].options().dtype(at::kDouble));
    return Tensors{ops::bounded(in[0], alpha, std::nullopt, in[1], in[2], /*is_erf=*/false)};
  };
  op.formula = [](const Tensors& in) {
    return Tensors{at::tanh(0.5 * in[0]) * like_x(in[1], in[0]) + like_x(in[2], in[0])};
  };
  return op;
}

RowOp seed_norm(std::int64_t rows, std::int64_t width) {
  auto op = without_goal(rms_norm(rows, width));
  op.name = "seed_norm";
  op.inputs = rows_and_vectors(rows, width, 1, 3);
  op.ours = [](const Tensors& in) {
    return Tensors{ops::seed_norm(in[0], in[1], in[2], in[3], std::nullopt, kEpsilon)};
  };
  op.formula = [](const Tensors& in) {
    const auto along = (in[0] * like_x(in[2], in[0])).sum(-1, /*keepdim=*/true);
    const auto gain = at::tanh(along) * like_x(in[1], in[0]) + like_x(in[3], in[0]);
    return Tensors{composed_rms(in[0], gain)};
  };
  return op;
}

RowOp sphere_step(std::int64_t rows, std::int64_t width) {
  auto op = without_goal(rms_norm(rows, width));
  op.name = "sphere_step";
  op.forward = {2, 1};
  op.backward = {3, 2};
  op.inputs = rows_and_vectors(rows, width, 2, 1);
  op.ours = [](const Tensors& in) {
    return Tensors{ops::sphere_step(in[0], in[1], in[2].to(at::kDouble))};
  };
  op.formula = [](const Tensors& in) {
    const auto unit = [](const Tensor& x) {
      return x * at::rsqrt(x.square().sum(-1, /*keepdim=*/true));
    };
    const auto u = unit(in[0]);
    return Tensors{unit(u + like_x(in[2], u) * (unit(in[1]) - u))};
  };
  return op;
}

RowOp geodesic_step(std::int64_t rows, std::int64_t width) {
  auto op = sphere_step(rows, width);
  op.name = "geodesic_step";
  op.inputs = rows_and_vectors(rows, width, 2, 0);
  const auto options = at::TensorOptions(ops::compute_device()).dtype(at::kDouble);
  const auto scale = at::ones({1}, options), bias = at::zeros({1}, options);
  op.ours = [=](const Tensors& in) {
    return Tensors{ops::geodesic_step(in[0], in[1], scale, bias, /*decay=*/0.5)};
  };
  op.formula = [=](const Tensors& in) {
    return Tensors{ops::reference::geodesic_step(in[0], in[1], scale, bias, /*decay=*/0.5)
                       .to(in[0].scalar_type())};
  };
  return op;
}

}  // namespace

std::vector<RowOp> row_ops(const KernelOptions& options) {
  std::vector<RowOp> all;
  const auto rows = options.rows;
  for (const auto make : {rms_norm, layer_norm, add_rms_norm, swiglu}) {
    for (const auto width : options.widths) all.push_back(make(rows, width));
  }
  for (const auto make :
       {affine, row_norm, column_norm, bounded, seed_norm, sphere_step, geodesic_step}) {
    all.push_back(make(rows, options.widths.front()));
  }
  for (const bool normed : {true, false}) {
    for (const auto width : options.head_widths) all.push_back(qkv_norm_rope(rows, width, normed));
  }
  return all;
}

}  // namespace evenkeel::bench
