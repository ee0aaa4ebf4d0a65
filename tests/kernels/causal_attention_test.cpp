// SPDX-License-Identifier: Apache-2.0
// Attention's tiles against loops: in the version of this processor, and (kernels_wide) in the one
// for AVX-512 on any processor. What the operator does with them is tested in tests/ops.
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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
  std::vector<std::int32_t> document_starts;  // empty: one document

  std::int64_t first_visible(std::int64_t i) const {
    return document_starts.empty() ? 0 : document_starts[i];
  }
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
  return {sizes, make(sizes.queries), make(sizes.keys), make(sizes.keys), make(sizes.queries), {}};
}

/// Documents of `length` positions; the first one ends earlier.
void split_documents(Attention& in, std::int64_t length) {
  const auto past_length = in.sizes.keys - in.sizes.queries;
  for (std::int64_t i = 0; i < in.sizes.queries; ++i) {
    const auto begin = (past_length + i + length / 3) / length * length - length / 3;
    in.document_starts.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(0, begin)));
  }
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
  const auto queries = in.sizes.queries, keys = in.sizes.keys, width = in.sizes.width;
  const double scale = in.sizes.scale, softcap = in.sizes.softcap;
  Results out{Values(in.q.size()), Values(in.q.size()), Values(in.k.size()), Values(in.k.size())};
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto visible = keys - queries + i + 1;
    Values p, slope, dp;
    double sum = 0;
    const auto from = in.first_visible(i);
    for (std::int64_t j = 0; j < visible; ++j) {
      const double s = scale * dot(at(in.q, i, width), at(in.k, j, width), width);
      const double capped = softcap > 0 ? softcap * std::tanh(s / softcap) : s;
      slope.push_back(softcap > 0 ? 1 - std::pow(capped / softcap, 2) : 1);
      p.push_back(j < from ? 0 : std::exp(capped));
      sum += p.back();
    }
    double mean = 0;  // of dp
    for (std::int64_t j = 0; j < visible; ++j) {
      p[j] /= sum;
      dp.push_back(dot(at(in.dy, i, width), at(in.v, j, width), width));
      mean += p[j] * dp[j];
    }
    for (std::int64_t j = 0; j < visible; ++j) {
      const double ds = scale * slope[j] * p[j] * (dp[j] - mean);
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

/// The values rounded to T.
template <typename T>
std::vector<T> typed(const Values& values) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) store(&result[i], values[i]);
  return result;
}

template <typename T>
Values wide(const std::vector<T>& values) {
  Values result;
  for (const T& each : values) result.push_back(load(&each));
  return result;
}

/// The whole, or a part for each block of queries and for each block of keys.
template <typename T>
std::vector<AttentionPart> parts_of(const AttentionSizes& sizes, bool in_parts) {
  if (!in_parts) return {whole_part(sizes)};
  const auto blocks = causal_attention_backward_blocks<T>();
  std::vector<AttentionPart> parts;
  for (std::int64_t i = 0; i < sizes.queries; i += blocks.queries) {
    parts.push_back({.query_begin = i, .query_end = std::min(sizes.queries, i + blocks.queries)});
  }
  for (std::int64_t j = 0; j < sizes.keys; j += blocks.keys) {
    parts.push_back({.key_begin = j, .key_end = std::min(sizes.keys, j + blocks.keys)});
  }
  return parts;
}

