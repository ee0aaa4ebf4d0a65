// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/confounders.h"

#include <gtest/gtest.h>

#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {
namespace {

using Lines = std::vector<std::string>;

/// The confounders, each followed by its lines in a report.
Lines lines_of(const Results& results) {
  Lines out;
  for (const auto& each : confounders(results)) {
    out.push_back(each.covariate);
    for (const auto& line : confounder_lines(each)) out.push_back(line);
  }
  return out;
}

Arm labelled_arm(const std::string& axis, const std::string& label, const std::string& init) {
  return {.name = label, .labels = {{axis, label}}, .parameters = 100, .tokens = 512, .init = init};
}

/// Three arms along one axis; the first arm is the baseline.
Results three(const Axis& axis, const Lines& inits) {
  Results results;
  results.study.axes = {axis};
  for (std::size_t i = 0; i < inits.size(); ++i) {
    results.arms.push_back(labelled_arm(axis.name, axis.values[i].label, inits[i]));
    if (i == 0) continue;
    results.baseline_verdicts.push_back(
        {.arm = axis.values[i].label, .reference = axis.values[0].label});
  }
  return results;
}

TEST(Confounders, NameWhatDiffersApartFromTheScheme) {
  const Axis axis{"arm",
                  {{"Pre", {"scheme=pre_norm", "model.init=normal"}},
                   {"Hybrid", {"scheme=hybrid_norm", "model.init=megatron"}},
                   {"Star", {"scheme=hybrid_norm_star", "model.init=megatron"}}}};
  EXPECT_EQ(lines_of(three(axis, {"normal", "megatron", "megatron"})),
            (Lines{"initialisation", "normal: Pre", "megatron: Hybrid; Star"}));
  EXPECT_EQ(lines_of(three(axis, {"normal", "normal", "normal"})), Lines{});
}

TEST(Confounders, LeaveOutWhatIsCompared) {
  const Axis axis{"model.init",
                  {{"normal", {"model.init=normal"}},
                   {"megatron", {"model.init=megatron"}},
                   {"depth_scaled", {"model.init=depth_scaled"}}}};
  EXPECT_EQ(lines_of(three(axis, {"normal", "megatron", "depth_scaled"})), Lines{});
}

TEST(Confounders, LeaveOutTheParametersOfNorms) {
  const Axis axis{"scheme", {{"pre", {"scheme=pre"}}, {"hybrid", {"scheme=hybrid"}}}};
  auto results = three(axis, {"normal", "normal"});
  results.arms[1].parameters = 110;
  results.arms[1].norm_parameters = 10;
  EXPECT_EQ(lines_of(results), Lines{});
  results.arms[1].parameters = 1110;
  results.arms[1].tokens = 2048;
  EXPECT_EQ(lines_of(results),
            (Lines{"tokens a run", "512: pre", "2,048: hybrid", "parameters without those of norms",
                   "100: pre", "1,100: hybrid"}));
}

}  // namespace
}  // namespace evenkeel::study
