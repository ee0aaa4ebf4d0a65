// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event_names.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tracking/scalars.h"

namespace evenkeel::tracking {
namespace {

using Json = nlohmann::ordered_json;

std::map<std::string, float> scalars(const std::vector<TaggedValue>& values) {
  std::map<std::string, float> out;
  for (const auto& value : values) {
    if (const auto number = scalar_in(value.bytes)) out[value.tag] = *number;
  }
  return out;
}

TEST(EventNames, AreThoseOfOlmoCore) {
  const auto found = scalars(metric_values({{"step", 3},
                                            {"tokens", 96},
                                            {"loss", 2.5},
                                            {"lr", 0.001},
                                            {"grad_norm", NAN},
                                            {"clipped", true},
                                            {"z_loss", 33.5},
                                            {"source_tokens", {{"a.txt", 7}}}}));
  EXPECT_EQ(found.size(), 8U);
  EXPECT_EQ(found.at("train/CE loss"), 2.5F);
  EXPECT_EQ(found.at("train/PPL"), static_cast<float>(std::exp(2.5)));
  EXPECT_EQ(found.at("optim/LR"), 0.001F);
  EXPECT_TRUE(std::isnan(found.at("optim/total grad norm")));
  EXPECT_EQ(found.at("optim/grad norm clipped"), 1);
  EXPECT_EQ(found.at("train/Z loss"), 33.5F);
  EXPECT_EQ(found.at("throughput/total tokens"), 96);
  EXPECT_EQ(found.at("data/tokens/a.txt"), 7);
}

TEST(EventNames, OfEvaluationsAndTasks) {
  const auto found = scalars(metric_values(
      {{"step", 3},
       {"val_loss", 1.0},
       {"val_gap", 0.5},
       {"val_loss_by_source", {{"b", 2.0}}},
       {"texts", {{"wiki", {{"text_loss", nullptr}, {"text_bits_per_byte", 1.5}}}}}}));
  EXPECT_EQ(found.at("eval/loss"), 1);
  EXPECT_EQ(found.at("eval/gap to the floor"), 0.5F);
  EXPECT_EQ(found.at("eval/sources/b/CE loss"), 2);
  EXPECT_TRUE(std::isnan(found.at("eval/wiki/CE loss"))) << "null in the file";
  EXPECT_EQ(found.at("eval/wiki/bits per byte"), 1.5F);
  const auto task =
      scalars(task_values({{"label", "piqa"}, {"metric", "len_norm"}, {"value", 0.75}}));
  EXPECT_EQ(task.at("eval/downstream/piqa_len_norm"), 0.75F);
}

TEST(EventNames, OfProbesHaveTheLayer) {
  const Json line = {{"step", 1},
                     {"measure", "grad_norm"},
                     {"part", "block"},
                     {"first", 0},
                     {"values", {0.1, 0.2, nullptr, 0.4}}};
  const auto values = probe_values(line, 2);
  const auto found = scalars(values);
  EXPECT_EQ(found.size(), 3U) << "none for null";
  EXPECT_EQ(found.at("probe/grad_norm/embedding"), 0.1F);
  EXPECT_EQ(found.at("probe/grad_norm/block 01"), 0.2F);
  EXPECT_EQ(found.at("probe/grad_norm/output"), 0.4F);
  EXPECT_EQ(values.back().tag, "probe/grad_norm/over blocks");
  const auto part = scalars(probe_values({{"step", 1},
                                          {"measure", "attention_logit_max"},
                                          {"part", "head 0"},
                                          {"first", 7},
                                          {"values", {1.5}}},
                                         120));
  EXPECT_EQ(part.at("probe/attention_logit_max/head 0/block 007"), 1.5F);
}

}  // namespace
}  // namespace evenkeel::tracking
