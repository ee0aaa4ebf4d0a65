// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/row_scores.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "evenkeel/evaluate/prefix_packs.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using tasks::RowScore;
using tasks::TokenRow;
using testing::TinyModel;

/// Rows of the shape of tasks: documents with a context of their own and several continuations, of
/// which some have one token and some are equal, after a beginning that all contexts have.
std::vector<TokenRow> some_rows(std::int64_t documents, std::int64_t shared) {
  std::vector<TokenRow> rows;
  std::uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state >> 33U) % 31);
  };
  std::vector<std::int64_t> beginning;
  for (std::int64_t i = 0; i < shared; ++i) beginning.push_back(next());
  for (std::int64_t d = 0; d < documents; ++d) {
    auto context = beginning;
    for (std::int64_t i = 0; i <= d % 7; ++i) context.push_back(next());
    for (std::int64_t c = 0; c < 4; ++c) {
      TokenRow row{context, {}};
      for (std::int64_t i = 0; i <= (d + c) % 3; ++i) row.targets.push_back(next());
      row.inputs.insert(row.inputs.end(), row.targets.begin(), row.targets.end() - 1);
      rows.push_back(row);
    }
    rows.push_back(rows.back());
  }
  return rows;
}

/// The log-probability of the targets from the logits of the whole row.
double score_by_hand(const nn::Model& model, const TokenRow& row) {
  const at::NoGradGuard no_grad;
  const auto ids = at::tensor(row.inputs, at::kLong).unsqueeze(0);
  const auto log_p = at::log_softmax(model.logits(model.hidden(ids))[0].to(at::kDouble), -1);
  const auto targets = static_cast<std::int64_t>(row.targets.size());
  double sum = 0;
  for (std::int64_t i = 0; i < targets; ++i) {
    const auto place = ids.size(1) - targets + i;
    sum += log_p[place][row.targets[static_cast<std::size_t>(i)]].item<double>();
  }
  return sum;
}

/// Whether two lists of scores have the same bits.
bool have_equal_bits(const std::vector<RowScore>& a, const std::vector<RowScore>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return std::bit_cast<std::uint64_t>(x.log_probability) ==
               std::bit_cast<std::uint64_t>(y.log_probability) &&
           x.is_greedy == y.is_greedy;
  });
}

/// Scores of each row in a call of its own.
std::vector<RowScore> one_by_one(const nn::Model& model, const std::vector<TokenRow>& rows) {
  std::vector<RowScore> scores;
  for (const auto& row : rows) scores.push_back(evaluate::score_rows(model, {row}, {}).front());
  return scores;
}

class RowScores : public ::testing::TestWithParam<std::string> {};

TEST_P(RowScores, AreTheLogProbabilitiesOfTheTargets) {
  const TinyModel tiny(GetParam(), nn::Precision::float64, {.document_end = 30});
  const auto rows = some_rows(12, 5);
  const auto scores = evaluate::score_rows(*tiny.model, rows, {});
  ASSERT_EQ(scores.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(scores[i].log_probability, score_by_hand(*tiny.model, rows[i]), 1e-9);
  }
}

/// Scores the rows together, without sharing, one by one and on one thread.
void expect_equal_bits(const nn::Model& model, const std::vector<TokenRow>& rows) {
  const auto scores = evaluate::score_rows(model, rows, {});
  EXPECT_TRUE(
      have_equal_bits(scores, evaluate::score_rows(model, rows, {.shares_prefixes = false})));
  EXPECT_TRUE(have_equal_bits(scores, one_by_one(model, rows)));
  const auto threads = at::get_num_threads();
  at::set_num_threads(1);
  EXPECT_TRUE(have_equal_bits(scores, evaluate::score_rows(model, rows, {})));
  at::set_num_threads(threads);
}

TEST_P(RowScores, HaveTheSameBitsInAnyCompanyWithAndWithoutSharingOnAnyNumberOfThreads) {
  for (const auto precision : {nn::Precision::float32, nn::Precision::bfloat16}) {
    const TinyModel tiny(GetParam(), precision);
    expect_equal_bits(*tiny.model, some_rows(40, 9));
  }
}

// More keys than one block of attention, and document boundaries.
TEST(RowScores, HaveTheSameBitsInLongContexts) {
  for (const auto precision : {nn::Precision::float32, nn::Precision::bfloat16}) {
    const TinyModel tiny("hybrid_norm_star", precision, {.document_end = 30});
    expect_equal_bits(*tiny.model, some_rows(8, 700));
  }
}

TEST(RowScores, HaveTheSameBitsInAMixtureOfExperts) {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 8, .active = 2, .shared = 1};
  for (const auto precision : {nn::Precision::float32, nn::Precision::bfloat16}) {
    const TinyModel tiny("hybrid_norm_star", precision, {}, shape);
    expect_equal_bits(*tiny.model, some_rows(20, 9));
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, RowScores,
                         ::testing::Values("hybrid_norm_star", "pre_norm", "post_norm",
                                           "batch_norm", "seed_norm", "ngpt", "resi_dual"));

TEST(RowScores, SayWhetherEachTokenIsTheMostProbableOne) {
  const TinyModel tiny("hybrid_norm_star");
  const auto ids = at::tensor(std::vector<std::int64_t>{3, 1, 4}, at::kLong).unsqueeze(0);
  const at::NoGradGuard no_grad;
  const auto best = tiny.model->logits(tiny.model->hidden(ids))[0][2].argmax().item<std::int64_t>();
  const auto scores =
      evaluate::score_rows(*tiny.model, {{{3, 1, 4}, {best}}, {{3, 1, 4}, {(best + 1) % 31}}}, {});
  EXPECT_TRUE(scores[0].is_greedy);
  EXPECT_FALSE(scores[1].is_greedy);
}

