// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "evenkeel/train/learner.h"
#include "support/tiny_model.h"
#include "train/thread_group.h"

namespace evenkeel {
namespace {

using nn::Precision;
using testing::on_ranks;
using testing::TinyModel;
using train::Sharding;

constexpr std::int64_t kShards = 8;

/// 330,000 matrix values: six blocks, so most shards own a piece.
norm::Shape shape_of_pieces(bool is_mixture) {
  norm::Shape shape = {.layers = 2,
                       .width = 128,
                       .heads = 4,
                       .kv_heads = 2,
                       .inner = 256,
                       .vocabulary = 600,
                       .context = 8};
  if (is_mixture) {
    shape.inner = 64;
    shape.experts = {.count = 5, .active = 2, .has_bias = true};
  }
  return shape;
}

/// Rows of different lengths, other ones at every step.
data::Batch batch_of_shards(int step) {
  const auto ids = (testing::fixed_token_ids(16, 8, 600) + 37 * step).remainder(600).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + 128}, {values, values + 128}, 16, 0};
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    const bool padding = i % 8 >= 2 + i / 8 % 7;
    if (padding) batch.targets[i] = data::kIgnoreIndex;
    batch.scored += padding ? 0 : 1;
  }
  return batch;
}

/// What must not depend on the ranks.
struct Trained {
  std::vector<at::Tensor> tensors;  // weights, gradients of the last step, moments
  std::vector<double> numbers;      // loss and gradient norm of each step

  void expect_equal(const Trained& other, const std::string& where) const {
    EXPECT_EQ(numbers, other.numbers) << where;
    ASSERT_EQ(tensors.size(), other.tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_TRUE(tensors[i].equal(other.tensors[i])) << where << ", tensor " << i;
    }
  }
};

struct Setting {
  std::string scheme = "hybrid_norm_star";
  Precision precision = Precision::float32;
  bool is_mixture = false;
  double z_loss = 0;
};

Trained train_rank(const Setting& setting, comm::Group& group, Sharding sharding) {
  TinyModel tiny(setting.scheme, setting.precision, {}, shape_of_pieces(setting.is_mixture));
  const config::Experts experts =
      setting.is_mixture ? config::Experts{.count = 5, .bias_rate = 0.01} : config::Experts{};
  train::Learner learner({.clip = 0.5}, *tiny.model, *tiny.parameters, experts,
                         {.group = &group, .shards = kShards, .sharding = sharding},
                         {.z_loss = setting.z_loss});
  Trained out;
  for (int step = 0; step < 3; ++step) {
    const auto result = learner.train_step(batch_of_shards(step), 1, 1e-2);
    out.numbers.insert(out.numbers.end(), {result.loss, result.z_loss.value_or(0),
                                           result.gradient_norm, result.balance_loss});
    for (const auto& counts : result.routing.tokens) {
      out.numbers.insert(out.numbers.end(), counts.begin(), counts.end());
    }
  }
  for (const auto& each : tiny.parameters->groups()) out.tensors.push_back(each.value.clone());
  learner.gather_gradients();
  learner.gather_masters();
  for (const auto& each : tiny.parameters->groups()) out.tensors.push_back(each.master.clone());
  for (const auto& each : learner.gradients()) out.tensors.push_back(each.clone());
  for (const auto& [name, state] : tiny.parameters->states()) out.tensors.push_back(state.clone());
  const auto& optimizer = learner.optimizer();
  for (std::size_t i = 0; i < optimizer.owned().size(); ++i) {
    const auto& own = optimizer.owned()[i];
    for (const auto* const moments : {&optimizer.first_moments(), &optimizer.second_moments()}) {
      // On several ranks each one knows its own range.
      auto whole = at::zeros_like(tiny.parameters->groups()[i].master);
      whole.narrow(0, own.begin, own.size()).copy_((*moments)[i]);
      if (sharding != Sharding::none && group.ranks() > 1) {
        group.all_gather(whole, learner.reducer().layout().bounds(i, group.ranks()));
      }
      out.tensors.push_back(whole);
    }
  }
  return out;
}

