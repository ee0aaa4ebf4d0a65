// SPDX-License-Identifier: Apache-2.0
#include "study/sample_results.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

constexpr int kSteps = 200;

Axis sample_axis(const std::string& name, const std::vector<std::string>& labels) {
  Axis out{name, {}};
  for (const auto& label : labels) out.values.push_back({label, {name + "=" + label}});
  return out;
}

std::vector<Claim> claims_of(const SampleOptions& options) {
  const auto has = [&](const char* scheme) {
    return std::count(options.schemes.begin(), options.schemes.end(), scheme) > 0;
  };
  std::vector<Claim> claims;
  if (!has("pre_norm")) return claims;
  if (has("hybrid_norm")) {
    claims.push_back({.kind = Claim::Kind::lower,
                      .says = "HybridNorm ends lower than Pre-Norm.",
                      .of = {{"scheme", "hybrid_norm"}},
                      .than = {{"scheme", "pre_norm"}},
                      .paper = -0.02,
                      .source = "Table 1"});
  }
  if (has("post_norm")) {
    claims.push_back({.kind = Claim::Kind::fails,
                      .says = "Post-Norm does not train.",
                      .of = {{"scheme", "post_norm"}},
                      .source = "Figure 4"});
  }
  return claims;
}

Study study_of(const SampleOptions& options) {
  Study study{.name = "sample",
              .size = "smoke",
              .title = "Where the norms stand",
              .question = "Does it matter where norms stand?",
              .source = "arXiv 2503.04598"};
  study.axes.push_back(sample_axis("scheme", options.schemes));
  if (!options.layers.empty()) study.axes.push_back(sample_axis("model.layers", options.layers));
  if (!options.peaks.empty()) study.axes.push_back(sample_axis("schedule.peak", options.peaks));
  study.seeds = options.seeds;
  if (options.peaks.empty())
    study.tune = SearchConfig{"schedule.peak", {"0.001", "0.002"}, {0.5, 1}, 99};
  if (options.has_baseline) study.baseline = {{"scheme", "pre_norm"}};
  study.claims = claims_of(options);
  if (!options.layers.empty()) study.power_law = "parameters";
  study.text = "title = \"Where the norms stand\"\n[axes]\n";
  return study;
}

/// What an arm's runs come to, but for what the seed adds.
struct GroundTruth {
  double loss = 1.2;
  double layers = 8;
  bool trains = true;
};

GroundTruth truth_of(const Study& study, const Arm& arm) {
  GroundTruth truth;
  const auto scheme = arm.labels.at("scheme");
  const auto& values = study.axes.front().values;
  const auto place = std::find_if(values.begin(), values.end(),
                                  [&](const AxisValue& value) { return value.label == scheme; });
  if (scheme == "hybrid_norm") truth.loss -= 0.03;
  if (scheme == "post_norm") truth.loss += 0.05;
  if (scheme.ends_with("_norm") == false) {
    truth.loss += 0.004 * static_cast<double>(place - values.begin());
  }
  if (arm.labels.contains("model.layers")) {
    truth.layers = *number_of(arm.labels.at("model.layers"));
    truth.loss -= 0.04 * std::log2(truth.layers / 8);
  }
  double peak = 0.002;
  if (arm.labels.contains("schedule.peak")) peak = *number_of(arm.labels.at("schedule.peak"));
  truth.loss += 0.02 * std::pow(std::log2(peak / 0.002), 2);
  if (scheme == "post_norm") truth.trains = truth.layers < 16 && peak < 0.004;
  return truth;
}

report::LayerMap map_of(const std::string& measure, const std::string& part,
                        const GroundTruth& truth, double noise) {
  report::LayerMap map{measure, part, "training", 1, {}};
  for (const double step : {1.0, 50.0, 100.0, 200.0}) {
    for (int layer = 1; layer <= static_cast<int>(truth.layers); ++layer) {
      const double slope = truth.loss - 1.25 + 0.1 * noise;
      map.values[step].push_back((1 + noise) * std::exp(slope * layer) / std::sqrt(step));
    }
  }
  return map;
}

