// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/verdict_text.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/analysis/sign_flip.h"
#include "evenkeel/study/report/number_format.h"

namespace evenkeel::study {

namespace {

constexpr int kDigits = 3;

std::string number(double value) {
  return with_digits(value, kDigits);
}

std::string seeds_text(std::int64_t count) {
  return text(count, count == 1 ? " seed" : " seeds");
}

/// "; 1 of 3 runs of post_norm failed"; "" without a run in this state.
std::string runs_in_state(const Arm& arm, SeedRun::State state, const char* what) {
  const auto count = run_count(arm, state);
  if (count == 0) return "";
  return text("; ", count, " of ", arm.seed_runs.size(), " runs of ", arm.name, " ", what);
}

/// The runs of an arm without a result.
std::string runs_without_result(const Arm& arm) {
  const bool is_one = run_count(arm, SeedRun::State::missing) == 1;
  return runs_in_state(arm, SeedRun::State::crashed, "crashed") +
         runs_in_state(arm, SeedRun::State::missing, is_one ? "is missing" : "are missing");
}

std::string failures(const Arm& arm) {
  return runs_in_state(arm, SeedRun::State::failed, "failed") + runs_without_result(arm);
}

/// "; the interval does not exclude differences of 0.01 nats per token and more" of an inconclusive
/// one.
std::string smallest_effect_note(const Study& study, const Verdict& verdict,
                                 const Measure& measure) {
  const auto effect = smallest_effect_of(study, measure);
  const auto& difference = *verdict.difference;
  if (!effect || difference.standard_deviation == 0) return "";
  const auto unit = measure.difference_unit();
  const bool is_excluded = difference.interval.low > -*effect && difference.interval.high < *effect;
  return text("; the interval ", is_excluded ? "excludes" : "does not exclude", " differences of ",
              number(display_difference(*effect, measure)), unit.empty() ? "" : " ", unit,
              " and more");
}

/// "; with the sign-flip test in place of the t-test, p is 0.12, not significant" if p is
/// significant; likewise the reverse, and of the bootstrap. Each p is the smaller of its test's and
/// of Fisher's p of the failures, corrected.
std::string sign_flip_note(const Verdict& verdict) {
  const bool is_significant = verdict.p < kSignificanceLevel;
  const auto& difference = *verdict.difference;
  if (difference.pairs < static_cast<std::int64_t>(kLeastFlipPairs)) return "";
  // The smallest p of this method and so many pairs: what it does not confirm, no data could.
  const bool is_smallest = difference.sign_flip_p <= difference.smallest_sign_flip_p;
  if (is_significant && is_smallest) return "";
  if (is_significant == (verdict.sign_flip_p < kSignificanceLevel)) return "";
  const bool is_bootstrap = difference.test == DifferenceTest::bootstrap;
  return text("; with the sign-flip test in place of the ", is_bootstrap ? "bootstrap" : "t-test",
              ", p is ", p_text(verdict.sign_flip_p),
              is_significant ? ", not significant" : ", significant");
}

/// "; that hybrid_norm fails less often: p 0.007 (Fisher)"
std::string fisher_text(double p, const Arm& arm, const Arm& reference) {
  const bool less =
      run_count(arm, SeedRun::State::failed) < run_count(reference, SeedRun::State::failed);
  return text("; that ", arm.name, " fails ", less ? "less" : "more", " often: p ", p_text(p),
              " (Fisher)");
}

/// The reason why no difference was measured.
std::string no_difference_text(const Verdict& verdict, const Arm& arm, const Arm& reference,
                               const Measure& measure) {
  std::int64_t pairs = 0;
  for (std::size_t i = 0; i < arm.seed_runs.size(); ++i) {
    const bool both = arm.seed_runs[i].state == SeedRun::State::finished &&
                      reference.seed_runs[i].state == SeedRun::State::finished;
    if (both) ++pairs;
  }
  if (pairs >= 2) {
    return text(arm.name, " and ", reference.name, " finished without a finite ", measure.name());
  }
  const auto failed = run_count(arm, SeedRun::State::failed);
  const auto reference_failed = run_count(reference, SeedRun::State::failed);
  auto out = text(pairs == 0 ? "no pair" : "one pair", " of finished runs of ", arm.name, " and ",
                  reference.name);
  const double p = std::min(verdict.p, verdict.p_nonequivalence);
  return failed != reference_failed && p < 1 ? out + fisher_text(p, arm, reference) : out;
}

/// "0.012 [0.004, 0.020] nats per token" \param sign  -1: of the opposite difference
std::string difference_with_unit(const PairedDifference& difference, const Measure& measure,
                                 int sign = 1) {
  const auto word = [&](double value) { return number(sign * display_difference(value, measure)); };
  const auto& interval = difference.interval;
  const auto unit = measure.difference_unit();
  return text(word(difference.mean), " [", word(sign > 0 ? interval.low : interval.high), ", ",
              word(sign > 0 ? interval.high : interval.low), "]", unit.empty() ? "" : " ", unit);
}

/// "validation loss of qkv_pre less that of hybrid_norm: 0.001 [-0.002, 0.004] nats per token (3
/// seeds)"
std::string arm_difference_text(const PairedDifference& difference, const Arm& arm,
                                const Arm& reference, const Measure& measure) {
  return text(measure.name(), " of ", arm.name, " less that of ", reference.name, ": ",
              difference_with_unit(difference, measure), " (", seeds_text(difference.pairs), ")");
}

/// "32, none, –": up to where a scheme trains, by seed; nowhere; not known.
std::string joined(const std::vector<double>& max_trainable) {
  std::string out;
  for (const auto value : max_trainable) {
    const auto word = std::isnan(value) ? "–" : std::isinf(value) ? "none" : number(value);
    out += text(out.empty() ? "" : ", ", word);
  }
  return out;
}

/// ", effect -1.39"
std::string effect_note(const PairedDifference& difference) {
  if (std::isinf(difference.effect_size)) return ", all seeds differ by the same";
  return text(", effect ", number(difference.effect_size));
}

/// The arm with the lower measure and the difference, or that the seeds are inconclusive.
std::string difference_sentence(const Study& study, const Verdict& verdict, const Arm& arm,
                                const Arm& reference, const Measure& measure) {
  const auto failed = failures(arm) + failures(reference);
  if (!verdict.difference) return no_difference_text(verdict, arm, reference, measure) + failed;
  const auto& difference = *verdict.difference;
  if (verdict.is_failure_test) {
    return arm_difference_text(difference, arm, reference, measure) + " over the finished runs" +
           failed + fisher_text(verdict.p, arm, reference);
  }
  if (verdict.p < kSignificanceLevel || verdict.outcome == Verdict::Outcome::supported) {
    const bool lower = difference.mean < 0;
    return text(measure.name(), " of ", arm.name, " is ", lower ? "lower" : "higher", " than of ",
                reference.name, " by ", difference_with_unit(difference, measure, lower ? -1 : 1),
                " (", seeds_text(difference.pairs), ", ", "p ", p_text(verdict.p),
                effect_note(difference), ")", sign_flip_note(verdict), failed);
  }
  return text(arm.name, " and ", reference.name, " do not differ significantly with ",
              seeds_text(difference.pairs), ": ", difference_with_unit(difference, measure), " (",
              "p ", p_text(verdict.p), ")", sign_flip_note(verdict),
              smallest_effect_note(study, verdict, measure), failed);
}

/// The sentence of a claim of kind `equivalent`: the difference, and p of "within the margin".
std::string equivalence_sentence(const Study& study, const Verdict& verdict, const Arm& arm,
                                 const Arm& reference, const Claim& claim) {
  const auto failed = failures(arm) + failures(reference);
  if (!verdict.difference) {
    return difference_sentence(study, verdict, arm, reference, claim.measure);
  }
  const bool is_time = claim.measure.kind == Measure::Kind::step_time;
  return text(arm_difference_text(*verdict.difference, arm, reference, claim.measure),
              "; difference within ", number(display_difference(claim.margin, claim.measure)),
              is_time ? " %" : "", ": ", "p ", p_text(verdict.p), failed,
              verdict.is_failure_test ? fisher_text(verdict.p_nonequivalence, arm, reference) : "");
}

/// " crashed", " are missing": why runs of an arm have no result; "" if all have one.
std::string without_result_verb(const Arm& arm) {
  const bool has_crashed = run_count(arm, SeedRun::State::crashed) > 0;
  const bool has_missing = run_count(arm, SeedRun::State::missing) > 0;
  if (has_crashed) return has_missing ? " crashed or are missing" : " crashed";
  return has_missing ? " are missing" : "";
}

/// "runs of a crashed and runs of b are missing; a verdict needs all of them"
std::string missing_runs_text(const Arm& arm, const Arm& reference) {
  const auto verb = without_result_verb(arm), reference_verb = without_result_verb(reference);
  std::string out;
  if (!verb.empty()) out = text("runs of ", arm.name, verb == reference_verb ? "" : verb);
  if (!reference_verb.empty()) {
    out += text(out.empty() ? "" : " and ", "runs of ", reference.name, reference_verb);
  }
  return out + "; a verdict needs all of them";
}

/// Why a difference was not tested, and what to do.
std::string not_tested_text(const NotTested& reason, const Arm& arm, const Arm& reference) {
  switch (reason.kind) {
    case NotTested::Kind::missing_runs:
      return missing_runs_text(arm, reference);
    case NotTested::Kind::crashed_trial: {
      std::string out;
      for (const auto& name : reason.arms) out += text(out.empty() ? "" : " and of ", name);
      return text("a trial of the search crashed, of ", out, "; the same command tries it again");
    }
    case NotTested::Kind::failed_runs:
      return "a difference of differences needs runs that finish";
    case NotTested::Kind::cpu_contention:
      return text("other processes took up to ", percent(reason.max_share),
                  " of the processors' time while ", reason.contended, " of ", reason.total,
                  reason.contended == 1 ? " runs was timed; remove its folder"
                                        : " runs were timed; remove their folders",
                  " from the pool, and give the command again on a quiet machine");
    case NotTested::Kind::incompetent:
      return "an arm is not below the threshold that the claim sets, so that equality says nothing";
    case NotTested::Kind::zero_variance:
      return "the results of neither arm depend on the seed; equivalence cannot be tested without "
             "variance";
  }
  return {};
}

std::string not_tested_sentence(const Verdict& verdict, const Arm& arm, const Arm& reference,
                                const Measure& measure) {
  const auto difference = verdict.difference
                              ? arm_difference_text(*verdict.difference, arm, reference, measure)
                              : no_difference_text(verdict, arm, reference, measure);
  return text(difference, "; not tested: ", not_tested_text(*verdict.not_tested, arm, reference),
              failures(arm), failures(reference));
}

/// "3 of 3 runs of post_norm failed (95 % interval of the share 0.29 to 1): diverged at step 120,
/// ..."
std::string failure_rate_sentence(const Arm& arm) {
  const auto failed = run_count(arm, SeedRun::State::failed);
  const auto finished = run_count(arm, SeedRun::State::finished);
  const auto all = failed + finished;
  if (all == 0) {
    const bool has_crashed = run_count(arm, SeedRun::State::crashed) > 0;
    return has_crashed ? text("no run of ", arm.name, " has a result", runs_without_result(arm))
                       : text(arm.name, " has no run yet");
  }
  const auto share = clopper_pearson_interval(failed, all);
  auto out =
      text(failed, " of ", all, " runs of ", arm.name, " failed (95 % interval of the share ",
           number(share.low), " to ", number(share.high), ")");
  std::string reasons;
  for (const auto& seed_run : arm.seed_runs) {
    if (seed_run.state != SeedRun::State::failed) continue;
    reasons += text(reasons.empty() ? ": " : ", ", seed_run.reason);
  }
  return out + reasons + runs_without_result(arm);
}

/// That a search chose a value that trains: `trains` is then weak evidence; "" without a search.
std::string search_note(const Study& study) {
  if (!study.tune) return "";
  return text("; each arm with the ", study.tune->key, " at which a search found its lowest loss");
}

/// "hybrid_norm trains up to layers 32, 32, 64 (seed by seed), post_norm up to 16, 16, 16"
std::string max_trainable_sentence(const Verdict& verdict, const Claim& claim) {
  const auto is_unknown = [](double value) { return std::isnan(value); };
  const bool has_unknown = std::ranges::any_of(verdict.arm_max, is_unknown) ||
                           std::ranges::any_of(verdict.reference_max, is_unknown);
  return text(verdict.arm, " trains up to ", claim.along, " ", joined(verdict.arm_max),
              " (seed by seed), ", verdict.reference, " up to ", joined(verdict.reference_max),
              has_unknown ? "; –: a run of the seed crashed or is missing" : "");
}

/// "; sign test over the seeds: p 0.250, 6 seeds that all agree would tell"
std::string sign_test_text(const Verdict& verdict) {
  auto out = text("; sign test over the seeds: p ", p_text(verdict.p));
  if (verdict.p < kSignificanceLevel || !verdict.required_seeds) return out;
  return out + text(", ", *verdict.required_seeds, " seeds that all agree would be significant");
}

/// The sentence of claims of the kinds `trains`, `fails` and `further`.
std::string sign_test_sentence(const Results& results, const Verdict& verdict, const Claim& claim) {
  auto out = claim.kind == Claim::Kind::further
                 ? max_trainable_sentence(verdict, claim)
                 : failure_rate_sentence(*find_arm(results, verdict.arm));
  if (verdict.outcome == Verdict::Outcome::not_measured) return out;
  return out + sign_test_text(verdict) + search_note(results.study);
}

}  // namespace

std::string sentence(const Results& results, const Verdict& verdict) {
  const auto* const claim = claim_of(results, verdict);
  if (claim != nullptr && uses_sign_test(*claim)) {
    return sign_test_sentence(results, verdict, *claim);
  }
  const auto* const arm = find_arm(results, verdict, verdict.arm);
  const auto* const reference = find_arm(results, verdict, verdict.reference);
  EK_ASSERT(arm != nullptr && reference != nullptr);
  const auto& measure = claim != nullptr ? claim->measure : compared_measure(results.study);
  if (verdict.not_tested) return not_tested_sentence(verdict, *arm, *reference, measure);
  if (claim != nullptr && claim->kind == Claim::Kind::equivalent) {
    return equivalence_sentence(results.study, verdict, *arm, *reference, *claim);
  }
  return difference_sentence(results.study, verdict, *arm, *reference, measure);
}

std::vector<std::string> confounder_lines(const Confounder& confounder) {
  std::vector<std::string> out;
  for (const auto& group : confounder.groups) {
    std::string names;
    for (const auto& arm : group.arms) names += text(names.empty() ? "" : "; ", arm);
    out.push_back(text(group.value, ": ", names));
  }
  return out;
}

}  // namespace evenkeel::study
