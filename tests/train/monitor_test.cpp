// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/monitor.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "support/tiny_model.h"

namespace evenkeel::train {
namespace {

using testing::fixed_token_ids;
using testing::TinyModel;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

data::Batch plain_batch(std::int64_t rows = 4) {
  const auto ids = fixed_token_ids(rows, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{
      {values, values + ids.numel()}, {values, values + ids.numel()}, rows, rows * 16};
  std::rotate(batch.targets.begin(), batch.targets.begin() + 1, batch.targets.end());
  return batch;
}

/// The same walk through the tokens, begun elsewhere.
data::Batch shifted_batch(std::int64_t by) {
  auto batch = plain_batch();
  for (auto* const side : {&batch.inputs, &batch.targets}) {
    for (auto& token : *side) token = (token + by) % 31;
  }
  return batch;
}

/// A model that learns the same batch again and again, watched.
struct Watched {
  explicit Watched(const std::string& scheme, config::Health options = {},
                   const norm::Shape& shape = testing::tiny_shape(3))
      : tiny(scheme, nn::Precision::float32, {}, shape),
        monitor(options, *tiny.model, *tiny.parameters, TinyModel::kPlannedSteps, 1),
        learner({}, *tiny.model, *tiny.parameters) {
    at::set_num_threads(1);  // threads would wait longer for one another than they work
  }

  Outcome step(const data::Batch& batch) {
    ++steps;
    return learner.learn(batch, batch.rows, rate, [&](const Outcome& outcome) {
      return monitor.judge({.step = steps,
                            .batch = &batch,
                            .first_sequence = 100,
                            .gradients = &learner.gradients()},
                           outcome);
    });
  }
  /// What is seen in `count` steps.
  std::vector<HealthEvent> after(std::int64_t count, const data::Batch& batch = plain_batch()) {
    for (std::int64_t i = 0; i < count; ++i) step(batch);
    return monitor.take();
  }
  void scale(const std::string& name, double factor) {
    const at::NoGradGuard no_grad;
    tiny.parameters->at(name).master.mul_(factor);
    tiny.parameters->copy_masters_to_values();
  }

  TinyModel tiny;
  Monitor monitor;
  Learner learner;
  std::int64_t steps = 0;
  double rate = 1e-3;
};

// Ten healthy runs of ten schemes, over batches of their own each step.
TEST(Monitor, IsSilentWhileAllIsWell) {
  for (const std::string scheme : {"hybrid_norm_star", "hybrid_norm", "pre_norm", "post_norm",
                                   "gemma2", "peri_ln", "rezero", "dyt", "ngpt", "resi_dual"}) {
    Watched run(scheme);
    for (std::int64_t i = 0; i < 130; ++i) run.step(shifted_batch(i));
    for (const auto& event : run.monitor.take()) {
      ADD_FAILURE() << scheme << ": " << event.kind << ": " << line_of(event);
    }
  }
}

TEST(Monitor, NamesTheWeightThatIsNotANumber) {
  Watched run("hybrid_norm_star");
  run.after(25);
  run.scale("blocks.1.feed_forward.down.weight", kNan);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(line_of(events[0]),
            "loss nan, gradient norm nan: the step was skipped; block 2, "
            "blocks.1.feed_forward.down.weight: the weight itself holds numbers that are not "
            "finite; try: go back to an earlier checkpoint");
  EXPECT_EQ(events[0].kind, "nonfinite");
}

// Weights of 1e30 are finite; what they multiply is not.
TEST(Monitor, NamesTheActivationThatOverflows) {
  Watched run("pre_norm");
  run.after(25);
  run.scale("blocks.2.feed_forward.up_gate.weight", 1e30);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  EXPECT_EQ(events[0].layer, 3);
  EXPECT_EQ(events[0].tensor, "feed-forward branch");
}

TEST(Monitor, NamesValuesThatOverflow) {
  Watched run("pre_qk");  // q and k are bounded, v is not
  run.after(25);
  run.scale("blocks.0.attention.qkv.weight", 1.2e38);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].layer, 1);
  EXPECT_EQ(events[0].tensor.substr(0, 10), "attention ");
}

TEST(Monitor, NamesLogitsThatOverflow) {
  Watched run("pre_norm");
  run.after(25);
  run.scale("final_norm.gain", 3e37);
  run.scale("embedding.weight", 100);  // the head, too
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].layer, 0);
  EXPECT_EQ(events[0].tensor, "logits");
}

