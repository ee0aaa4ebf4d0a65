// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/qkv_norm_rope.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::message_of;
using testing::Tensors;

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kWidth = 6, kPositions = 5;
constexpr double kEpsilon = 1e-3;

/// Cosine and sine of other angles at every position.
at::Tensor angles(std::int64_t positions, std::int64_t width, at::ScalarType dtype) {
  const auto angle = at::outer(at::arange(positions, at::kDouble), at::linspace(0.1, 2, width / 2));
  return at::stack({angle.cos(), angle.sin()}, 1).to(dtype);
}

/// (a, b) -> (a cos - b sin, b cos + a sin), the halves of each head as pairs.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos_sin) {
  const auto halves = x.chunk(2, -1);
  const auto c = cos_sin.select(1, 0).unsqueeze(1), s = cos_sin.select(1, 1).unsqueeze(1);
  return at::cat({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1);
}

at::Tensor normed(const at::Tensor& x, const std::optional<at::Tensor>& gain) {
  return gain ? ops::reference::rms_rows(x, kEpsilon, ops::EpsilonAt::inside) * *gain : x;
}

/// Which of q, k and v are normed.
struct Normed {
  bool q, k, v;
};

class QkvNormRope : public ::testing::TestWithParam<Normed> {
 protected:
  QkvNormRope() { at::manual_seed(0); }

  /// Products, then the gains that there are.
  Tensors inputs() const {
    Tensors in = {at::randn({2, kPositions, (kHeads + 2 * kKvHeads) * kWidth}, at::kDouble)};
    for (const bool each : {GetParam().q, GetParam().k, GetParam().v}) {
      if (each) in.push_back(at::randn({kWidth}, at::kDouble));
    }
    return in;
  }

  static std::array<std::optional<at::Tensor>, 3> gains(const Tensors& in) {
    std::array<std::optional<at::Tensor>, 3> gain;
    std::size_t next = 1;
    if (GetParam().q) gain[0] = in[next++];
    if (GetParam().k) gain[1] = in[next++];
    if (GetParam().v) gain[2] = in[next++];
    return gain;
  }

  static Tensors fused(const Tensors& in) {
    const auto gain = gains(in);
    const auto dtype = in[0].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto [q, k, v] =
        ops::qkv_norm_rope(in[0], angles(kPositions, kWidth, dtype), kHeads, kKvHeads,
                           {gain[0], kEpsilon}, {gain[1], kEpsilon}, {gain[2], kEpsilon});
    return {q, k, v};
  }

  static Tensors formula(const Tensors& in) {
    const auto gain = gains(in);
    const auto cos_sin = angles(kPositions, kWidth, at::kDouble);
    const auto heads = in[0].unflatten(-1, {-1, kWidth});
    return {rotated(normed(heads.narrow(2, 0, kHeads), gain[0]), cos_sin),
            rotated(normed(heads.narrow(2, kHeads, kKvHeads), gain[1]), cos_sin),
            normed(heads.narrow(2, kHeads + kKvHeads, kKvHeads), gain[2])};
  }

  static Tensors upstream() {
    return {at::randn({2, kPositions, kHeads, kWidth}, at::kDouble),
            at::randn({2, kPositions, kKvHeads, kWidth}, at::kDouble),
            at::randn({2, kPositions, kKvHeads, kWidth}, at::kDouble)};
  }
};

TEST_P(QkvNormRope, IsItsFormula) {
  const auto in = inputs();
  const auto actual = fused(in), expected = formula(in);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(close(actual[i], expected[i], 1e-13, 1e-14)) << i;
  }
}

TEST_P(QkvNormRope, HasTheGradientsOfItsFormula) {
  const auto in = inputs();
  testing::expect_equal_gradients(fused, formula, in, upstream());
  testing::expect_finite_differences(fused, in, upstream());
}

// Attention hands back views whose positions and heads are exchanged.
TEST_P(QkvNormRope, TakesGradientsThatAreNotContiguous) {
  const auto in = inputs();
  const auto dy = upstream();
  Tensors exchanged;
  for (const auto& each : dy)
    exchanged.push_back(each.transpose(1, 2).contiguous().transpose(1, 2));
  const auto expected = testing::gradients(fused, in, dy);
  const auto actual = testing::gradients(fused, in, exchanged);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(actual[i].equal(expected[i])) << i;
}