/// Both passes of the kernel.
template <typename T>
Results by_tiles(const Attention& in, bool in_parts = false) {
  using F = OpMathType<T>;
  const auto q = typed<T>(in.q), k = typed<T>(in.k), v = typed<T>(in.v), dy = typed<T>(in.dy);
  std::vector<T> y(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  std::vector<F> lse(static_cast<std::size_t>(in.sizes.queries));
  // Neither pass may rely on zeros in scratch.
  std::vector<F> scratch(
      static_cast<std::size_t>(std::max(causal_attention_scratch<T>(in.sizes),
                                        causal_attention_backward_scratch<T>(in.sizes))),
      std::numeric_limits<F>::quiet_NaN());
  const auto width = in.sizes.width;
  const auto* const document_starts =
      in.document_starts.empty() ? nullptr : in.document_starts.data();
  causal_attention<T>(in.sizes,
                      {.q = {q.data(), width},
                       .k = {k.data(), width},
                       .v = {v.data(), width},
                       .y = {y.data(), width},
                       .lse = lse.data(),
                       .document_starts = document_starts},
                      scratch.data());
  for (const auto& part : parts_of<T>(in.sizes, in_parts)) {
    std::fill(scratch.begin(), scratch.end(), std::numeric_limits<F>::quiet_NaN());
    causal_attention_backward<T>(in.sizes,
                                 {.q = {q.data(), width},
                                  .k = {k.data(), width},
                                  .v = {v.data(), width},
                                  .y = {y.data(), width},
                                  .dy = {dy.data(), width},
                                  .lse = lse.data(),
                                  .dq = {dq.data(), width},
                                  .dk = {dk.data(), width},
                                  .dv = {dv.data(), width},
                                  .document_starts = document_starts,
                                  .part = part},
                                 scratch.data());
  }
  return {wide(y), wide(dq), wide(dk), wide(dv)};
}

void expect_close(const Values& actual, const Values& exact, double tolerance) {
  double largest = 1;
  for (const double each : exact) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (std::abs(actual[i] - exact[i]) <= tolerance * largest) continue;  // faster than a macro
    ASSERT_NEAR(actual[i], exact[i], tolerance * largest) << "at " << i;
  }
}

template <typename T>
void expect_equal(const Attention& in, const Results& exact, double tolerance) {
  const auto actual = by_tiles<T>(in);
  expect_close(actual.y, exact.y, tolerance);
  expect_close(actual.dq, exact.dq, tolerance);
  expect_close(actual.dk, exact.dk, tolerance);
  expect_close(actual.dv, exact.dv, tolerance);
}

/// Calls check(attention) for sizes around the edges of tiles, of passes and of widths that fill no
/// vector, with and without a cap, as one document and as several. The largest size, which takes
/// most of the time, has each cap and each length of documents once.
template <typename Check>
void for_each_attention(const Check& check) {
  for (const auto& sizes :
       {AttentionSizes{1, 1, 2}, AttentionSizes{1, 70, 8}, AttentionSizes{12, 12, 16},
        AttentionSizes{13, 45, 20}, AttentionSizes{50, 50, 48}, AttentionSizes{97, 290, 24},
        AttentionSizes{60, 540, 32}, AttentionSizes{49, 49, 72}, AttentionSizes{260, 1100, 40}}) {
    for (const double softcap : {0.0, 3.0, 1e6}) {
      for (const std::int64_t documents : {0, 40, 200}) {
        const bool is_paired =
            (softcap == 0) == (documents == 40) && (softcap == 3) == (documents == 0);
        if (sizes.keys > 1000 && !is_paired) continue;
        auto each = random(sizes);
        each.sizes.scale = documents == 40 ? -0.3 : 0.3;
        each.sizes.softcap = softcap;
        if (documents > 0) split_documents(each, documents);
        SCOPED_TRACE(::testing::Message()
                     << sizes.queries << " of " << sizes.keys << " x " << sizes.width << ", cap "
                     << softcap << ", documents of " << documents);
        check(each);
      }
    }
  }
}

// All scores are equal then: every weight is one over the number of keys.
template <typename T>
void expect_means_without_scale(double tolerance) {
  auto each = random({70, 70, 16});
  each.sizes.scale = 0;
  expect_close(by_tiles<T>(each).y, by_loops(each).y, tolerance);
}

TEST(CausalAttentionKernel, IsTheMeanOfValuesAtScaleZero) {
  expect_means_without_scale<float>(1e-5);
#if !defined(EK_VECTOR_BYTES)
  expect_means_without_scale<Bf16>(0.012);
#endif
}

TEST(CausalAttentionKernel, EqualsLoops) {
  for_each_attention([](const Attention& each) {
    const auto exact = by_loops(each);
    expect_equal<double>(each, exact, 1e-12);
    expect_equal<float>(each, exact, 2e-5);
  });
}

template <typename T>
void expect_equal_parts(const Attention& in) {
  const auto whole = by_tiles<T>(in), parts = by_tiles<T>(in, /*in_parts=*/true);
  EXPECT_TRUE(parts.dq == whole.dq && parts.dk == whole.dk && parts.dv == whole.dv);
}

