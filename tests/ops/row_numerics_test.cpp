// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/norms/add_rms_norm.h"
#include "evenkeel/ops/norms/affine.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "ops/gradients.h"
#include "support/row_reference.h"

// The fused operators against long double, on hard rows of many widths: each result is the true
// one rounded once, but for a few roundings to float32 in the norms of float32 and bfloat16.
namespace evenkeel {
namespace {

using testing::correctly_rounded;
using testing::ReferenceValue;
using testing::ReferenceValues;
using testing::Statistic;
using testing::Tensors;
using testing::Values;
using testing::Wide;

/// The truth of gain * x_hat + bias over rows, and of its gradients.
struct Truth {
  ReferenceValues y, dx, dgain, dbias;
};

struct Inputs {
  at::Tensor x, dy, gain, bias;  // bias may be undefined
};

/// \param statistic  none: x_hat = x
Truth truth_of(const Inputs& in, const std::optional<Statistic>& statistic) {
  const auto width = static_cast<std::size_t>(in.x.size(-1));
  const auto x = testing::values_of(in.x), dy = testing::values_of(in.dy);
  const auto gain = testing::values_of(in.gain), bias = testing::values_of(in.bias);
  Truth truth;
  truth.dgain.resize(width);
  truth.dbias.resize(width);
  for (std::size_t first = 0; first < x.size(); first += width) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
    const Values values(begin, begin + static_cast<std::ptrdiff_t>(width));
    const auto row = statistic ? testing::normed(values, *statistic)
                               : testing::NormedRow{.centred = values, .x_hat = values, .rho = 1};
    Values g;
    for (std::size_t i = 0; i < width; ++i) {
      const Wide upstream = dy[first + i], plus = bias.empty() ? 0 : bias[i];
      truth.y.push_back({gain[i] * row.x_hat[i] + plus,
                         std::abs(gain[i]) * row.error + std::abs(plus),
                         std::abs(gain[i] * row.x_hat[i]) + std::abs(plus)});
      truth.dgain[i].add(upstream * row.x_hat[i],
                         std::abs(upstream) * (std::abs(row.x_hat[i]) + row.error));
      truth.dbias[i].add(upstream, std::abs(upstream));
      g.push_back(upstream * gain[i]);
    }
    const auto dx = testing::gradient_of(row, g, statistic && statistic->centred);
    truth.dx.insert(truth.dx.end(), dx.begin(), dx.end());
  }
  return truth;
}

Inputs inputs_of(const at::Tensor& x) {
  const auto width = x.size(-1);
  return {x, at::randn(x.sizes()).to(x.scalar_type()), at::randn({width}), at::randn({width})};
}

void expect_rms_norm(const at::Tensor& x) {
  const int forward = testing::roundings_forward(x.scalar_type());
  const int backward = testing::roundings_backward(x.scalar_type());
  auto in = inputs_of(x);
  in.bias = at::Tensor();
  const auto truth = truth_of(in, Statistic{});
  const auto run = [](const Tensors& of) { return Tensors{ops::rms_norm(of[0], of[1])}; };
  EXPECT_TRUE(correctly_rounded(run({in.x, in.gain})[0], truth.y, testing::kDoubleError, forward));
  const auto got = testing::gradients(run, {in.x, in.gain}, {in.dy});
  EXPECT_TRUE(correctly_rounded(got[0], truth.dx, testing::kDoubleError, backward));
  EXPECT_TRUE(correctly_rounded(got[1], truth.dgain, testing::kDoubleError, backward));
}

void expect_layer_norm(const at::Tensor& x) {
  const int forward = testing::roundings_forward(x.scalar_type());
  const int backward = testing::roundings_backward(x.scalar_type());
  const auto in = inputs_of(x);
  const auto truth = truth_of(in, Statistic{.centred = true});
  const auto run = [](const Tensors& of) { return Tensors{ops::layer_norm(of[0], of[1], of[2])}; };
  EXPECT_TRUE(
      correctly_rounded(run({in.x, in.gain, in.bias})[0], truth.y, testing::kDoubleError, forward));
  const auto got = testing::gradients(run, {in.x, in.gain, in.bias}, {in.dy});
  EXPECT_TRUE(correctly_rounded(got[0], truth.dx, testing::kDoubleError, backward));
  EXPECT_TRUE(correctly_rounded(got[1], truth.dgain, testing::kDoubleError, backward));
  EXPECT_TRUE(correctly_rounded(got[2], truth.dbias, testing::kDoubleError, backward));
}

void expect_affine(const at::Tensor& x) {
  const auto in = inputs_of(x);
  const auto truth = truth_of(in, std::nullopt);
  const auto run = [](const Tensors& of) { return Tensors{ops::affine(of[0], of[1], of[2])}; };
  EXPECT_TRUE(correctly_rounded(run({in.x, in.gain, in.bias})[0], truth.y));
  const auto got = testing::gradients(run, {in.x, in.gain, in.bias}, {in.dy});
  EXPECT_TRUE(correctly_rounded(got[0], truth.dx));
  EXPECT_TRUE(correctly_rounded(got[1], truth.dgain));
  EXPECT_TRUE(correctly_rounded(got[2], truth.dbias));
}

/// One value for all features: its gradient is the sum over them.
void expect_affine_of_one_value(const at::Tensor& x) {
  auto in = inputs_of(x);
  const auto one = at::randn({1}), plus = at::randn({1});
  in.gain = one.expand_as(in.gain);
  in.bias = plus.expand_as(in.bias);
  const auto truth = truth_of(in, std::nullopt);
  const auto run = [](const Tensors& of) { return Tensors{ops::affine(of[0], of[1], of[2])}; };
  EXPECT_TRUE(correctly_rounded(run({x, one, plus})[0], truth.y));
  const auto got = testing::gradients(run, {x, one, plus}, {in.dy});
  EXPECT_TRUE(correctly_rounded(got[0], truth.dx));
  const auto total = [](const ReferenceValues& of_features) {
    ReferenceValue sum;
    for (const auto& each : of_features) sum.add(each.value, each.error_scale);
    return ReferenceValues{sum};
  };
  EXPECT_TRUE(correctly_rounded(got[1], total(truth.dgain)));
  EXPECT_TRUE(correctly_rounded(got[2], total(truth.dbias)));
}

/// The sum is rounded to the dtype, and its norm is that of the rounded sum.
void expect_add_rms_norm(const at::Tensor& x) {
  const int forward = testing::roundings_forward(x.scalar_type());
  const int backward = testing::roundings_backward(x.scalar_type());
  const auto residual = x * 0.5;
  const auto branch = x - residual;
  auto in = inputs_of(residual + branch);
  in.bias = at::Tensor();
  const auto beside = at::randn(x.sizes()).to(x.scalar_type());
  auto truth = truth_of(in, Statistic{});
  const auto more = testing::values_of(beside);
  for (std::size_t i = 0; i < more.size(); ++i) truth.dx[i].add(more[i], std::abs(more[i]));
  const auto run = [](const Tensors& of) {
    const auto [sum, y] = ops::add_rms_norm(of[0], of[1], of[2]);
    return Tensors{sum, y};
  };
  const auto outputs = run({residual, branch, in.gain});
  EXPECT_TRUE(outputs[0].equal(in.x));
  EXPECT_TRUE(correctly_rounded(outputs[1], truth.y, testing::kDoubleError, forward));
  const auto got = testing::gradients(run, {residual, branch, in.gain}, {beside, in.dy});
  EXPECT_TRUE(correctly_rounded(got[0], truth.dx, testing::kDoubleError, backward));
  EXPECT_TRUE(correctly_rounded(got[1], truth.dx, testing::kDoubleError, backward));
  EXPECT_TRUE(correctly_rounded(got[2], truth.dgain, testing::kDoubleError, backward));
}

struct Op {
  const char* name;
  void (*expect)(const at::Tensor& x);
};

class RowNumerics : public ::testing::TestWithParam<std::tuple<Op, at::ScalarType>> {};

TEST_P(RowNumerics, RoundOnce) {
  const auto& [op, dtype] = GetParam();
  at::manual_seed(21);
  for (const auto width : testing::extreme_widths()) {
    SCOPED_TRACE(width);
    op.expect(testing::extreme_rows(width, dtype));
  }
}

TEST_P(RowNumerics, RoundOnceInMoreThan65536Rows) {
  const auto& [op, dtype] = GetParam();
  at::manual_seed(22);
  op.expect(at::randn({65544, 3}).to(dtype));
}

TEST_P(RowNumerics, RoundOnceWhereRowsAreNotContiguous) {
  const auto& [op, dtype] = GetParam();
  at::manual_seed(23);
  const auto rows = testing::extreme_rows(17, dtype);
  op.expect(rows.t().contiguous().t());
  op.expect(at::stack({rows, rows}, -1).select(-1, 1));
}

INSTANTIATE_TEST_SUITE_P(
    Of, RowNumerics,
    ::testing::Combine(::testing::Values(Op{"rms_norm", expect_rms_norm},
                                         Op{"layer_norm", expect_layer_norm},
                                         Op{"affine", expect_affine},
                                         Op{"affine_of_one_value", expect_affine_of_one_value},
                                         Op{"add_rms_norm", expect_add_rms_norm}),
                       ::testing::Values(at::kFloat, at::kBFloat16)),
    [](const auto& one) {
      return std::string(std::get<0>(one.param).name) +
             (std::get<1>(one.param) == at::kFloat ? "_float32" : "_bfloat16");
    });

TEST(Affine, TakesNoRowsAndNoGain) {
  const auto none = at::empty({0, 5}).requires_grad_();
  const auto gain = at::ones({5}).requires_grad_();
  const auto y = ops::affine(none, gain);
  const auto got = torch::autograd::grad({y}, {none, gain}, {at::empty({0, 5})});
  EXPECT_EQ(got[0].sizes(), none.sizes());
  EXPECT_TRUE(got[1].equal(at::zeros({5})));
  const auto x = at::randn({3, 5});
  EXPECT_TRUE(ops::affine(x, std::nullopt).equal(x));
}

}  // namespace
}  // namespace evenkeel