/// The most probable token after a text.
std::int64_t most_probable_after(const nn::Model& model, const std::vector<std::int64_t>& text) {
  const at::NoGradGuard no_grad;
  const auto ids = at::tensor(text, at::kLong).unsqueeze(0);
  return model.logits(model.hidden(ids))[0][ids.size(1) - 1].argmax().item<std::int64_t>();
}

/// A row with three targets: the most probable ones, but another one at place `wrong`.
/// \param wrong  0, 1 or 2; -1: none
TokenRow row_with_a_wrong_target(const nn::Model& model, std::int64_t wrong) {
  TokenRow row{{3, 1, 4}, {}};
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto best = most_probable_after(model, row.inputs);
    row.targets.push_back(i == wrong ? (best + 1) % 31 : best);
    if (i < 2) row.inputs.push_back(row.targets.back());
  }
  return row;
}

// The tokens after a wrong one are the most probable ones after it.
TEST(RowScores, AreGreedyOnlyIfEveryTargetIsTheMostProbableOne) {
  const TinyModel tiny("hybrid_norm_star");
  const auto rows_of = [&](bool is_reversed) {
    std::vector<TokenRow> rows;
    for (const std::int64_t wrong : {-1, 0, 1, 2}) {
      rows.push_back(row_with_a_wrong_target(*tiny.model, wrong));
    }
    if (is_reversed) std::reverse(rows.begin(), rows.end());
    return rows;
  };
  for (const bool is_reversed : {false, true}) {
    const auto scores = evaluate::score_rows(*tiny.model, rows_of(is_reversed), {});
    ASSERT_EQ(scores.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(scores[i].is_greedy, i == (is_reversed ? 3U : 0U)) << i;
    }
  }
}

// Each token has the probability 1 / 31, so a continuation of n tokens scores -n ln 31.
TEST(RowScores, OfEqualLogitsCountTheTargets) {
  TinyModel tiny("hybrid_norm_star");
  const at::NoGradGuard no_grad;
  tiny.parameters->at("final_norm.gain").master.zero_();
  tiny.parameters->copy_masters_to_values();
  const auto rows = some_rows(5, 3);
  const auto scores = evaluate::score_rows(*tiny.model, rows, {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto targets = static_cast<double>(rows[i].targets.size());
    EXPECT_NEAR(scores[i].log_probability, -targets * std::log(31), 1e-12);
  }
}

TEST(RowScores, InBfloat16HaveItsFewDigits) {
  const TinyModel tiny("hybrid_norm_star", nn::Precision::float32);
  const auto rows = some_rows(12, 5);
  const auto wide = evaluate::score_rows(*tiny.model, rows, {});
  const auto scores = evaluate::score_rows(*tiny.model, rows, {.scores_in_bfloat16 = true});
  bool any_differs = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = scores[i].log_probability;
    EXPECT_EQ(value, static_cast<double>(static_cast<c10::BFloat16>(static_cast<float>(value))));
    EXPECT_NEAR(value, wide[i].log_probability, 0.03 * std::abs(value));
    any_differs = any_differs || value != wide[i].log_probability;
  }
  EXPECT_TRUE(any_differs);
}

TEST(RowScores, PassNanThroughAndReportProgress) {
  TinyModel tiny("hybrid_norm_star", nn::Precision::float32);
  const at::NoGradGuard no_grad;
  tiny.parameters->at("final_norm.gain").master.fill_(std::numeric_limits<double>::quiet_NaN());
  const auto rows = some_rows(2, 3);
  std::int64_t done = 0;
  const auto scores = evaluate::score_rows(*tiny.model, rows, {.on_progress = [&](std::int64_t n) {
    done = n;
    return true;
  }});
  EXPECT_EQ(done, 10);
  for (const auto& each : scores) EXPECT_TRUE(std::isnan(each.log_probability));
  const auto stops = [](std::int64_t) { return false; };
  EXPECT_TRUE(evaluate::score_rows(*tiny.model, rows, {.on_progress = stops}).empty());
}

TEST(PrefixPacks, StoreACommonBeginningOnce) {
  // abcd, abce, abx, and ab alone.
  const std::vector<TokenRow> rows = {
      {{1, 2, 3, 4}, {9}}, {{1, 2, 8}, {9}}, {{1, 2, 3, 5}, {8, 9}}, {{1, 2}, {7}}};
  const auto packs = evaluate::prefix_packs(rows, {.tokens = 16});
  ASSERT_EQ(packs.size(), 1U);
  const auto& pack = packs.front();
  EXPECT_EQ(pack.ids, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 8}));
  const auto& segments = pack.packing.segments;
  ASSERT_EQ(segments.size(), 4U);
  EXPECT_EQ(segments[2].parent, std::optional<std::size_t>(1));
  EXPECT_EQ(segments[2].position, 3);
  EXPECT_EQ(segments[3].parent, std::optional<std::size_t>(0));
  EXPECT_EQ(segments[3].position, 2);
  ASSERT_EQ(pack.rows.size(), 4U);
  EXPECT_EQ(pack.rows[2].row, 2U);
  EXPECT_EQ(pack.rows[2].before_target, (std::vector<std::int64_t>{2, 4}));
}

TEST(PrefixPacks, HoldAtMostTheirTokens) {
  const auto rows = some_rows(50, 20);
  for (const bool shares : {true, false}) {
    std::vector<int> seen(rows.size());
    for (const auto& pack :
         evaluate::prefix_packs(rows, {.tokens = 64, .shares_prefixes = shares})) {
      EXPECT_LE(pack.ids.size(), 64U);
      for (const auto& row : pack.rows) ++seen[row.row];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(rows.size()));
  }
}

}  // namespace
}  // namespace evenkeel
