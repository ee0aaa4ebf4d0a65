// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/attention/qkv_norm_rope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "ops/gradients.h"

namespace evenkeel {
namespace {

using testing::Tensors;

constexpr std::int64_t kKvHeads = 2, kPositions = 5;
constexpr double kQkvEpsilon = 1e-3;

/// Cosine and sine of other angles at every position.
at::Tensor angles(std::int64_t positions, std::int64_t width, at::ScalarType dtype) {
  const auto angle = at::outer(at::arange(positions, at::kDouble), at::linspace(0.1, 2, width / 2));
  return at::stack({angle.cos(), angle.sin()}, 1).to(dtype);
}

constexpr std::int64_t kManyHeads = 6;  // of q: more than share a root

/// q, k and v, and the gradients, of heads of any width, normed where there is a gain.
Tensors results_at(std::int64_t width, const Tensors& in, const Tensors& dy) {
  const bool is_double = in[0].scalar_type() == at::kDouble;
  const auto cos_sin = angles(kPositions, width, is_double ? at::kDouble : at::kFloat);
  const auto run = [&](const Tensors& x) {
    const auto gain = x.size() > 1 ? std::optional(x[1]) : std::nullopt;
    const auto [q, k, v] =
        ops::qkv_norm_rope(x[0], cos_sin, kManyHeads, kKvHeads, {gain, kQkvEpsilon},
                           {gain, kQkvEpsilon}, {gain, kQkvEpsilon});
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

}  // namespace
}  // namespace evenkeel
