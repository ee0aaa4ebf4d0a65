// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/probe.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "evenkeel/config/measures.h"
#include "evenkeel/probe/gradients.h"
#include "evenkeel/probe/stream_jacobian.h"
#include "evenkeel/probe/stream_shift.h"
#include "support/tiny_model.h"

namespace evenkeel::probe {
namespace {

using testing::fixed_token_ids;
using testing::TinyModel;

data::Batch some_batch() {
  const auto ids = fixed_token_ids(2, 16).contiguous();
  const auto* const values = ids.const_data_ptr<std::int64_t>();
  data::Batch batch{{values, values + ids.numel()}, {values, values + ids.numel()}, 2, 32};
  std::rotate(batch.targets.begin(), batch.targets.begin() + 1, batch.targets.end());
  return batch;
}

ProbeResult probe_model(TinyModel& tiny, const std::set<std::string>& measures) {
  return run_probe(*tiny.model, *tiny.parameters, {}, some_batch(), measures, 2,
                   TinyModel::kPlannedSteps);
}

TEST(Probe, MeasuresEveryNamedMeasure) {
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 4, .active = 2};  // a dense model has no routers
  TinyModel tiny("hybrid_norm_star", nn::Precision::float64, {}, shape);
  auto measures = measures_named({"all", "skip_loss", "sparse_attention", "circuit_collapse",
                                  "stream_jacobian", "weight_norm"});
  const auto result = probe_model(tiny, measures);
  for (const auto& measure : config::measures()) {
    const bool found =
        std::any_of(result.profiles.begin(), result.profiles.end(),
                    [&](const LayerProfile& p) { return p.measure == measure.name; });
    EXPECT_EQ(found, !measure.of_update) << measure.name;
  }
}

TEST(Probe, MeasuresOnlyWhatIsSelected) {
  TinyModel tiny("pre_norm");
  const auto result = probe_model(tiny, {"stream_rms"});
  ASSERT_EQ(result.profiles.size(), 1u);
  EXPECT_EQ(result.profiles[0].first, 0);
  EXPECT_EQ(result.profiles[0].values.size(), 4u);
  EXPECT_EQ(measures_named({"all"}).count("skip_loss"), 0u);
}

// sigma_reparam and batch_norm move their states in a training pass; a probe must restore them.
TEST(Probe, RestoresTheModel) {
  for (const std::string name : {"sigma_reparam", "batch_norm"}) {
    TinyModel tiny(name);
    std::map<std::string, at::Tensor> before;
    for (const auto& [state, tensor] : tiny.parameters->states()) before[state] = tensor.clone();
    ASSERT_FALSE(before.empty());
    probe_model(tiny, measures_named({"all", "skip_loss", "stream_jacobian"}));
    StreamSnapshot(*tiny.model, *tiny.parameters, some_batch(), 2).shifts(*tiny.model);
    for (const auto& [state, tensor] : before) {
      EXPECT_TRUE(tensor.equal(tiny.parameters->find_state(state))) << name << " " << state;
    }
    for (const auto& gradient : tiny.parameters->gradients()) {
      EXPECT_EQ(gradient.abs().max().item<double>(), 0);
    }
  }
}

// With activation checkpointing, which only stream_jacobian goes without.
TEST(Probe, HasTheSameProfilesWithCheckpointing) {
  const auto measures = measures_named({"all", "skip_loss", "sparse_attention", "stream_jacobian"});
  auto shape = testing::tiny_shape(3);
  shape.experts = {.count = 4, .active = 2};
  TinyModel plain("hybrid_norm_star", nn::Precision::float32, {}, shape);
  TinyModel tiny("hybrid_norm_star", nn::Precision::float32, {.recompute = nn::Recompute::block},
                 shape);
  const auto wanted = probe_model(plain, measures), result = probe_model(tiny, measures);
  EXPECT_EQ(result.loss, wanted.loss);
  ASSERT_EQ(result.profiles.size(), wanted.profiles.size());
  for (std::size_t i = 0; i < wanted.profiles.size(); ++i) {
    const auto& profile = wanted.profiles[i];
    ASSERT_EQ(result.profiles[i].values.size(), profile.values.size());
    for (std::size_t l = 0; l < profile.values.size(); ++l) {
      const double ours = result.profiles[i].values[l], other = profile.values[l];
      EXPECT_TRUE(ours == other || (std::isnan(ours) && std::isnan(other)))
          << profile.measure << " " << profile.part << " " << ours << " " << other;
    }
  }
}

// The square of the model's gradient is the sum over its parameters; a block's that over its own.
TEST(GradientNorms, AddUp) {
  TinyModel tiny("hybrid_norm_star");
  const auto result = probe_model(tiny, {"grad_norm"});
  double parameters = 0, parts = 0;
  for (const auto& profile : result.profiles) {
    const bool is_parameter = profile.part.find('.') != std::string::npos;
    for (const auto value : profile.values) {
      if (is_parameter && !std::isnan(value)) parameters += value * value;
    }
  }
  const double model = result.find("grad_norm", "model")->values[0];
  EXPECT_NEAR(parameters, model * model, 1e-12 * model * model);
  for (const auto* const part : {"q", "k", "v", "output", "up", "gate", "down", "gains"}) {
    const double length = result.find("grad_norm", part)->values[1];
    parts += length * length;
  }
  const double block = result.find("grad_norm", "block")->values[1];
  EXPECT_NEAR(parts, block * block, 1e-12 * block * block);
}

// Only the first block of HybridNorm* has an input norm before attention.
TEST(GradientNorms, HaveNoValueWhereABlockHasNoSuchPart) {
  TinyModel tiny("hybrid_norm_star");
  const auto result = probe_model(tiny, {"grad_norm"});
  const auto& values = result.find("grad_norm", "attention.input_norm.gain")->values;
  ASSERT_EQ(values.size(), 3u);
  EXPECT_GT(values[0], 0);
  EXPECT_TRUE(std::isnan(values[1]));
}

// Blocks 1 and 3 have no norm.
TEST(GradientNorms, HaveNoGainsWhereABlockHasNoNorm) {
  const auto source = config::inline_scheme(
      "final = 'norm'\n[[layers]]\nwhere = [2]\nattention = { input = 'norm' }", ".");
  TinyModel tiny(source, nn::Precision::float64, {}, testing::tiny_shape(3));
  const auto result = probe_model(tiny, {"grad_norm"});
  const auto& gains = result.find("grad_norm", "gains")->values;
  EXPECT_TRUE(std::isnan(gains[0]));
  EXPECT_GT(gains[1], 0);
  EXPECT_TRUE(std::isnan(gains[2]));
}

// gemma3 stores the gain less 1; hybrid_norm_7b starts its output gains at 1/sqrt(2 N), and
// layer_norm_scaling_learned at 1/sqrt(l), which float32 rounds.
TEST(GainDrifts, AreThoseOfTheEffectiveGain) {
  for (const std::string name :
       {"gemma3", "hybrid_norm_7b", "layer_norm_scaling_learned", "pre_norm"}) {
    for (const auto precision : {nn::Precision::float64, nn::Precision::float32}) {
      const auto scheme = config::bind(config::find_scheme(name), testing::tiny_shape(3));
      nn::Parameters parameters(nn::parameter_specs(scheme, 32, true), precision);
      nn::initialize(parameters, scheme, "scheme", 1, TinyModel::kPlannedSteps);
      for (const auto& profile : gain_drifts(parameters, scheme, TinyModel::kPlannedSteps)) {
        for (const auto value : profile.values) {
          EXPECT_TRUE(value == 0 || std::isnan(value)) << name << " " << profile.part;
        }
      }
      auto gain = parameters.at("blocks.1.feed_forward.input_norm.gain").master;
      const at::NoGradGuard no_grad;
      gain[3] += 0.5;
      constexpr double kRounding = 1e-7;  // of a sum below 2 in float32
      for (const auto& profile : gain_drifts(parameters, scheme, TinyModel::kPlannedSteps)) {
        const bool most = profile.part == "feed_forward.input_norm max";
        const bool mean = profile.part == "feed_forward.input_norm mean";
        if (profile.values.size() < 2 || std::isnan(profile.values[1])) continue;
        EXPECT_NEAR(profile.values[1],
                    most   ? 0.5
                    : mean ? 0.5 / 16
                           : 0,
                    precision == nn::Precision::float64 ? 1e-12 : kRounding)
            << name << profile.part;
      }
    }
  }
}

// A gain that starts at 3 and is stored at 1/T = 1/100 acts times 300: a change of 0.5 is one of
// 150, which the mean divides by 16 values.
TEST(GainDrifts, HaveTheFactorOfAStoredGain) {
  const auto source = config::inline_scheme(
      "extends = 'pre_norm'\nfeed_forward.input = { gain_init = 3, stored_at = '1/T' }", ".");
  const auto scheme = config::bind(source, testing::tiny_shape(3));
  nn::Parameters parameters(nn::parameter_specs(scheme, 32, true), nn::Precision::float64);
  nn::initialize(parameters, scheme, "scheme", 1, TinyModel::kPlannedSteps);
  const at::NoGradGuard no_grad;
  auto gain = parameters.at("blocks.1.feed_forward.input_norm.gain").master;
  gain[3] -= 0.5;
  std::map<std::string, double> drifts;  // of block 2
  for (const auto& profile : gain_drifts(parameters, scheme, TinyModel::kPlannedSteps)) {
    if (profile.values.size() == 3) drifts[profile.part] = profile.values[1];
  }
  EXPECT_NEAR(drifts.at("feed_forward.input_norm max"), 150, 1e-9);
  EXPECT_NEAR(drifts.at("feed_forward.input_norm mean"), 150. / 16, 1e-9);
  EXPECT_EQ(drifts.at("attention.input_norm max"), 0);
}

TEST(UpdateRatios, AreOfTheStepOverTheWeight) {
  TinyModel tiny("pre_norm");
  const ParameterSnapshot before(*tiny.parameters);
  const at::NoGradGuard no_grad;
  tiny.parameters->at("blocks.2.feed_forward.down.weight").master.mul_(1.25);
  for (const auto& profile : before.update_ratios(*tiny.parameters, tiny.model->scheme())) {
    const bool moved = profile.part == "feed_forward.down.weight";
    EXPECT_NEAR(profile.values.back(), moved ? 0.25 : 0, 1e-12) << profile.part;
  }
}

// The first block lacks the second norm: its drift is NaN.
TEST(ProbeTable, ShowsADriftOfANormThatBlock1Lacks) {
  const double nan = std::nan("");
  const ProbeResult result = {
      .loss = 1,
      .profiles = {{"gain_drift", "a max", 1, {0, 0}}, {"gain_drift", "b max", 1, {nan, 0.5}}}};
  const auto table = probe_table(result);
  EXPECT_EQ(table.find("a max"), std::string::npos) << table;
  EXPECT_TRUE(table.ends_with(" - 0.5\n")) << table;
}

TEST(ProbeTable, ShowsMeasuresThatAreOnlyMeasuredByName) {
  TinyModel tiny("pre_norm");
  const auto table = probe_table(probe_model(tiny, {"weight_norm", "stream_jacobian"}));
  for (const auto* const heading : {"weight norm", "jacobian", "weight: q", "gains"}) {
    EXPECT_NE(table.find(heading), std::string::npos) << heading << "\n" << table;
  }
}

/// Sets the matrices of all branches to zero.
void remove_branches(TinyModel& tiny) {
  const at::NoGradGuard no_grad;
  for (const auto& parameter : tiny.parameters->all()) {
    const bool ends_branch = parameter.name.ends_with("attention.output.weight") ||
                             parameter.name.ends_with("feed_forward.down.weight");
    if (ends_branch) parameter.master.zero_();
  }
  tiny.parameters->copy_masters_to_values();
}

TEST(WeightNorms, AreLengthsOfParts) {
  TinyModel tiny("pre_norm");
  const at::NoGradGuard no_grad;
  tiny.parameters->at("blocks.1.attention.output.weight").master.fill_(0.5);
  const auto result = probe_model(tiny, {"weight_norm"});
  const auto count = tiny.parameters->at("blocks.1.attention.output.weight").master.numel();
  const double length = 0.5 * std::sqrt(static_cast<double>(count));
  EXPECT_NEAR(result.find("weight_norm", "output")->values[1], length, 1e-12);
  EXPECT_NEAR(result.find("weight_norm", "attention.output.weight")->values[1], length, 1e-12);
}

TEST(StreamJacobian, IsOneWhereBlocksPassTheStreamOn) {
  TinyModel tiny("pre_norm");
  remove_branches(tiny);
  const auto profile = stream_jacobian(*tiny.model, some_batch(), 1);
  EXPECT_EQ(profile.first, 0);
  EXPECT_EQ(profile.values, (std::vector<double>{1, 1, 1, 1}));
}

// Without branches a Post-Norm block is two norms. Of a row of rms 1 the Jacobian of RMSNorm
// projects onto what is orthogonal to the row, which keeps (D - 1) / D of the mean square; a row of
// rms s has 1/s of that.
TEST(StreamJacobian, IsThatOfTheNormsBetweenBlocks) {
  TinyModel tiny("post_norm");
  remove_branches(tiny);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : tiny.parameters->all()) {
    if (parameter.name.ends_with(".gain")) parameter.master.fill_(1);
  }
  auto embedding = tiny.parameters->at("embedding.weight").master;
  embedding.mul_(8 / embedding.square().mean(-1, /*keepdim=*/true).sqrt());
  tiny.parameters->copy_masters_to_values();
  const auto whole = stream_jacobian(*tiny.model, some_batch(), 2);
  const auto width = static_cast<double>(tiny.model->scheme().shape.width);
  const double kept = std::sqrt((width - 1) / width);
  ASSERT_EQ(whole.values.size(), 4U);
  EXPECT_EQ(whole.values[3], 1);
  EXPECT_NEAR(whole.values[1], kept, 0.02);
  EXPECT_NEAR(whole.values[2], whole.values[1], 1e-4);
  EXPECT_NEAR(whole.values[0], whole.values[1] / 8, 1e-4);
  const auto halves = stream_jacobian(*tiny.model, some_batch(), 1);
  for (std::size_t l = 0; l < 4; ++l) EXPECT_NEAR(halves.values[l], whole.values[l], 1e-12);
}

