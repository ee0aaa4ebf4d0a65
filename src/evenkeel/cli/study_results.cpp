// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/study_results.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/report/svg_file.h"
#include "evenkeel/store/system_calls.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/figures.h"
#include "evenkeel/study/report/sweep_columns.h"
#include "evenkeel/study/study.h"

namespace evenkeel::cli {

namespace {

/// ": a difference of 0.01 nats per token where the differences of a seed deviate by 0.005 or less"
std::string smallest_effect_text(const study::Study& study, const study::DryRun& plan) {
  const auto effect = study::smallest_effect_of(study, study.measure);
  if (!effect) return "";
  const auto unit = study.measure.difference_unit();
  return text(": a difference of ", with_digits(*effect, 2), unit.empty() ? "" : " ", unit,
              " where the differences of a seed deviate by ",
              with_digits(*effect / plan.minimum_detectable_effect, 2), " or less");
}

/// A sentence with the minimum detectable effect, in standard deviations, and the deviation at
/// which that is the smallest effect of interest.
std::string detectable_effect_text(const study::Study& study, const study::DryRun& plan) {
  const auto seeds = study.seeds.size();
  if (seeds < 2) return "one seed gives no verdict; two are the least";
  return text("with ", seeds, " seeds and ", plan.hypotheses,
              plan.hypotheses == 1 ? " hypothesis" : " hypotheses",
              ", the minimum detectable effect at 80 % power is ",
              with_digits(plan.minimum_detectable_effect, 2), " standard deviations",
              smallest_effect_text(study, plan));
}

/// Adds the difference of a verdict, if it has one.
void add_difference(nlohmann::ordered_json& line, const study::Verdict& verdict) {
  if (!verdict.difference) return;
  const auto& difference = *verdict.difference;
  line["difference"] = difference.mean;
  line["low"] = difference.interval.low;
  line["high"] = difference.interval.high;
  line["pairs"] = difference.pairs;
  line["standard_deviation"] = difference.standard_deviation;
  if (verdict.shrunken) line["shrunken"] = *verdict.shrunken;
  if (verdict.not_tested) return;
  line["p"] = verdict.p;
  line["sign_flip_p"] = verdict.sign_flip_p;
}

/// One entry for each arm of Results::swept_comparison, in the order of study::ranking().
nlohmann::ordered_json sweeps_json(const study::Results& results) {
  auto out = nlohmann::ordered_json::array();
  for (const auto at : study::ranking(results)) {
    const auto& arm = results.swept_comparison[at];
    const auto summary = study::sweep_summary(results, arm);
    if (summary.best.empty() || !std::isfinite(study::mean_value(arm))) continue;
    out.push_back({{"arm", arm.name},
                   {"is_causal", arm.is_causal},
                   {"best", summary.best},
                   {"is_at_edge", summary.is_at_edge},
                   {"loss", study::mean_value(arm)},
                   {"sensitivity", study::mean_estimate(summary.sensitivities).mean}});
  }
  return out;
}

}  // namespace

void print_results(const study::Results& results, const std::filesystem::path& folder,
                   bool is_recorded) {
  for (const auto& verdict : results.verdicts) {
    const auto& claim = *study::claim_of(results, verdict);
    print("%-13s %s%s\n              %s\n", study::to_string(verdict.outcome).c_str(),
          printable_line(claim.says).c_str(),
          verdict.where.empty() ? "" : (" (" + printable_line(verdict.where) + ")").c_str(),
          printable_line(study::sentence(results, verdict)).c_str());
  }
  if (results.verdicts.empty()) {
    for (const auto& verdict : results.baseline_verdicts)
      print("%s\n", printable_line(study::sentence(results, verdict)).c_str());
  }
  if (!results.is_complete) {
    print("%s\n", is_recorded ? "the file does not have all runs"
                              : "not all runs are finished; the same command resumes them");
  }
  if (!results.is_reported) return;
  print("report: %s\n", printable_line((folder / "report.html").string()).c_str());
}

nlohmann::ordered_json results_json(const study::Results& results,
                                    const std::filesystem::path& folder) {
  auto verdicts = nlohmann::ordered_json::array();
  for (const auto& verdict : results.verdicts) {
    const auto& claim = *study::claim_of(results, verdict);
    nlohmann::ordered_json line = {{"claim", claim.says},
                                   {"where", verdict.where},
                                   {"outcome", study::to_string(verdict.outcome)},
                                   {"sentence", study::sentence(results, verdict)}};
    add_difference(line, verdict);
    verdicts.push_back(std::move(line));
  }
  auto comparisons = nlohmann::ordered_json::array();
  for (const auto& verdict : results.baseline_verdicts) {
    nlohmann::ordered_json line = {{"arm", verdict.arm}, {"baseline", verdict.reference}};
    add_difference(line, verdict);
    comparisons.push_back(std::move(line));
  }
  nlohmann::ordered_json out = {
      {"study", results.study.name},
      {"size", results.study.size},
      {"whole", results.is_complete},
      {"verdicts", verdicts},
      {"comparisons", comparisons},
      {"report", results.is_reported ? (folder / "report.html").string() : ""}};
  if (!results.swept_comparison.empty()) out["sweeps"] = sweeps_json(results);
  return out;
}

void write_figures(const study::Results& results, const std::filesystem::path& folder) {
  const auto files = report::svg_files(study::figures(results));
  store::create_folders(store::kernel_calls(), folder);
  for (const auto& each : files) write_file(folder / each.name, each.content);
  print_message(
      text(files.size(), files.size() == 1 ? " figure in " : " figures in ", folder.string()));
}

void print_dry_run(const study::StudyRequest& request, const study::Resources& resources,
                   bool json) {
  const auto plan = study::dry_run(request, resources);
  const double free = resources.memory_bytes;
  const auto hours = plan.hours(resources.cores);
  if (json) {
    const nlohmann::ordered_json out = {{"arms", plan.arms},
                                        {"runs", plan.runs},
                                        {"finished", plan.cached},
                                        {"searches", plan.search_runs},
                                        {"flops", plan.flops},
                                        {"tokens", plan.tokens},
                                        {"most_bytes", plan.max_bytes},
                                        {"search_flops", plan.search_flops},
                                        {"questions", plan.hypotheses},
                                        {"largest", plan.largest_run},
                                        {"hours", hours ? nlohmann::ordered_json(*hours) : nullptr},
                                        {"free_bytes", free}};
    print_json(out);
    return;
  }
  print("%s\n%zu arms, %zu seeds: %zu runs", printable_line(request.study.title).c_str(), plan.arms,
        request.study.seeds.size(), plan.runs);
  if (plan.cached > 0) print(", %zu of them finished", plan.cached);
  if (plan.search_runs > 0)
    print(", and %zu, most of them shorter, to search %s", plan.search_runs,
          request.study.tune->key.c_str());
  print("\n%s tokens, %s FLOPs", with_unit(plan.tokens).c_str(),
        with_digits(plan.flops, 3).c_str());
  if (plan.search_runs > 0) print(", and %s to search", with_digits(plan.search_flops, 3).c_str());
  print("\n%s\n", detectable_effect_text(request.study, plan).c_str());
  for (const auto& each : study::undecidable_claims(request.study)) print("%s\n", each.c_str());
  if (hours) {
    print("the other runs take about %s hours here, at the speed of the finished ones\n",
          with_digits(*hours, 2).c_str());
  }
  print("largest run: %s (%s of memory, %s free here%s)\n",
        printable_line(plan.largest_run).c_str(), bytes_text(plan.max_bytes).c_str(),
        bytes_text(free).c_str(), plan.max_bytes > free ? ": it does not fit" : "");
}

Exit exit_of(const study::Results& results, bool strict) {
  for (const auto& arm : results.arms) {
    for (const auto& seed_run : arm.seed_runs) {
      if (seed_run.state == study::SeedRun::State::crashed) return Exit::internal;
    }
  }
  for (const auto& search_result : results.search_results) {
    for (const auto& each : search_result.trials) {
      if (each.crashed) return Exit::internal;
    }
  }
  const auto refuted = [](const study::Verdict& verdict) {
    return verdict.outcome == study::Verdict::Outcome::contradicted;
  };
  const auto& verdicts = results.verdicts;
  return strict && std::any_of(verdicts.begin(), verdicts.end(), refuted) ? Exit::check_failed
                                                                          : Exit::success;
}

}  // namespace evenkeel::cli