norm::Shape mixture_shape() {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 4, .active = 2};
  return shape;
}

TEST(Monitor, NamesARouterThatOverflows) {
  Watched run("pre_norm", {}, mixture_shape());
  run.after(25);
  run.scale("blocks.1.feed_forward.router.weight", 1e38);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  EXPECT_EQ(events[0].layer, 2);
  EXPECT_EQ(events[0].tensor, "router logits");
}

// A router that says the same of every token, and no loss to balance it.
TEST(Monitor, NamesARoutingThatCollapsed) {
  Watched run("pre_norm", {}, mixture_shape());
  run.after(49);
  {
    const at::NoGradGuard no_grad;
    run.tiny.parameters->at("blocks.1.feed_forward.router.weight").master.zero_();
  }
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(line_of(events[0]),
            "2 of 4 experts got less than a tenth of the mean load; block 2, "
            "blocks.1.feed_forward.router.weight: the routing collapses: experts that no token "
            "goes to learn nothing; try: a larger model.experts.balance, model.experts.bias_rate, "
            "or a lower schedule.peak");
}

// In evaluation its running statistics would hide what the batch does.
TEST(Monitor, SeesANormOverTheBatchAsTrainingDoes) {
  Watched run("batch_norm");
  run.after(25);
  run.scale("blocks.1.feed_forward.up_gate.weight", 1e25);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].layer, 2);
  EXPECT_EQ(events[0].tensor, "feed-forward branch");
}

TEST(Monitor, NamesTheWeightThatJumped) {
  Watched run("pre_norm");
  run.after(200);
  run.scale("blocks.1.attention.output.weight", 40);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "spike");
  EXPECT_EQ(events[0].layer, 2);
  EXPECT_EQ(events[0].tensor, "blocks.1.attention.output.weight");
  EXPECT_NE(events[0].explanation.find("40 times as long as before"), std::string::npos)
      << events[0].explanation;
}

/// The batch with the targets of one row turned round: what was learned does not hold for it.
data::Batch with_a_foreign_row(std::int64_t row) {
  auto batch = plain_batch();
  for (std::int64_t i = 0; i < 16; ++i) {
    auto& target = batch.targets[static_cast<std::size_t>(row * 16 + i)];
    target = (target + 11) % 31;
  }
  return batch;
}

TEST(Monitor, NamesTheSequenceOfABadBatch) {
  Watched run("hybrid_norm_star");
  run.after(200);
  const auto events = run.after(1, with_a_foreign_row(2));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "spike");
  EXPECT_NE(events[0].explanation.find("the loss is that of sequence 102"), std::string::npos)
      << events[0].explanation;
}

TEST(Monitor, SkipsASpikeOnlyWhenAsked) {
  for (const std::string policy : {"warn", "skip", "stop"}) {
    Watched run("hybrid_norm_star", {.on_spike = policy});
    run.after(200);
    EXPECT_EQ(run.step(with_a_foreign_row(2)).applied, policy == "warn") << policy;
  }
}

TEST(Monitor, NamesTheBlockWhoseScoresGrow) {
  Watched run("pre_norm");
  run.after(60);
  run.scale("blocks.2.attention.qkv.weight", 30);
  std::string seen;
  for (const auto& event : run.after(40)) {
    if (event.kind == "logits") seen = text(event.layer, " ", event.explanation);
  }
  EXPECT_EQ(seen, "3 no norm bounds q, k");
}

