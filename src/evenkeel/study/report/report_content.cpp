// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/report_content.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/analysis/sign_flip.h"
#include "evenkeel/study/report/loss_figures.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/outcome.h"
#include "evenkeel/study/report/panels.h"
#include "evenkeel/study/report/sweep_columns.h"
#include "evenkeel/study/report/verdict_text.h"

namespace evenkeel::study {

namespace {

using Kind = Column::Kind;
using State = SeedRun::State;

/// The line style of each of compared_arms() in the figures; empty for arms that are not drawn.
std::vector<std::optional<report::LineStyle>> curve_styles_of(const Results& results) {
  std::vector<std::optional<report::LineStyle>> out(compared_arms(results).size());
  if (!results.swept_comparison.empty()) {
    const auto curves =
        panels(results, compared_measure(results.study).axis, 1).front().curve_specs;
    for (const auto& spec : curves) {
      const auto& arms = results.swept_comparison;
      const auto arm = std::ranges::find(arms, spec.name, &Arm::name);
      if (arm != arms.end()) out[static_cast<std::size_t>(arm - arms.begin())] = spec.style;
    }
    return out;
  }
  for (const auto& panel : panels(results, "", kMaxLossPanels)) {
    for (const auto& spec : panel.curve_specs) out[spec.arms.front()] = spec.style;
  }
  return out;
}

bool has_several_baselines(const Results& results) {
  std::set<std::string> names;
  for (const auto& verdict : results.baseline_verdicts) names.insert(verdict.reference);
  return names.size() > 1;
}

/// Difference, effect, p and p of the sign-flip test; shrunken difference if the study has it.
std::vector<Cell> difference_cells(const Results& results, const Arm& arm) {
  const auto& study = results.study;
  const auto* const verdict = baseline_verdict(results, arm);
  const bool is_reference = is_baseline(study, arm);
  const bool is_left_out = !arm.is_causal && is_of_predictions(compared_measure(study));
  const auto* const none = is_left_out ? "not causal" : kNoValue;
  std::vector<Cell> cells = {
      {is_reference ? "baseline" : none}, {kNoValue}, {kNoValue}, {kNoValue}};
  if (study.controls_false_discoveries) cells.push_back({kNoValue});
  if (is_reference || verdict == nullptr) return cells;
  if (!verdict->difference) {  // then p compares the shares of failed runs
    if (verdict->p < 1) cells[2] = {p_text(verdict->p)};
    return cells;
  }
  const auto& difference = *verdict->difference;
  cells[0] = {difference_text(difference, compared_measure(study))};
  cells[2] = {verdict->not_tested ? to_string(verdict->outcome) : p_text(verdict->p)};
  if (!verdict->not_tested) {
    cells[1] = {effect_text(difference.effect_size)};
    cells[3] = {p_text(verdict->sign_flip_p)};
  }
  if (verdict->shrunken)
    cells[4] = {plain_difference_text(*verdict->shrunken, compared_measure(study))};
  return cells;
}

const char* correction_name(const Study& study) {
  return study.controls_false_discoveries ? "Benjamini-Hochberg" : "Holm";
}

/// The footnote on differences from the baseline.
std::string differences_footnote(const Results& results) {
  auto out = text(
      " Difference: to the baseline",
      has_several_baselines(results) ? " that shares all other axes" : "",
      ", paired by seed, with its 95 % interval; effect: mean over deviation of the differences; "
      "p: two-sided, or Fisher's test of the failed shares where that p is smaller, corrected "
      "with the claims (Holm) if one states the comparison, else with the other comparisons (",
      correction_name(results.study),
      "); sign-flip p: the same without the assumption of normal differences, exact up to ",
      kExactFlipPairs, " seeds, whose p is at least 2^(1 - seeds) before correction, or 1 / ",
      kRandomFlips + 1,
      " where it draws signs. A verdict says where this test disagrees, except with fewer than ",
      kLeastFlipPairs,
      " pairs, or where no data of so many seeds could be significant after the correction.");
  if (results.study.controls_false_discoveries) {
    out +=
        " Shrunken: the difference drawn towards the mean of all by its share of noise (empirical "
        "Bayes), because the best of many is partly luck; arms are sorted by it.";
  }
  return out;
}

/// "+0.01", "–" where there is no figure.
std::string paper_text(const Claim& claim) {
  if (!std::isfinite(claim.paper)) return kNoValue;
  return (claim.paper > 0 ? "+" : "") + shortest(claim.paper);
}

const SearchResult* search_result_of(const Results& results, std::size_t arm) {
  const auto found =
      std::find_if(results.search_results.begin(), results.search_results.end(),
                   [&](const SearchResult& search_result) { return search_result.arm == arm; });
  return found == results.search_results.end() ? nullptr : &*found;
}

std::string tuned_value_text(const Results& results, std::size_t at) {
  const auto& chosen = results.arms[at].tuned_value;
  const auto* const search_result = search_result_of(results, at);
  if (chosen.empty()) return kNoValue;
  return chosen +
         (search_result != nullptr && search_result->at_edge ? ", at the edge of the range" : "");
}

std::vector<Column> arms_columns(const Results& results) {
  std::vector<Column> out = {{"arm", Kind::name}, {"finished"}, {"mean", Kind::number}};
  if (!results.swept_comparison.empty()) {
    const auto columns = sweep_columns(compared_measure(results.study));
    out.insert(out.end(), columns.begin(), columns.end());
  }
  if (results.baseline_verdicts.empty()) return out;
  out.insert(out.end(), {{"difference", Kind::number},
                         {"effect", Kind::number},
                         {"p", Kind::number},
                         {"sign-flip p", Kind::number}});
  if (results.study.controls_false_discoveries) out.push_back({"shrunken", Kind::number});
  return out;
}

}  // namespace

ReportTable arms_table(const Results& results) {
  const auto& study = results.study;
  const bool compares = !results.baseline_verdicts.empty();
  const bool sweeps = !results.swept_comparison.empty();
  ReportTable table{arms_columns(results)};
  const auto curve_styles = curve_styles_of(results);
  for (const auto at : ranking(results)) {
    const auto& arm = compared_arms(results)[at];
    const auto runs = sweeps ? all_runs_of(results, arm) : arm;
    std::vector<Cell> row = {
        {arm.name, "", curve_styles[at]},
        {finished_runs_text(runs), run_count(runs, State::failed) > 0 ? "failed" : ""},
        {mean_text(finished_values(arm), compared_measure(study))}};
    if (sweeps) {
      for (auto& cell : sweep_cells(results, arm)) row.push_back(std::move(cell));
    }
    if (compares) {
      for (auto& cell : difference_cells(results, arm)) row.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  table.footnote = text("Mean: ", measure_text(compared_measure(study)), "; means of ",
                        averaged_runs_text(results), " with 95 % intervals.");
  if (sweeps) table.footnote += sweep_footnote(study);
  if (study.measure.kind == Measure::Kind::step_time) {
    table.footnote +=
        " Times are compared by their ratio: means are geometric, differences per cent.";
  }
  if (compares) table.footnote += differences_footnote(results);
  return table;
}

std::vector<OutcomeLine> outcome_lines(const Results& results, std::size_t claim) {
  std::vector<OutcomeLine> out;
  for (const auto& verdict : results.verdicts) {
    if (verdict.claim != claim) continue;
    out.push_back({verdict.outcome, verdict.where, sentence(results, verdict)});
  }
  if (out.empty()) out.push_back({Verdict::Outcome::not_measured, "", "it has no runs yet"});
  return out;
}

std::string confounders_text(const Results& results) {
  return results.confounders.empty()
             ? "Tokens, parameters outside of norms, initialization and precision differ only "
               "where a comparison is about them."
             : "Compared arms differ, apart from the compared setting, in";
}

ReportTable paper_table(const Results& results) {
  std::vector<const Verdict*> published;
  bool has_places = false;
  for (const auto& verdict : results.verdicts) {
    if (!is_published(*claim_of(results, verdict))) continue;
    published.push_back(&verdict);
    has_places = has_places || !verdict.where.empty();
  }
  ReportTable table{{{"claim"}}};
  if (has_places) table.columns.push_back({"where"});
  table.columns.insert(
      table.columns.end(),
      {{"paper", Kind::number}, {"ours", Kind::number}, {"direction"}, {"source"}});
  for (const auto* const verdict : published) {
    const auto& claim = *claim_of(results, *verdict);
    const auto direction = to_string(direction_of(claim, *verdict));
    const auto ours = verdict->difference ? difference_text(*verdict->difference, claim.measure)
                                          : to_string(verdict->outcome);
    auto& row = table.rows.emplace_back(std::vector<Cell>{{claim.says}});
    if (has_places) row.push_back({verdict->where});
    row.insert(row.end(), {{paper_text(claim)}, {ours}, {direction, direction}, {claim.source}});
  }
  table.footnote =
      "Published differences, and those measured here with 95 % intervals at other sizes: only "
      "the direction is compared. Inconclusive: the measured difference is not significant.";
  return table;
}

ReportTable fairness_table(const Results& results) {
  const bool has_tuned = std::any_of(results.arms.begin(), results.arms.end(),
                                     [](const Arm& arm) { return !arm.tuned_value.empty(); });
  ReportTable table{{{"arm", Kind::name},
                     {"parameters", Kind::number},
                     {"of norms", Kind::number},
                     {"tokens a run", Kind::number},
                     {"init"},
                     {"precision"}}};
  if (has_tuned) {
    table.columns.push_back({results.study.tune ? results.study.tune->key : "tuned"});
  }
  for (std::size_t at = 0; at < results.arms.size(); ++at) {
    const auto& arm = results.arms[at];
    table.rows.push_back({{arm.name},
                          {with_commas(arm.parameters)},
                          {with_commas(arm.norm_parameters)},
                          {with_commas(std::llround(arm.tokens))},
                          {arm.init},
                          {arm.precision}});
    if (!has_tuned) continue;
    const auto* const search_result = search_result_of(results, at);
    const bool is_at_edge = search_result != nullptr && search_result->at_edge;
    table.rows.back().push_back({tuned_value_text(results, at), is_at_edge ? "inconclusive" : ""});
  }
  return table;
}

ReportTable runs_table(const Results& results) {
  ReportTable table{{{"arm", Kind::name},
                     {"seed", Kind::number},
                     {"state"},
                     {results.study.measure.name(), Kind::number},
                     {"folder in the pool", Kind::code},
                     {"why"}}};
  for (const auto* const arm : all_arms(results)) {
    for (const auto& seed_run : arm->seed_runs) {
      table.rows.push_back({{arm->name},
                            {text(seed_run.seed)},
                            {to_string(seed_run.state), css_class(seed_run.state)},
                            {number_text(seed_run.value, results.study.measure)},
                            {seed_run.key},
                            {seed_run.reason}});
    }
  }
  return table;
}

std::string times_text(const Results& results) {
  auto out = "Training took " + duration_text(results.seconds);
  if (!results.search_results.empty()) {
    out += text(", ", percent(results.search_share), " of it in searches");
  }
  return out + ".";
}

std::string unfinished_text(const Results& results) {
  if (results.is_complete) return "";
  if (results.arms.empty()) return "This study is incomplete: its grid has no run yet.";
  std::int64_t crashed = 0, missing = 0, all = 0;
  for (const auto* const arm : all_arms(results)) {
    crashed += run_count(*arm, State::crashed);
    missing += run_count(*arm, State::missing);
    all += static_cast<std::int64_t>(arm->seed_runs.size());
  }
  std::string what;
  if (crashed > 0) what = text(crashed, " of ", all, " runs crashed");
  if (missing > 0 || crashed == 0) {
    what += text(what.empty() ? "" : "; ", missing, " of ", all,
                 missing == 1 ? " runs is missing" : " runs are missing");
  }
  return text("This study is incomplete: ", what,
              ". The results below are those of the finished runs.");
}

std::string definition_changes_text(const Results& results) {
  std::string out;
  for (const auto& each : results.definition_changes) out += text(out.empty() ? "" : "; ", each);
  return out.empty() ? "" : "The study was changed after it was begun: " + out + ".";
}

std::string record_losses_text(const Results& results) {
  constexpr std::size_t kShown = 5;
  std::size_t count = 0;
  std::string out;
  for (const auto* const arm : all_arms(results)) {
    for (const auto& seed_run : arm->seed_runs) {
      for (const auto& loss : report::record_losses(seed_run.run)) {
        if (++count > kShown) continue;
        out += text(count == 1 ? "" : "; ", arm->name, ", seed ", seed_run.seed, ": ", loss);
      }
    }
  }
  if (count > kShown) out += text("; and ", count - kShown, " more");
  return out.empty() ? "" : "Records of runs were lost: " + out + ".";
}

std::string about_text(const Study& study) {
  auto out = study.name;
  if (!study.size.empty()) out += ", size " + study.size;
  std::string seeds;
  for (const auto seed : study.seeds) seeds += text(seeds.empty() ? "" : ", ", seed);
  out += (study.seeds.size() == 1 ? "; seed " : "; seeds ") + seeds;
  if (!study.source.empty()) out += "; after " + study.source;
  return out;
}

}  // namespace evenkeel::study
