// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/study_results.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/study/study.h"

namespace evenkeel::cli {

void print_results(const study::Results& results, const std::filesystem::path& folder) {
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
  if (!results.is_complete) print("not all runs are finished; the same command resumes them\n");
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
    if (verdict.difference) {
      line["difference"] = verdict.difference->mean;
      line["low"] = verdict.difference->interval.low;
      line["high"] = verdict.difference->interval.high;
      if (!verdict.not_tested) line["p"] = verdict.p;
    }
    verdicts.push_back(std::move(line));
  }
  return {{"study", results.study.name},
          {"size", results.study.size},
          {"whole", results.is_complete},
          {"verdicts", verdicts},
          {"report", (folder / "report.html").string()}};
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
