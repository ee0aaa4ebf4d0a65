// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/train/learner.h"
#include "support/close.h"
#include "support/tiny_model.h"

namespace evenkeel {
namespace {

/// Two equal halves: the balance loss of each is that of both.
data::Batch doubled_batch() {
  const auto half = testing::fixed_token_ids(3, 16);
  const auto ids = at::cat({half, half}).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  return {{values, values + 96}, {values, values + 96}, 6, 96};
}

at::Tensor gradient_of_router(const config::Experts& experts, std::int64_t rows,
                              std::int64_t shards) {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 5, .active = 2};
  const testing::TinyModel tiny("hybrid_norm", nn::Precision::float64, {}, shape);
  train::Learner learner({.beta1 = 0, .clip = 0}, *tiny.model, *tiny.parameters, experts,
                         {.group = nullptr, .shards = shards});
  learner.train_step(doubled_batch(), rows, /*rate=*/0);
  const auto& router = tiny.parameters->at("blocks.1.feed_forward.router.weight");
  return router.slice_of(learner.optimizer().first_moments()[router.group]).clone();
}

// Each micro-batch and shard has a share of the balance loss: that of its sequences.
TEST(Learner, WeighsTheBalanceLossOfMicroBatchesAndShardsByTheirRows) {
  const config::Experts experts = {.count = 5, .balance = 0.5, .router_z = 0};
  const auto whole = gradient_of_router(experts, 6, 1);
  EXPECT_GT((whole - gradient_of_router({.count = 5, .balance = 0, .router_z = 0}, 6, 1))
                .abs()
                .max()
                .item<double>(),
            1e-6);
  EXPECT_TRUE(testing::close(gradient_of_router(experts, 3, 1), whole, 1e-9, 1e-11))
      << "micro-batches";
  EXPECT_TRUE(testing::close(gradient_of_router(experts, 3, 2), whole, 1e-9, 1e-11)) << "shards";
}

}  // namespace
}  // namespace evenkeel
