// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/judge.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/arms.h"
#include "evenkeel/study/family.h"
#include "evenkeel/study/league.h"
#include "evenkeel/study/measured.h"
#include "evenkeel/study/sentences.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;
using State = Member::State;

/// Differences of the seeds that both arms finished.
std::vector<double> differences_of(const Arm& of, const Arm& than, const Measure& measure) {
  std::vector<double> out;
  for (std::size_t i = 0; i < of.members.size(); ++i) {
    const auto &one = of.members[i], &other = than.members[i];
    if (one.state != State::finished || other.state != State::finished) continue;
    const double difference = measured(one.run, measure) - measured(other.run, measure);
    if (std::isfinite(difference)) out.push_back(difference);
  }
  return out;
}

bool is_whole(const Arm& arm) {
  return count_of(arm, State::failed) + count_of(arm, State::finished) ==
         static_cast<std::int64_t>(arm.members.size());
}

/// What the seeds say before any correction: of the differences, or where there are none, of the
/// failures.
Verdict compared(const Arm& of, const Arm& than, const Measure& measure) {
  Verdict verdict{.of = of.name, .than = than.name};
  const auto differences = differences_of(of, than, measure);
  if (differences.size() >= 2) {
    verdict.difference = paired(differences);
    verdict.p = verdict.difference->p;
  } else if (is_whole(of) && is_whole(than)) {
    const auto all = static_cast<std::int64_t>(of.members.size());
    verdict.p = p_of_shares(count_of(of, State::failed), all, count_of(than, State::failed), all);
  }
  return verdict;
}

/// A difference that is told apart decides by its sign, unless more runs of the better arm failed;
/// where there is none, failures decide.
Outcome outcome_of(const Verdict& verdict, const Arm& of, const Arm& than) {
  const auto failed = count_of(of, State::failed), others = count_of(than, State::failed);
  if (!verdict.difference) {
    if (failed == others || !is_whole(of) || !is_whole(than)) return Outcome::unmeasured;
    if (verdict.p >= kLevel) return Outcome::undecided;
    return failed < others ? Outcome::holds : Outcome::contradicted;
  }
  if (verdict.p >= kLevel) return Outcome::undecided;
  if (verdict.difference->mean < 0) return failed > others ? Outcome::undecided : Outcome::holds;
  return others > failed ? Outcome::undecided : Outcome::contradicted;
}

Outcome alike_outcome(const Verdict& verdict) {
  if (!verdict.difference) return Outcome::unmeasured;
  if (verdict.p < kLevel) return Outcome::holds;
  return verdict.p_beyond < kLevel ? Outcome::contradicted : Outcome::undecided;
}

/// The arms of a claim and, at each place, their partner.
struct Place {
  const Arm* of = nullptr;
  const Arm* than = nullptr;
  std::string name;
};

std::vector<Place> places_of(const Results& results, const Claim& claim) {
  std::vector<Place> places;
  for (const auto& of : results.arms) {
    if (!is_in(of.labels, claim.of) || !is_in(of.labels, claim.at)) continue;
    const auto rest = rest_of(of.labels, claim.of);
    Place place{&of, nullptr, name_of(results.study, rest)};
    for (const auto& than : results.arms) {
      if (!claim.than.empty() && is_in(than.labels, claim.than) &&
          rest_of(than.labels, claim.than) == rest) {
        place.than = &than;
      }
    }
    places.push_back(place);
  }
  return places;
}

Verdict judged_runs(const Claim& claim, const Arm& arm) {
  Verdict verdict{.of = arm.name};
  if (!is_whole(arm)) return verdict;
  const auto all = static_cast<std::int64_t>(arm.members.size());
  const auto failed = count_of(arm, State::failed);
  const bool wants_failure = claim.kind == Claim::Kind::fails;
  if (failed == all)
    verdict.outcome = wants_failure ? Outcome::holds : Outcome::contradicted;
  else if (failed == 0)
    verdict.outcome = wants_failure ? Outcome::contradicted : Outcome::holds;
  else
    verdict.outcome = wants_failure ? Outcome::undecided : Outcome::contradicted;
  return verdict;
}

