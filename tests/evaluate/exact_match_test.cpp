// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/exact_match.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "evenkeel/evaluate/evaluation.h"
#include "support/tiny_model.h"

namespace evenkeel::evaluate {
namespace {

constexpr std::int64_t kEnd = data::kEndOfText, kNo = data::kIgnoreIndex;

/// Two rows of eight: "1=23." and the beginning of "4=5" in the first, "6=7." in the second. "."
/// stands for the end-of-text.
data::Batch batch() {
  data::Batch out;
  out.inputs = {kEnd, '1', '=', '2', '3',  kEnd, '4',  '=',
                kEnd, '6', '=', '7', kEnd, kEnd, kEnd, kEnd};
  out.targets = {kNo, kNo, '2', '3', kEnd, kNo, kNo, '5', kNo, kNo, '7', kEnd, kNo, kNo, kNo, kNo};
  out.rows = 2;
  return out;
}

ExactMatch answers_of(const std::vector<std::int64_t>& guesses) {
  ExactMatch answers;
  answers.add(batch(), at::tensor(guesses, at::kLong).view({2, 8}));
  return answers;
}

TEST(ExactMatch, NeedsEveryTokenUpToTheEnd) {
  auto guesses = batch().targets;
  auto answers = answers_of(guesses);
  EXPECT_EQ(answers.total, 2);  // the third is cut off by its window
  EXPECT_EQ(answers.correct, 2);

  guesses[3] = '9';  // one digit of the first answer
  EXPECT_EQ(answers_of(guesses).correct, 1);
  guesses[11] = '9';  // the second goes on where it should end
  answers = answers_of(guesses);
  EXPECT_EQ(answers.correct, 0);
  EXPECT_EQ(answers.total, 2);
  EXPECT_EQ(answers.accuracy(), 0);
}

TEST(ExactMatch, IgnoresOtherTokens) {
  auto guesses = batch().targets;
  for (const std::size_t at : {0, 1, 5, 6, 8, 9, 12, 15}) guesses[at] = '9';
  EXPECT_EQ(answers_of(guesses).correct, 2);
}

TEST(ExactMatch, IsMeasuredOnlyOnTextsWithAnswers) {
  const testing::TinyModel tiny("hybrid_norm_star");
  data::Corpus corpus;
  corpus.tokens = data::Tokens({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_FALSE(evaluate(*tiny.model, data::ValidationWindows(corpus, 8, 0), 1).exact_match);
}

/// Documents of a question, the mark 20, and two tokens that answer it.
data::Corpus questions(const std::vector<std::vector<std::uint16_t>>& answers) {
  data::Corpus corpus;
  corpus.has_known_entropy = true;
  corpus.answer_start_token = 20;
  corpus.tokens.push_back(kEnd);
  for (std::uint16_t question = 1; const auto& answer : answers) {
    const auto begin = corpus.tokens.size();
    corpus.tokens.push_back(question++);
    corpus.tokens.push_back(20);
    for (const auto token : answer) corpus.tokens.push_back(token);
    corpus.documents.push_back({begin, corpus.tokens.size(), 0});
    corpus.tokens.push_back(kEnd);
  }
  return corpus;
}

/// A model that knows the end-of-text, with a head of its own.
testing::TinyModel model() {
  auto shape = testing::tiny_shape(3);
  shape.vocabulary = data::kByteVocabulary;
  return testing::TinyModel("hybrid_norm_star", nn::Precision::float64, {.tied = false}, shape);
}

/// [8, width], of a row of the windows: the end-of-text, the document, and what fills up.
at::Tensor hidden(const testing::TinyModel& tiny, std::uint16_t question,
                  const std::vector<std::uint16_t>& answer) {
  const at::NoGradGuard no_grad;
  const auto ids = at::tensor({kEnd, std::int64_t{question}, std::int64_t{20},
                               std::int64_t{answer[0]}, std::int64_t{answer[1]}, kEnd, kEnd, kEnd},
                              at::kLong);
  return tiny.model->hidden(ids.unsqueeze(0))[0];
}

/// [8, V], by hand.
at::Tensor log_probabilities(const testing::TinyModel& tiny, std::uint16_t question,
                             const std::vector<std::uint16_t>& answer) {
  const at::NoGradGuard no_grad;
  return at::log_softmax(tiny.model->logits(hidden(tiny, question, answer)), -1);
}

std::uint16_t predicted(const at::Tensor& log_p) {
  return static_cast<std::uint16_t>(log_p.argmax(-1).item<std::int64_t>());
}

// Windows of 8 hold a question each: of 4 tokens, the mark at place 2. Its answer is scored at
// places 2, 3 and 4: the two tokens and the end.
TEST(Evaluate, ScoresOnlyAnswersByHand) {
  const auto tiny = model();
  const std::vector<std::vector<std::uint16_t>> answers = {{5, 6}, {7, 8}, {9, 3}};
  const auto corpus = questions(answers);
  const data::ValidationWindows windows(corpus, 8, 0);
  ASSERT_EQ(windows.count(), 3);
  double nats = 0;
  for (std::uint16_t i = 0; i < 3; ++i) {
    const auto log_p = log_probabilities(tiny, static_cast<std::uint16_t>(i + 1), answers[i]);
    nats -= (log_p[2][answers[i][0]] + log_p[3][answers[i][1]] + log_p[4][kEnd]).item<double>();
  }
  for (const std::int64_t rows : {1, 2, 3}) {
    const auto result = evaluate(*tiny.model, windows, rows);
    EXPECT_EQ(result.tokens, 9);
    EXPECT_NEAR(result.nats_per_token, nats / 9, 1e-12 * nats);
    EXPECT_NEAR(result.bits_per_byte.value(), nats / 9 / std::numbers::ln2, 1e-12 * nats);
    EXPECT_EQ(result.floor, 0);
    EXPECT_NEAR(result.gap.value(), nats / 9, 1e-12 * nats);
    EXPECT_EQ(result.exact_match, 0);
  }
}

/// What greedy decoding writes first.
std::vector<std::uint16_t> greedy(const testing::TinyModel& tiny, std::uint16_t question) {
  const auto first = predicted(log_probabilities(tiny, question, {0, 0})[2]);
  return {first, predicted(log_probabilities(tiny, question, {first, 0})[3])};
}

// The end-of-text is the predicted token after the first answer, since its row of the head points
// to what of the stream there was not before. The last answer is another one.
TEST(Evaluate, CountsTheAnswersThatGreedyDecodingWrites) {
  auto tiny = model();
  std::vector<std::vector<std::uint16_t>> answers;
  for (std::uint16_t question = 1; question <= 4; ++question) {
    answers.push_back(greedy(tiny, question));
  }
  answers[3][0] = static_cast<std::uint16_t>(answers[3][0] == 7 ? 8 : 7);
  const auto x = hidden(tiny, 1, answers[0]);
  {
    const at::NoGradGuard no_grad;
    const auto before = at::stack({x[2], x[3]});
    const auto shared = at::matmul(at::linalg_pinv(before), at::matmul(before, x[4]));
    tiny.parameters->at("head.weight").master[kEnd].copy_(100 * (x[4] - shared));
  }
  double correct = 0;
  for (std::uint16_t i = 0; i < 4; ++i) {
    const auto log_p = log_probabilities(tiny, static_cast<std::uint16_t>(i + 1), answers[i]);
    const bool is_right = predicted(log_p[2]) == answers[i][0] &&
                          predicted(log_p[3]) == answers[i][1] && predicted(log_p[4]) == kEnd;
    correct += is_right ? 1 : 0;
  }
  EXPECT_GT(correct, 0);
  EXPECT_LT(correct, 4);
  const auto corpus = questions(answers);
  const auto result = evaluate(*tiny.model, data::ValidationWindows(corpus, 8, 0), 4);
  EXPECT_EQ(result.exact_match, correct / 4);
}

}  // namespace
}  // namespace evenkeel::evaluate
