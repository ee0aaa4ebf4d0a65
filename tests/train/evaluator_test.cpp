// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/evaluator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/data/file_digest.h"
#include "support/tiny_model.h"
#include "train/thread_group.h"

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

TEST(Evaluator, RecordsTheFilesOfDataOod) {
  auto config = config::resolve(
      {.preset = "tiny", .files = {}, .scheme = "hybrid_norm", .sets = {"model.context=16"}});
  data::Corpora text;
  text.encoding = std::make_shared<const data::TextEncoding>(config::Data());
  EXPECT_TRUE(Evaluator(config, text, data::kByteVocabulary).provenance().empty());
  config.data.ood = {"a.txt", "b.txt"};
  text.ood = counted_text(7);
  text.ood->digest = "aa";
  text.ood->files.push_back({.path = "a.txt", .digest = "11"});
  const auto found = Evaluator(config, text, data::kByteVocabulary).provenance();
  EXPECT_EQ(found.at("evaluate_ood").dump(),
            R"([{"name":"a.txt, b.txt","inputs":["a.txt","b.txt"],"digest":"aa",)"
            R"("files":[{"path":"a.txt","digest":"11"}]}])");
}

/// The evaluator of a model of bytes with one task: 400 questions of two choices, more than four
/// packs of 1,024 tokens.
class TaskEvaluator : public ::testing::Test {
 protected:
  static constexpr std::int64_t kRows = 800;

  struct Scored {
    std::vector<tasks::RowScore> rows;
    std::string records;  // the lines of evaluations.jsonl
    std::int64_t calls = 0, done = 0;
  };

  void SetUp() override {
    std::string rows;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const auto document = row / 2;
      rows += text(R"({"doc_id": )", document, R"(, "idx": )", row % 2, R"(, "label": )",
                   document % 2, R"(, "request": {"context": ")", document * 7919 % 1000,
                   R"( question", "continuation": " a)", row % 7, row % 2, "\"}}\n");
    }
    const auto path = (std::filesystem::path(::testing::TempDir()) / "evaluator_quiz.jsonl");
    write_file(path, rows);
    config_.evaluate.tasks = {path.string()};
    text_.encoding = std::make_shared<const data::TextEncoding>(config::Data());
  }

  static testing::TinyModel byte_model() {
    auto shape = testing::tiny_shape(3);
    shape.vocabulary = data::kByteVocabulary;
    return testing::TinyModel("hybrid_norm_star", nn::Precision::float32, {}, shape);
  }

  Evaluator evaluator(comm::Group* group) const {
    return {config_, text_, data::kByteVocabulary, group};
  }

  Scored scored(comm::Group* group) const {
    const auto tiny = byte_model();
    Scored out;
    auto scores = evaluator(group).evaluate_tasks(*tiny.model, 3, [&](auto done, auto all) {
      EXPECT_EQ(all, kRows);
      ++out.calls;
      out.done = done;
      return true;
    });
    out.rows = std::move(scores.value().results.at(0).rows);
    for (const auto& each : scores->records) out.records += each.dump() + "\n";
    return out;
  }

  config::Config config_ = config::resolve(
      {.preset = "tiny", .files = {}, .scheme = "hybrid_norm", .sets = {"model.context=16"}});
  data::Corpora text_;
};

TEST_F(TaskEvaluator, GivesTheSameScoresOnAnyNumberOfRanks) {
  const auto alone = scored(nullptr);
  ASSERT_EQ(alone.rows.size(), static_cast<std::size_t>(kRows));
  ASSERT_GT(alone.calls, 4);
  for (const int ranks : {2, 3}) {
    testing::on_ranks(ranks, [&](comm::Group& group) {
      const auto shared = scored(&group);
      EXPECT_EQ(shared.records, alone.records);
      ASSERT_EQ(shared.rows.size(), alone.rows.size());
      for (std::size_t i = 0; i < alone.rows.size(); ++i) {
        EXPECT_EQ(shared.rows[i].log_probability, alone.rows[i].log_probability) << i;
        EXPECT_EQ(shared.rows[i].is_greedy, alone.rows[i].is_greedy) << i;
      }
      EXPECT_EQ(shared.calls, (alone.calls + ranks - 1) / ranks) << "each rank has its packs";
      EXPECT_EQ(shared.done, kRows);
    });
  }
}

TEST_F(TaskEvaluator, EndsTheScoringOfAllRanksTogether) {
  testing::on_ranks(2, [&](comm::Group& group) {
    const auto tiny = byte_model();
    auto ends_early = evaluator(&group);
    const auto scores = ends_early.evaluate_tasks(
        *tiny.model, 3, [&](std::int64_t, std::int64_t) { return group.rank() == 0; });
    EXPECT_FALSE(scores.has_value());
    EXPECT_EQ(ends_early.last_task_step(), -1);
  });
}

}  // namespace
}  // namespace evenkeel::train
