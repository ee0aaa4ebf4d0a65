// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "evenkeel/kernels/cpu/portable/affine.h"
#include "evenkeel/kernels/cpu/portable/bounded.h"
#include "evenkeel/kernels/cpu/portable/row_norm.h"
#include "evenkeel/kernels/cpu/portable/sphere.h"
#include "kernels/row_values.h"

// Kernels of rows that compute bfloat16 in float32 where the processor can: they equal the same
// kernels of the same values in double, which never do.
namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::is_near;
using testing::is_row;
using testing::row_of;
using testing::wavy;

constexpr std::size_t kRows = 6;  // four, and two more

std::int64_t count(std::size_t of) {
  return static_cast<std::int64_t>(of);
}

/// Rows, and vectors of their width, in bfloat16 or double.
template <typename T>
struct Operands {
  using F = OpMathType<T>;
  std::vector<T> x, dy, y, dx;
  std::vector<F> gain, bias;
  std::vector<double> dgain, dbias;

  void make_results(std::size_t width) {
    y.resize(x.size());
    dx.resize(x.size());
    dgain.assign(width, 0.5);
    dbias.assign(width, 0.25);
  }
};

struct BothOperands {
  Operands<Bf16> narrow;
  Operands<double> wide;

  explicit BothOperands(std::size_t width, double scale = 1, double offset = 0) {
    narrow.x = wavy<Bf16>(kRows * width, 0.3, scale);
    for (auto& value : narrow.x) store(&value, load(&value) + offset);
    narrow.dy = wavy<Bf16>(kRows * width, 0.9);
    narrow.gain = wavy<float>(width, 1.1);
    narrow.bias = wavy<float>(width, 2.1);
    wide.x = exact(narrow.x), wide.dy = exact(narrow.dy);
    wide.gain = exact(narrow.gain), wide.bias = exact(narrow.bias);
    narrow.make_results(width);
    wide.make_results(width);
  }

  /// Passes if the results fit, but for roundings.
  /// \param size  of what cancels on the way
  void expect_equal_results(std::size_t width, double size = 1) const {
    for (std::size_t row = 0; row < kRows; ++row) {
      SCOPED_TRACE(::testing::Message() << "row " << row << " of width " << width);
      const auto slack = [&](const auto& of) { return row_of(of, row, width); };
      EXPECT_TRUE(is_row(slack(narrow.y), slack(wide.y), size * 0x1p28));
      EXPECT_TRUE(is_row(slack(narrow.dx), slack(wide.dx), size * 0x1p28));
    }
    EXPECT_TRUE(is_near(narrow.dgain, wide.dgain, size * kRows * 0x1p-20));
    EXPECT_TRUE(is_near(narrow.dbias, wide.dbias, size * kRows * 0x1p-20));
  }
};

template <typename T>
void run_affine(Operands<T>& in, std::size_t width) {
  for (std::size_t at = 0; at < in.x.size(); at += width) {
    affine_row<T>(&in.x[at], in.gain.data(), in.bias.data(), &in.y[at], count(width));
  }
  affine_backward<T>({.dy = in.dy.data(),
                      .x = in.x.data(),
                      .gain = in.gain.data(),
                      .dx = in.dx.data(),
                      .dgain = in.dgain.data(),
                      .dbias = in.dbias.data()},
                     kRows, count(width));
}

TEST(RowsInFloat, AffineEqualsDouble) {
  for (std::size_t width = 1; width <= 70; ++width) {
    BothOperands in(width);
    run_affine(in.narrow, width);
    run_affine(in.wide, width);
    in.expect_equal_results(width);
  }
}

// Where the instruction that rounds to bfloat16 would make zeros.
TEST(RowsInFloat, SubnormalResultsOfAffineStay) {
  const float gain = 0x1p-130F, none = 0;
  Bf16 x, y, dx;
  store(&x, 1.5);
  affine_row<Bf16>(&x, &gain, &none, &y, 1);
  EXPECT_EQ(load(&y), 1.5 * 0x1p-130);
  affine_backward<Bf16>(
      {.dy = &x, .x = &x, .gain = &gain, .dx = &dx, .dgain = nullptr, .dbias = nullptr}, 1, 1);
  EXPECT_EQ(load(&dx), 1.5 * 0x1p-130);
}