TEST_P(QkvNormRope, RoundsOnceToFloatAndBfloat16) {
  auto in = inputs();
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    Tensors narrow, wide;
    for (std::size_t i = 0; i < in.size(); ++i) {
      narrow.push_back(in[i].to(i == 0 ? dtype : at::kFloat));
      wide.push_back(narrow.back().to(at::kDouble));
    }
    const auto actual = fused(narrow), expected = formula(wide);
    const double unit = dtype == at::kFloat ? 0x1p-23 : 0x1p-8;
    for (std::size_t i = 0; i < 3; ++i) {
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_TRUE(close(actual[i].to(at::kDouble), expected[i], unit, 4 * 0x1p-24 * largest)) << i;
    }
  }
}

TEST_P(QkvNormRope, HasTheSameBitsForAnyNumberOfThreads) {
  Tensors in = inputs();
  in[0] = at::randn({40, kPositions, (kHeads + 2 * kKvHeads) * kWidth}).to(at::kFloat);
  for (std::size_t i = 1; i < in.size(); ++i) in[i] = in[i].to(at::kFloat);
  Tensors dy;
  for (const auto& y : fused(in)) dy.push_back(at::randn_like(y));
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto one = testing::gradients(fused, in, dy);
  at::set_num_threads(2);
  const auto two = testing::gradients(fused, in, dy);
  at::set_num_threads(before);
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
}

std::string name_of(const ::testing::TestParamInfo<Normed>& one) {
  const std::string name =
      std::string(one.param.q ? "q" : "") + (one.param.k ? "k" : "") + (one.param.v ? "v" : "");
  return name.empty() ? "none" : name;
}

INSTANTIATE_TEST_SUITE_P(Of, QkvNormRope,
                         ::testing::Values(Normed{false, false, false}, Normed{true, true, false},
                                           Normed{true, true, true}, Normed{false, false, true},
                                           Normed{false, true, true}),
                         name_of);

constexpr std::int64_t kManyHeads = 6;  // of q: more than share a root

/// q, k and v, and the gradients, of heads of any width, normed where there is a gain.
Tensors results_at(std::int64_t width, const Tensors& in, const Tensors& dy) {
  const bool is_double = in[0].scalar_type() == at::kDouble;
  const auto cos_sin = angles(kPositions, width, is_double ? at::kDouble : at::kFloat);
  const auto run = [&](const Tensors& x) {
    const auto gain = x.size() > 1 ? std::optional(x[1]) : std::nullopt;
    const auto [q, k, v] = ops::qkv_norm_rope(x[0], cos_sin, kManyHeads, kKvHeads, {gain, kEpsilon},
                                              {gain, kEpsilon}, {gain, kEpsilon});
    return Tensors{q, k, v};
  };
  auto results = run(in);
  for (auto& each : testing::gradients(run, in, dy)) results.push_back(std::move(each));
  return results;
}

/// Results in bfloat16 or float32 against those in float64 of the same values, head by head.
void expect_those_of_double(std::int64_t width, const Tensors& in, const Tensors& dy) {
  Tensors exact_in, exact_dy;
  for (const auto& each : in) exact_in.push_back(each.to(at::kDouble));
  for (const auto& each : dy) exact_dy.push_back(each.to(at::kDouble));
  const auto actual = results_at(width, in, dy);
  const auto exact = results_at(width, exact_in, exact_dy);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto ours = actual[i].to(at::kDouble).view({-1, width});
    const auto theirs = exact[i].view({-1, width});
    const bool is_float =
        actual[i].scalar_type() == at::kFloat && in[0].scalar_type() == at::kFloat;
    const double spacing = 0x1p-133;  // of numbers below the smallest normal one
    const double unit = is_float ? 0x1p-24 : 0x1p-8, of_largest = is_float ? 0x1p-21 : 0x1p-18;
    const auto of_head = (of_largest * theirs.abs().amax(1, true)).clamp_min(spacing);
    const auto excess = (ours - theirs).abs() - unit * theirs.abs() - of_head;
    EXPECT_TRUE((excess <= 0).all().item<bool>())
        << "result " << i << ": " << excess.max().item<double>() << " too far";
  }
}

/// Rows whose squares vanish or overflow in float32, gradients at both ends of its range, a small
/// gain: of all heads, or of the fifth of each token alone.
struct Sizes {
  double x = 1, dy = 1, gain = 1;
  bool is_of_one = false;
};

