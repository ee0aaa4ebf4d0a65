// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/csv.h"

#include <cmath>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/study/analysis/measure.h"
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
  for (const char* name :
       {"seed", "state", "why", "value", "training_loss", "validation_loss", "parameters", "tokens",
        "precision", "tuned", "folder", "study", "size"}) {
    names.emplace_back(name);
  }
  auto measures = measures_of(results.study);
  measures.erase(measures.begin());  // the column "value"
  for (const auto& measure : measures) names.push_back(measure.name());
  if (results.study.exclusive) names.emplace_back(kContentionColumn);
  auto out = csv_line(names);
  for (const auto* const arm : all_arms(results)) {
    for (const auto& seed_run : arm->seed_runs) {
      std::vector<std::string> fields = {arm->name};
      for (const auto& axis : axes) fields.push_back(arm->labels.at(axis.name));
      const auto& run = seed_run.run;
      fields.insert(fields.end(),
                    {text(seed_run.seed), to_string(seed_run.state), seed_run.reason,
                     csv_number(display_value(seed_run.value, results.study.measure)),
                     csv_number(report::final_loss(run)),
                     csv_number(report::last_finite(run.validation_loss.y)), text(arm->parameters),
                     csv_number(run.tokens), arm->precision, arm->tuned_value, seed_run.key,
                     results.study.name, results.study.size});
      for (const auto& measure : measures) {
        fields.push_back(csv_number(display_value(seed_run_value(seed_run, measure), measure)));
      }
      if (results.study.exclusive) {
        fields.push_back(csv_number(run.cpu_contention.value_or(std::nan(""))));
      }
      out += csv_line(fields);
    }
  }
  return out;
}

std::vector<CsvRow> csv_rows(std::string_view csv, const std::string& name) {
  if (csv.starts_with(kByteOrderMark)) csv.remove_prefix(kByteOrderMark.size());
  std::vector<CsvRow> rows;
  std::size_t line = 1;
  bool is_quoted = false, begins_row = true;
  for (std::size_t at = 0; at < csv.size(); ++at) {
    if (begins_row) rows.push_back({line, {""}});
    begins_row = false;
    auto& fields = rows.back().fields;
    const char letter = csv[at];
    if (letter == '\n') ++line;
    if (letter == '"' && is_quoted && csv.substr(at + 1).starts_with('"')) {
      fields.back() += csv[++at];
    } else if (letter == '"') {
      is_quoted = !is_quoted;
    } else if (letter == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (letter == '\n' && !is_quoted) {
      begins_row = true;
    } else if (letter != '\r' || is_quoted) {
      fields.back() += letter;
    }
  }
  if (is_quoted) {
    throw Error(Exit::data, text(name, ", line ", rows.back().line, ": a quote is not closed"));
  }
  return rows;
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