template <typename T>
void run_row_norm(Operands<T>& in, std::size_t width, const RowDenominator& by) {
  for (std::size_t at = 0; at < in.x.size(); at += width) {
    row_norm_row<T>(&in.x[at], in.gain.data(), in.bias.data(), &in.y[at], count(width), by);
  }
  row_norm_backward<T>({.dy = in.dy.data(),
                        .x = in.x.data(),
                        .gain = in.gain.data(),
                        .dx = in.dx.data(),
                        .dgain = in.dgain.data(),
                        .dbias = in.dbias.data(),
                        .stride = count(width),
                        .width = count(width)},
                       kRows, by);
}

/// Denominators of every kind for a width.
std::vector<RowDenominator> denominators(std::int64_t width) {
  using At = RowDenominator::EpsilonAt;
  const auto part = std::max<std::int64_t>(1, width / 4);
  return {{.partial_width = width, .epsilon = 1e-5},
          {.partial_width = width, .epsilon = 1e-2, .epsilon_at = At::outside},
          {.partial_width = width, .is_length = true, .epsilon = 1e-12, .epsilon_at = At::clamp},
          {.partial_width = width, .is_length = true, .epsilon = 1e-2, .epsilon_at = At::outside},
          {.partial_width = part, .epsilon = 1e-2},
          {.is_centred = true, .partial_width = width, .epsilon = 1e-2},
          {.is_centred = true, .partial_width = width, .epsilon = 1e-2, .absmax8 = true}};
}

TEST(RowsInFloat, RowNormEqualsDouble) {
  for (std::size_t width = 1; width <= 70; ++width) {
    int which = 0;
    for (const auto& by : denominators(count(width))) {
      for (const double offset : {0.0, 3.0, 40.0}) {
        SCOPED_TRACE(::testing::Message() << "denominator " << which << ", offset " << offset);
        BothOperands in(width, 1, offset);
        run_row_norm(in.narrow, width, by);
        run_row_norm(in.wide, width, by);
        in.expect_equal_results(width, 20);
      }
      ++which;
    }
  }
}

// Squares leave the range of float32 beyond 1e19; the kernel then computes in double.
TEST(RowsInFloat, RowNormOfLargeAndSmallRowsEqualsDouble) {
  constexpr std::size_t kWidth = 40;
  for (const double scale : {1e-25, 1e-13, 1e13, 1e25}) {
    BothOperands in(kWidth, scale);
    const RowDenominator by = {.partial_width = kWidth, .is_length = true};
    run_row_norm(in.narrow, kWidth, by);
    run_row_norm(in.wide, kWidth, by);
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto part = [&](const auto& of) { return row_of(of, row, kWidth); };
      EXPECT_TRUE(is_row(part(in.narrow.y), part(in.wide.y), 0));
      EXPECT_TRUE(is_row(part(in.narrow.dx), part(in.wide.dx), 0x1p28 / scale));
      double largest = 0;
      for (const double value : part(in.wide.dx)) largest = std::max(largest, std::abs(value));
      EXPECT_GT(largest, 0.01 / scale / 10);
    }
    EXPECT_TRUE(is_near(in.narrow.dgain, in.wide.dgain, kRows * 0x1p-20));
  }
}

// A gradient that is not required has no sum, and rows may lie apart.
TEST(RowsInFloat, RowNormTakesRowsApartWithoutGradientsOfVectors) {
  constexpr std::size_t kWidth = 24, kStride = 2 * kWidth;
  BothOperands in(kStride);
  const RowDenominator by = {.partial_width = kWidth, .is_length = true};
  const auto run = [&](auto& of) {
    using T = std::decay_t<decltype(of.x[0])>;
    row_norm_backward<T>({.dy = of.dy.data(),
                          .x = of.x.data(),
                          .gain = of.gain.data(),
                          .dx = of.dx.data(),
                          .dgain = nullptr,
                          .dbias = nullptr,
                          .stride = kStride,
                          .width = kWidth},
                         kRows, by);
  };
  for (auto& value : in.narrow.dx) store(&value, 7);
  for (auto& value : in.wide.dx) value = 7;
  run(in.narrow);
  run(in.wide);
  in.expect_equal_results(kStride);
}