// A stream times 1.25 moves by a quarter of its length, and so do means and deviations.
TEST(StreamShift, IsOfTheChangeOverTheStream) {
  TinyModel tiny("pre_norm");
  const StreamSnapshot before(*tiny.model, *tiny.parameters, some_batch(), 1);
  for (const auto& profile : before.shifts(*tiny.model))
    EXPECT_EQ(profile.values, (std::vector<double>{0, 0, 0, 0})) << profile.part;
  const at::NoGradGuard no_grad;
  tiny.parameters->at("embedding.weight").master.mul_(1.25);
  tiny.parameters->copy_masters_to_values();
  const auto after = before.shifts(*tiny.model);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[1].part, "distribution");
  for (const auto& profile : after) EXPECT_NEAR(profile.values[0], 0.25, 1e-12) << profile.part;
}

TEST(StreamShift, BeginsAtTheBlockThatMoved) {
  TinyModel tiny("pre_norm");
  const StreamSnapshot before(*tiny.model, *tiny.parameters, some_batch(), 2);
  const at::NoGradGuard no_grad;
  tiny.parameters->at("blocks.1.feed_forward.down.weight").master.mul_(1.25);
  tiny.parameters->copy_masters_to_values();
  for (const auto& profile : before.shifts(*tiny.model)) {
    EXPECT_EQ(profile.values[1], 0) << profile.part;
    EXPECT_GT(profile.values[2], 0) << profile.part;
    EXPECT_GT(profile.values[3], 0) << profile.part;
  }
}

// A block whose output and down matrices are zero passes its stream on: without it, the same loss.
TEST(SkipLoss, IsZeroForABlockThatAddsNothing) {
  TinyModel tiny("pre_norm");
  {
    const at::NoGradGuard no_grad;
    tiny.parameters->at("blocks.1.attention.output.weight").master.zero_();
    tiny.parameters->at("blocks.1.feed_forward.down.weight").master.zero_();
  }
  const auto result = probe_model(tiny, {"skip_loss"});
  const auto& increase = result.find("skip_loss")->values;
  EXPECT_NE(increase[0], 0);
  EXPECT_NEAR(increase[1], 0, 1e-14);
  EXPECT_NE(increase[2], 0);
}

}  // namespace
}  // namespace evenkeel::probe
