// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generate.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "support/message_of.h"
#include "support/tiny_model.h"

namespace evenkeel::generate {
namespace {

using Text = std::vector<std::int64_t>;
using testing::TinyModel;

GenerationOptions options_of(std::int64_t tokens) {
  GenerationOptions options;
  options.prompt = {3, 1, 4};
  options.max_new_tokens = tokens;
  options.sampling = {.temperature = 1.5, .seed = 5};
  return options;
}

/// generate() of each sequence alone.
std::vector<Text> one_by_one(const nn::Model& model, GenerationOptions options,
                             std::int64_t count) {
  std::vector<Text> texts;
  const auto first = options.sequence;
  for (std::int64_t i = 0; i < count; ++i) {
    options.sequence = first + static_cast<std::uint64_t>(i);
    texts.push_back(generate(model, options));
  }
  return texts;
}

std::vector<Text> in_a_batch(const nn::Model& model, const GenerationOptions& options,
                             std::int64_t count) {
  std::vector<Text> texts(static_cast<std::size_t>(count));
  generate_batch(
      model, options, count,
      [&](std::int64_t number, std::int64_t token) {
        texts.at(static_cast<std::size_t>(number)).push_back(token);
        return true;
      },
      [](std::int64_t) {});
  return texts;
}

// Beyond the context, too, where the cache is rebuilt.
TEST(GenerateBatch, GivesTheTextsOfEachSequence) {
  for (const char* const scheme : {"hybrid_norm_star", "ngpt", "batch_norm"}) {
    const TinyModel tiny(scheme);
    const auto tokens = 3 * tiny.model->scheme().shape.context;
    const auto options = options_of(tokens);
    const auto texts = in_a_batch(*tiny.model, options, 5);
    EXPECT_EQ(texts, one_by_one(*tiny.model, options, 5)) << scheme;
    EXPECT_NE(texts[0], texts[1]) << scheme;
    for (const auto& text : texts) EXPECT_EQ(text.size(), static_cast<std::size_t>(tokens));
  }
}

// A long prompt: the model sees as much of it as fits.
TEST(Generate, SeesTheLastContextTokensOfAPrompt) {
  for (const char* const scheme : {"pre_norm", "batch_norm"}) {
    const TinyModel tiny(scheme);
    const auto context = static_cast<std::size_t>(tiny.model->scheme().shape.context);
    std::vector<std::vector<double>> logits;
    auto options = options_of(1);
    options.on_logits = [&](std::int64_t, const std::vector<double>& row) {
      logits.push_back(row);
    };
    options.prompt.clear();
    for (std::size_t i = 0; i < context + 5; ++i)
      options.prompt.push_back(static_cast<std::int64_t>(i * i % 29));
    generate(*tiny.model, options);
    options.prompt.erase(options.prompt.begin(), options.prompt.begin() + 5);
    generate(*tiny.model, options);
    EXPECT_EQ(logits.at(0), logits.at(1)) << scheme;
  }
}

TEST(GenerateBatch, NumbersTheTextsFromTheGivenSequence) {
  const TinyModel tiny("pre_norm");
  auto options = options_of(6);
  const auto whole = in_a_batch(*tiny.model, options, 4);
  options.sequence = 2;
  EXPECT_EQ(in_a_batch(*tiny.model, options, 2), std::vector<Text>(whole.begin() + 2, whole.end()));
}

// A text that ends leaves the batch, and each other text keeps its cache.
TEST(GenerateBatch, EndsEachTextAtItsStopToken) {
  const TinyModel tiny("pre_norm", nn::Precision::float64, {.document_end = 2});
  auto options = options_of(12);
  options.stop_token = in_a_batch(*tiny.model, options, 6)[3][4];
  const auto texts = in_a_batch(*tiny.model, options, 6);
  EXPECT_EQ(texts, one_by_one(*tiny.model, options, 6));
  EXPECT_LE(texts[3].size(), 4U);
  std::size_t longest = 0;
  for (const auto& text : texts) longest = std::max(longest, text.size());
  EXPECT_GT(longest, texts[3].size());
}

constexpr std::int64_t kManyTexts = 2500;  // with 31 logits each: sampled by several threads

TEST(GenerateBatch, SamplesTheSameTokensOnAnyNumberOfThreads) {
  const TinyModel tiny("pre_norm");
  const auto threads = at::get_num_threads();
  const auto options = options_of(3);
  at::set_num_threads(1);
  const auto texts = in_a_batch(*tiny.model, options, kManyTexts);
  at::set_num_threads(3);
  EXPECT_EQ(in_a_batch(*tiny.model, options, kManyTexts), texts);
  at::set_num_threads(threads);
  auto one = options;
  one.sequence = kManyTexts - 1;
  EXPECT_EQ(generate(*tiny.model, one), texts.back());
}

/// The message about the first logit that is not finite.
std::string divergence_at(std::int64_t position, std::int64_t token, const char* logit) {
  return text("generate: wanted finite logits at position ", position, ", but token ", token,
              " has ", logit, "; the model has diverged: train with a lower schedule.peak");
}

TEST(GenerateBatch, ReportsADivergedModel) {
  const TinyModel tiny("pre_norm");
  at::Tensor(tiny.parameters->at("final_norm.gain").master).fill_(std::nan(""));
  const auto message = divergence_at(3, 0, "nan");
  EXPECT_EQ(message_of([&] { generate(*tiny.model, options_of(2)); }), message);
  EXPECT_EQ(message_of([&] { in_a_batch(*tiny.model, options_of(2), kManyTexts); }), message);
}

constexpr std::int64_t kInfiniteToken = 5;  // and the next one

/// A model whose logits after a text depend on its last token alone: all matrices of its blocks are
/// 0. The logit of kInfiniteToken + i is inf times value i of the token's embedding, which is -1.
TinyModel model_of_the_last_token() {
  TinyModel tiny("pre_norm", nn::Precision::float64, {.tied = false});
  for (const auto& each : tiny.parameters->all()) {
    if (each.name.starts_with("blocks.")) at::Tensor(each.master).zero_();
  }
  tiny.parameters->at("embedding.weight").master.narrow(1, 0, 2).fill_(-1);
  const auto head = tiny.parameters->at("head.weight").master;
  for (const std::int64_t i : {0, 1})
    head[kInfiniteToken + i][i].fill_(std::numeric_limits<double>::infinity());
  return tiny;
}

// Two tokens lead to different messages. The first text with one of them reports it, and the texts
// before get their second token; the last text has the other one.
TEST(GenerateBatch, ReportsTheFirstDivergedTextInOrder) {
  const auto tiny = model_of_the_last_token();
  const auto threads = at::get_num_threads();
  at::set_num_threads(3);
  const auto ids = in_a_batch(*tiny.model, options_of(1), kManyTexts);
  const auto is_finite = [&](const Text& text) {  // of the prompt, or of the first text
    return text == Text{4} || text == ids.front();
  };
  std::size_t first = 1, last = ids.size() - 1;
  while (is_finite(ids.at(first))) ++first;
  while (is_finite(ids.at(last)) || ids.at(last) == ids.at(first)) --last;
  ASSERT_LT(first, last);
  const auto embedding = tiny.parameters->at("embedding.weight").master;
  for (const std::int64_t i : {0, 1}) {
    embedding.narrow(1, 0, 2).fill_(-1);
    embedding[ids[first][0]][i].fill_(1);
    embedding[ids[last][0]][1 - i].fill_(1);
    std::size_t tokens = 0;
    const auto count_token = [&](std::int64_t /*number*/, std::int64_t /*token*/) {
      ++tokens;
      return true;
    };
    EXPECT_EQ(message_of([&] {
                generate_batch(*tiny.model, options_of(2), static_cast<std::int64_t>(last) + 1,
                               count_token, [](std::int64_t) {});
              }),
              divergence_at(4, kInfiniteToken + i, "inf"));
    EXPECT_EQ(tokens, last + 1 + first);
  }
  at::set_num_threads(threads);
}

TEST(GenerateBatch, EndsATextWhoseTokenIsRefused) {
  const TinyModel tiny("pre_norm");
  std::vector<std::size_t> sizes(4);
  Text ended;
  generate_batch(
      *tiny.model, options_of(8), 4,
      [&](std::int64_t number, std::int64_t) {
        const auto at = static_cast<std::size_t>(number);
        return ++sizes[at] < 9 - 2 * at;
      },
      [&](std::int64_t number) { ended.push_back(number); });
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 7, 5, 3}));
  EXPECT_EQ(ended, (Text{3, 2, 1, 0}));
}

