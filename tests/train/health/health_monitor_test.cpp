// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_monitor.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

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

/// The same sequence of tokens from another start.
data::Batch shifted_batch(std::int64_t by) {
  auto batch = plain_batch();
  for (auto* const side : {&batch.inputs, &batch.targets}) {
    for (auto& token : *side) token = (token + by) % 31;
  }
  return batch;
}

/// A monitored model that is trained on one batch.
struct MonitoredModel {
  explicit MonitoredModel(const std::string& scheme, config::Health options = {},
                          const norm::Shape& shape = testing::tiny_shape(3))
      : tiny(scheme, nn::Precision::float32, {}, shape),
        monitor(options, *tiny.model, *tiny.parameters, TinyModel::kPlannedSteps, 1),
        learner({}, *tiny.model, *tiny.parameters) {
    at::set_num_threads(1);  // threads would wait longer for one another than they work
  }

  StepResult step(const data::Batch& batch) {
    ++steps;
    return learner.train_step(batch, batch.rows, rate, [&](const StepResult& result) {
      return monitor.check_step({.step = steps,
                                 .batch = &batch,
                                 .first_sequence = 100,
                                 .gradients = &learner.gradients()},
                                result);
    });
  }
  /// The events of `count` steps.
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
  HealthMonitor monitor;
  Learner learner;
  std::int64_t steps = 0;
  double rate = 1e-3;
};

// Ten healthy runs of ten schemes, over batches of their own each step.
TEST(HealthMonitor, IsSilentInHealthyRuns) {
  for (const std::string scheme : {"hybrid_norm_star", "hybrid_norm", "pre_norm", "post_norm",
                                   "gemma2", "peri_ln", "rezero", "dyt", "ngpt", "resi_dual"}) {
    MonitoredModel run(scheme);
    for (std::int64_t i = 0; i < 130; ++i) run.step(shifted_batch(i));
    for (const auto& event : run.monitor.take()) {
      ADD_FAILURE() << scheme << ": " << event.kind << ": " << line_of(event);
    }
  }
}

TEST(HealthMonitor, NamesTheWeightThatIsNotANumber) {
  MonitoredModel run("hybrid_norm_star");
  run.after(25);
  run.scale("blocks.1.feed_forward.down.weight", kNan);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(line_of(events[0]),
            "loss nan, gradient norm nan: the step was skipped; block 2, "
            "blocks.1.feed_forward.down.weight: the weight is not "
            "finite; try: go back to an earlier checkpoint (train --checkpoint STEP)");
  EXPECT_EQ(events[0].kind, "nonfinite");
}

// Weights of 1e30 are finite; what they multiply is not.
TEST(HealthMonitor, NamesTheActivationThatOverflows) {
  MonitoredModel run("pre_norm");
  run.after(25);
  run.scale("blocks.2.feed_forward.up_gate.weight", 1e30);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  EXPECT_EQ(events[0].layer, 3);
  EXPECT_EQ(events[0].tensor, "feed-forward branch");
}

TEST(HealthMonitor, NamesValuesThatOverflow) {
  MonitoredModel run("pre_qk");  // q and k are bounded, v is not
  run.after(25);
  run.scale("blocks.0.attention.qkv.weight", 1.2e38);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].layer, 1);
  EXPECT_EQ(events[0].tensor.substr(0, 10), "attention ");
}

TEST(HealthMonitor, NamesLogitsThatOverflow) {
  MonitoredModel run("pre_norm");
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

TEST(HealthMonitor, NamesARouterThatOverflows) {
  MonitoredModel run("pre_norm", {}, mixture_shape());
  run.after(25);
  run.scale("blocks.1.feed_forward.router.weight", 1e38);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "nonfinite");
  EXPECT_EQ(events[0].layer, 2);
  EXPECT_EQ(events[0].tensor, "router logits");
}

// A router with equal logits for every token, and no balancing loss.
TEST(HealthMonitor, NamesARoutingThatCollapsed) {
  MonitoredModel run("pre_norm", {}, mixture_shape());
  run.after(49);
  {
    const at::NoGradGuard no_grad;
    run.tiny.parameters->at("blocks.1.feed_forward.router.weight").master.zero_();
  }
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(line_of(events[0]),
            "2 of 4 experts got less than a tenth of the mean load; block 2, "
            "blocks.1.feed_forward.router.weight: the routing collapses: experts without tokens "
            "learn nothing; try: a larger model.experts.balance, model.experts.bias_rate, "
            "or a lower schedule.peak");
}

// In evaluation its running statistics would hide what the batch does.
TEST(HealthMonitor, ChecksBatchNormInTrainingMode) {
  MonitoredModel run("batch_norm");
  run.after(25);
  run.scale("blocks.1.feed_forward.up_gate.weight", 1e25);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].layer, 2);
  EXPECT_EQ(events[0].tensor, "feed-forward branch");
}

TEST(HealthMonitor, NamesTheWeightThatJumped) {
  MonitoredModel run("pre_norm");
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

/// The batch with other targets in one row.
data::Batch with_other_targets_in_row(std::int64_t row) {
  auto batch = plain_batch();
  for (std::int64_t i = 0; i < 16; ++i) {
    auto& target = batch.targets[static_cast<std::size_t>(row * 16 + i)];
    target = (target + 11) % 31;
  }
  return batch;
}

TEST(HealthMonitor, NamesTheSequenceOfABadBatch) {
  MonitoredModel run("hybrid_norm_star");
  run.after(200);
  const auto events = run.after(1, with_other_targets_in_row(2));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "spike");
  EXPECT_NE(events[0].explanation.find("the loss is that of sequence 102"), std::string::npos)
      << events[0].explanation;
}