Trained train_alone(const Setting& setting) {
  at::set_num_threads(1);
  comm::Group alone;
  return train_rank(setting, alone, Sharding::optimizer);
}

class DataParallel : public ::testing::TestWithParam<Setting> {};

TEST_P(DataParallel, GivesTheBitsOfOneRankOnEveryRank) {
  const auto alone = train_alone(GetParam());
  for (const int ranks : {2, 4, 8}) {
    for (const auto sharding : {Sharding::none, Sharding::optimizer, Sharding::gradients}) {
      std::mutex one_at_a_time;
      on_ranks(ranks, [&](comm::Group& group) {
        const auto trained = train_rank(GetParam(), group, sharding);
        const std::lock_guard lock(one_at_a_time);
        alone.expect_equal(trained, text("rank ", group.rank(), " of ", ranks, ", sharding ",
                                         static_cast<int>(sharding)));
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, DataParallel,
                         ::testing::Values(Setting{}, Setting{.precision = Precision::bfloat16},
                                           Setting{.z_loss = 0.01}, Setting{.is_mixture = true},
                                           Setting{.precision = Precision::bfloat16,
                                                   .is_mixture = true}));

TEST(DataParallel, ClipsScoresOfAllRanks) {
  const Setting setting{.scheme = "qk_clip"};
  const auto alone = train_alone(setting);
  on_ranks(4, [&](comm::Group& group) {
    const auto trained = train_rank(setting, group, Sharding::none);
    if (group.is_first()) alone.expect_equal(trained, "qk_clip");
  });
}

// The second half of a rank's masters, or the first, is memory of the other rank alone; a gather
// brings it back, also after a step without an update.
TEST(DataParallel, GivesUpTheMastersOfOtherRanks) {
  on_ranks(2, [&](comm::Group& group) {
    TinyModel tiny("pre_norm", Precision::bfloat16, {}, shape_of_pieces(false));
    std::vector<at::Tensor> before;
    for (const auto& each : tiny.parameters->groups()) before.push_back(each.master.clone());
    train::Learner learner({}, *tiny.model, *tiny.parameters, {},
                           {.group = &group, .shards = kShards, .sharding = Sharding::optimizer});
    const auto& groups = tiny.parameters->groups();
    const auto foreign_zeros = [&](std::size_t i) {
      const auto own = learner.optimizer().owned()[i];
      const auto zeros = (groups[i].master == 0);
      return zeros.sum().item<std::int64_t>() -
             zeros.narrow(0, own.begin, own.size()).sum().item<std::int64_t>();
    };
    const auto matrices = static_cast<std::size_t>(
        std::find_if(groups.begin(), groups.end(),
                     [](const auto& each) { return each.role == nn::ParameterRole::matrix; }) -
        groups.begin());
    EXPECT_EQ(foreign_zeros(matrices), 0);
    learner.train_step(batch_of_shards(0), 1, 1e-2, [](const auto&) { return false; });
    EXPECT_GT(foreign_zeros(matrices), groups[matrices].master.numel() / 4);
    learner.gather_masters();
    for (std::size_t i = 0; i < groups.size(); ++i) EXPECT_TRUE(groups[i].master.equal(before[i]));
  });
}

TEST(DataParallel, OwnsAPartOfTheMoments) {
  on_ranks(4, [&](comm::Group& group) {
    TinyModel tiny("pre_norm", Precision::float32, {}, shape_of_pieces(false));
    const train::Learner learner({}, *tiny.model, *tiny.parameters, {},
                                 {.group = &group, .shards = 4});
    std::int64_t own = 0, all = 0;
    for (const auto& moment : learner.optimizer().first_moments()) own += moment.numel();
    for (const auto& each : tiny.parameters->groups()) all += each.master.numel();
    EXPECT_LT(own, all * 6 / 10);
    const auto owned =
        group.all_gather_scalars(at::full({1}, static_cast<double>(own), at::kDouble));
    EXPECT_EQ(owned.sum().item<double>(), static_cast<double>(all));
  });
}

}  // namespace
}  // namespace evenkeel
