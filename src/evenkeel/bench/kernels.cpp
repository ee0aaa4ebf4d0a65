// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/passes.h"
#include "evenkeel/ops/adamw.h"
#include "evenkeel/ops/add_rms_norm.h"
#include "evenkeel/ops/layer_norm.h"
#include "evenkeel/ops/qkv_norm_rope.h"
#include "evenkeel/ops/reference.h"
#include "evenkeel/ops/rms_norm.h"
#include "evenkeel/ops/rows.h"
#include "evenkeel/ops/swiglu.h"

namespace evenkeel::bench {

namespace {

using at::Tensor;

constexpr double kEpsilon = 1e-5;

/// Streams of one direction, all of the size of x.
struct Traffic {
  int reads = 0, writes = 0;
};

/// An operator on rows, in the three ways that there are to compute it.
struct RowOp {
  std::string name, shape;
  std::int64_t rows = 0, width = 0;  // of one stream
  Traffic forward, backward;
  std::function<Set(at::ScalarType)> inputs;  // all of them have a gradient
  Function ours, formula, torch;
};

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

/// `count` tensors [rows, width], then `vectors` of [width].
std::function<Set(at::ScalarType)> rows_and_vectors(std::int64_t rows, std::int64_t width,
                                                    int count, int vectors) {
  return [=](at::ScalarType dtype) {
    Set in;
    for (int i = 0; i < count; ++i) in.push_back(at::randn({rows, width}).to(dtype));
    for (int i = 0; i < vectors; ++i) in.push_back(at::rand({width}) + 0.5);
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
          .ours = [](const Set& in) { return Set{ops::rms_norm(in[0], in[1], kEpsilon)}; },
          .formula = [](const Set& in) { return Set{composed_rms(in[0], like_x(in[1], in[0]))}; }};
}

RowOp layer_norm(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "layer_norm";
  op.inputs = rows_and_vectors(rows, width, 1, 2);
  op.ours = [](const Set& in) { return Set{ops::layer_norm(in[0], in[1], in[2], kEpsilon)}; };
  op.formula = [](const Set& in) {
    return Set{composed_layer(in[0], like_x(in[1], in[0]), like_x(in[2], in[0]))};
  };
  op.torch = [](const Set& in) {
    return Set{at::layer_norm(in[0], {in[0].size(-1)}, like_x(in[1], in[0]), like_x(in[2], in[0]),
                              kEpsilon)};
  };
  return op;
}

/// LibTorch has no operator that both adds and norms, and its RMSNorm is a formula on the CPU.
RowOp add_rms_norm(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "add_rms_norm";
  op.forward = {2, 2};
  op.backward = {3, 1};
  op.inputs = rows_and_vectors(rows, width, 2, 1);
  op.ours = [](const Set& in) {
    const auto [sum, y] = ops::add_rms_norm(in[0], in[1], in[2], kEpsilon);
    return Set{sum, y};
  };
  op.formula = [](const Set& in) {
    const auto sum = in[0] + in[1];
    return Set{sum, composed_rms(sum, like_x(in[2], sum))};
  };
  return op;
}

RowOp swiglu(std::int64_t rows, std::int64_t width) {
  auto op = rms_norm(rows, width);
  op.name = "swiglu";
  op.forward = {2, 1};
  op.backward = {3, 2};
  op.inputs = rows_and_vectors(rows, 2 * width, 1, 0);
  op.ours = [](const Set& in) { return Set{ops::swiglu(in[0])}; };
  op.formula = [](const Set& in) { return Set{ops::reference::swiglu(in[0])}; };
  return op;
}

Tensor composed_turn(const Tensor& x, const Tensor& turn) {
  const auto halves = x.chunk(2, -1);
  const auto c = turn.select(1, 0).unsqueeze(1), s = turn.select(1, 1).unsqueeze(1);
  return at::cat({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1);
}

/// 16 heads, 4 key heads. \param normed  false: the rotary embedding alone
RowOp qkv_norm_rope(std::int64_t rows, std::int64_t width, bool normed) {
  constexpr std::int64_t kHeads = 16, kKeyHeads = 4, kAll = kHeads + 2 * kKeyHeads;
  const auto angle = at::rand({rows, width / 2});
  const auto turn = at::stack({angle.cos(), angle.sin()}, 1);
  RowOp op;
  op.name = normed ? "qkv_norm_rope" : "rope";
  op.shape = text(rows, " x ", kAll, " x ", width);
  op.rows = rows;
  op.width = kAll * width;
  op.forward = {1, 1};
  op.backward = {normed ? 2 : 1, 1};
  op.inputs = [=](at::ScalarType dtype) {
    Set in = {at::randn({1, rows, kAll * width}).to(dtype)};
    for (int i = 0; normed && i < 3; ++i) in.push_back(at::rand({width}) + 0.5);
    return in;
  };
  op.ours = [=](const Set& in) {
    const auto norm = [&](std::size_t i) {
      return normed ? ops::HeadNorm{in[i], kEpsilon} : ops::HeadNorm{};
    };
    const auto [q, k, v] =
        ops::qkv_norm_rope(in[0], turn, kHeads, kKeyHeads, norm(1), norm(2), norm(3));
    return Set{q, k, v};
  };
  op.formula = [=](const Set& in) {
    const auto heads = in[0].unflatten(-1, {kAll, width});
    const auto angles = turn.to(in[0].scalar_type());
    const auto part = [&](std::int64_t first, std::int64_t count, std::size_t i) {
      const auto x = heads.narrow(2, first, count);
      return normed ? composed_rms(x, like_x(in[i], x)) : x;
    };
    return Set{composed_turn(part(0, kHeads, 1), angles),
               composed_turn(part(kHeads, kKeyHeads, 2), angles),
               part(kHeads + kKeyHeads, kKeyHeads, 3)};
  };
  return op;
}

std::vector<RowOp> row_ops(const KernelOptions& options) {
  std::vector<RowOp> all;
  const auto rows = options.rows;
  for (const auto make : {rms_norm, layer_norm, add_rms_norm, swiglu}) {
    for (const auto width : options.widths) all.push_back(make(rows, width));
  }
  for (const bool normed : {true, false}) {
    for (const auto width : options.head_widths) all.push_back(qkv_norm_rope(rows, width, normed));
  }
  return all;
}

std::vector<std::pair<std::string, Function>> ways(const RowOp& op) {
  std::vector<std::pair<std::string, Function>> all = {{"ours", op.ours}, {"formula", op.formula}};
  if (op.torch) all.emplace_back("torch", op.torch);
  return all;
}

double stream_bytes(const RowOp& op, at::ScalarType dtype) {
  return static_cast<double>(op.rows * op.width) * static_cast<double>(elementSize(dtype));
}

std::vector<Arm> arms_of(const RowOp& op, bool is_forward, at::ScalarType dtype) {
  const auto& traffic = is_forward ? op.forward : op.backward;
  const double stream = stream_bytes(op, dtype);
  const double bytes = stream * (traffic.reads + traffic.writes);
  const auto make = [=] { return op.inputs(dtype); };
  const auto shared = is_forward ? std::make_shared<Cycle<Set>>(bytes, make) : nullptr;
  std::vector<Arm> arms;
  for (const auto& [name, f] : ways(op)) {
    arms.push_back(is_forward ? forward_arm(name, f, shared) : backward_arm(name, f, make, bytes));
  }
  arms.insert(arms.begin() + 1, {"probe", probe_of(traffic.reads, 0, traffic.writes, stream)});
  return arms;
}

/// Two streams at half the width count as one: the bfloat16 gradient and copy beside float32.
std::function<void()> adamw_probe(bool bf16, double values) {
  if (!bf16) return probe_of(1, 3, 0, 4 * values);
  const auto first = probe_of(1, 3, 1, 2 * values);
  const auto rest = probe_of(0, 3, 0, 2 * values);
  return [=] {
    first();
    rest();
  };
}

std::vector<Arm> adamw_arms(std::int64_t values, at::ScalarType dtype) {
  const bool bf16 = dtype == at::kBFloat16;
  const auto state = [=] { return at::rand({values}) * 1e-3; };
  const ops::AdamwBuffers buffers{
      state(), state(), state(), state().to(dtype),
      bf16 ? std::optional(at::empty({values}, at::kBFloat16)) : std::nullopt};
  const ops::AdamwStep step{.lr = 1e-4, .weight_decay = 0.1, .gradient_scale = 0.5, .step = 10};
  std::vector<Arm> arms = {{"ours", [=] { ops::adamw_(buffers, step); }},
                           {"probe", adamw_probe(bf16, static_cast<double>(values))}};
  if (bf16) return arms;  // LibTorch's own refuses two dtypes
  const Set weight{state()}, gradient{state()}, first{state()}, second{state()};
  const Set count{at::full({}, 10.0, at::kFloat)};
  arms.push_back({"torch", [=] {
                    at::_fused_adamw_(weight, gradient, first, second, {}, count, step.lr,
                                      step.beta1, step.beta2, step.weight_decay, step.epsilon,
                                      /*amsgrad=*/false, /*maximize=*/false);
                  }});
  return arms;
}

}  // namespace

std::vector<KernelCase> kernel_cases(const KernelOptions& options) {
  std::vector<KernelCase> cases;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    for (const auto& op : row_ops(options)) {
      for (const bool is_forward : {true, false}) {
        const auto& traffic = is_forward ? op.forward : op.backward;
        const double allowed = op.name == "swiglu" ? 1.25 : is_forward ? 1.15 : 1.30;
        cases.push_back({.op = op.name,
                         .pass = is_forward ? "forward" : "backward",
                         .dtype = ops::name_of(dtype),
                         .shape = op.shape,
                         .bytes = stream_bytes(op, dtype) * (traffic.reads + traffic.writes),
                         .allowed = allowed,
                         .arms = [=] { return arms_of(op, is_forward, dtype); }});
      }
    }
    const auto n = options.parameters;
    constexpr double kBytes = 28;  // 4 or 2 + 2 of gradient and copy, 24 of what is updated
    cases.push_back({.op = "adamw",
                     .pass = "step",
                     .dtype = ops::name_of(dtype),
                     .shape = text(n / 1'000'000, "M parameters"),
                     .bytes = static_cast<double>(n) * kBytes,
                     .allowed = 1.10,
                     .arms = [=] { return adamw_arms(n, dtype); }});
  }
  for (auto& each : product_cases()) cases.push_back(std::move(each));
  return cases;
}

}  // namespace evenkeel::bench
