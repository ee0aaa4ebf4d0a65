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

/// One entry for each fit of Results::fits: value = factor * parameters^exponent.
nlohmann::ordered_json power_laws_json(const study::Results& results) {
  auto out = nlohmann::ordered_json::array();
  const auto add_interval = [](auto& line, const std::string& name, double low, double high) {
    if (!std::isfinite(low) || !std::isfinite(high)) return;
    line[name + "_low"] = low;
    line[name + "_high"] = high;
  };
  for (const auto& fit : results.fits) {
    const auto& [factor, exponent, interval] = fit.law;
    nlohmann::ordered_json line = {{"name", fit.name}, {"factor", factor}, {"exponent", -exponent}};
    add_interval(line, "exponent", -interval.high, -interval.low);
    if (fit.predicted) {
      line["predicted"] = fit.predicted->by_smaller;
      add_interval(line, "predicted", fit.predicted->interval.low, fit.predicted->interval.high);
      line["measured"] = fit.predicted->mean;
    }
    out.push_back(std::move(line));
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
    print("%s\n", is_recorded ? "runs are missing from the file, or crashed"
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
  if (!results.fits.empty()) out["power_laws"] = power_laws_json(results);
  return out;
}

void write_figures(const study::Results& results, const std::filesystem::path& folder, bool quiet) {
  const auto files = report::svg_files(study::figures(results));
  store::create_folders(store::kernel_calls(), folder);
  for (const auto& each : files) write_file(folder / each.name, each.content);
  if (quiet) return;
  print_message(
      text(files.size(), files.size() == 1 ? " figure in " : " figures in ", folder.string()));
}

Exit exit_of(const study::Results& results, bool strict) {
  for (const auto* const arm : study::all_arms(results)) {
    for (const auto& seed_run : arm->seed_runs) {
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
