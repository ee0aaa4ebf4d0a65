// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/evaluation.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <vector>

#include "evenkeel/nn/batch_tensors.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using testing::TinyModel;

constexpr std::int64_t kContext = 16;

/// 100 tokens that the tiny model knows, in documents of 7 and an end; document i has i + 1 nats.
data::Corpus some_text(bool exact) {
  data::Corpus corpus;
  corpus.has_known_entropy = exact;
  for (std::int64_t i = 0; i <= 96; ++i) {
    corpus.tokens.push_back(static_cast<data::TokenId>((i * i * 7 + 3) % 31));
    if (i % 8 != 0 || i == 96) continue;
    corpus.documents.push_back({i + 1, i + 8, static_cast<double>(i / 8 + 1)});
  }
  return corpus;
}

/// -ln p of every scored token, in float64 from the logits.
double nats_by_hand(const TinyModel& tiny, const data::ValidationWindows& windows) {
  const at::NoGradGuard no_grad;
  const auto batch = windows.batch(0, windows.count());
  const auto [ids, targets] = nn::batch_tensors(batch.inputs, batch.targets, batch.rows);
  const auto log_p = at::log_softmax(tiny.model->logits(tiny.model->hidden(ids)), -1);
  const auto chosen = log_p.gather(-1, targets.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  return -at::where(targets >= 0, chosen, 0.0).sum().item<double>();
}

TEST(Evaluate, IsTheMeanLossOfTheScoredTokensForAnyNumberOfRows) {
  const TinyModel tiny("hybrid_norm_star");
  const auto corpus = some_text(false);
  const data::ValidationWindows windows(corpus, kContext, 0);
  const double nats = nats_by_hand(tiny, windows);
  for (const std::int64_t rows : {1, 4, 100}) {
    std::vector<std::int64_t> progress;
    const auto result = evaluate::evaluate(*tiny.model, windows, rows,
                                           [&](std::int64_t done) { progress.push_back(done); });
    EXPECT_EQ(progress.front(), std::min(rows, windows.count()));
    EXPECT_EQ(progress.back(), windows.count());
    EXPECT_EQ(result.tokens, 96);
    EXPECT_NEAR(result.nats_per_token, nats / 96, 1e-12 * nats);
    EXPECT_NEAR(result.perplexity, std::exp(nats / 96), 1e-10 * result.perplexity);
    EXPECT_NEAR(result.bits_per_byte.value(), nats / 96 / std::numbers::ln2, 1e-12 * nats);
    EXPECT_FALSE(result.floor);
    EXPECT_FALSE(result.gap);
  }
}

// Twelve documents of 1 + 2 + ... + 12 = 78 nats and 96 tokens, two in each window of 16.
TEST(Evaluate, MeasuresFromTheEntropyOfTheTextIfItIsKnown) {
  const TinyModel tiny("hybrid_norm_star");
  const auto corpus = some_text(true);
  const data::ValidationWindows windows(corpus, kContext, 0);
  const auto result = evaluate::evaluate(*tiny.model, windows, 3);
  ASSERT_TRUE(result.floor && result.gap);
  EXPECT_NEAR(*result.floor, 78.0 / 96, 1e-12);
  EXPECT_NEAR(*result.gap, result.nats_per_token - 78.0 / 96, 1e-12);
}

// Twelve documents of 78 nats: token i has 1 + i mod 3 bytes, so that a byte is not a token.
TEST(Evaluate, GivesFloorAndGapPerByte) {
  const TinyModel tiny("hybrid_norm_star");
  auto corpus = some_text(true);
  std::vector<std::uint32_t> lengths(31);
  for (std::uint32_t i = 0; i < 31; ++i) lengths[i] = 1 + i % 3;
  corpus.token_lengths = std::make_shared<const std::vector<std::uint32_t>>(lengths);
  double bytes = 0;  // of all tokens but the first, which is no target
  for (std::int64_t i = 1; i <= 96; ++i) {
    bytes += lengths[static_cast<std::size_t>((i * i * 7 + 3) % 31)];
  }
  ASSERT_GT(bytes, 96);
  const data::ValidationWindows windows(corpus, kContext, 0);
  const double nats = nats_by_hand(tiny, windows);
  const auto result = evaluate::evaluate(*tiny.model, windows, 3);
  ASSERT_TRUE(result.floor && result.gap);
  EXPECT_EQ(result.tokens, 96);
  EXPECT_NEAR(*result.floor, 78 / bytes, 1e-12);
  EXPECT_NEAR(*result.gap, (nats - 78) / bytes, 1e-12 * nats);
  EXPECT_NEAR(result.bits_per_byte.value(), nats / bytes / std::numbers::ln2, 1e-12 * nats);
}

TEST(WeightedMean, WeighsEachFieldByTheShares) {
  const evaluate::Evaluation easy{.nats_per_token = 1, .bits_per_byte = 2, .tokens = 10};
  const evaluate::Evaluation hard{.nats_per_token = 3, .bits_per_byte = 6, .tokens = 30};
  const auto mean = evaluate::weighted_mean({easy, hard}, {0.75, 0.25});
  EXPECT_DOUBLE_EQ(mean.nats_per_token, 1.5);
  EXPECT_DOUBLE_EQ(mean.perplexity, std::exp(1.5));
  EXPECT_DOUBLE_EQ(mean.bits_per_byte.value(), 3);
  EXPECT_EQ(mean.tokens, 40);
  const evaluate::Evaluation unknown{.nats_per_token = 3, .tokens = 30};
  EXPECT_FALSE(evaluate::weighted_mean({easy, unknown}, {0.75, 0.25}).bits_per_byte.has_value());
}

TEST(Evaluate, RecordsTheKnownFields) {
  EXPECT_EQ(evaluate::record({.nats_per_token = 2, .bits_per_byte = 3}, "val").dump(),
            R"({"val_loss":2.0,"val_bits_per_byte":3.0})");
  EXPECT_EQ(
      evaluate::record(
          {.nats_per_token = 2, .bits_per_byte = 3, .floor = 1, .gap = 0.5, .exact_match = 0.25},
          "ood")
          .dump(),
      R"({"ood_loss":2.0,"ood_bits_per_byte":3.0,"ood_floor":1.0,"ood_gap":0.5,"ood_exact":0.25})");
}

TEST(Evaluate, PassesNanThrough) {
  TinyModel tiny("hybrid_norm_star", nn::Precision::float32);
  const at::NoGradGuard no_grad;
  tiny.parameters->at("final_norm.gain").master.fill_(std::numeric_limits<double>::quiet_NaN());
  const auto corpus = some_text(true);
  const auto result =
      evaluate::evaluate(*tiny.model, data::ValidationWindows(corpus, kContext, 0), 2);
  EXPECT_TRUE(std::isnan(result.nats_per_token));
  EXPECT_TRUE(std::isnan(result.perplexity));
  EXPECT_TRUE(std::isnan(result.bits_per_byte.value()));
  EXPECT_TRUE(std::isnan(result.gap.value()));
  EXPECT_EQ(result.tokens, 96);
}

// e^x is infinite in float64 from 710 nats on.
TEST(Evaluate, GivesAnInfinitePerplexityToAHugeLoss) {
  TinyModel tiny("hybrid_norm_star", nn::Precision::float32);
  const at::NoGradGuard no_grad;
  tiny.parameters->at("final_norm.gain").master.mul_(1e5);
  const auto corpus = some_text(false);
  const auto result =
      evaluate::evaluate(*tiny.model, data::ValidationWindows(corpus, kContext, 0), 2);
  EXPECT_GT(result.nats_per_token, 710);
  EXPECT_TRUE(std::isfinite(result.nats_per_token));
  EXPECT_EQ(result.perplexity, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace evenkeel