at::Tensor heads_of(std::int64_t count, std::int64_t width, double size, bool is_of_one) {
  auto values = at::randn({2, kPositions, count, width});
  if (!is_of_one) {
    values *= size;
  } else if (count > 4) {
    values.select(2, 4) *= size;
  }
  return values.to(at::kBFloat16);
}

// At widths that have loops of their own, and at the widest that is in float32.
TEST(QkvNormRopeOfFloat, HasTheResultsOfDouble) {
  at::manual_seed(4);
  for (const std::int64_t width : {6, 32, 48, 64, 96, 128, 512, 514}) {
    for (const bool with_gain : {false, true}) {
      for (const double size : {1.0, 1e-9, 1e9}) {
        SCOPED_TRACE(::testing::Message() << "width " << width << ", dy " << size);
        Tensors in = {at::randn({2, kPositions, (kManyHeads + 2 * kKvHeads) * width})};
        if (with_gain) in.push_back(at::randn({width}));
        Tensors dy;
        for (const auto heads : {kManyHeads, kKvHeads, kKvHeads}) {
          dy.push_back(size * at::randn({2, kPositions, heads, width}));
        }
        expect_those_of_double(width, in, dy);
      }
    }
  }
}

// Around the ends of vectors and of what has versions of its own.
TEST(QkvNormRopeOfBfloat16, HasTheResultsOfDouble) {
  at::manual_seed(4);
  for (const std::int64_t width :
       {6, 16, 32, 48, 64, 72, 80, 96, 112, 128, 200, 240, 256, 258, 520}) {
    for (const bool with_gain : {false, true}) {
      for (const auto& sizes :
           {Sizes{}, Sizes{.x = 1e-25}, Sizes{.x = 1e25}, Sizes{.dy = 1e-37}, Sizes{.dy = 1e36},
            Sizes{.x = 1e25, .is_of_one = true}, Sizes{.dy = 0, .is_of_one = true},
            Sizes{.x = 1e16, .dy = 1e-20}, Sizes{.gain = 1e-38}}) {
        SCOPED_TRACE(::testing::Message() << "width " << width << (with_gain ? ", normed" : "")
                                          << ", sizes " << sizes.x << ", " << sizes.dy << ", "
                                          << sizes.gain << (sizes.is_of_one ? " of one" : ""));
        Tensors in = {
            heads_of(kManyHeads + 2 * kKvHeads, width, sizes.x, sizes.is_of_one).flatten(2)};
        if (with_gain) in.push_back(sizes.gain * at::randn({width}));
        Tensors dy;
        for (const auto heads : {kManyHeads, kKvHeads, kKvHeads}) {
          dy.push_back(heads_of(heads, width, sizes.dy, sizes.is_of_one));
        }
        expect_those_of_double(width, in, dy);
      }
    }
  }
}

TEST(QkvNormRopeInputs, AreChecked) {
  const auto cos_sin = angles(5, 6, at::kFloat);
  const auto message = [&](const at::Tensor& products, const at::Tensor& with, std::int64_t width) {
    return message_of(
        [&] { ops::qkv_norm_rope(products, with, 4, 2, {at::ones({width})}, {}, {}); });
  };
  EXPECT_NE(message(at::ones({2, 5, 47}), cos_sin, 6)
                .find("products must be [B, T, 8 * D] with an even D for 4 heads and 2 key heads, "
                      "but are [2, 5, 47]"),
            std::string::npos);
  EXPECT_NE(
      message(at::ones({2, 4, 48}), cos_sin, 6)
          .find("turn must be [4, 2, 3] of float32 on cpu, but is [5, 2, 3] of float32 on cpu"),
      std::string::npos);
  EXPECT_NE(message(at::ones({2, 5, 48}), cos_sin, 5)
                .find("q_gain must be [6] of float32 on cpu, but is [5] of float32 on cpu"),
            std::string::npos);
}

TEST(QkvNormRopeInputs, MayBeEmpty) {
  const auto [q, k, v] = ops::qkv_norm_rope(at::ones({0, 5, 48}), angles(5, 6, at::kFloat), 4, 2,
                                            {at::ones({6})}, {}, {});
  EXPECT_EQ(q.sizes(), at::IntArrayRef({0, 5, 4, 6}));
  EXPECT_EQ(v.sizes(), at::IntArrayRef({0, 5, 2, 6}));
}

}  // namespace
}  // namespace evenkeel
