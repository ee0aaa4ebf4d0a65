// SPDX-License-Identifier: Apache-2.0
// Attention's tiles against loops, in one version of vectors that CMake names: those of AVX-512 on
// any processor. What the operator does with them is tested in tests/ops.
#include "evenkeel/kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace evenkeel::kernels::cpu {
namespace {

using Values = std::vector<double>;

/// One head of each: rows side by side.
struct Attention {
  AttentionSizes sizes;
  Values q, k, v, dy;
};

struct Results {
  Values y, dq, dk, dv;
};

Attention random(const AttentionSizes& sizes) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  const auto make = [&](std::int64_t rows) {
    Values values(static_cast<std::size_t>(rows * sizes.width));
    for (auto& each : values) each = static_cast<float>(normal(engine));
    return values;
  };
  return {sizes, make(sizes.queries), make(sizes.keys), make(sizes.keys), make(sizes.queries)};
}

const double* at(const Values& values, std::int64_t row, std::int64_t width) {
  return values.data() + row * width;
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t d = 0; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

/// The formulas of attention.h, pair by pair.
Results by_loops(const Attention& in) {
  const auto& [queries, keys, width, scale, softcap] = in.sizes;
  Results out{Values(in.q.size()), Values(in.q.size()), Values(in.k.size()), Values(in.k.size())};
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto seen = keys - queries + i + 1;
    Values p, slope;
    double sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      const double s = scale * dot(at(in.q, i, width), at(in.k, j, width), width);
      const double capped = softcap > 0 ? softcap * std::tanh(s / softcap) : s;
      slope.push_back(softcap > 0 ? 1 - std::pow(capped / softcap, 2) : 1);
      p.push_back(std::exp(capped));
      sum += p.back();
    }
    double mean = 0;  // of dp
    for (std::int64_t j = 0; j < seen; ++j) {
      p[j] /= sum;
      mean += p[j] * dot(at(in.dy, i, width), at(in.v, j, width), width);
    }
    for (std::int64_t j = 0; j < seen; ++j) {
      const double dp = dot(at(in.dy, i, width), at(in.v, j, width), width);
      const double ds = scale * slope[j] * p[j] * (dp - mean);
      for (std::int64_t d = 0; d < width; ++d) {
        out.y[i * width + d] += p[j] * in.v[j * width + d];
        out.dv[j * width + d] += p[j] * in.dy[i * width + d];
        out.dq[i * width + d] += ds * in.k[j * width + d];
        out.dk[j * width + d] += ds * in.q[i * width + d];
      }
    }
  }
  return out;
}

template <typename T>
Results by_tiles(const Attention& in) {
  const auto typed = [](const Values& values) {
    return std::vector<T>(values.begin(), values.end());
  };
  const auto q = typed(in.q), k = typed(in.k), v = typed(in.v), dy = typed(in.dy);
  std::vector<T> y(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  std::vector<T> lse(static_cast<std::size_t>(in.sizes.queries));
  // Neither may count on zeros there.
  std::vector<T> scratch(static_cast<std::size_t>(std::max(attention_scratch(in.sizes),
                                                           attention_backward_scratch(in.sizes))),
                         std::numeric_limits<T>::quiet_NaN());
  const auto width = in.sizes.width;
  attention<T>(in.sizes,
               {.q = {q.data(), width},
                .k = {k.data(), width},
                .v = {v.data(), width},
                .y = {y.data(), width},
                .lse = lse.data()},
               scratch.data());
  std::fill(scratch.begin(), scratch.end(), std::numeric_limits<T>::quiet_NaN());
  attention_backward<T>(in.sizes,
                        {.q = {q.data(), width},
                         .k = {k.data(), width},
                         .v = {v.data(), width},
                         .y = {y.data(), width},
                         .dy = {dy.data(), width},
                         .lse = lse.data(),
                         .dq = {dq.data(), width},
                         .dk = {dk.data(), width},
                         .dv = {dv.data(), width}},
                        scratch.data());
  const auto wide = [](const std::vector<T>& values) {
    return Values(values.begin(), values.end());
  };
  return {wide(y), wide(dq), wide(dk), wide(dv)};
}

void expect_close(const Values& actual, const Values& exact, double tolerance) {
  double largest = 1;
  for (const double each : exact) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(actual[i], exact[i], tolerance * largest) << "at " << i;
  }
}

template <typename T>
void expect_equal(const Attention& in, double tolerance) {
  const auto actual = by_tiles<T>(in);
  const auto exact = by_loops(in);
  expect_close(actual.y, exact.y, tolerance);
  expect_close(actual.dq, exact.dq, tolerance);
  expect_close(actual.dk, exact.dk, tolerance);
  expect_close(actual.dv, exact.dv, tolerance);
}

// Around the edges of tiles, of passes, and of widths that fill no vector.
TEST(AttentionTiles, EqualLoops) {
  for (const auto& sizes :
       {AttentionSizes{1, 1, 2}, AttentionSizes{1, 70, 8}, AttentionSizes{12, 12, 16},
        AttentionSizes{13, 45, 20}, AttentionSizes{50, 50, 48}, AttentionSizes{97, 290, 24},
        AttentionSizes{60, 540, 32}, AttentionSizes{49, 49, 72}}) {
    for (const double softcap : {0.0, 3.0}) {
      auto each = random(sizes);
      each.sizes.scale = 0.3;
      each.sizes.softcap = softcap;
      SCOPED_TRACE(::testing::Message() << sizes.queries << " of " << sizes.keys << " x "
                                        << sizes.width << ", cap " << softcap);
      expect_equal<double>(each, 1e-12);
      expect_equal<float>(each, 2e-5);
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