report::Run run_of(const GroundTruth& truth, double noise, bool has_probes) {
  report::Run run;
  run.state = "finished";
  run.step = run.steps = kSteps;
  run.tokens = 409600;
  const double end = truth.loss + noise;
  for (int step = 0; step <= kSteps; step += 5) {
    const double loss = end + 3 * std::exp(-step / 30.0) + noise * std::exp(-step / 150.0);
    run.loss.add(step, loss + 0.02 * std::sin(step));
    if (step % 20 == 0) run.validation_loss.add(step, loss);
  }
  run.validation_loss.y.back() = end;
  if (has_probes) {
    run.layer_maps = {map_of("grad_norm", "block", truth, noise),
                      map_of("attention_entropy", "", truth, noise),
                      map_of("token_cosine", "", truth, noise)};
  }
  return run;
}

SeedRun seed_run_of(const SampleOptions& options, const Arm& arm, std::size_t at, std::int64_t seed,
                    const GroundTruth& truth) {
  const double noise = 0.004 * std::sin(static_cast<double>(7 * seed) + static_cast<double>(at));
  SeedRun seed_run{.state = SeedRun::State::finished,
                   .seed = seed,
                   .key = text(arm.labels.at("scheme"), "-", 1000 * (at + 1) + std::size_t(seed)),
                   .run = run_of(truth, noise, options.has_probes)};
  seed_run.value = seed_run.run.validation_loss.y.back();
  const bool is_grid = !options.layers.empty() || !options.peaks.empty();
  const bool is_last = !is_grid && options.seeds.size() > 1 && seed == options.seeds.back();
  const bool is_unsteady = arm.labels.at("scheme") == "post_norm" && is_last;
  if (!truth.trains || is_unsteady) fail(seed_run, "validation loss 3.41 above 2.5");
  return seed_run;
}

SearchResult search_result_of(const Arm& arm, std::size_t at) {
  const bool is_at_edge = arm.labels.at("scheme") == "hybrid_norm";
  const auto key = [&](int i) { return text("search-", at, "-", i); };
  return {.arm = at,
          .trials = {{"0.001", 0.5, 1.5, key(1)},
                     {"0.002", 0.5, 1.4, key(2)},
                     {"0.004", 0.5, std::nan(""), key(3)},
                     {"0.002", 1, 1.2, key(4)}},
          .chosen = "0.002",
          .at_edge = is_at_edge};
}

}  // namespace

void fail(SeedRun& seed_run, const std::string& reason) {
  seed_run.state = SeedRun::State::failed;
  seed_run.reason = reason;
  seed_run.value = std::nan("");
  seed_run.run.state = "diverged";
}

Arm& arm_of(Results& results, const std::string& name) {
  for (auto& arm : results.arms) {
    if (arm.name == name) return arm;
  }
  throw std::logic_error("no arm is named " + name);
}

Results sample_results(const SampleOptions& options) {
  Results results{.study = study_of(options)};
  for (const auto& point : grid_points(results.study)) {
    Arm arm{.name = point.name, .labels = point.labels, .tokens = 409600};
    const auto at = results.arms.size();
    const auto truth = truth_of(results.study, arm);
    arm.parameters = static_cast<std::int64_t>(100000 * truth.layers);
    arm.norm_parameters = static_cast<std::int64_t>(256 * truth.layers);
    arm.init = "scheme (megatron)";
    arm.precision = "bfloat16";
    if (results.study.tune) {
      results.search_results.push_back(search_result_of(arm, at));
      arm.tuned_value = results.search_results.back().chosen;
    }
    for (const auto seed : options.seeds) {
      arm.seed_runs.push_back(seed_run_of(options, arm, at, seed, truth));
    }
    results.arms.push_back(std::move(arm));
  }
  analyze_claims(results);
  results.confounders = {
      {.covariate = "initialisation",
       .groups = {{"normal", {"pre_norm"}}, {"megatron", {"hybrid_norm", "post_norm"}}}}};
  results.provenance = "evenkeel 0.1.0 (abc1234) on a processor, float32";
  results.command = "./ek study sample --size smoke";
  results.seconds = 3723;
  results.search_share = 0.25;
  results.is_complete = true;
  return results;
}

}  // namespace evenkeel::study
