// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/corrected.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/grid.h"
#include "evenkeel/study/family.h"
#include "evenkeel/study/sentences.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

/// The same for A against B and B against A.
std::string pair_of(const Verdict& verdict, const Measure& measure) {
  const auto& [first, second] = std::minmax(verdict.arm, verdict.reference);
  return text(measure.name(), '\n', first, '\n', second, '\n');
}

/// Whether its p-value is one of something; of what is not measured or judged it is 1.
bool is_asked(const Verdict& verdict) {
  const bool is_measured = verdict.difference || verdict.p < 1;
  return verdict.not_tested_reason.empty() && (is_measured || verdict.outcome != Outcome::not_measured);
}

/// The seeds that would tell what these did not, at the strictest level of the family.
std::optional<std::int64_t> required_seeds_of(const Verdict& verdict, const Claim* claim, double level) {
  if (claim != nullptr && is_of_signs(*claim)) return sign_test_required_pairs(level);
  if (!verdict.difference || verdict.is_failure_test) return std::nullopt;
  const auto& [pairs, mean, standard_deviation, interval, p, effect_size] = *verdict.difference;
  if (claim == nullptr || claim->kind != Claim::Kind::equivalent) return required_pairs(effect_size, level);
  if (standard_deviation == 0) return std::nullopt;
  // One-sided tests at a level call what a two-sided one calls at twice that.
  return required_pairs((claim->margin - std::abs(mean)) / standard_deviation, 2 * level);
}

}  // namespace

bool is_of_signs(const Claim& claim) {
  using Kind = Claim::Kind;
  return claim.kind == Kind::further || claim.kind == Kind::trains || claim.kind == Kind::fails;
}

std::size_t questions_of(const Study& study) {
  const auto arms = grid_points(study);
  std::size_t count = 0;
  for (const auto& claim : study.claims) {
    const auto places = static_cast<std::size_t>(
        std::count_if(arms.begin(), arms.end(), [&](const GridPoint& each) {
          return matches(each.labels, claim.of) && matches(each.labels, claim.at);
        }));
    if (claim.kind == Claim::Kind::further) {
      ++count;
    } else {
      count += claim.kind == Claim::Kind::equivalent ? 2 * places : places;
    }
  }
  return count;
}

void correct(Results& results) {
  Family claimed, explored;
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (claim.kind == Claim::Kind::further) {
      claimed.ask(text("further ", verdict.claim, '\n', verdict.where), verdict.p);
    } else if (is_of_signs(claim)) {
      claimed.ask("fails " + verdict.arm, verdict.p);
    } else if (claim.kind == Claim::Kind::equivalent) {
      const auto margin = text(pair_of(verdict, claim.measure), claim.margin);
      claimed.ask("within " + margin, verdict.p);
      claimed.ask("beyond " + margin, verdict.p_nonequivalence);
    } else if (claim.kind == Claim::Kind::lower) {
      claimed.ask(pair_of(verdict, claim.measure), verdict.p);
    }
  }
  std::vector<bool> is_claimed;
  for (auto& verdict : results.against_baseline) {
    const auto question = pair_of(verdict, results.study.measure);
    is_claimed.push_back(claimed.has(question));
    (is_claimed.back() ? claimed : explored).ask(question, verdict.p);
  }
  const auto level_of = [](const Family& family) {
    return kSignificanceLevel / static_cast<double>(std::max<std::size_t>(1, family.size()));
  };
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (is_asked(verdict)) verdict.required_seeds = required_seeds_of(verdict, &claim, level_of(claimed));
  }
  for (std::size_t i = 0; i < is_claimed.size(); ++i) {
    auto& verdict = results.against_baseline[i];
    const double level = level_of(is_claimed[i] ? claimed : explored);
    if (is_asked(verdict)) verdict.required_seeds = required_seeds_of(verdict, nullptr, level);
  }
  claimed.correct();
  explored.correct();
}

}  // namespace evenkeel::study
