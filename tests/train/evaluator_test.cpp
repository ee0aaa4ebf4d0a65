// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/evaluator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "evenkeel/base/file.h"
#include "evenkeel/data/file_digest.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

constexpr std::int64_t kContext = 16;

/// 500 tokens that the tiny model knows.
data::Corpus counted_text(std::int64_t factor) {
  data::Corpus corpus;
  for (std::int64_t i = 0; i < 500; ++i) {
    corpus.tokens.push_back(static_cast<data::TokenId>((i * i * factor + 3) % 31));
  }
  return corpus;
}

// evaluate.sequences = 8: the shares 0.7, 0.29 and 0.01 are 5.6, 2.32 and 0.08 windows.
TEST(Evaluator, DividesItsSequencesAmongTheSourcesByShare) {
  const auto config = config::resolve({.preset = "tiny",
                                       .files = {},
                                       .scheme = "hybrid_norm",
                                       .sets = {"model.context=16", "evaluate.sequences=8"}});
  data::Corpora text;
  text.encoding = std::make_shared<const data::TextEncoding>(config::Data());
  text.validation.push_back({"a", 0.7, counted_text(7)});
  text.validation.push_back({"b", 0.29, counted_text(5)});
  text.validation.push_back({"c", 0.01, counted_text(3)});
  const testing::TinyModel tiny("hybrid_norm", nn::Precision::float32);
  const auto result = Evaluator(config, text, data::kByteVocabulary).evaluate(*tiny.model, 3);
  ASSERT_EQ(result.sources.size(), 3u);
  const std::int64_t windows[] = {6, 2, 1};
  double loss = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& evaluation = result.sources[i].evaluation;
    EXPECT_EQ(evaluation.tokens, windows[i] * kContext) << i;
    loss += text.validation[i].share * evaluation.nats_per_token;
  }
  EXPECT_DOUBLE_EQ(result.validation.nats_per_token, loss);
}

// A resumed run compares them with those of provenance.json.
TEST(Evaluator, RecordsTheFilesOfItsTexts) {
  auto config = config::resolve(
      {.preset = "tiny", .files = {}, .scheme = "hybrid_norm", .sets = {"model.context=16"}});
  const auto path = (std::filesystem::path(::testing::TempDir()) / "evaluator_wiki.txt").string();
  write_file(path, std::string(200, 'x'));
  config.evaluate.texts.push_back({.name = "wiki", .inputs = {path}});
  data::Corpora text;
  text.encoding = std::make_shared<const data::TextEncoding>(config::Data());
  const auto found = Evaluator(config, text, data::kByteVocabulary).provenance();
  ASSERT_EQ(found.at("evaluate_texts").size(), 1U);
  const auto& record = found.at("evaluate_texts")[0];
  EXPECT_EQ(record.at("name"), "wiki");
  EXPECT_EQ(record.at("inputs").at(0), path);
  EXPECT_EQ(record.at("digest"), found.at("evaluate_texts_digest"));  // there is one text
  EXPECT_EQ(record.at("files").at(0).at("path"), path);
  EXPECT_EQ(record.at("files").at(0).at("digest"), data::file_digest(path).xxh3);
}

}  // namespace
}  // namespace evenkeel::train