TEST(CausalAttentionKernel, HasTheSameBitsInParts) {
  for_each_attention([](const Attention& each) {
    expect_equal_parts<double>(each);
    expect_equal_parts<float>(each);
#if !defined(EK_VECTOR_BYTES)
    expect_equal_parts<Bf16>(each);
#endif
  });
}

/// y of one head, or of several heads that read the same keys, concatenated.
template <typename T>
std::vector<T> forward_of(const Attention& in, const std::vector<T>& q, const std::vector<T>& k,
                          std::int64_t heads) {
  const auto width = in.sizes.width, head = in.sizes.queries * width;
  std::vector<T> y(q.size());
  std::vector<OpMathType<T>> lse(static_cast<std::size_t>(heads * in.sizes.queries));
  std::vector<OpMathType<T>> scratch(
      static_cast<std::size_t>(causal_attention_scratch<T>(in.sizes)));
  causal_attention<T>(
      in.sizes,
      {.q = {q.data(), width},
       .k = {k.data(), width},
       .v = {k.data(), width},
       .y = {y.data(), width},
       .lse = lse.data(),
       .document_starts = in.document_starts.empty() ? nullptr : in.document_starts.data(),
       .heads = heads,
       .q_head = head,
       .y_head = head},
      scratch.data());
  return y;
}

template <typename T>
std::vector<T> rounded(const Values& values) {
  std::vector<T> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) store(&result[i], values[i]);
  return result;
}

/// Heads that share their keys give bit for bit what each gives alone, documents and all.
template <typename T>
void expect_heads_independent() {
  auto one = random({70, 600, 24});
  split_documents(one, 90);
  const auto two = random({140, 140, 24});  // its queries are those of two heads
  const auto k = rounded<T>(one.k), q = rounded<T>(two.q);
  const auto both = forward_of<T>(one, q, k, 2);
  const auto half = static_cast<std::ptrdiff_t>(q.size() / 2);
  auto apart = forward_of<T>(one, {q.begin(), q.begin() + half}, k, 1);
  const auto second = forward_of<T>(one, {q.begin() + half, q.end()}, k, 1);
  apart.insert(apart.end(), second.begin(), second.end());
  EXPECT_EQ(std::memcmp(both.data(), apart.data(), both.size() * sizeof(T)), 0);
}

TEST(CausalAttentionKernel, OfSeveralHeadsEqualsEachHead) {
  expect_heads_independent<float>();
#if !defined(EK_VECTOR_BYTES)
  expect_heads_independent<Bf16>();
#endif
}

/// A NaN key, whatever its bits, gives NaN for the queries that see it, and for no other query.
template <typename T>
void expect_nan_propagates() {
  constexpr std::int64_t kBad = 33, kWidth = 24;
  const auto in = random({70, 70, kWidth});
  auto k = rounded<T>(in.k);
  std::memset(&k[kBad * kWidth + 3], 0xff, sizeof(T));
  const auto y = forward_of<T>(in, rounded<T>(in.q), k, 1);
  for (std::int64_t i = 0; i < 70; ++i) {
    EXPECT_EQ(std::isnan(load(&y[static_cast<std::size_t>(i * kWidth)])), i >= kBad) << i;
  }
}

TEST(CausalAttentionKernel, OfANanKeyIsNan) {
  expect_nan_propagates<double>();
  expect_nan_propagates<float>();
#if !defined(EK_VECTOR_BYTES)
  expect_nan_propagates<Bf16>();
#endif
}

// Weights and their gradients are rounded to bfloat16 on the way.
TEST(CausalAttentionKernel, OfBfloat16EqualsLoops) {
#if defined(EK_VECTOR_BYTES)
  GTEST_SKIP() << "bfloat16 is tested in the version of this processor";
#endif
  for_each_attention([](Attention each) {
    for (auto* const values : {&each.q, &each.k, &each.v, &each.dy}) {
      for (auto& value : *values) {
        Bf16 rounded;
        store(&rounded, value);
        value = load(&rounded);
      }
    }
    expect_equal<Bf16>(each, by_loops(each), 0.012);
  });
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
