// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/outcome.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "evenkeel/base/error.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

Direction outcome_direction_of(bool agrees) {
  return agrees ? Direction::agrees : Direction::disagrees;
}

bool contains_zero(const Interval& interval) {
  return interval.low <= 0 && interval.high >= 0;
}

}  // namespace

std::string to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::supported:
      return "supported";
    case Outcome::contradicted:
      return "contradicted";
    case Outcome::inconclusive:
      return "inconclusive";
    case Outcome::not_measured:
      return "not measured";
    case Outcome::not_tested:
      return "not tested";
  }
  return {};
}

std::string to_string(Direction direction) {
  switch (direction) {
    case Direction::agrees:
      return "agrees";
    case Direction::disagrees:
      return "disagrees";
    case Direction::inconclusive:
      return "inconclusive";
    case Direction::unknown:
      return "unknown";
  }
  return {};
}

std::string to_string(SeedRun::State state) {
  switch (state) {
    case SeedRun::State::finished:
      return "finished";
    case SeedRun::State::failed:
      return "failed";
    case SeedRun::State::crashed:
      return "crashed";
    case SeedRun::State::missing:
      return "missing";
  }
  return {};
}

std::string css_class(Outcome outcome) {
  const bool is_open = outcome == Outcome::not_measured || outcome == Outcome::not_tested;
  return is_open ? "unmeasured" : to_string(outcome);
}

std::string css_class(SeedRun::State state) {
  return state == SeedRun::State::missing ? "unmeasured" : to_string(state);
}

bool is_published(const Claim& claim) {
  constexpr std::array kPlaces = {"table",    "figure",   "section", "theorem",
                                  "equation", "appendix", "arxiv"};
  if (std::isfinite(claim.paper)) return true;
  auto source = claim.source;
  std::transform(source.begin(), source.end(), source.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return std::any_of(kPlaces.begin(), kPlaces.end(),
                     [&](const char* place) { return source.starts_with(place); });
}

std::string outcome_summary(const Results& results) {
  const auto all = results.verdicts.size();
  if (results.study.claims.empty()) return "The study makes no claim.";
  if (all == 0) return "No claim is measured yet.";
  auto out = text(all, all == 1 ? " outcome:" : " outcomes:");
  const char* before = " ";
  for (const auto outcome : {Outcome::supported, Outcome::contradicted, Outcome::inconclusive,
                             Outcome::not_measured, Outcome::not_tested}) {
    const auto count =
        std::count_if(results.verdicts.begin(), results.verdicts.end(),
                      [&](const Verdict& verdict) { return verdict.outcome == outcome; });
    if (count == 0) continue;
    out += text(before, count, count == 1 ? " is " : " are ", to_string(outcome));
    before = ", ";
  }
  return out + ".";
}

/// Compares signs if the paper has a number; a difference that is not significant has no sign. If
/// the paper has no number, or claims equivalence, the outcome of the claim decides.
Direction direction_of(const Claim& claim, const Verdict& verdict) {
  if (css_class(verdict.outcome) == "unmeasured" || !is_published(claim)) return Direction::unknown;
  const bool has_sign =
      std::isfinite(claim.paper) && verdict.difference && !verdict.is_failure_test &&
      (claim.kind != Claim::Kind::equivalent || std::abs(claim.paper) >= claim.margin);
  if (has_sign) {
    const bool is_open =
        verdict.outcome == Outcome::inconclusive && claim.kind == Claim::Kind::lower;
    if (is_open || contains_zero(verdict.difference->interval)) return Direction::inconclusive;
    return outcome_direction_of(verdict.difference->mean * claim.paper > 0);
  }
  if (verdict.outcome == Outcome::inconclusive) return Direction::inconclusive;
  return outcome_direction_of(verdict.outcome == Outcome::supported);
}

}  // namespace evenkeel::study
