// SPDX-License-Identifier: Apache-2.0
#include "ops/operator_case.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "support/close.h"
#include "support/sanitizers.h"

// The promises of every operator: its formula in double, the gradient of the formula, float32 and
// bfloat16 rounded once, any strides, no rows, shapes on the meta device, the same bits for any
// number of threads, and errors word for word.
namespace evenkeel::testing {
namespace {

constexpr auto kDtypes = {at::kFloat, at::kBFloat16, at::kDouble};

class Operator : public ::testing::TestWithParam<OperatorCase> {
 protected:
  Operator() { at::manual_seed(0); }
};

bool is_differentiable(Role role) {
  return role != Role::index && role != Role::constant;
}

at::ScalarType dtype_of(const Input& input, at::ScalarType rows) {
  switch (input.role) {
    case Role::rows:
      return rows;
    case Role::vector:
    case Role::constant:
      return rows == at::kDouble ? at::kDouble : at::kFloat;
    case Role::float64:
      return at::kDouble;
    case Role::index:
      break;
  }
  return input.value.scalar_type();
}

/// The inputs in the dtypes that they have if the rows have dtype `rows`.
Inputs in_dtype(const Inputs& inputs, at::ScalarType rows) {
  Inputs all;
  for (const auto& each : inputs) all.push_back({each.value.to(dtype_of(each, rows)), each.role});
  return all;
}

Inputs with_values(const Inputs& inputs, const std::function<at::Tensor(const at::Tensor&)>& of) {
  Inputs all;
  for (const auto& each : inputs) all.push_back({of(each.value), each.role});
  return all;
}

Tensors values_of(const Inputs& inputs) {
  Tensors all;
  for (const auto& each : inputs) all.push_back(each.value);
  return all;
}

Tensors upstream_of(const Tensors& outputs) {
  Tensors all;
  for (const auto& each : outputs) all.push_back(at::randn(each.sizes()).to(each.scalar_type()));
  return all;
}

/// `function` of the differentiable inputs alone, and these.
struct Differentiable {
  Differentiable(const Function& of, const Inputs& inputs) {
    for (const auto& each : inputs) {
      if (is_differentiable(each.role)) leaves.push_back(each.value);
    }
    function = [of, inputs](const Tensors& given) {
      Tensors all;
      std::size_t next = 0;
      for (const auto& each : inputs) {
        all.push_back(is_differentiable(each.role) ? given[next++] : each.value);
      }
      return of(all);
    };
  }
  Tensors gradients(const Tensors& upstream) const {
    return testing::gradients(function, leaves, upstream);
  }
  Function function;
  Tensors leaves;
};

/// Outputs, and gradients where there are any.
Tensors results(const OperatorCase& one, const Function& function, const Inputs& inputs,
                const Tensors& upstream) {
  auto all = function(values_of(inputs));
  if (!one.has_gradient) return all;
  for (auto& each : Differentiable(function, inputs).gradients(upstream)) all.push_back(each);
  return all;
}

TEST_P(Operator, IsItsFormula) {
  const auto& one = GetParam();
  const auto in = values_of(one.inputs(one.rows));
  const auto got = one.run(in), wanted = one.formula(in);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(close(got[i], wanted[i], one.tolerance.value, one.tolerance.value_floor)) << i;
  }
}

TEST_P(Operator, HasTheGradientOfItsFormula) {
  const auto& one = GetParam();
  if (!one.has_gradient) GTEST_SKIP() << "no gradient";
  const auto in = one.inputs(one.rows);
  const auto upstream = upstream_of(one.formula(values_of(in)));
  const auto got = Differentiable(one.run, in).gradients(upstream);
  const auto wanted = Differentiable(one.formula, in).gradients(upstream);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(close(got[i], wanted[i], one.tolerance.gradient, one.tolerance.gradient_floor))
        << "with respect to input " << i;
  }
}

TEST_P(Operator, HasTheGradientOfFiniteDifferences) {
  const auto& one = GetParam();
  if (!one.has_gradient) GTEST_SKIP() << "no gradient";
  const auto in = one.inputs(std::min<std::int64_t>(one.rows, 3));
  const Differentiable operation(one.run, in);
  expect_finite_differences(operation.function, operation.leaves,
                            upstream_of(one.run(values_of(in))));
}

// Each result is the one in double, rounded to its dtype, but for a few roundings to float32 of the
// size of the largest.
TEST_P(Operator, RoundsOnceToFloat32AndBfloat16) {
  const auto& one = GetParam();
  if (!one.is_rounded_once) GTEST_SKIP() << "has a test of its own";
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto narrow = in_dtype(one.inputs(one.rows), dtype);
    const auto wide = in_dtype(narrow, at::kDouble);
    const auto upstream = upstream_of(one.run(values_of(narrow)));
    Tensors exact_upstream;
    for (const auto& each : upstream) exact_upstream.push_back(each.to(at::kDouble));
    const auto got = results(one, one.run, narrow, upstream);
    const auto wanted = results(one, one.formula, wide, exact_upstream);
    const bool is_narrow = dtype == at::kBFloat16;
    const double of_largest = is_narrow ? one.tolerance.bfloat16 : one.tolerance.float32;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double unit = got[i].scalar_type() == at::kBFloat16 ? 0x1p-8 : 0x1p-24;
      const double largest = wanted[i].abs().max().item<double>();
      const bool is_gradient = i >= upstream.size();
      const double share =
          is_gradient ? std::max(of_largest, one.tolerance.narrow_gradient) : of_largest;
      EXPECT_TRUE(close(got[i], wanted[i], 1.001 * unit, share * largest))
          << dtype << ", result " << i;
    }
  }
}