template <typename T>
void run_bounded(Operands<T>& in, std::size_t width, const BoundedParameters& by,
                 std::vector<double>& values) {
  for (std::size_t at = 0; at < in.x.size(); at += width) {
    bounded_row<T>(&in.x[at], in.gain.data(), in.bias.data(), &in.y[at], count(width), by);
    bounded_row_backward<T>({.dy = &in.dy[at],
                             .x = &in.x[at],
                             .gain = in.gain.data(),
                             .dx = &in.dx[at],
                             .dalpha = values.data(),
                             .dshift = &values[1],
                             .dgain = in.dgain.data(),
                             .dbias = in.dbias.data()},
                            count(width), by);
  }
}

/// The sum of |dy gain f' x| + |dy gain f'|, the terms of the gradients of alpha and shift.
double sum_of_sizes(const Operands<double>& in, const BoundedParameters& by) {
  double sum = 0;
  for (std::size_t i = 0; i < in.x.size(); ++i) {
    const double u = by.alpha * in.x[i] + by.shift, g = in.dy[i] * in.gain[i % in.gain.size()];
    const double slope =
        by.function == BoundedKind::tanh ? 1 / std::pow(std::cosh(u), 2) : 1.13 * std::exp(-u * u);
    sum += std::abs(g * slope) * (std::abs(in.x[i]) + 1);
  }
  return sum;
}

TEST(RowsInFloat, BoundedFunctionsEqualDouble) {
  for (const auto kind : {BoundedKind::tanh, BoundedKind::erf}) {
    for (const double scale : {0.01, 1.0, 5.0, 60.0}) {  // series, middle, saturated, beyond
      for (std::size_t width = 1; width <= 70; width += 3) {
        SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << ", scale " << scale);
        BothOperands in(width, scale);
        const BoundedParameters by = {.function = kind, .alpha = 0.75, .shift = 0.125};
        std::vector<double> narrow(2, 0), wide(2, 0);
        run_bounded(in.narrow, width, by, narrow);
        run_bounded(in.wide, width, by, wide);
        in.expect_equal_results(width, 4);
        EXPECT_TRUE(is_near(narrow, wide, 2e-6 * sum_of_sizes(in.wide, by)));
      }
    }
  }
}

TEST(RowsInFloat, BoundedFunctionsOfNaNAreNaN) {
  const float one = 1, none = 0;
  const Bf16 nan = {0x7fc0};
  for (const auto kind : {BoundedKind::tanh, BoundedKind::erf}) {
    Bf16 y = {0};
    bounded_row<Bf16>(&nan, &one, &none, &y, 1, {.function = kind, .alpha = 1, .shift = 0});
    EXPECT_TRUE(std::isnan(load(&y)));
  }
}

/// Both rows of a sphere's step, and all gradients.
template <typename T>
struct SphereResults {
  std::vector<T> y, dstart, dtowards;
  std::vector<double> dstep;
};

template <typename T>
SphereResults<T> sphere_results(const std::vector<T>& start, const std::vector<T>& towards,
                                const std::vector<T>& dy, const std::vector<double>& step) {
  const auto width = start.size();
  SphereResults<T> to = {std::vector<T>(width), std::vector<T>(width), std::vector<T>(width),
                         std::vector<double>(width, 0.5)};
  sphere_step_row<T>(start.data(), towards.data(), step.data(), to.y.data(), count(width));
  sphere_step_row_backward<T>({.dy = dy.data(),
                               .start = start.data(),
                               .towards = towards.data(),
                               .step = step.data(),
                               .dstart = to.dstart.data(),
                               .dtowards = to.dtowards.data(),
                               .dstep = to.dstep.data()},
                              count(width));
  return to;
}

