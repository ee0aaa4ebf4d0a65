// SPDX-License-Identifier: Apache-2.0
// Attention that stays within documents.
#include "evenkeel/nn/positions.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/nn/attention_stats.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::TinyModel;

constexpr std::int64_t kEnd = 30;

at::Tensor row(at::IntArrayRef ids) {
  return at::tensor(std::vector<std::int64_t>(ids.begin(), ids.end()), at::kLong).unsqueeze(0);
}

TEST(Documents, StartAfterTheEndOfTheOneBefore) {
  const auto found = nn::find_document_starts(
      at::cat({row({1, kEnd, 2, 3, kEnd}), row({4, 5, 6, 7, 8})}), kEnd, /*first=*/0, {});
  EXPECT_TRUE(
      found.of_tokens.equal(at::tensor({0, 0, 2, 2, 2, 0, 0, 0, 0, 0}, at::kInt).view({2, 5})));
  EXPECT_TRUE(found.next.equal(at::tensor({5, 0}, at::kInt)));
}

TEST(Documents, GoOnFromEarlierTokens) {
  const auto found =
      nn::find_document_starts(row({1, kEnd, 2}), kEnd, /*first=*/7, at::tensor({3}, at::kInt));
  EXPECT_TRUE(found.of_tokens.equal(at::tensor({3, 3, 9}, at::kInt).view({1, 3})));
  EXPECT_TRUE(found.next.equal(at::tensor({9}, at::kInt)));
}

/// Three documents in one sequence, the last of them without its end-of-text.
struct Texts {
  std::vector<at::Tensor> each = {row({4, 9, 2, kEnd}), row({7, kEnd}), row({1, 5, 5, 8, 11, 3})};
  at::Tensor all = at::cat(each, 1);
};

TinyModel model_of(nn::AttentionPath path, bool fused = true) {
  return TinyModel("hybrid_norm_star", nn::Precision::float64,
                   {.fused = fused, .attention = path, .document_end = kEnd});
}

// The angles continue and scores depend on distances only, so the logits are those of each document
// alone.
TEST(Documents, AreReadAsIfEachWereAlone) {
  const Texts texts;
  for (const auto path : {nn::AttentionPath::automatic, nn::AttentionPath::explicit_scores,
                          nn::AttentionPath::flash}) {
    const auto tiny = model_of(path, path == nn::AttentionPath::automatic);
    const auto logits = [&](const at::Tensor& ids) {
      return tiny.model->logits(tiny.model->hidden(ids));
    };
    std::vector<at::Tensor> alone;
    for (const auto& text : texts.each) alone.push_back(logits(text));
    EXPECT_TRUE(close(logits(texts.all), at::cat(alone, 1), 1e-11, 1e-12));
    const TinyModel whole("hybrid_norm_star", nn::Precision::float64);
    EXPECT_FALSE(
        close(logits(texts.all), whole.model->logits(whole.model->hidden(texts.all)), 1e-3, 1e-3));
  }
}

TEST(Documents, HaveTheGradientsOfEachAlone) {
  const Texts texts;
  const auto tiny = model_of(nn::AttentionPath::automatic);
  const auto gradients = [&](const std::vector<at::Tensor>& all) {
    tiny.parameters->zero_gradients();
    for (const auto& ids : all) {
      const auto targets = ids.roll(-1, 1);
      targets.select(1, ids.size(1) - 1).fill_(-1);
      tiny.model->loss_sum(ids, targets, {.mode = nn::Mode::training}).backward();
    }
    std::vector<at::Tensor> copies;
    for (const auto& each : tiny.parameters->gradients()) copies.push_back(each.clone());
    return copies;
  };
  // In one sequence, an end-of-text token has the first token of the next document as its target:
  // that target is not scored here.
  const auto alone = gradients(texts.each);
  tiny.parameters->zero_gradients();
  auto targets = texts.all.roll(-1, 1);
  targets.masked_fill_(texts.all == kEnd, -1);
  targets.select(1, targets.size(1) - 1).fill_(-1);
  tiny.model->loss_sum(texts.all, targets, {.mode = nn::Mode::training}).backward();
  const auto together = tiny.parameters->gradients();
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(close(together[i], alone[i], 1e-9, 1e-11)) << "group " << i;
  }
}

TEST(Documents, EndWhileTokensAreDecoded) {
  const Texts texts;
  const auto tiny = model_of(nn::AttentionPath::automatic);
  auto cache = tiny.model->empty_cache(1, texts.all.size(1));
  std::vector<at::Tensor> steps;
  for (std::int64_t i = 0; i < texts.all.size(1); i += 2) {
    steps.push_back(tiny.model->hidden(texts.all.narrow(1, i, 2), {.cache = &cache}));
  }
  EXPECT_TRUE(close(at::cat(steps, 1), tiny.model->hidden(texts.all), 1e-11, 1e-12));
}

// The first query of a document sees one key, so its weights have entropy 0.
TEST(Documents, BoundAttentionStats) {
  nn::AttentionInputs inputs{.q = at::randn({1, 2, 4, 6}, at::kDouble),
                             .k = at::randn({1, 1, 4, 6}, at::kDouble),
                             .v = at::randn({1, 1, 4, 6}, at::kDouble)};
  EXPECT_GT(nn::attention_stats(inputs).entropy, 0.1);
  inputs.document_starts = at::tensor({0, 1, 2, 3}, at::kInt).unsqueeze(0);
  EXPECT_EQ(nn::attention_stats(inputs).entropy, 0);
}

}  // namespace
}  // namespace evenkeel
