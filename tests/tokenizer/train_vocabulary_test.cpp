// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/train_vocabulary.h"

#include <gtest/gtest.h>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/json_parser.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

class TrainVocabulary : public data::TemporaryFolder {
 protected:
  static nlohmann::json golden(const std::string& name) {
    return parse_json(read_file(golden_tokenizer(name)), name);
  }
  static std::vector<std::string> training_texts() { return golden("ids.json")["training"]; }
};

TEST_F(TrainVocabulary, EqualsHuggingFacesTrainer) {
  for (const auto pattern : {TrainingPattern::gpt2, TrainingPattern::gpt4}) {
    WordCounts counts(pattern);
    for (const auto& text : training_texts()) counts.add(text);
    const auto found = parse_json(train_vocabulary(counts, 400).tokenizer_json(), "trained");
    const auto expected = golden(pattern == TrainingPattern::gpt2 ? "gpt2.json" : "gpt4.json");
    EXPECT_EQ(found["model"]["vocab"], expected["model"]["vocab"]);
    EXPECT_EQ(found["model"]["merges"], expected["model"]["merges"]);
  }
}

TEST_F(TrainVocabulary, DoesNotDependOnTheDivisionOfDocumentsOverThreads) {
  WordCounts whole(TrainingPattern::gpt2), first(TrainingPattern::gpt2),
      second(TrainingPattern::gpt2);
  bool is_first = false;
  for (const auto& text : training_texts()) {
    whole.add(text);
    (is_first ? first : second).add(text);
    is_first = !is_first;
  }
  second.merge(first);
  EXPECT_EQ(train_vocabulary(second, 350).tokenizer_json(),
            train_vocabulary(whole, 350).tokenizer_json());
}

TEST_F(TrainVocabulary, BreaksTiesByTheSmallerIds) {
  WordCounts counts(TrainingPattern::gpt2);
  counts.add("cd ab");
  const auto vocabulary = train_vocabulary(counts, 258);
  ASSERT_EQ(vocabulary.tokens.size(), 258U);
  EXPECT_EQ(vocabulary.tokens[257], "ab");
}

TEST_F(TrainVocabulary, EndsWhenNoPairIsLeft) {
  WordCounts counts(TrainingPattern::gpt2);
  counts.add("aaaa");
  EXPECT_EQ(train_vocabulary(counts, 5000).tokens.size(), 259U);
  EXPECT_EQ(train_vocabulary(WordCounts(TrainingPattern::gpt2), 5000).tokens.size(), 257U);
}

TEST_F(TrainVocabulary, WritesATokenizerThatLoads) {
  WordCounts counts(TrainingPattern::gpt4);
  for (const auto& text : training_texts()) counts.add(text);
  const auto written = train_vocabulary(counts, 300).tokenizer_json();
  const auto tokenizer = Tokenizer::load(file("tokenizer.json", written));
  EXPECT_EQ(tokenizer.vocabulary(), 300);
  EXPECT_EQ(tokenizer.end_of_text(), 0U);
  EXPECT_EQ(decoded(tokenizer, encoded(tokenizer, "A keel, \u6f22!")), "A keel, \u6f22!");
}

TEST_F(TrainVocabulary, RefusesASizeWithoutTheBytesAndABadText) {
  WordCounts counts(TrainingPattern::gpt2);
  EXPECT_EQ(data::refusal([&] { train_vocabulary(counts, 256); }),
            "exit code 64: --train-vocabulary: must be 257 to 16777215, but is 256");
  EXPECT_EQ(data::refusal([&] { counts.add("ab\xff"); }),
            "text: must be UTF-8, but is not at byte 2");
}

}  // namespace
}  // namespace evenkeel::tokenizer
