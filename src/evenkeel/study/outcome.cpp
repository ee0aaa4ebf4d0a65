// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/outcome.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "evenkeel/base/error.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

Direction direction_of(bool agrees) {
  return agrees ? Direction::agrees : Direction::disagrees;
}

bool contains_zero(const Interval& interval) {
  return interval.low <= 0 && interval.high >= 0;
}

}  // namespace

std::string word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::holds:
      return "holds";
    case Outcome::contradicted:
      return "contradicted";
    case Outcome::undecided:
      return "undecided";
    case Outcome::unmeasured:
      return "not measured";
    case Outcome::unjudged:
      return "not judged";
  }
  return {};
}

std::string word_of(Direction direction) {
  switch (direction) {
    case Direction::agrees:
      return "agrees";
    case Direction::disagrees:
      return "disagrees";
    case Direction::undecided:
      return "undecided";
    case Direction::unknown:
      return "unknown";
  }
  return {};
}

std::string word_of(Member::State state) {
  switch (state) {
    case Member::State::finished:
      return "finished";
    case Member::State::failed:
      return "failed";
    case Member::State::crashed:
      return "crashed";
    case Member::State::missing:
      return "missing";
  }
  return {};
}

std::string class_of(Outcome outcome) {
  const bool is_open = outcome == Outcome::unmeasured || outcome == Outcome::unjudged;
  return is_open ? "unmeasured" : word_of(outcome);
}

std::string class_of(Member::State state) {
  return state == Member::State::missing ? "unmeasured" : word_of(state);
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

std::string summary_of(const Results& results) {
  const auto all = results.verdicts.size();
  if (results.study.claims.empty()) return "The study makes no claim.";
  if (all == 0) return "No claim is measured yet.";
  auto out = text("Of ", all, all == 1 ? " outcome" : " outcomes");
  const char* before = " ";
  for (const auto outcome : {Outcome::holds, Outcome::contradicted, Outcome::undecided,
                             Outcome::unmeasured, Outcome::unjudged}) {
    const auto count =
        std::count_if(results.verdicts.begin(), results.verdicts.end(),
                      [&](const Verdict& verdict) { return verdict.outcome == outcome; });
    if (count == 0) continue;
    const auto word = outcome == Outcome::holds ? std::string(count == 1 ? "holds" : "hold")
                                                : (count == 1 ? "is " : "are ") + word_of(outcome);
    out += text(before, count, ' ', word);
    before = ", ";
  }
  return out + ".";
}

/// Where both sides have a number, its sign: a difference that is not told from none has none. What
/// a paper says without a number, or says to be alike, is the claim itself.
Direction direction_of(const Claim& claim, const Verdict& verdict) {
  if (class_of(verdict.outcome) == "unmeasured" || !is_published(claim)) return Direction::unknown;
  const bool has_sign = std::isfinite(claim.paper) && verdict.difference && !verdict.by_failures &&
                        (claim.kind != Claim::Kind::alike || std::abs(claim.paper) >= claim.margin);
  if (has_sign) {
    const bool is_open = verdict.outcome == Outcome::undecided && claim.kind == Claim::Kind::lower;
    if (is_open || contains_zero(verdict.difference->interval)) return Direction::undecided;
    return direction_of(verdict.difference->mean * claim.paper > 0);
  }
  if (verdict.outcome == Outcome::undecided) return Direction::undecided;
  return direction_of(verdict.outcome == Outcome::holds);
}

}  // namespace evenkeel::study
