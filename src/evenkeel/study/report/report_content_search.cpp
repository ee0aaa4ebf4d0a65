// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/html.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/report_content.h"

namespace evenkeel::study {

namespace {

constexpr double kTie = 0.01;  // nats; differences between seeds are larger

using Kind = Column::Kind;

const SearchResult::Trial* find_trial(const SearchResult& search_result, const std::string& value,
                                      double share) {
  const SearchResult::Trial* found = nullptr;
  for (const auto& each : search_result.trials) {
    if (each.value == value && each.share == share) found = &each;
  }
  return found;
}

std::vector<Cell> trial_cells(const Results& results, const SearchResult& search_result,
                              const std::string& value, const std::set<double>& shares) {
  std::vector<Cell> cells = {{results.arms[search_result.arm].name}, {value}};
  std::string folders;
  for (const double share : shares) {
    const auto* const trial = find_trial(search_result, value, share);
    if (trial == nullptr) {
      cells.push_back({kNoValue});
      continue;
    }
    folders += (folders.empty() ? "" : " ") + trial->key;
    const bool is_good = std::isfinite(trial->loss);
    cells.push_back({is_good          ? number_text(trial->loss, {})
                     : trial->crashed ? "crashed"
                                      : "failed",
                     is_good ? "" : "failed"});
  }
  const bool is_chosen = value == search_result.chosen;
  const char* const reason = search_result.all_failed ? "taken: no value trained"
                             : search_result.at_edge  ? "chosen, at the edge"
                                                      : "chosen";
  cells.push_back({is_chosen ? reason : ""});
  cells.push_back({folders});
  return cells;
}

/// True if the two best values of the last rung are too near to be distinguished with one seed.
bool is_tie(const SearchResult& search_result) {
  std::vector<double> losses;
  for (const auto& each : search_result.trials) {
    if (each.share == search_result.trials.back().share && std::isfinite(each.loss)) {
      losses.push_back(each.loss);
    }
  }
  std::sort(losses.begin(), losses.end());
  return losses.size() >= 2 && losses[1] - losses[0] < kTie;
}

}  // namespace

std::string search_text(const Results& results) {
  std::size_t trials = 0, edges = 0, ties = 0;
  double runs = 0;
  for (const auto& search_result : results.search_results) {
    trials += search_result.trials.size();
    if (search_result.at_edge) ++edges;
    if (is_tie(search_result)) ++ties;
    for (const auto& each : search_result.trials) runs += each.share;
  }
  if (trials == 0) return "";
  auto out = text("The search for each arm's own value made ", trials,
                  " trials; their steps equal those of ", report::fixed(runs, 1), " whole runs.");
  if (edges > 0) {
    out += text(" In ", edges, edges == 1 ? " arm" : " arms",
                " the best value is at the edge of the range: a better one may lie beyond.");
  }
  if (ties > 0) {
    out += text(" In ", ties, ties == 1 ? " arm" : " arms", " the two best are less than ",
                shortest(kTie), " nats apart; one seed cannot decide between them.");
  }
  return out;
}

ReportTable search_table(const Results& results) {
  std::set<double> shares;
  for (const auto& search_result : results.search_results) {
    for (const auto& each : search_result.trials) shares.insert(each.share);
  }
  ReportTable table{{{"arm", Kind::name}, {"value"}}};
  for (const double share : shares) {
    table.columns.push_back({"loss at " + percent(share), Kind::number});
  }
  table.columns.push_back({""});
  table.columns.push_back({"folders in the pool", Kind::code});
  for (const auto& search_result : results.search_results) {
    std::vector<std::string> values;
    for (const auto& each : search_result.trials) {
      if (std::count(values.begin(), values.end(), each.value) == 0) values.push_back(each.value);
    }
    for (const auto& value : values) {
      table.rows.push_back(trial_cells(results, search_result, value, shares));
    }
  }
  return table;
}

}  // namespace evenkeel::study
