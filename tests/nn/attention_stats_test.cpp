// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention_stats.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace evenkeel::nn {
namespace {

AttentionInputs inputs(std::optional<double> softcap = {}) {
  at::manual_seed(1);
  const auto options = at::TensorOptions().dtype(at::kDouble);
  return {.q = 3 * at::randn({2, 4, 9, 6}, options),
          .k = 3 * at::randn({2, 2, 9, 6}, options),
          .v = at::randn({2, 2, 9, 6}, options),
          .scale = 0.4,
          .softcap = softcap};
}

/// The reference: loops over single queries, for one set of factors.
AttentionShifts by_hand(const AttentionInputs& in, const at::Tensor& factors) {
  AttentionShifts result{0, 0, {0}};
  for (std::int64_t b = 0; b < in.q.size(0); ++b) {
    for (std::int64_t h = 0; h < in.q.size(1); ++h) {
      const auto kv = h * in.k.size(1) / in.q.size(1);
      for (std::int64_t t = 1; t < in.q.size(2); ++t) {
        std::vector<double> scores, moved, weights;
        double sum = 0;
        for (std::int64_t s = 0; s <= t; ++s) {
          const auto score = in.scale * at::dot(in.q[b][h][t], in.k[b][kv][s]).item<double>();
          scores.push_back(score);
          moved.push_back(score * factors[kv][s].item<double>());
          weights.push_back(
              std::exp(in.softcap ? *in.softcap * std::tanh(score / *in.softcap) : score));
          sum += weights.back();
        }
        const auto most = std::max_element(scores.begin(), scores.end()) - scores.begin();
        const auto then = std::max_element(moved.begin(), moved.end()) - moved.begin();
        const bool is_sparse = *std::max_element(weights.begin(), weights.end()) > sum / 2;
        ++result.queries;
        result.sparse += is_sparse ? 1 : 0;
        result.shifted[0] += is_sparse && most != then ? 1 : 0;
      }
    }
  }
  return result;
}

void expect_equal(const AttentionShifts& ours, const AttentionShifts& wanted) {
  EXPECT_EQ(ours.queries, wanted.queries);
  EXPECT_EQ(ours.sparse, wanted.sparse);
  EXPECT_EQ(ours.shifted, wanted.shifted);
}

TEST(AttentionShifts, AreThoseOfSingleQueries) {
  at::manual_seed(2);
  const auto factors = 1 + 0.5 * at::randn({2, 9}, at::kDouble);
  for (const auto softcap : {std::optional<double>(), std::optional<double>(12)}) {
    const auto wanted = by_hand(inputs(softcap), factors);
    EXPECT_EQ(wanted.queries, 2 * 4 * 8);
    EXPECT_GT(wanted.shifted[0], 3);
    EXPECT_LT(wanted.shifted[0], wanted.sparse);
    EXPECT_LT(wanted.sparse, wanted.queries);
    expect_equal(attention_shifts(inputs(softcap), factors.unsqueeze(0)), wanted);
  }
}

TEST(AttentionShifts, OfSeveralSetsOfFactorsAreThoseOfEach) {
  at::manual_seed(3);
  const auto factors = 1 + at::randn({3, 2, 9}, at::kDouble);
  const auto together = attention_shifts(inputs(), factors);
  AttentionShifts wanted{together.queries, together.sparse, {}};
  for (const auto& set : factors.unbind()) {
    wanted.shifted.push_back(by_hand(inputs(), set).shifted[0]);
  }
  expect_equal(together, wanted);
}

TEST(AttentionShifts, AddUp) {
  AttentionShifts sum;
  sum.add({5, 3, {1, 2}});
  sum.add({7, 2, {0, 1}});
  expect_equal(sum, {12, 5, {1, 3}});
}

TEST(AttentionShifts, AreNoneUnderAFactorThatAllKeysShare) {
  const auto shifts = attention_shifts(inputs(), at::full({1, 2, 9}, 1.7, at::kDouble));
  EXPECT_GT(shifts.sparse, 0);
  EXPECT_EQ(shifts.shifted, std::vector<std::int64_t>{0});
}

// The attention operator and the materialized scores of attention_stats() agree.
TEST(MaxAttentionScores, AreThoseOfTheScores) {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    at::manual_seed(4);
    AttentionInputs in = {.q = at::randn({2, 4, 700, 48}).to(dtype),
                          .k = at::randn({2, 2, 700, 48}).to(dtype),
                          .v = at::randn({2, 2, 700, 48}).to(dtype),
                          .scale = 0.3};
    const auto document_starts = at::arange(700, at::kInt).div(90, "floor").mul(90);
    for (const bool has_documents : {false, true}) {
      in.scale = has_documents ? -0.3 : 0.3;
      in.softcap = 2;  // it is before the cap
      if (has_documents) in.document_starts = document_starts.repeat({2, 1}).to(at::kInt);
      const auto wanted = attention_stats(in).largest;
      const auto found = max_attention_scores(in);
      EXPECT_EQ(found.sizes(), wanted.sizes());
      const auto error = ((found - wanted) / wanted).abs().max().item<double>();
      EXPECT_LT(error, dtype == at::kDouble ? 1e-14 : 1e-6) << dtype << ", " << has_documents;
    }
  }
}

TEST(MaxAttentionScores, MayBeNegative) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto ones = at::ones({1, 1, 40, 32}).to(dtype);
    const AttentionInputs in = {.q = ones.narrow(2, 0, 7), .k = -ones, .v = ones};
    EXPECT_NEAR(max_attention_scores(in).item<double>(), -32, 1e-5) << dtype;
  }
}

}  // namespace
}  // namespace evenkeel::nn
