// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/kernel_cases.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/bench/buffers.h"
#include "evenkeel/bench/passes.h"
#include "evenkeel/bench/row_ops.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/optim/adamw.h"

namespace evenkeel::bench {

namespace {

using at::Tensor;

std::vector<std::pair<std::string, Function>> implementations(const RowOp& op) {
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
  const auto shared =
      is_forward ? std::make_shared<RotatingBuffers<Tensors>>(bytes, make) : nullptr;
  std::vector<Arm> arms;
  for (const auto& [name, f] : implementations(op)) {
    arms.push_back(is_forward ? forward_arm(name, f, shared) : backward_arm(name, f, make, bytes));
  }
  arms.insert(arms.begin() + 1,
              {"probe", bandwidth_probe(traffic.reads, 0, traffic.writes, stream)});
  return arms;
}

/// The bandwidth baseline of AdamW. With bfloat16, gradient and weight copy are two half-width
/// streams, which count as one float32 stream.
std::function<void()> adamw_probe(bool bf16, double values) {
  if (!bf16) return bandwidth_probe(1, 3, 0, 4 * values);
  const auto first = bandwidth_probe(1, 3, 1, 2 * values);
  const auto rest = bandwidth_probe(0, 3, 0, 2 * values);
  return [=] {
    first();
    rest();
  };
}

std::vector<Arm> adamw_arms(std::int64_t values, at::ScalarType dtype) {
  const bool bf16 = dtype == at::kBFloat16;
  const auto options = at::TensorOptions(ops::compute_device());
  const auto state = [=] { return at::rand({values}, options) * 1e-3; };
  const ops::AdamwBuffers buffers{
      state(), state(), state(), state().to(dtype),
      bf16 ? std::optional(at::empty({values}, options.dtype(at::kBFloat16))) : std::nullopt};
  const ops::AdamwStep step{.lr = 1e-4, .weight_decay = 0.1, .gradient_scale = 0.5, .step = 10};
  std::vector<Arm> arms = {{"ours", [=] { ops::adamw_(buffers, step); }},
                           {"probe", adamw_probe(bf16, static_cast<double>(values))}};
  if (bf16) return arms;  // LibTorch's fused operator requires one dtype
  const Tensors weight{state()}, gradient{state()}, first{state()}, second{state()};
  const Tensors count{at::full({}, 10.0, options)};
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
        cases.push_back({.op = op.name,
                         .pass = is_forward ? "forward" : "backward",
                         .dtype = ops::dtype_name(dtype),
                         .shape = op.shape,
                         .bytes = stream_bytes(op, dtype) * (traffic.reads + traffic.writes),
                         .allowed = is_forward ? op.allowed_forward : op.allowed_backward,
                         .arms = [=] { return arms_of(op, is_forward, dtype); }});
      }
    }
    const auto n = options.parameters;
    constexpr double kBytes = 28;  // 4 of gradient and copy, 24 of weight and moments
    cases.push_back({.op = "adamw",
                     .pass = "step",
                     .dtype = ops::dtype_name(dtype),
                     .shape = text(n / 1'000'000, "M parameters"),
                     .bytes = static_cast<double>(n) * kBytes,
                     .allowed = 1.10,
                     .arms = [=] { return adamw_arms(n, dtype); }});
  }
  for (auto& each : matmul_cases()) cases.push_back(std::move(each));
  return cases;
}

}  // namespace evenkeel::bench
