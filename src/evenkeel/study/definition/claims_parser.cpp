// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/definition/claims_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/config/toml_text.h"
#include "evenkeel/study/definition/enum_names.h"
#include "evenkeel/study/definition/measure_parser.h"

namespace evenkeel::study {

const Axis& axis_named(const Study& study, const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const auto& axis : study.axes) {
    if (axis.name == name) return axis;
    known.push_back(axis.name);
  }
  throw Error(Exit::usage, text(where, "no axis of the grid is named \"", name, "\"",
                                did_you_mean(name, known)));
}

namespace {

using config::place;
using config::TableReader;

const EnumNames<Claim::Kind> kKinds = {{"lower", Claim::Kind::lower},
                                       {"alike", Claim::Kind::equivalent},
                                       {"trains", Claim::Kind::trains},
                                       {"fails", Claim::Kind::fails},
                                       {"further", Claim::Kind::further}};

/// `{ scheme = "pre_norm", model.layers = 16 }` as axis -> label.
void add_selection(const Study& study, const toml::table& table, const std::string& prefix,
                   Selection& selection) {
  for (const auto& [key, node] : table) {
    const auto name = prefix + config::key_text(key.str());
    if (const auto* const inner = node.as_table()) {
      add_selection(study, *inner, name + ".", selection);
      continue;
    }
    const auto& axis = axis_named(study, name, place(node));
    const auto word = node.value_exact<std::string>();
    const auto label = word ? *word : config::toml_text(node);
    std::vector<std::string> known;
    known.reserve(axis.values.size());
    for (const auto& value : axis.values) known.push_back(value.label);
    if (std::find(known.begin(), known.end(), label) == known.end()) {
      throw Error(Exit::usage, text(place(node), "grid.", name, " has no value \"", label, "\"",
                                    did_you_mean(label, known)));
    }
    selection[name] = label;
  }
}

/// The selection that a key of the table holds; empty without the key. \throws Error (usage)
Selection selection_of(const Study& study, TableReader& table, const std::string& key) {
  Selection selection;
  const auto* const node = table.node(key);
  if (node == nullptr) return selection;
  if (!node->is_table()) table.refuse(key, "a table: { scheme = \"pre_norm\" }", *node);
  add_selection(study, *node->as_table(), "", selection);
  return selection;
}

/// Whether two selections name the same axes, with any labels.
bool has_same_axes(const Selection& one, const Selection& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const auto& left, const auto& right) { return left.first == right.first; });
}

/// Whether a claim of this kind compares two arms: it needs `than`.
bool is_pair(Claim::Kind kind) {
  return kind == Claim::Kind::lower || kind == Claim::Kind::equivalent ||
         kind == Claim::Kind::further;
}

/// Whether a claim of this kind tests a difference of the measure, not whether runs train.
bool is_difference(Claim::Kind kind) {
  return kind == Claim::Kind::lower || kind == Claim::Kind::equivalent;
}

/// Checks the axis and the cap of a sweep.
void check_sweep(const Study& study, const Measure& measure, const std::string& where) {
  const auto must = [&](bool condition, const auto&... parts) {
    if (!condition) throw Error(Exit::usage, text(where, parts...));
  };
  const auto& values = axis_named(study, measure.axis, where).values;
  must(values.size() >= 2, "a measure over ", measure.axis, " needs two values of it or more");
  for (const auto& value : values) {
    must(number_of(value.label).value_or(0) > 0,
         "a measure goes over an axis of positive numbers, ", "but ", measure.axis, " has \"",
         value.label, "\"");
  }
  must(measure.sweep == Measure::Sweep::max_trainable || measure.cap > 0, "a measure over ",
       measure.axis, " needs the loss that a failed run counts as: cap = 3.0, ", "or fails_above");
  must(measure.sweep == Measure::Sweep::max_trainable || study.measure.unit().starts_with("nats"),
       "a measure over ", measure.axis, " is of a loss, but the study measures the ",
       study.measure.name());
}