TEST(HealthMonitor, ChecksAStepThatHasASpike) {
  MonitoredModel run("pre_norm");
  run.after(249);
  run.scale("blocks.2.attention.qkv.weight", 30);
  std::set<std::string> kinds;
  for (const auto& event : run.after(1, with_other_targets_in_row(2))) kinds.insert(event.kind);
  EXPECT_EQ(kinds, (std::set<std::string>{"logits", "spike"}));
}

TEST(HealthMonitor, SkipsASpikeOnlyIfConfigured) {
  for (const std::string policy : {"warn", "skip", "stop"}) {
    MonitoredModel run("hybrid_norm_star", {.on_spike = policy});
    run.after(200);
    EXPECT_EQ(run.step(with_other_targets_in_row(2)).applied, policy == "warn") << policy;
  }
}

TEST(HealthMonitor, NamesTheBlockWhoseScoresGrow) {
  MonitoredModel run("pre_norm");
  run.after(60);
  run.scale("blocks.2.attention.qkv.weight", 30);
  std::string found;
  for (const auto& event : run.after(40)) {
    if (event.kind == "logits") found = text(event.layer, " ", event.explanation);
  }
  EXPECT_EQ(found, "3 no norm bounds q, k");
}

TEST(HealthMonitor, NamesTheDeadGain) {
  MonitoredModel run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.rate = 0;  // or the optimizer would bring it back
  std::string found;
  for (const auto& event : run.after(40)) {
    if (event.kind == "dead_gain") found = text(event.layer, " ", event.tensor);
  }
  EXPECT_EQ(found, "2 blocks.1.feed_forward.input_norm.gain");
}

// Two dead gains are one line on the terminal, and two in the file.
TEST(HealthMonitor, PrintsTheFirstOfSimilarEvents) {
  MonitoredModel run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.scale("blocks.2.feed_forward.input_norm.gain", 0);
  run.rate = 0;
  std::vector<std::string> reported, recorded;
  for (const auto& event : run.after(40)) {
    if (event.kind != "dead_gain") continue;
    auto& list = event.is_repeated ? recorded : reported;
    list.push_back(text(event.layer, ": ", event.observation));
  }
  EXPECT_EQ(reported, std::vector<std::string>(
                          {"2: 16 of 16 values of a gain are nearly 0, and 1 other like it"}));
  EXPECT_EQ(recorded, std::vector<std::string>({"3: 16 of 16 values of a gain are nearly 0"}));
}

// A lasting failure is reported once.
TEST(HealthMonitor, ReportsALastingFailureOnce) {
  MonitoredModel run("hybrid_norm_star");
  run.after(60);
  run.scale("blocks.1.feed_forward.input_norm.gain", 0);
  run.rate = 0;
  std::int64_t reported = 0;
  for (const auto& event : run.after(200)) reported += event.kind == "dead_gain" ? 1 : 0;
  EXPECT_EQ(reported, 1);
}

TEST(HealthMonitor, WarnsOfALossThatExplodesInTheFirstSteps) {
  MonitoredModel run("no_norm");
  run.after(3);
  run.scale("blocks.2.feed_forward.down.weight", 300);
  const auto events = run.after(1);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "explosion");
}

// Too slow for a spike, too late for an explosion.
TEST(HealthMonitor, NamesALossThatClimbsAboveItsFirst) {
  MonitoredModel run("pre_norm");
  run.after(3);
  const auto batch = plain_batch();
  std::vector<std::int64_t> reported;
  for (std::int64_t step = 101; step <= 250; ++step) {
    const double loss = 2 + 0.02 * static_cast<double>(step - 101);
    run.monitor.check_step(
        {.step = step, .batch = &batch, .first_sequence = 0, .gradients = &run.learner.gradients()},
        {.loss = loss, .gradient_norm = 0.2});
    for (const auto& event : run.monitor.take()) {
      if (event.kind == "divergence") reported.push_back(step);
    }
  }
  EXPECT_EQ(reported.size(),
            1u);  // once, at the health check after 1.1 times the first loss of about 4
}

// A gradient of 20 times the usual, 40 steps long: reported once.
TEST(HealthMonitor, ReportsAClusterOfGradientSpikesOnce) {
  MonitoredModel run("pre_norm");
  run.after(30);
  const auto batch = plain_batch();
  const auto judged = [&](std::int64_t step, double gradient) {
    run.monitor.check_step(
        {.step = step, .batch = &batch, .first_sequence = 0, .gradients = &run.learner.gradients()},
        {.loss = 1, .gradient_norm = gradient});
    return run.monitor.take();
  };
  for (std::int64_t step = 101; step < 130; ++step) judged(step, 0.2);
  EXPECT_TRUE(judged(131, 9).empty());  // far above, but hardly clipped
  const auto reported = judged(132, 90);
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].kind, "gradient_spike");
  EXPECT_TRUE(judged(133, 90).empty());
  EXPECT_EQ(judged(185, 90).size(), 1u);
}

TEST(HealthMonitor, ResumesFromItsState) {
  MonitoredModel whole("hybrid_norm_star");
  whole.after(70);
  const auto state = whole.monitor.state();
  HealthMonitor other({}, *whole.tiny.model, *whole.tiny.parameters, TinyModel::kPlannedSteps, 1);
  other.restore(nlohmann::json::parse(state.dump()));
  EXPECT_EQ(other.state(), state);
  EXPECT_EQ(state.at("losses").size(), 64u);
  EXPECT_FALSE(state.at("usual").empty());
}

}  // namespace
}  // namespace evenkeel::train
