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

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

/// The name of a hypothesis; A against B and B against A have an equal name.
std::string hypothesis_name(const Verdict& verdict, const Measure& measure) {
  const auto& [first, second] = std::minmax(verdict.arm, verdict.reference);
  return text(measure.name(), '\n', first, '\n', second, '\n');
}

/// True if the verdict has a p-value. Without a measurement or a test, p is 1.
bool is_tested(const Verdict& verdict) {
  const bool is_measured = verdict.difference || verdict.p < 1;
  return !verdict.not_tested && (is_measured || verdict.outcome != Outcome::not_measured);
}

/// The seeds that would detect the difference at the strictest level of the family.
std::optional<std::int64_t> required_seeds_of(const Verdict& verdict, const Claim* claim,
                                              double level) {
  if (claim != nullptr && uses_sign_test(*claim)) return sign_test_required_pairs(level);
  if (!verdict.difference || verdict.is_failure_test) return std::nullopt;
  const auto& difference = *verdict.difference;
  if (claim == nullptr || claim->kind != Claim::Kind::equivalent)
    return required_pairs(difference.effect_size, level);
  if (difference.standard_deviation == 0) return std::nullopt;
  // A one-sided test at a level is significant where a two-sided test at twice that level is.
  const double distance = claim->margin - std::abs(difference.mean);
  return required_pairs(distance / difference.standard_deviation, 2 * level);
}

/// Sets the seeds that a tested verdict needs at the strictest level of its family.
void set_required_seeds(Verdict& verdict, const Claim* claim, const HypothesisFamily& family) {
  const auto hypotheses = static_cast<double>(std::max<std::size_t>(1, family.size()));
  if (!is_tested(verdict)) return;
  verdict.required_seeds = required_seeds_of(verdict, claim, kSignificanceLevel / hypotheses);
}

/// Adds the hypotheses of a claim's verdict: two for `equivalent`, else one.
void add_claim(const Results& results, Verdict& verdict, HypothesisFamily& family) {
  const auto& claim = *claim_of(results, verdict);
  switch (claim.kind) {
    case Claim::Kind::further:
      return family.add(text("further ", *verdict.claim, '\n', verdict.where), verdict.p);
    case Claim::Kind::trains:
    case Claim::Kind::fails:
      return family.add("fails " + verdict.arm, verdict.p);
    case Claim::Kind::lower:
      return family.add(hypothesis_name(verdict, claim.measure), verdict.p);
    case Claim::Kind::equivalent: {
      const auto margin = text(hypothesis_name(verdict, claim.measure), claim.margin);
      family.add("within " + margin, verdict.p);
      return family.add("beyond " + margin, verdict.p_nonequivalence);
    }
  }
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
  for (auto& verdict : results.verdicts) add_claim(results, verdict, confirmatory);
  std::vector<bool> is_confirmatory;
  for (auto& verdict : results.baseline_verdicts) {
    const auto hypothesis = hypothesis_name(verdict, results.study.measure);
    is_confirmatory.push_back(confirmatory.contains(hypothesis));
    (is_confirmatory.back() ? confirmatory : exploratory).add(hypothesis, verdict.p);
  }
  for (auto& verdict : results.verdicts) {
    set_required_seeds(verdict, claim_of(results, verdict), confirmatory);
  }
  for (std::size_t i = 0; i < is_confirmatory.size(); ++i) {
    set_required_seeds(results.baseline_verdicts[i], nullptr,
                       is_confirmatory[i] ? confirmatory : exploratory);
  }
  confirmatory.apply_holm();
  exploratory.apply_holm();
}

}  // namespace evenkeel::study