TEST(Monitor, NamesTheDeadGain) {
  Watched run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.rate = 0;  // or the optimizer would bring it back
  std::string seen;
  for (const auto& event : run.after(40)) {
    if (event.kind == "dead_gain") seen = text(event.layer, " ", event.tensor);
  }
  EXPECT_EQ(seen, "2 blocks.1.feed_forward.input_norm.gain");
}

// Two dead gains are one line on the terminal, and two in the file.
TEST(Monitor, TellsTheFirstOfTroublesAlike) {
  Watched run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.scale("blocks.2.feed_forward.input_norm.gain", 0);
  run.rate = 0;
  std::vector<std::string> told, kept;
  for (const auto& event : run.after(40)) {
    if (event.kind != "dead_gain") continue;
    auto& list = event.is_repeated ? kept : told;
    list.push_back(text(event.layer, ": ", event.observation));
  }
  EXPECT_EQ(told, std::vector<std::string>(
                      {"2: 16 of 16 values of a gain are nearly 0, and 1 other like it"}));
  EXPECT_EQ(kept, std::vector<std::string>({"3: 16 of 16 values of a gain are nearly 0"}));
}

// What lasts is told once.
TEST(Monitor, DoesNotRepeatItself) {
  Watched run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.rate = 0;
  std::int64_t told = 0;
  for (const auto& event : run.after(200)) told += event.kind == "dead_gain" ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST(Monitor, WarnsOfALossThatExplodesInTheFirstSteps) {
  Watched run("no_norm");
  run.after(3);
  run.scale("blocks.2.feed_forward.down.weight", 300);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "explosion");
}

// Too slow for a spike, too late for an explosion.
TEST(Monitor, NamesALossThatClimbsAboveItsFirst) {
  Watched run("pre_norm");
  run.after(3);
  const auto batch = plain_batch();
  std::vector<std::int64_t> told;
  for (std::int64_t step = 101; step <= 250; ++step) {
    const double loss = 2 + 0.02 * static_cast<double>(step - 101);
    run.monitor.judge(
        {.step = step, .batch = &batch, .first_sequence = 0, .gradients = &run.learner.gradients()},
        {.loss = loss, .gradient_norm = 0.2});
    for (const auto& event : run.monitor.take()) {
      if (event.kind == "divergence") told.push_back(step);
    }
  }
  EXPECT_EQ(told.size(), 1u);  // once, at the health check after 1.1 times the first loss of about 4
}

// A gradient of 20 times the usual, 40 steps long: told once.
TEST(Monitor, TellsACrowdOfGradientSpikesOnce) {
  Watched run("pre_norm");
  run.after(30);
  const auto batch = plain_batch();
  const auto judged = [&](std::int64_t step, double gradient) {
    run.monitor.judge(
        {.step = step, .batch = &batch, .first_sequence = 0, .gradients = &run.learner.gradients()},
        {.loss = 1, .gradient_norm = gradient});
    return run.monitor.take();
  };
  for (std::int64_t step = 101; step < 130; ++step) judged(step, 0.2);
  EXPECT_TRUE(judged(131, 9).empty());  // far above, but hardly clipped
  const auto told = judged(132, 90);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, "gradient_spike");
  EXPECT_TRUE(judged(133, 90).empty());
  EXPECT_EQ(judged(185, 90).size(), 1u);
}

TEST(Monitor, GoesOnAsIfItHadNeverStopped) {
  Watched whole("hybrid_norm_star");
  whole.after(70);
  const auto state = whole.monitor.state();
  Monitor other({}, *whole.tiny.model, *whole.tiny.parameters, TinyModel::kPlannedSteps, 1);
  other.restore(nlohmann::json::parse(state.dump()));
  EXPECT_EQ(other.state(), state);
  EXPECT_EQ(state.at("losses").size(), 64u);
  EXPECT_FALSE(state.at("usual").empty());
}

}  // namespace
}  // namespace evenkeel::train
