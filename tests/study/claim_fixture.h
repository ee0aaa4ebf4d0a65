// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/claim_analysis.h"

/// Small studies to be analyzed: arms with the losses at which their runs ended.
namespace evenkeel::study {

/// A run that ended with this validation loss; NaN: it failed.
inline SeedRun seed_run(std::int64_t seed, double loss) {
  SeedRun out{.seed = seed, .value = loss};
  out.state = std::isfinite(loss) ? SeedRun::State::finished : SeedRun::State::failed;
  if (!std::isfinite(loss)) out.reason = "diverged at step 9";
  out.run.validation_loss.add(100, loss);
  return out;
}

/// An arm whose runs ended with these losses, for the seeds 1, 2, ...
inline Arm arm(const std::map<std::string, std::string>& labels,
               const std::vector<double>& losses) {
  Arm out{.name = labels.at("scheme"), .labels = labels};
  if (labels.contains("model.layers")) out.name += ", layers " + labels.at("model.layers");
  std::int64_t seed = 0;
  for (const auto loss : losses) out.seed_runs.push_back(seed_run(++seed, loss));
  return out;
}

/// An axis whose values are labels of one key.
inline Axis axis(const std::string& name, const std::vector<std::string>& labels) {
  Axis out{name, {}};
  for (const auto& label : labels) out.values.push_back({label, {name + "=" + label}});
  return out;
}

/// The claim that hybrid is lower than pre, with the losses of both.
inline Results two_arms(const std::vector<double>& ours, const std::vector<double>& theirs) {
  Results results;
  results.study.axes = {axis("scheme", {"hybrid", "pre"})};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    results.study.seeds.push_back(static_cast<std::int64_t>(i) + 1);
  }
  Claim claim;
  claim.says = "hybrid is lower";
  claim.of = {{"scheme", "hybrid"}};
  claim.than = {{"scheme", "pre"}};
  results.study.claims = {claim};
  results.arms = {arm({{"scheme", "hybrid"}}, ours), arm({{"scheme", "pre"}}, theirs)};
  return results;
}

/// That hybrid trains at greater depth than post; without runs.
inline Results depth_study(const std::vector<std::string>& layers,
                           const std::vector<std::int64_t>& seeds) {
  Results results;
  results.study.axes = {axis("scheme", {"hybrid", "post"}), axis("model.layers", layers)};
  results.study.seeds = seeds;
  Claim claim;
  claim.kind = Claim::Kind::further;
  claim.of = {{"scheme", "hybrid"}};
  claim.than = {{"scheme", "post"}};
  claim.along = "model.layers";
  results.study.claims = {claim};
  return results;
}

/// The first verdict of the study, once analyzed.
inline Verdict first_verdict(Results results) {
  analyze_claims(results);
  return results.verdicts.at(0);
}

inline const double kFailed = std::nan("");

}  // namespace evenkeel::study