/// The largest value along an axis up to which every run of a seed trains, by seed; NaN where one
/// of the runs is missing, 0 where the first already fails.
std::vector<double> reach_of(const Results& results, const Claim& claim, const Selection& arms,
                             const Selection& rest) {
  std::vector<std::pair<double, const Arm*>> along;
  for (const auto& arm : results.arms) {
    auto others = rest_of(arm.labels, arms);
    const auto label = others[claim.along];
    others.erase(claim.along);
    if (is_in(arm.labels, arms) && others == rest) along.emplace_back(*number_of(label), &arm);
  }
  std::sort(along.begin(), along.end());
  std::vector<double> reach(results.study.seeds.size(), 0);
  for (std::size_t seed = 0; seed < reach.size(); ++seed) {
    for (const auto& [value, arm] : along) {
      const auto state = arm->members[seed].state;
      if (state == State::missing || state == State::crashed) reach[seed] = std::nan("");
      if (state != State::finished) break;
      reach[seed] = value;
    }
  }
  return reach;
}

/// One verdict for each combination of the axes that are neither named nor gone along.
std::vector<Verdict> judged_reach(const Results& results, const Claim& claim) {
  std::vector<Verdict> out;
  std::set<Selection> seen;
  for (const auto& arm : results.arms) {
    if (!is_in(arm.labels, claim.of) || !is_in(arm.labels, claim.at)) continue;
    auto rest = rest_of(arm.labels, claim.of);
    rest.erase(claim.along);
    if (!seen.insert(rest).second) continue;
    const auto ours = reach_of(results, claim, claim.of, rest);
    const auto theirs = reach_of(results, claim, claim.than, rest);
    Verdict verdict{.where = name_of(results.study, rest),
                    .of = name_of(results.study, claim.of),
                    .than = name_of(results.study, claim.than)};
    std::int64_t further = 0, shorter = 0;
    bool is_measured = true;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      is_measured = is_measured && std::isfinite(ours[i]) && std::isfinite(theirs[i]);
      if (ours[i] > theirs[i]) ++further;
      if (ours[i] < theirs[i]) ++shorter;
    }
    if (is_measured) {
      verdict.p = p_of_signs(further, shorter);
      verdict.outcome = further < shorter ? Outcome::contradicted : Outcome::holds;  // if p allows
    }
    verdict.sentence = reach_sentence(claim, verdict, ours, theirs);
    out.push_back(std::move(verdict));
  }
  return out;
}

void judge_claims(Results& results) {
  for (std::size_t i = 0; i < results.study.claims.size(); ++i) {
    const auto& claim = results.study.claims[i];
    std::vector<Verdict> verdicts;
    if (claim.kind == Claim::Kind::further) {
      verdicts = judged_reach(results, claim);
    } else {
      for (const auto& place : places_of(results, claim)) {
        Verdict verdict;
        if (place.than == nullptr) {
          verdict = judged_runs(claim, *place.of);
        } else {
          verdict = compared(*place.of, *place.than, claim.measure);
          if (claim.kind == Claim::Kind::alike && verdict.difference) {
            verdict.p = p_of_alike(*verdict.difference, claim.margin);
            verdict.p_beyond = p_of_beyond(*verdict.difference, claim.margin);
          }
        }
        verdict.where = place.name;
        verdicts.push_back(std::move(verdict));
      }
    }
    for (auto& verdict : verdicts) {
      verdict.claim = i;
      results.verdicts.push_back(std::move(verdict));
    }
  }
}

void compare_with_baseline(Results& results) {
  const auto& baseline = results.study.baseline;
  if (baseline.empty()) return;
  for (const auto& of : results.arms) {
    if (is_in(of.labels, baseline)) continue;
    Selection named;  // the axes of the baseline, with this arm's own values
    for (const auto& [axis, label] : baseline) named[axis] = of.labels.at(axis);
    const auto rest = rest_of(of.labels, named);
    for (const auto& than : results.arms) {
      if (!is_in(than.labels, baseline) || rest_of(than.labels, named) != rest) continue;
      results.against_baseline.push_back(compared(of, than, results.study.measure));
    }
  }
}

/// The same for A against B and B against A.
std::string pair_of(const Verdict& verdict, const Measure& measure) {
  const auto& [first, second] = std::minmax(verdict.of, verdict.than);
  return text(measure.name(), '\n', first, '\n', second, '\n');
}

