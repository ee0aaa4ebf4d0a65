// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/gpu.h"
#include "ops/operator_case.h"

// The promises of every operator (ops/operator_case.h) on CUDA tensors: the formula in double,
// float32 and bfloat16 rounded once, the same bits twice, any strides, no rows. The formula runs on
// the CPU. Memory that LibTorch hands out is full of NaN, so that a value that is not written
// shows.
namespace evenkeel::testing {
namespace {

class CudaOperator : public ::testing::TestWithParam<OperatorCase> {
 protected:
  void SetUp() override {
    if (ops::gpu_count() == 0) GTEST_SKIP() << "no GPU was found";
    ops::set_compute_device({at::kCUDA, 0});
    at::globalContext().setDeterministicFillUninitializedMemory(true);
    at::manual_seed(0);
  }
};

at::ScalarType dtype_of(const Input& input, at::ScalarType rows) {
  if (input.role == Role::rows) return rows;
  if (input.role == Role::float64) return at::kDouble;
  if (input.role == Role::index) return input.value.scalar_type();
  return rows == at::kDouble ? at::kDouble : at::kFloat;
}

bool is_differentiable(Role role) {
  return role != Role::index && role != Role::constant;
}

Inputs in_dtype(const Inputs& inputs, at::ScalarType rows) {
  Inputs all;
  for (const auto& each : inputs) all.push_back({each.value.to(dtype_of(each, rows)), each.role});
  return all;
}

Inputs on(const Inputs& inputs, at::Device device) {
  Inputs all;
  for (const auto& each : inputs) all.push_back({each.value.to(device), each.role});
  return all;
}

/// Outputs, and gradients where there are any, on the CPU.
Tensors results(const OperatorCase& one, const Function& function, const Inputs& inputs,
                const Tensors& upstream) {
  Tensors given, leaves, all;
  for (const auto& each : inputs) {
    given.push_back(each.value.detach());
    if (!one.has_gradient || !is_differentiable(each.role)) continue;
    given.back().requires_grad_();
    leaves.push_back(given.back());
  }
  const auto outputs = function(given);
  for (const auto& each : outputs) all.push_back(each.detach().cpu());
  if (!one.has_gradient) return all;
  Tensors there;
  for (const auto& each : upstream) there.push_back(each.to(outputs.front().device()));
  for (const auto& each : torch::autograd::grad(outputs, leaves, there)) all.push_back(each.cpu());
  return all;
}

Tensors upstream_of(const Tensors& outputs) {
  Tensors all;
  for (const auto& each : outputs) all.push_back(at::randn(each.sizes()).to(each.scalar_type()));
  return all;
}

Tensors values_of(const Inputs& inputs) {
  Tensors all;
  for (const auto& each : inputs) all.push_back(each.value);
  return all;
}

Tensors in_double(const Tensors& tensors) {
  Tensors all;
  for (const auto& each : tensors) all.push_back(each.to(at::kDouble));
  return all;
}

const at::Device kGpu{at::kCUDA, 0};

TEST_P(CudaOperator, IsItsFormulaInDouble) {
  const auto& one = GetParam();
  const auto in = one.inputs(one.rows);
  const auto upstream = upstream_of(one.formula(values_of(in)));
  const auto got = results(one, one.run, on(in, kGpu), upstream);
  const auto wanted = results(one, one.formula, in, upstream);
  ASSERT_EQ(got.size(), wanted.size());
  const auto outputs = upstream.size();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto& [value, value_floor, gradient, gradient_floor, f, b, n, s] = one.tolerance;
    EXPECT_TRUE(close(got[i], wanted[i], i < outputs ? value : gradient,
                      i < outputs ? value_floor : gradient_floor))
        << "result " << i;
  }
}

TEST_P(CudaOperator, RoundsOnceToFloat32AndBfloat16) {
  const auto& one = GetParam();
  if (!one.is_rounded_once) GTEST_SKIP() << "has a test of its own";
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto narrow = in_dtype(one.inputs(one.rows), dtype);
    const auto upstream = upstream_of(one.run(values_of(narrow)));
    const auto got = results(one, one.run, on(narrow, kGpu), upstream);
    const auto wanted =
        results(one, one.formula, in_dtype(narrow, at::kDouble), in_double(upstream));
    const double of_largest =
        dtype == at::kBFloat16 ? one.tolerance.bfloat16 : one.tolerance.float32;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double unit = got[i].scalar_type() == at::kBFloat16 ? 0x1p-8 : 0x1p-24;
      const double largest = wanted[i].abs().max().item<double>();
      EXPECT_TRUE(close(got[i], wanted[i], 1.001 * unit, of_largest * largest))
          << dtype << ", result " << i << ", largest " << largest << ", error / largest "
          << (got[i].to(at::kDouble) - wanted[i]).abs().max().item<double>() / largest;
    }
  }
}

TEST_P(CudaOperator, HasTheSameBitsTwice) {
  const auto& one = GetParam();
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto in = in_dtype(one.inputs(one.rows_of_threads), dtype);
    const auto there = on(in, kGpu);
    const auto upstream = upstream_of(one.run(values_of(there)));
    const auto first = results(one, one.run, there, upstream);
    const auto second = results(one, one.run, there, upstream);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_TRUE(first[i].equal(second[i])) << dtype << ", result " << i;
    }
  }
}

at::Tensor strided(const at::Tensor& x) {
  if (x.dim() < 2) return at::stack({x, x}, -1).select(-1, 1);
  return x.transpose(0, -1).contiguous().transpose(0, -1);
}

TEST_P(CudaOperator, TakesAnyStrides) {
  const auto& one = GetParam();
  if (!one.takes_strides) GTEST_SKIP() << "refuses strides";
  const auto in = on(one.inputs(one.rows), kGpu);
  Inputs with_strides;
  for (const auto& each : in) with_strides.push_back({strided(each.value), each.role});
  const auto upstream = upstream_of(one.run(values_of(in)));
  const auto wanted = results(one, one.run, in, upstream);
  const auto got = results(one, one.run, with_strides, upstream);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double largest = wanted[i].abs().max().item<double>();
    const double of_largest = std::max(one.tolerance.strides, 1e-13);  // products: other kernels
    EXPECT_TRUE(close(got[i], wanted[i], 0, of_largest * largest)) << "result " << i;
  }
}

TEST_P(CudaOperator, TakesNoRows) {
  const auto& one = GetParam();
  if (!one.takes_empty) GTEST_SKIP() << "refuses empty input";
  const auto in = one.inputs(0);
  const auto wanted = one.formula(values_of(in));
  const auto upstream = upstream_of(wanted);
  const auto got = results(one, one.run, on(in, kGpu), upstream);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got[i].sizes(), wanted[i].sizes());
  for (std::size_t i = wanted.size(); i < got.size(); ++i) {
    EXPECT_TRUE(got[i].equal(at::zeros_like(got[i]))) << "gradient " << i - wanted.size();
  }
}

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all;
  for (const auto& room : {norm_cases(), weight_cases(), linear_cases(), attention_cases(),
                           moe_cases(), optim_cases()}) {
    all.insert(all.end(), room.begin(), room.end());
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Is, CudaOperator, ::testing::ValuesIn(operator_cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace evenkeel::testing