TEST(RowsInFloat, SphereStepsEqualDouble) {
  for (const double scale : {1e-13, 1.0, 1e25}) {
    for (std::size_t width = 2; width <= 70; ++width) {
      SCOPED_TRACE(::testing::Message() << "width " << width << ", scale " << scale);
      const auto start = wavy<Bf16>(width, 0.3, scale), towards = wavy<Bf16>(width, 1.3);
      const auto dy = wavy<Bf16>(width, 0.9);
      const auto step = wavy<double>(width, 2.2, 0.3);
      const auto narrow = sphere_results(start, towards, dy, step);
      const auto wide = sphere_results(exact(start), exact(towards), exact(dy), step);
      EXPECT_TRUE(is_row(narrow.y, wide.y, 0x1p28));
      EXPECT_TRUE(is_row(narrow.dstart, wide.dstart, 0x1p28 / scale));
      EXPECT_TRUE(is_row(narrow.dtowards, wide.dtowards, 0x1p28));
      EXPECT_TRUE(is_near(narrow.dstep, wide.dstep, 0x1p-18));
    }
  }
}

// v is -u, and half a step ends near the centre of the sphere: float32 would keep noise.
TEST(RowsInFloat, SphereStepsToOppositeRowsEqualDouble) {
  constexpr std::size_t kWidth = 48;
  std::vector<Bf16> start(kWidth), towards(kWidth);
  for (std::size_t i = 0; i < kWidth; ++i) {
    const auto value = static_cast<double>(i % 5) - 1.5;
    store(&start[i], value);
    store(&towards[i], -3 * value);
  }
  const auto dy = wavy<Bf16>(kWidth, 0.9);
  const std::vector<double> half(kWidth, 0.5 + 0x1p-20);
  const auto narrow = sphere_results(start, towards, dy, half);
  const auto wide = sphere_results(exact(start), exact(towards), exact(dy), half);
  EXPECT_TRUE(is_row(narrow.y, wide.y, 0x1p28));
  EXPECT_TRUE(is_row(narrow.dstart, wide.dstart, 0x1p47));
  EXPECT_TRUE(is_row(narrow.dtowards, wide.dtowards, 0x1p47));
}

// Slopes vanish in float32 far from 0, and products of large gradients overflow.
TEST(RowsInFloat, BoundedGradientsBeyondFloat32EqualDouble) {
  constexpr std::size_t kWidth = 20;
  struct Case {
    BoundedKind kind;
    double x, dy;
  };
  for (const auto& [kind, x, dy] :
       {Case{BoundedKind::tanh, 40, 0x1p58}, Case{BoundedKind::tanh, 46, 0x1p58},
        Case{BoundedKind::tanh, 1, 0x1p126}, Case{BoundedKind::erf, 8.5, 0x1p58},
        Case{BoundedKind::erf, 9.5, 0x1p58}, Case{BoundedKind::erf, 0.5, 0x1p126}}) {
    BothOperands in(kWidth, 0.01, x);
    for (auto& value : in.narrow.dy) store(&value, load(&value) * dy);
    in.wide.dy = exact(in.narrow.dy);
    if (dy > 0x1p100) {
      for (auto& value : in.narrow.gain) value *= 8;
      in.wide.gain = exact(in.narrow.gain);
    }
    const BoundedParameters by = {.function = kind, .alpha = 0.125, .shift = x - x / 8};
    std::vector<double> narrow(2, 0), wide(2, 0);
    run_bounded(in.narrow, kWidth, by, narrow);
    run_bounded(in.wide, kWidth, by, wide);
    for (std::size_t row = 0; row < kRows; ++row) {
      EXPECT_TRUE(is_row(row_of(in.narrow.dx, row, kWidth), row_of(in.wide.dx, row, kWidth), 0))
          << static_cast<int>(kind) << " at " << x;
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