/// Every p-value that was asked for, corrected together. `needed` is of the level that a verdict
/// then had to reach.
void correct(Results& results) {
  Family family;
  std::vector<double> before;
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    before.push_back(verdict.p);
    if (!verdict.difference && verdict.p == 1) continue;  // nothing was asked of the runs
    if (claim.kind == Claim::Kind::further) {
      family.ask(text("further ", verdict.claim, '\n', verdict.where), verdict.p);
    } else if (claim.kind == Claim::Kind::alike && verdict.difference) {
      const auto margin = text(pair_of(verdict, claim.measure), claim.margin);
      family.ask("within " + margin, verdict.p);
      family.ask("beyond " + margin, verdict.p_beyond);
    } else if (claim.kind == Claim::Kind::lower) {
      family.ask(pair_of(verdict, claim.measure), verdict.p);
    }
  }
  for (auto& verdict : results.against_baseline) {
    before.push_back(verdict.p);
    if (!verdict.difference && verdict.p == 1) continue;
    family.ask(pair_of(verdict, results.study.measure), verdict.p);
  }
  family.correct();
  std::size_t i = 0;
  for (auto* const list : {&results.verdicts, &results.against_baseline}) {
    for (auto& verdict : *list) {
      const double level = kLevel * (before[i] > 0 ? before[i] / verdict.p : 1);
      if (verdict.difference) {
        verdict.needed = pairs_needed(std::abs(verdict.difference->effect), level);
      }
      ++i;
    }
  }
}

/// Outcomes and sentences, once all p-values are corrected.
void conclude(Results& results) {
  for (auto& verdict : results.verdicts) {
    const auto& claim = results.study.claims[verdict.claim];
    if (claim.kind == Claim::Kind::further) {
      if (verdict.outcome != Outcome::unmeasured) verdict.sentence += sign_words(verdict);
      if (verdict.outcome != Outcome::unmeasured && verdict.p >= kLevel) {
        verdict.outcome = Outcome::undecided;
      }
      continue;
    }
    const auto* const of = arm_named(results, verdict.of);
    const auto* const than = arm_named(results, verdict.than);
    EK_ASSERT(of != nullptr);
    if (than == nullptr) {
      verdict.sentence = runs_sentence(*of, results.study);
      continue;
    }
    verdict.outcome =
        claim.kind == Claim::Kind::alike ? alike_outcome(verdict) : outcome_of(verdict, *of, *than);
    verdict.sentence = claim.kind == Claim::Kind::alike
                           ? margin_sentence(verdict, *of, *than, claim)
                           : difference_sentence(verdict, *of, *than, claim.measure);
  }
  for (auto& verdict : results.against_baseline) {
    const auto &of = *arm_named(results, verdict.of), &than = *arm_named(results, verdict.than);
    verdict.outcome = outcome_of(verdict, of, than);
    verdict.sentence = difference_sentence(verdict, of, than, results.study.measure);
  }
}

/// The measure against the number of parameters: one fit for each scheme, over the means of its
/// arms.
void fit(Results& results) {
  if (results.study.power_law != "parameters") return;
  const auto& leading = results.study.axes.front();
  for (const auto& value : leading.values) {
    Fit fit{.name = value.label, .sizes = {}, .values = {}, .law = {}};
    for (const auto& arm : results.arms) {
      if (arm.labels.at(leading.name) != value.label) continue;
      auto values = values_of(arm);
      std::erase_if(values, [](double each) { return !(each > 0); });  // have no logarithm
      if (values.empty()) continue;
      fit.sizes.push_back(static_cast<double>(arm.parameters));
      fit.values.push_back(mean_of(values).mean);
    }
    if (std::set(fit.sizes.begin(), fit.sizes.end()).size() < 2) continue;
    fit.law = power_law(fit.sizes, fit.values);
    results.fits.push_back(std::move(fit));
  }
}

}  // namespace

void judge(Results& results) {
  results.verdicts.clear();
  results.against_baseline.clear();
  results.fits.clear();
  judge_claims(results);
  compare_with_baseline(results);
  correct(results);
  conclude(results);
  fit(results);
}

}  // namespace evenkeel::study