void check_claim_of_sweep(const Study& study, const Claim& claim, const std::string& where) {
  const auto must = [&](bool condition, const char* why) {
    if (!condition) throw Error(Exit::usage, text(where, why));
  };
  const auto& measure = claim.measure;
  must(!claim.of.contains(measure.axis) && !claim.at.contains(measure.axis),
       "the axis that a measure goes over can't be named in `of`, `than` or `at`");
  check_sweep(study, measure, where);
}

/// Checks `at`, and `than_at` of a difference of differences.
void check_places(const Claim& claim, const std::string& where) {
  const auto must = [&](bool condition, const auto&... parts) {
    if (!condition) throw Error(Exit::usage, text(where, parts...));
  };
  for (const auto& [axis, label] : claim.at) {
    must(!claim.of.contains(axis) && !claim.than.contains(axis), "`at` names the axis ", axis,
         ", as `of` does; leave it out in one of them");
  }
  if (claim.than_at.empty()) return;
  must(is_difference(claim.kind), "than_at has no effect but in a claim of the kind \"",
       enum_name(kKinds, Claim::Kind::lower), "\" or \"",
       enum_name(kKinds, Claim::Kind::equivalent), "\"");
  must(has_same_axes(claim.at, claim.than_at),
       "`at` and `than_at` must name the same axes: at = { batch = \"1\" }, than_at = { batch = "
       "\"16\" }");
  must(claim.at != claim.than_at, "`at` and `than_at` are the same values");
  must(!std::isfinite(claim.competence),
       "competence is of two arms, which a difference of differences has not");
}

/// Checks that a claim of equal losses or error rates has a threshold, so that two models that
/// learn nothing do not support it.
void check_threshold(const Study& study, const Claim& claim, const std::string& where) {
  using Kind = Measure::Kind;
  if (claim.kind != Claim::Kind::equivalent || !claim.than_at.empty()) return;
  if (std::isfinite(claim.competence)) return;
  const auto refuse = [&](const char* what_to_do) {
    throw Error(
        Exit::usage,
        text(where, "a claim of the kind \"alike\" about the ", claim.measure.name(),
             " needs a threshold, because models that learn nothing are alike: ", what_to_do));
  };
  switch (claim.measure.kind) {
    case Kind::val_wrong:
    case Kind::ood_wrong:
    case Kind::task:
      refuse("competence = 0.5");
      break;
    case Kind::val_loss:
    case Kind::val_gap:
    case Kind::loss:
    case Kind::ood_loss:
    case Kind::loss_at:
    case Kind::steps_to_loss:
      if (study.fails_above == 0) refuse("competence, or fails_above of the study");
      break;
    case Kind::sweep:  // its cap is the threshold of a run
    case Kind::generalization_gap:
    case Kind::step_time:
    case Kind::probe:
      break;
  }
}

/// Checks that a claim has all fields of its kind, and no field that its kind ignores.
void check_claim(const Study& study, const Claim& claim, const std::string& where) {
  const auto must = [&](bool condition, const auto&... parts) {
    if (!condition) throw Error(Exit::usage, text(where, parts...));
  };
  const auto kind = enum_name(kKinds, claim.kind);
  must(!claim.says.empty(), "a claim must say in a sentence what it claims: says = \"...\"");
  must(!claim.of.empty(), "a claim must name the arms it is about: of = { scheme = \"...\" }");
  must(is_pair(claim.kind) == !claim.than.empty(), "a claim of the kind \"", kind, "\" ",
       is_pair(claim.kind) ? "needs another arm: than = { ... }" : "is about one arm: no `than`");
  if (is_pair(claim.kind)) {
    must(has_same_axes(claim.of, claim.than),
         "`of` and `than` must name the same axes, so that there is one pair for each value of the "
         "others");
    must(claim.of != claim.than, "`of` and `than` are the same arm");
  }
  must(
      (claim.margin > 0) == (claim.kind == Claim::Kind::equivalent),
      claim.kind == Claim::Kind::equivalent
          ? "a claim of the kind \"alike\" needs the difference that does not matter: margin = 0.01"
          : "margin has no effect but in a claim of the kind \"alike\"");
  must(
      claim.along.empty() == (claim.kind != Claim::Kind::further),
      claim.kind == Claim::Kind::further
          ? "a claim of the kind \"further\" needs the axis it goes along: along = \"model.layers\""
          : "along has no effect but in a claim of the kind \"further\"");
  check_places(claim, where);
  check_threshold(study, claim, where);
  must(is_difference(claim.kind) || !std::isfinite(claim.paper),
       "paper is a difference, which a claim of the kind \"", kind, "\" has not");
  if (claim.measure.kind == Measure::Kind::sweep) check_claim_of_sweep(study, claim, where);
  if (claim.along.empty()) return;
  must(!claim.of.contains(claim.along) && !claim.at.contains(claim.along),
       "the axis that a claim goes along can't be named in `of`, `than` or `at`");
  for (const auto& value : axis_named(study, claim.along, where).values) {
    must(number_of(value.label).has_value(), "along must name an axis of numbers, but ",
         claim.along, " has \"", value.label, "\"");
  }
}

