// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/token_logprobs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "support/tiny_model.h"

namespace evenkeel::serve {
namespace {

using testing::TinyModel;
using Prompts = std::vector<std::vector<std::int64_t>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Prompts of lengths 1 to 16, whose order is not that of their lengths.
Prompts some_prompts() {
  Prompts prompts;
  for (const std::int64_t length : {5, 1, 16, 2, 5, 9}) {
    auto& prompt = prompts.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) prompt.push_back((i * i * 7 + length * 3) % 31);
  }
  return prompts;
}

/// log_softmax of the logits of one prompt alone, [T, V], float64.
at::Tensor log_softmax_of(const nn::Model& model, const std::vector<std::int64_t>& prompt) {
  const auto ids = at::tensor(prompt, at::kLong).unsqueeze(0);
  return at::log_softmax(model.logits(model.hidden(ids)).to(at::kDouble), -1)[0];
}

void check_prompts(const TinyModel& tiny, double tolerance) {
  const at::NoGradGuard no_grad;
  const auto prompts = some_prompts();
  const auto results = prompt_logprobs(*tiny.model, prompts, 3, [] { return false; });
  ASSERT_EQ(results.size(), prompts.size());
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const auto wanted = log_softmax_of(*tiny.model, prompts[p]);
    const auto& tokens = results[p].tokens;
    ASSERT_EQ(tokens.size(), prompts[p].size());
    EXPECT_FALSE(tokens[0].logprob);
    EXPECT_TRUE(tokens[0].top.empty());
    for (std::size_t t = 1; t < tokens.size(); ++t) {
      const auto row = wanted[static_cast<std::int64_t>(t) - 1];
      EXPECT_EQ(tokens[t].token, prompts[p][t]);
      EXPECT_NEAR(*tokens[t].logprob, row[prompts[p][t]].item<double>(), tolerance);
      EXPECT_NEAR(tokens[t].top[0].logprob, row.max().item<double>(), tolerance);
    }
    const auto next = at::tensor(results[p].next_logits, at::kDouble);
    EXPECT_LT((at::log_softmax(next, 0) - wanted[-1]).abs().max().item<double>(), tolerance);
  }
}

TEST(PromptLogprobs, AreThoseOfEachPromptAlone) {
  check_prompts(TinyModel("hybrid_norm_star"), 1e-12);
  check_prompts(TinyModel("pre_norm", nn::Precision::float32), 1e-5);
}

// Its statistics are over the whole sequence, so padding would change the result.
TEST(PromptLogprobs, DoNotPadAModelThatIsNotCausal) {
  const TinyModel tiny("instance_norm");
  check_prompts(tiny, 1e-12);
}

TEST(PromptLogprobs, StopWhenTheyAreInterrupted) {
  const TinyModel tiny("pre_norm");
  int calls = 0;
  const auto interrupted = [&] { return ++calls > 2; };
  EXPECT_TRUE(prompt_logprobs(*tiny.model, some_prompts(), 0, interrupted).empty());
  EXPECT_EQ(calls, 3);
}

// Probabilities 0.2, 0.5, 0.3; the logits have another constant.
TEST(TokenLogprob, RanksByProbabilityAndAddsTheTokenItself) {
  const std::vector<double> logits = {std::log(0.2) + 7, std::log(0.5) + 7, std::log(0.3) + 7};
  const auto result = token_logprob(logits, 0, 2);
  EXPECT_NEAR(*result.logprob, std::log(0.2), 1e-12);
  ASSERT_EQ(result.top.size(), 3u);
  EXPECT_EQ(result.top[0].token, 1);
  EXPECT_NEAR(result.top[0].logprob, std::log(0.5), 1e-12);
  EXPECT_EQ(result.top[1].token, 2);
  EXPECT_EQ(result.top[2].token, 0);
  EXPECT_EQ(token_logprob(logits, 1, 2).top.size(), 2u) << "it is among them";
  EXPECT_EQ(token_logprob(logits, 1, 0).top.size(), 1u) << "itself";
  EXPECT_EQ(token_logprob(logits, 1, 100).top.size(), 3u) << "all tokens";
}

TEST(TokenLogprob, OrdersEqualProbabilitiesById) {
  const auto top = token_logprob({1, 2, 2, 2, 0}, 4, 2).top;
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 2);
}

TEST(TokenLogprob, RefusesLogitsThatAreNotFinite) {
  for (const double bad : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(token_logprob({1, bad, 0}, 0, 1), Error);
  }
  EXPECT_THROW(token_logprob({-kInfinity, -kInfinity}, 0, 1), Error);
  EXPECT_EQ(token_logprob({0, -kInfinity}, 1, 1).logprob, -kInfinity);
}

}  // namespace
}  // namespace evenkeel::serve
