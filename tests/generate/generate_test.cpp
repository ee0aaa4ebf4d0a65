// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generate.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
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

TEST(GenerateBatch, ReportsADivergedModel) {
  const TinyModel tiny("pre_norm");
  at::Tensor(tiny.parameters->at("final_norm.gain").master).fill_(std::nan(""));
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto alone = message_of([&] { generate(*tiny.model, options_of(2)); });
  EXPECT_EQ(alone.substr(0, 44), "generate: wanted finite logits at position 3");
  EXPECT_EQ(message_of([&] { in_a_batch(*tiny.model, options_of(2), kManyTexts); }), alone);
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
