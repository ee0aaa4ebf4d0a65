// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/analysis/hypothesis_family.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

/// The same for A against B and B against A.
std::string hypothesis_name(const Verdict& verdict, const Measure& measure) {
  const auto& [first, second] = std::minmax(verdict.arm, verdict.reference);
  return text(measure.name(), '\n', first, '\n', second, '\n');
}

/// Whether its p-value is one of something; of what is not measured or judged it is 1.
bool is_tested(const Verdict& verdict) {
  const bool is_measured = verdict.difference || verdict.p < 1;
  return verdict.not_tested_reason.empty() &&
         (is_measured || verdict.outcome != Outcome::not_measured);
}

/// The seeds that would detect the difference at the strictest level of the family.
std::optional<std::int64_t> required_seeds_of(const Verdict& verdict, const Claim* claim,
                                              double level) {
  if (claim != nullptr && uses_sign_test(*claim)) return sign_test_required_pairs(level);
  if (!verdict.difference || verdict.is_failure_test) return std::nullopt;
  const auto& [pairs, mean, standard_deviation, interval, p, effect_size] = *verdict.difference;
  if (claim == nullptr || claim->kind != Claim::Kind::equivalent)
    return required_pairs(effect_size, level);
  if (standard_deviation == 0) return std::nullopt;
  // One-sided tests at a level call what a two-sided one calls at twice that.
  return required_pairs((claim->margin - std::abs(mean)) / standard_deviation, 2 * level);
}

}  // namespace

bool uses_sign_test(const Claim& claim) {
  using Kind = Claim::Kind;
  return claim.kind == Kind::further || claim.kind == Kind::trains || claim.kind == Kind::fails;
}

std::size_t hypothesis_count(const Study& study) {
  const auto arms = grid_points(study);
  std::size_t count = 0;
  for (const auto& claim : study.claims) {
    const auto points = static_cast<std::size_t>(
        std::count_if(arms.begin(), arms.end(), [&](const GridPoint& each) {
          return matches(each.labels, claim.of) && matches(each.labels, claim.at);
        }));
    if (claim.kind == Claim::Kind::further) {
      ++count;
    } else {
      count += claim.kind == Claim::Kind::equivalent ? 2 * points : points;
    }
  }
  return count;
}

void correct_p_values(Results& results) {
  HypothesisFamily confirmatory, exploratory;
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (claim.kind == Claim::Kind::further) {
      confirmatory.add(text("further ", verdict.claim, '\n', verdict.where), verdict.p);
    } else if (uses_sign_test(claim)) {
      confirmatory.add("fails " + verdict.arm, verdict.p);
    } else if (claim.kind == Claim::Kind::equivalent) {
      const auto margin = text(hypothesis_name(verdict, claim.measure), claim.margin);
      confirmatory.add("within " + margin, verdict.p);
      confirmatory.add("beyond " + margin, verdict.p_nonequivalence);
    } else if (claim.kind == Claim::Kind::lower) {
      confirmatory.add(hypothesis_name(verdict, claim.measure), verdict.p);
    }
  }
  std::vector<bool> is_confirmatory;
  for (auto& verdict : results.baseline_verdicts) {
    const auto hypothesis = hypothesis_name(verdict, results.study.measure);
    is_confirmatory.push_back(confirmatory.contains(hypothesis));
    (is_confirmatory.back() ? confirmatory : exploratory).add(hypothesis, verdict.p);
  }
  const auto level_of = [](const HypothesisFamily& family) {
    return kSignificanceLevel / static_cast<double>(std::max<std::size_t>(1, family.size()));
  };
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (is_tested(verdict))
      verdict.required_seeds = required_seeds_of(verdict, &claim, level_of(confirmatory));
  }
  for (std::size_t i = 0; i < is_confirmatory.size(); ++i) {
    auto& verdict = results.baseline_verdicts[i];
    const double level = level_of(is_confirmatory[i] ? confirmatory : exploratory);
    if (is_tested(verdict)) verdict.required_seeds = required_seeds_of(verdict, nullptr, level);
  }
  confirmatory.apply_holm();
  exploratory.apply_holm();
}

}  // namespace evenkeel::study
