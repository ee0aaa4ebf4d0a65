// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/measure_parser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/definition/enum_names.h"
#include "evenkeel/tasks/labels.h"
#include "evenkeel/tasks/metric.h"

namespace evenkeel::study {

namespace {

using config::place;
using config::TableReader;

const EnumNames<Measure::Reduction> kReductions = {
    {"slope", Measure::Reduction::slope},     {"steepness", Measure::Reduction::steepness},
    {"spread", Measure::Reduction::spread},   {"mean", Measure::Reduction::mean},
    {"largest", Measure::Reduction::largest}, {"first", Measure::Reduction::first},
    {"last", Measure::Reduction::last},       {"drift", Measure::Reduction::drift},
    {"change", Measure::Reduction::change}};
const EnumNames<Measure::Sweep> kSweeps = {{"best", Measure::Sweep::best},
                                           {"sensitivity", Measure::Sweep::sensitivity},
                                           {"max_trainable", Measure::Sweep::max_trainable}};
/// The names of measure_rows() with their kinds.
EnumNames<Measure::Kind> named_measures() {
  EnumNames<Measure::Kind> names;
  for (const auto& row : measure_rows()) names.emplace_back(row.key, row.kind);
  return names;
}

/// The measure of a task: { task = "hellaswag", metric = "len_norm" }.
Measure task_measure(TableReader& table) {
  static const std::vector<std::string> known = {"acc",      "len_norm", "acc_norm", "acc_bytes",
                                                 "ce_loss",  "bpb",      "brier",    "soft",
                                                 "soft_log", "f1"};
  Measure measure;
  measure.kind = Measure::Kind::task;
  measure.task = table.string("task", "");
  if (table.node("metric") != nullptr) measure.metric = table.word("metric", "", known);
  table.refuse_unknown_keys();
  return measure;
}

constexpr config::NumberRange kShare = {"a share in (0, 1]",
                                        [](double x) { return x > 0 && x <= 1; }};

/// The measure of a point of the loss curve: { val_loss_at = 0.25 } or { steps_to_val_loss = 1.9 }.
Measure curve_measure(TableReader& table) {
  Measure measure;
  if (table.node("val_loss_at") != nullptr) {
    measure.kind = Measure::Kind::loss_at;
    measure.share = table.number("val_loss_at", 1, kShare);
  } else {
    measure.kind = Measure::Kind::steps_to_loss;
    measure.target = table.number("steps_to_val_loss", 0, config::kPositive);
  }
  table.refuse_unknown_keys();
  return measure;
}

/// The measure of a sweep: { over = "schedule.peak", as = "sensitivity", cap = 3.0 }. `cap` is
/// fails_above without a value.
Measure sweep_measure(TableReader& table, const Study& study) {
  Measure measure;
  measure.kind = Measure::Kind::sweep;
  measure.axis = table.string("over", "");
  measure.sweep = enum_value(kSweeps, table.word("as", "best", enum_names(kSweeps)));
  measure.cap = table.number("cap", study.fails_above, config::kNotNegative);
  table.refuse_unknown_keys();
  return measure;
}

}  // namespace

Measure measure_of(TableReader& table, const Study& study, const Measure& fallback,
                   const char* key) {
  const auto* const node = table.node(key);
  if (node == nullptr) return fallback;
  Measure measure;
  if (!node->is_table()) {
    const auto known = named_measures();
    measure.kind = enum_value(known, table.word(key, "val_loss", enum_names(known)));
    return measure;
  }
  auto probe = table.section(key);
  if (probe.node("task") != nullptr) return task_measure(probe);
  if (probe.node("over") != nullptr) return sweep_measure(probe, study);
  if (probe.node("val_loss_at") != nullptr || probe.node("steps_to_val_loss") != nullptr) {
    return curve_measure(probe);
  }
  measure.kind = Measure::Kind::probe;
  measure.probe = probe.string("probe", "");
  measure.part = probe.string("part", measure.probe == "grad_norm" ? "block" : "");
  measure.step = probe.integer("step", 0, {.least = 0});
  measure.reduction = enum_value(kReductions, probe.word("as", "mean", enum_names(kReductions)));
  probe.refuse_unknown_keys();
  if (measure.probe.empty()) {
    throw Error(Exit::usage, text(place(*node),
                                  "a measure of a probe must name it: { probe = "
                                  "\"grad_norm\", ... } (docs/probes.md)"));
  }
  return measure;
}

std::string Measure::name() const {
  if (const auto* const row = measure_row(kind)) return row->name;
  if (kind == Kind::loss_at) {
    constexpr double kHundred = 100;  // six digits: other shares, other names
    return text("validation loss after ", kHundred * share, " % of the steps");
  }
  if (kind == Kind::steps_to_loss) {
    return text("share of the steps until the validation loss is ", shortest(target));
  }
  if (kind == Kind::sweep) {
    switch (sweep) {
      case Sweep::best:
        return text("loss at its best ", axis);
      case Sweep::sensitivity:
        return text("loss sensitivity over ", axis);
      case Sweep::max_trainable:
        return text("largest trainable ", axis);
    }
  }
  if (kind == Kind::task) {
    const auto* const label = tasks::find_label(task);
    const auto of = !metric.empty() || label == nullptr ? metric : tasks::name_of(label->metric);
    if (of == "ce_loss" || of == "bpb" || of == "brier") return text(of, " of ", task);
    if (of == "soft_log") return text("negative soft_log of ", task);
    return text("error rate on ", task, metric.empty() ? "" : " (" + metric + ")");
  }
  return text(enum_name(kReductions, reduction), " of ", probe,
              part.empty() ? "" : " (" + part + ")",
              is_over_steps() ? " over probed steps" : " over blocks",
              step == 0 ? "" : text(" at step ", step));
}

std::string Measure::unit() const {
  if (kind == Kind::loss_at) return "nats per token";
  if (kind == Kind::sweep) return sweep == Sweep::max_trainable ? "doublings" : "nats per token";
  const auto* const row = measure_row(kind);
  return row == nullptr ? "" : row->unit;
}

std::string Measure::difference_unit() const {
  return kind == Kind::step_time ? "%" : unit();
}

}  // namespace evenkeel::study