TEST(GenerateBatch, WorksWithoutACache) {
  const TinyModel tiny("hybrid_norm");
  auto options = options_of(10);
  const auto cached = in_a_batch(*tiny.model, options, 3);
  options.use_cache = false;
  EXPECT_EQ(in_a_batch(*tiny.model, options, 3), cached);
}

// A cache holds all of a short text: prompt and new tokens.
TEST(LargestBatch, IsThatWhoseCacheFits) {
  const TinyModel tiny("pre_norm");
  const auto& shape = tiny.model->scheme().shape;
  const auto of_position =
      static_cast<double>(2 * shape.layers * shape.kv_heads * shape.head_width() * 8);
  const auto options = options_of(2);
  EXPECT_EQ(largest_batch(*tiny.model, options, 10 * 5 * of_position), 10);
  EXPECT_EQ(largest_batch(*tiny.model, options_of(1000),
                          10 * static_cast<double>(shape.context) * of_position),
            10);
  EXPECT_EQ(largest_batch(*tiny.model, options, 1), 1);
  EXPECT_EQ(largest_batch(*tiny.model, options_of(std::numeric_limits<std::int64_t>::max()),
                          10 * static_cast<double>(shape.context) * of_position),
            10);
}

}  // namespace
}  // namespace evenkeel::generate
