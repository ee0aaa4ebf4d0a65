// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/csv.h"

#include <cmath>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/report/outcome.h"

namespace evenkeel::study {

namespace {

/// Between quotes, which are doubled inside, if there is a comma, a quote or an end of line.
std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char letter : field) {
    if (letter == '"') out += '"';
    out += letter;
  }
  return out + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string out;
  for (const auto& field : fields) out += quoted(field) + ",";
  out.back() = '\n';
  return out;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? shortest(value) : "";
}

}  // namespace

std::string runs_csv(const Results& results) {
  const auto& axes = results.study.axes;
  std::vector<std::string> names = {"name"};  // many studies have an axis "arm"
  for (const auto& axis : axes) names.push_back(axis.name);
  for (const char* name : {"seed", "state", "why", "value", "training_loss", "validation_loss",
                           "parameters", "tokens", "precision", "tuned", "folder"}) {
    names.emplace_back(name);
  }
  auto out = csv_line(names);
  for (const auto& arm : results.arms) {
    for (const auto& seed_run : arm.seed_runs) {
      std::vector<std::string> fields = {arm.name};
      for (const auto& axis : axes) fields.push_back(arm.labels.at(axis.name));
      const auto& run = seed_run.run;
      const bool is_finished = seed_run.state == SeedRun::State::finished;
      fields.insert(
          fields.end(),
          {text(seed_run.seed), to_string(seed_run.state), seed_run.reason,
           is_finished ? csv_number(display_value(seed_run.value, results.study.measure)) : "",
           csv_number(report::final_loss(run)),
           csv_number(report::last_finite(run.validation_loss.y)), text(arm.parameters),
           csv_number(run.tokens), arm.precision, arm.tuned_value, seed_run.key});
      out += csv_line(fields);
    }
  }
  return out;
}

std::string searches_csv(const Results& results) {
  if (!results.study.tune) return "";
  auto out = csv_line(
      {"name", results.study.tune->key, "share", "state", "validation_loss", "chosen", "folder"});
  for (const auto& search_result : results.search_results) {
    const auto last = search_result.trials.back().share;
    for (const auto& each : search_result.trials) {
      const char* const state = each.crashed               ? "crashed"
                                : std::isfinite(each.loss) ? "finished"
                                                           : "failed";
      const bool is_chosen = each.share == last && each.value == search_result.chosen;
      out += csv_line({results.arms.at(search_result.arm).name, each.value, shortest(each.share),
                       state, csv_number(each.loss), is_chosen ? "yes" : "", each.key});
    }
  }
  return out;
}

}  // namespace evenkeel::study
