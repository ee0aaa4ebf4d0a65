// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/answers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/data/additions.h"
#include "evenkeel/evaluate/loss.h"
#include "support/tiny_model.h"

namespace evenkeel::evaluate {
namespace {

constexpr std::int64_t kEnd = data::kEndOfText, kMark = '=';

/// Two rows of eight: "1=23." and the beginning of "4=5" in the first, "6=7." in the second, whose
/// rest is not scored. "." stands for the end-of-text.
data::Batch batch() {
  data::Batch out;
  out.inputs = {kEnd, '1', '=', '2', '3',  kEnd, '4',  '=',
                kEnd, '6', '=', '7', kEnd, kEnd, kEnd, kEnd};
  const auto no = data::kIgnored;
  out.targets = {'1', '=', '2', '3', kEnd, '4', '=', '5', '6', '=', '7', kEnd, no, no, no, no};
  out.rows = 2;
  return out;
}

Answers answers_of(const std::vector<std::int64_t>& guesses) {
  Answers answers;
  answers.add(batch(), at::tensor(guesses, at::kLong).view({2, 8}), kMark);
  return answers;
}

TEST(Answers, AreRightIfEveryTokenUpToTheEndIs) {
  auto guesses = batch().targets;
  auto answers = answers_of(guesses);
  EXPECT_EQ(answers.asked, 2);  // the third is cut off by its window
  EXPECT_EQ(answers.right, 2);

  guesses[3] = '9';  // one digit of the first answer
  EXPECT_EQ(answers_of(guesses).right, 1);
  guesses[11] = '9';  // the second goes on where it should end
  answers = answers_of(guesses);
  EXPECT_EQ(answers.right, 0);
  EXPECT_EQ(answers.asked, 2);
  EXPECT_EQ(answers.share(), 0);
}

TEST(Answers, DoNotDependOnWhatIsGuessedElsewhere) {
  auto guesses = batch().targets;
  for (const std::size_t at : {0, 1, 5, 6, 7, 8, 9, 12, 15}) guesses[at] = '9';
  EXPECT_EQ(answers_of(guesses).right, 2);
}

TEST(Answers, AreCountedInATextThatHasThem) {
  const testing::TinyModel tiny("hybrid_norm_star");
  data::Corpus corpus;
  corpus.tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_FALSE(evaluate(*tiny.model, data::ValidationWindows(corpus, 8, 0), 1).exact);
}

}  // namespace
}  // namespace evenkeel::evaluate