Claim claims_parser_claim_of(const Study& study, TableReader& table) {
  Claim claim;
  claim.says = table.string("says", "");
  claim.kind = enum_value(kKinds, table.word("is", "lower", enum_names(kKinds)));
  claim.of = selection_of(study, table, "of");
  claim.than = selection_of(study, table, "than");
  claim.at = selection_of(study, table, "at");
  claim.than_at = selection_of(study, table, "than_at");
  claim.measure =
      is_difference(claim.kind) ? measure_of(table, study, study.measure) : study.measure;
  claim.margin = table.number("margin", 0, config::kNotNegative);
  if (const auto* const node = table.node("competence")) {
    if (claim.kind != Claim::Kind::equivalent) {
      table.refuse("competence", "in a claim of the kind \"alike\" only", *node);
    }
    claim.competence = table.number("competence", 0, config::kPositive);
  }
  claim.along = table.string("along", "");
  if (const auto* const node = table.node("paper")) {
    claim.paper = node->is_number() ? node->value_or(0.0) : std::nan("");
    if (!std::isfinite(claim.paper)) table.refuse("paper", "a finite number", *node);
  }
  claim.source = table.string("source", "");
  table.refuse_unknown_keys();
  return claim;
}

}  // namespace

std::optional<double> number_of(const std::string& label) {
  double value = 0;
  const auto* const end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

namespace {

/// The key `compare`, a measure over an axis.
void parse_comparison(Study& study, TableReader& top, const std::string& where) {
  const auto* const node = top.node("compare");
  if (node == nullptr) return;
  const auto measure = measure_of(top, study, study.measure, "compare");
  if (measure.kind != Measure::Kind::sweep) {
    top.refuse("compare", "a measure over an axis: { over = \"schedule.peak\", as = \"best\" }",
               *node);
  }
  if (measure.sweep == Measure::Sweep::max_trainable) {
    top.refuse("compare", "a loss or a sensitivity: as = \"best\" or \"sensitivity\"", *node);
  }
  if (study.baseline.empty() || study.baseline.contains(measure.axis)) {
    top.refuse("compare", text("of a study with a baseline that does not name ", measure.axis),
               *node);
  }
  check_sweep(study, measure, place(*node).empty() ? where + ": " : place(*node));
  study.comparison = measure;
}

}  // namespace

void parse_claims(Study& study, TableReader& top, const std::string& where) {
  study.measure = measure_of(top, study, Measure{});
  if (study.measure.kind == Measure::Kind::sweep) {
    top.refuse("measure",
               "a measure of one run; measures over an axis are for claims and for "
               "`compare`",
               *top.node("measure"));
  }
  study.baseline = selection_of(study, top, "baseline");
  parse_comparison(study, top, where);
  const auto* const node = top.node("claims");
  if (node == nullptr) return;
  const auto* const list = node->as_array();
  const bool good = list != nullptr && list->is_homogeneous(toml::node_type::table);
  if (!good) top.refuse("claims", "tables: [[claims]]", *node);
  for (const auto& each : *list) {
    TableReader table(*each.as_table(), "claims");
    const auto place_of_it = place(each).empty() ? where + ": " : place(each);
    study.claims.push_back(claims_parser_claim_of(study, table));
    check_claim(study, study.claims.back(), place_of_it);
  }
}

}  // namespace evenkeel::study
