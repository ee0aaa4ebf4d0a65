// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/multiple_testing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/hypothesis_family.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/grid.h"

namespace evenkeel::study {

namespace {

using Outcome = Verdict::Outcome;

/// The name of a hypothesis; A against B and B against A have an equal name. Sweeps with different
/// caps are different measures of one name.
std::string hypothesis_name(const Verdict& verdict, const Measure& measure) {
  const auto& [first, second] = std::minmax(verdict.arm, verdict.reference);
  const bool is_sweep = measure.kind == Measure::Kind::sweep;
  return text(measure.name(), '\n', is_sweep ? shortest(measure.cap) : "", '\n', first, '\n',
              second, '\n');
}

/// True if the verdict has a p-value. Without a measurement or a test, p is 1.
bool is_tested(const Verdict& verdict) {
  const bool is_measured = verdict.difference || verdict.p < 1;
  return !verdict.not_tested && (is_measured || verdict.outcome != Outcome::not_measured);
}

/// Sets Verdict::required_seeds of a tested sign test.
void set_required_seeds(Verdict& verdict, const Claim& claim, const HypothesisFamily& family) {
  if (!uses_sign_test(claim) || !is_tested(verdict)) return;
  const auto hypotheses = static_cast<double>(std::max<std::size_t>(1, family.size()));
  verdict.required_seeds = sign_test_required_pairs(kSignificanceLevel / hypotheses);
}

/// Verdict::sign_flip_p before correction: of a comparison that of comparison(); of claims without
/// a sign-flip test p.
double sign_flip_p_of(const Results& results, const Verdict& verdict) {
  const auto* const claim = claim_of(results, verdict);
  const bool is_comparison = claim == nullptr || claim->kind == Claim::Kind::lower;
  return is_comparison ? verdict.sign_flip_p : verdict.p;
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
      // With another competence the claim may not be tested, and then has another p.
      const auto name = text(hypothesis_name(verdict, claim.measure), shortest(claim.margin), '\n',
                             shortest(claim.competence));
      family.add("within " + name, verdict.p);
      return family.add("beyond " + name, verdict.p_nonequivalence);
    }
  }
}

/// The arms that a claim takes together: those along the axis of a sweep or of `further`.
std::size_t arms_of_place(const Study& study, const Claim& claim) {
  const bool is_further = claim.kind == Claim::Kind::further;
  if (!is_further && claim.measure.kind != Measure::Kind::sweep) return 1;
  const auto& name = is_further ? claim.along : claim.measure.axis;
  for (const auto& axis : study.axes) {
    if (axis.name == name) return axis.values.size();
  }
  return 1;
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
    const auto places = points / arms_of_place(study, claim);
    count += claim.kind == Claim::Kind::equivalent ? 2 * places : places;
  }
  return count;
}

std::vector<std::string> undecidable_claims(const Study& study) {
  std::vector<std::string> out;
  const auto seeds = static_cast<std::int64_t>(study.seeds.size());
  const auto hypotheses = std::max<std::size_t>(1, hypothesis_count(study));
  const auto needed =
      sign_test_required_pairs(kSignificanceLevel / static_cast<double>(hypotheses));
  // Holm's factor falls by one for each smaller p-value, which only other tests can have.
  const bool has_other_tests = std::ranges::any_of(study.claims, [](const Claim& claim) {
    return !uses_sign_test(claim) && !uses_sign_flips(claim.measure);
  });
  const auto needed_at_least =
      has_other_tests ? sign_test_required_pairs(kSignificanceLevel) : needed;
  for (std::size_t i = 0; i < study.claims.size(); ++i) {
    const auto cannot = text("claim ", i + 1, " cannot be decided with ", seeds,
                             seeds == 1 ? " seed: " : " seeds: ");
    const bool flips = uses_sign_flips(study.claims[i].measure);
    const auto* const test = flips ? "a sign-flip test" : "a sign test";
    if (flips || uses_sign_test(study.claims[i])) {
      if (seeds < needed_at_least) {
        const auto among =
            text(" among ", hypotheses, hypotheses == 1 ? " hypothesis" : " hypotheses");
        out.push_back(text(cannot, test, has_other_tests ? "" : among, " needs ", needed_at_least,
                           " that all agree"));
      } else if (seeds < needed) {
        out.push_back(text("claim ", i + 1, " may not be decided with ", seeds, " seeds: ", test,
                           " among ", hypotheses, " hypotheses needs ", needed,
                           " that all agree, fewer where other claims have smaller p-values"));
      }
    } else if (seeds < 2) {
      out.push_back(cannot + "a paired difference needs two");
    }
  }
  return out;
}

namespace {

/// The p-values of claims, and those of the comparisons with the baseline that no claim contains.
struct Families {
  HypothesisFamily confirmatory, exploratory;

  /// \param verdicts, baseline_verdicts  those of the results, or copies; their p is corrected
  Families(const Results& results, std::vector<Verdict>& verdicts,
           std::vector<Verdict>& baseline_verdicts) {
    for (auto& verdict : verdicts) add_claim(results, verdict, confirmatory);
    for (auto& verdict : baseline_verdicts) {
      const auto hypothesis = hypothesis_name(verdict, compared_measure(results.study));
      auto& family = confirmatory.contains(hypothesis) ? confirmatory : exploratory;
      family.add(hypothesis, verdict.p);
    }
  }
  Families(const Families&) = delete;
  Families& operator=(const Families&) = delete;

  void adjust(const Study& study) {
    confirmatory.adjust(holm);
    exploratory.adjust(study.controls_false_discoveries ? benjamini_hochberg : holm);
  }
};

/// Sets Verdict::sign_flip_p, corrected as p is: all claims form one family, in which those without
/// a sign-flip test have their p. NaN for `equivalent`, whose p is of TOST.
void correct_sign_flip_p(Results& results) {
  auto verdicts = results.verdicts, baseline_verdicts = results.baseline_verdicts;
  for (auto* const all : {&verdicts, &baseline_verdicts}) {
    for (auto& verdict : *all) verdict.p = sign_flip_p_of(results, verdict);
  }
  Families(results, verdicts, baseline_verdicts).adjust(results.study);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    auto& verdict = results.verdicts[i];
    const bool is_equivalence = claim_of(results, verdict)->kind == Claim::Kind::equivalent;
    verdict.sign_flip_p = is_equivalence ? std::nan("") : verdicts[i].p;
  }
  for (std::size_t i = 0; i < baseline_verdicts.size(); ++i) {
    results.baseline_verdicts[i].sign_flip_p = baseline_verdicts[i].p;
  }
}

}  // namespace

void correct_p_values(Results& results) {
  correct_sign_flip_p(results);
  Families families(results, results.verdicts, results.baseline_verdicts);
  for (auto& verdict : results.verdicts) {
    set_required_seeds(verdict, *claim_of(results, verdict), families.confirmatory);
  }
  families.adjust(results.study);
}

}  // namespace evenkeel::study