/// The same values, with the first and the last axis exchanged in memory, or every other value.
at::Tensor strided(const at::Tensor& x) {
  if (x.dim() < 2) return at::stack({x, x}, -1).select(-1, 1);
  return x.transpose(0, -1).contiguous().transpose(0, -1);
}

TEST_P(Operator, TakesAnyStrides) {
  const auto& one = GetParam();
  if (!one.takes_strides) GTEST_SKIP() << "refuses strides";
  const auto in = one.inputs(one.rows);
  auto upstream = upstream_of(one.run(values_of(in)));
  const auto wanted = results(one, one.run, in, upstream);
  for (auto& each : upstream) each = each.dim() == 0 ? each : strided(each);
  const auto got = results(one, one.run, with_values(in, strided), upstream);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (one.tolerance.strides == 0) {
      EXPECT_TRUE(got[i].equal(wanted[i])) << "result " << i;
    } else {
      const double largest = wanted[i].abs().max().item<double>();
      EXPECT_TRUE(close(got[i], wanted[i], 0, one.tolerance.strides * largest)) << "result " << i;
    }
  }
  for (const auto& each : one.run(values_of(with_values(in, strided)))) {
    EXPECT_TRUE(each.is_contiguous());
  }
}

// The gradients of what is not rows are zeros then.
TEST_P(Operator, TakesNoRows) {
  const auto& one = GetParam();
  if (!one.takes_empty) GTEST_SKIP() << "refuses empty input";
  const auto in = one.inputs(0);
  const auto got = one.run(values_of(in)), wanted = one.formula(values_of(in));
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].sizes(), wanted[i].sizes()) << i;
  if (!one.has_gradient) return;
  const Differentiable operation(one.run, in);
  const auto gradients = operation.gradients(upstream_of(got));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(gradients[i].equal(at::zeros_like(operation.leaves[i]))) << i;
  }
}

TEST_P(Operator, GivesShapesWithoutDataOnTheMetaDevice) {
  const auto& one = GetParam();
  if (!one.takes_meta) GTEST_SKIP() << "needs its data";
  for (const auto dtype : kDtypes) {
    const auto in = in_dtype(one.inputs(3), dtype);
    const auto wanted = one.run(values_of(in));
    const auto on_meta = [](const at::Tensor& x) { return x.to(at::kMeta); };
    const auto got = one.run(values_of(with_values(in, on_meta)));
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i].is_meta()) << i;
      EXPECT_EQ(got[i].sizes(), wanted[i].sizes()) << i;
      EXPECT_EQ(got[i].scalar_type(), wanted[i].scalar_type()) << i;
    }
  }
}

/// Sets the number of threads until the end of a test.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_P(Operator, HasTheSameBitsForAnyNumberOfThreads) {
  const auto& one = GetParam();
  const Threads restored;
  // Sanitizers watch memory, for which one uneven division of the work is enough.
  const auto numbers = is_sanitized() ? std::vector<int>{3} : one.threads;
  for (const auto dtype : kDtypes) {
    const auto in = in_dtype(one.inputs(one.rows_of_threads), dtype);
    at::set_num_threads(1);
    const auto upstream = upstream_of(one.run(values_of(in)));
    const auto wanted = results(one, one.run, in, upstream);
    for (const int threads : numbers) {
      at::set_num_threads(threads);
      const auto got = results(one, one.run, in, upstream);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(got[i].equal(wanted[i]))
            << dtype << ", " << threads << " threads, result " << i;
      }
    }
  }
}

TEST_P(Operator, RefusesASecondDerivative) {
  const auto& one = GetParam();
  if (!one.has_gradient) GTEST_SKIP() << "no gradient";
  Differentiable operation(one.run, one.inputs(3));
  for (auto& each : operation.leaves) each = each.detach().requires_grad_();
  const auto outputs = operation.function(operation.leaves);
  const auto twice = [&] {
    auto sum = at::zeros({}, at::kDouble);
    for (const auto& each : torch::autograd::grad(outputs, operation.leaves, upstream_of(outputs),
                                                  /*retain_graph=*/true, /*create_graph=*/true)) {
      sum = sum + each.square().sum();
    }
    torch::autograd::grad({sum}, operation.leaves);
  };
  EXPECT_THROW(twice(), c10::Error);
}

TEST_P(Operator, RejectsMismatchedArguments) {
  for (const auto& [message, call] : GetParam().refusals) EXPECT_EQ(message_of(call), message);
}

INSTANTIATE_TEST_SUITE_P(Is, Operator, ::testing::ValuesIn(operator_cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace evenkeel::testing
