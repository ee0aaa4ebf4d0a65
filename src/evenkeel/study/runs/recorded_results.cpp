// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/recorded_results.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/analysis/confounders.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/report/csv.h"
#include "evenkeel/study/report/number_format.h"
#include "evenkeel/study/runs/refinement.h"
#include "evenkeel/study/runs/run_table.h"
#include "evenkeel/study/runs/study_runner.h"

namespace evenkeel::study {

namespace {

using State = SeedRun::State;

/// The column of a loss that failed runs also have; "" for other measures.
std::string loss_column(const Measure& measure) {
  if (measure.kind == Measure::Kind::val_loss) return "validation_loss";
  return measure.kind == Measure::Kind::loss ? "training_loss" : "";
}

/// The column that has a measure; "" if none has.
std::string column_of(const RunTable& table, const Study& study, const Measure& measure) {
  if (measure == study.measure) return "value";
  if (table.has(measure.name())) return measure.name();
  return loss_column(measure);
}

/// The value of a measure in a row; NaN if the row has none.
double recorded_value(const RunTable& table, const CsvRow& row, const Study& study,
                      const Measure& measure) {
  for (const auto& column : {column_of(table, study, measure), loss_column(measure)}) {
    const double shown = column.empty() ? std::nan("") : table.cell_number(row, column);
    if (std::isfinite(shown)) return value_of_display(shown, measure);
  }
  return std::nan("");
}

/// Sets the state by Study::fails_above, where that decides it: of a run that has finished, or has
/// failed by its validation loss.
void classify(SeedRun& run, double fails_above) {
  const bool is_by_loss =
      run.state == State::finished || (run.state == State::failed && is_of_threshold(run.reason));
  if (!is_by_loss || !std::isfinite(report::last_finite(run.run.validation_loss.y))) return;
  run.reason = failure_reason(run.run, fails_above);
  run.state = run.reason.empty() ? State::finished : State::failed;
}

/// A run as far as the file has it.
SeedRun recorded_run(const RunTable& table, const CsvRow& row, const Study& study) {
  SeedRun out{.state = table.state(row),
              .reason = table.cell(row, "why"),
              .seed = table.seed(row),
              .key = table.cell(row, "folder"),
              .value = std::nan("")};
  for (const auto& measure : measures_of(study)) {
    out.recorded[measure.name()] = recorded_value(table, row, study, measure);
  }
  out.run.loss.add(0, table.cell_number(row, "training_loss"));
  out.run.validation_loss.add(0, table.cell_number(row, "validation_loss"));
  out.run.tokens = table.cell_number(row, "tokens");
  const double contention = table.cell_number(row, kContentionColumn);
  if (std::isfinite(contention)) out.run.cpu_contention = contention;
  classify(out, study.fails_above);
  out.value = seed_run_value(out, study.measure);
  return out;
}

/// The seeds of the file, sorted.
std::vector<std::int64_t> recorded_seeds(const RunTable& table) {
  std::set<std::int64_t> seeds;
  for (const auto& row : table.rows()) seeds.insert(table.seed(row));
  return {seeds.begin(), seeds.end()};
}

SeedRun missing_run(std::int64_t seed) {
  return {.reason = "not in the file", .seed = seed, .value = std::nan("")};
}

/// All arms of the grid, with missing runs.
std::vector<Arm> empty_arms(const Study& study, const std::vector<GridPoint>& points) {
  std::vector<Arm> arms;
  for (const auto& point : points) {
    Arm arm{.name = point.name, .labels = point.labels};
    std::vector<std::string> first_trial;
    if (study.tune) first_trial = {text(study.tune->key, '=', study.tune->values.front())};
    const auto config = config_of(study, point, study.seeds.front(), first_trial);
    arm.init = init_of(config);
    arm.is_causal = is_causal(config);
    for (const auto seed : study.seeds) arm.seed_runs.push_back(missing_run(seed));
    arms.push_back(std::move(arm));
  }
  return arms;
}

/// True if a cell has the value of a label; other programs write 0.001 as 0.00100, and true as
/// True.
bool is_same_value(const std::string& cell, const std::string& label) {
  constexpr double kRounding = 1e-9;
  if (cell == label) return true;
  if (label == "true" || label == "false") {
    return std::ranges::equal(cell, label, [](unsigned char written, unsigned char lower) {
      return std::tolower(written) == lower;
    });
  }
  const auto there = number_of(cell), here = number_of(label);
  return there && here && std::abs(*there - *here) <= kRounding * std::abs(*here);
}

/// True if the labels of an arm are those of the row.
bool has_labels_of(const Arm& arm, const RunTable& table, const CsvRow& row, const Study& study) {
  return std::ranges::all_of(study.axes, [&](const Axis& axis) {
    return is_same_value(table.cell(row, axis.name), arm.labels.at(axis.name));
  });
}

/// The arm of a row; of two whose numbers are nearly equal, the one that is written as in the row.
Arm* arm_of(const RunTable& table, const CsvRow& row, const Study& study, std::vector<Arm>& arms) {
  const auto is_written_so = [&](const Arm& arm) {
    return std::ranges::all_of(study.axes, [&](const Axis& axis) {
      return table.cell(row, axis.name) == arm.labels.at(axis.name);
    });
  };
  auto arm = std::ranges::find_if(arms, is_written_so);
  if (arm == arms.end()) {
    arm = std::ranges::find_if(
        arms, [&](const Arm& each) { return has_labels_of(each, table, row, study); });
  }
  return arm == arms.end() ? nullptr : &*arm;
}

/// An arm of Study::refine, with missing runs.
Arm further_arm(const Study& study, Arm arm, const std::string& label) {
  arm.labels[study.refine->axis] = label;
  arm.name = labels_text(study, arm.labels);
  for (auto& run : arm.seed_runs) run = missing_run(run.seed);
  return arm;
}

/// An arm of the grid that differs from a row in a positive number on the axis of Study::refine
/// only; nullptr if there is none.
const Arm* neighbour_of(const RunTable& table, const CsvRow& row, const Results& results) {
  const auto& study = results.study;
  if (!study.refine || !(number_of(table.cell(row, study.refine->axis)).value_or(0) > 0))
    return nullptr;
  const auto arm = std::ranges::find_if(results.arms, [&](const Arm& each) {
    return std::ranges::all_of(study.axes, [&](const Axis& axis) {
      return axis.name == study.refine->axis ||
             is_same_value(table.cell(row, axis.name), each.labels.at(axis.name));
    });
  });
  return arm == results.arms.end() ? nullptr : &*arm;
}

/// The arm of a value that the grid does not have.
Arm* further_arm_of(const RunTable& table, const CsvRow& row, const Arm& neighbour,
                    Results& results) {
  const auto& study = results.study;
  if (auto* const known = arm_of(table, row, study, results.further_arms)) return known;
  return &results.further_arms.emplace_back(
      further_arm(study, neighbour, table.cell(row, study.refine->axis)));
}

/// Adds the arms that Study::refine lacks in the file, with missing runs.
void add_missing_arms(Results& results, const std::vector<GridPoint>& points) {
  for (auto further = further_points(points, results); !further.empty();
       further = further_points(points, results)) {
    for (const auto& point : further) {
      const auto rest = remaining_labels(point.labels, {{results.study.refine->axis, ""}});
      const auto arm = std::ranges::find_if(
          results.arms, [&](const Arm& each) { return matches(each.labels, rest); });
      EK_ASSERT(arm != results.arms.end());
      results.further_arms.push_back(
          further_arm(results.study, *arm, point.labels.at(results.study.refine->axis)));
    }
  }
}

/// Refuses a row whose labels no arm has; names the first column with a value of no arm.
[[noreturn]] void refuse_arm(const RunTable& table, const CsvRow& row, const Results& results) {
  const auto& study = results.study;
  std::string what;
  for (const auto& axis : study.axes) {
    const auto cell = table.cell(row, axis.name);
    what += text(what.empty() ? "" : ", ", axis.name, " \"", cell, "\"");
    const bool is_further =
        study.refine && study.refine->axis == axis.name && number_of(cell).value_or(0) > 0;
    const bool is_known = std::ranges::any_of(results.arms, [&](const Arm& arm) {
      return is_same_value(cell, arm.labels.at(axis.name));
    });
    if (is_known || is_further) continue;
    what = text(axis.name, " \"", cell, "\"");
    break;
  }
  table.refuse(row.line,
               text("study ", study.name, study.size.empty() ? "" : ", size " + study.size + ",",
                    " has no arm with ", what));
}

/// Refuses a run that finishes with the study's fails_above, but has failed in the file, which
/// therefore lacks its values.
void check_has_values(const RunTable& table, const CsvRow& row, const SeedRun& run,
                      const Study& study) {
  if (run.state != State::finished || table.state(row) == State::finished) return;
  for (const auto& measure : measures_of(study)) {
    const bool has_column = table.has(column_of(table, study, measure));
    if (!has_column || std::isfinite(run.recorded.at(measure.name()))) continue;
    table.refuse(row.line,
                 text("the run finishes with fails_above = ", shortest(study.fails_above),
                      ", but has failed in the file, which has no ", measure.name(),
                      " of failed runs; run the study, or take the fails_above of the file"));
  }
}

/// A run without a loss has not finished.
void check_has_loss(const RunTable& table, const CsvRow& row, const SeedRun& run,
                    const Measure& measure) {
  const bool is_loss =
      measure.kind == Measure::Kind::val_loss || measure.kind == Measure::Kind::loss;
  if (!is_loss || run.state != State::finished || std::isfinite(run.value)) return;
  table.refuse(row.line, text("value must be a number, because the run has finished, but is \"",
                              table.cell(row, "value"), "\""));
}

/// Puts a row in the place of its arm and its seed.
/// \return true if its run has another state than in the file
bool add_row(const RunTable& table, const CsvRow& row, Results& results) {
  const auto& study = results.study;
  const auto place = std::ranges::find(study.seeds, table.seed(row));
  auto* arm = arm_of(table, row, study, results.arms);
  const auto* const neighbour = arm == nullptr ? neighbour_of(table, row, results) : nullptr;
  if (arm == nullptr && neighbour == nullptr) {
    refuse_arm(table, row, results);
  }
  if (place == study.seeds.end()) return false;
  if (neighbour != nullptr) arm = further_arm_of(table, row, *neighbour, results);
  auto& seed_run = arm->seed_runs[static_cast<std::size_t>(place - study.seeds.begin())];
  if (!seed_run.recorded.empty()) {
    table.refuse(row.line, text("a second run of \"", arm->name, "\" with seed ", seed_run.seed));
  }
  seed_run = recorded_run(table, row, study);
  check_has_loss(table, row, seed_run, study.measure);
  check_has_values(table, row, seed_run, study);
  const auto integer = [](double value) { return std::isfinite(value) ? std::llround(value) : 0; };
  arm->parameters = integer(table.cell_number(row, "parameters"));
  arm->tokens = seed_run.run.tokens;
  arm->precision = table.cell(row, "precision");
  arm->tuned_value = table.cell(row, "tuned");
  return seed_run.state != table.state(row);
}

}  // namespace

RecordedResults recorded_results(Study study, const std::filesystem::path& file, bool keeps_seeds) {
  const RunTable table(file, study);
  if (!keeps_seeds) study.seeds = recorded_seeds(table);
  if (study.seeds.empty()) table.refuse(1, "has no runs");
  RecordedResults out{.results = {.study = study, .provenance = "of " + file.string()},
                      .missing_columns = {}};
  for (const auto& measure : measures_of(study)) {
    const auto column = column_of(table, study, measure);
    if (!table.has(column)) out.missing_columns.push_back(measure.name());
  }
  auto& results = out.results;
  const auto points = grid_points(study);
  results.arms = empty_arms(study, points);
  for (const auto& row : table.rows()) {
    if (add_row(table, row, results)) ++out.changed_states;
  }
  // The means of some of the seeds may lead to other further values than those of all.
  if (!keeps_seeds) add_missing_arms(results, points);
  results.is_complete = std::ranges::all_of(all_arms(results), [](const Arm* arm) {
    return std::ranges::none_of(arm->seed_runs, [](const SeedRun& run) {
      return run.state == State::missing || run.state == State::crashed;
    });
  });
  analyze_claims(results);
  results.confounders = confounders(results);
  return out;
}

}  // namespace evenkeel::study
