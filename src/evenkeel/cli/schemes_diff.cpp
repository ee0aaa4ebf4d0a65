// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/schemes.h"
#include "evenkeel/norm/scheme_difference.h"
#include "evenkeel/norm/scheme_relation.h"

namespace evenkeel::cli {

namespace {

using norm::SchemeDifference;
using norm::SchemeRelation;

constexpr const char* kSchemesDiffExamples = R"(Examples:
  evenkeel schemes diff pre_norm peri_ln
  evenkeel schemes diff hybrid_norm mine.toml --preset 151m)";

/// Options of `schemes diff`: two names or .toml files.
struct SchemesDiffOptions {
  std::shared_ptr<CommonOptions> common;
  std::string left, right;
};

/// Two schemes in one model.
struct Comparison {
  BoundScheme left, right;
  std::vector<SchemeDifference> differences;
  SchemeRelation relation = SchemeRelation::different;
  bool left_moved = false, right_moved = false;  // the canonical form moved norms to other slots
};

/// Binds both schemes to one model and compares their canonical forms.
/// \throws SchemeError for an invalid scheme, Error (usage) for an invalid configuration
Comparison comparison_of(const SchemesDiffOptions& options) {
  auto common = *options.common;
  common.scheme = options.left;
  auto left = bound_scheme(common);
  common.scheme = options.right;
  auto right = bound_scheme(common);
  auto differences = norm::differences(left.scheme, right.scheme);
  const auto a = norm::fingerprint(left.scheme);
  const auto b = norm::fingerprint(right.scheme);
  return {std::move(left),      std::move(right),      std::move(differences),
          norm::relation(a, b), a.function != a.moved, b.function != b.moved};
}

/// How the two functions are related, as a sentence; "" if the table of differences says it.
const char* relation_text(SchemeRelation relation) {
  switch (relation) {
    case SchemeRelation::same:
    case SchemeRelation::moved:
      return "the same function";
    case SchemeRelation::other_start:
      return "the same function from other initial weights";
    case SchemeRelation::same_before_training:
      return "the same function at the first step, and different after it";
    case SchemeRelation::different:
      break;
  }
  return "";
}

/// The relation as JSON names it.
const char* relation_name(SchemeRelation relation) {
  switch (relation) {
    case SchemeRelation::same:
      return "same";
    case SchemeRelation::moved:
      return "moved";
    case SchemeRelation::other_start:
      return "other_start";
    case SchemeRelation::same_before_training:
      return "same_before_training";
    case SchemeRelation::different:
      break;
  }
  return "different";
}

/// A sentence that names the schemes whose norms the canonical form moved; "" if there are none.
std::string moved_norms_text(const SchemesDiffOptions& options, const Comparison& comparison) {
  if (!comparison.left_moved && !comparison.right_moved) return "";
  return text("norms on a sum are shown as the input norm of the sublayer that reads it, in ",
              comparison.left_moved ? options.left : "",
              comparison.left_moved && comparison.right_moved ? " and " : "",
              comparison.right_moved ? options.right : "");
}

/// "block 1", "blocks 2-9"; outside the blocks "model", or "start" for initial values.
std::string blocks(const SchemeDifference& each) {
  if (each.first == 0) return each.at_start ? "start" : "model";
  return each.first == each.last ? text("block ", each.first)
                                 : text("blocks ", each.first, "-", each.last);
}

using DiffRow = std::array<std::string, 4>;  // blocks, place, left, right

/// The rows of the table: a header, one row per difference, and the parameter counts.
std::vector<DiffRow> rows_of(const SchemesDiffOptions& options, const Comparison& comparison) {
  std::vector<DiffRow> rows = {{"", "", options.left, options.right}};
  std::string group;
  for (const auto& each : comparison.differences) {
    const auto name = blocks(each);
    rows.push_back({name == group ? "" : name, each.place, each.left, each.right});
    group = name;
  }
  rows.push_back({"norms", "parameters", with_commas(comparison.left.counts.norms),
                  with_commas(comparison.right.counts.norms)});
  return rows;
}

/// Prints the table with aligned columns, and sentences on the relation of the two schemes.
void schemes_diff_print(const SchemesDiffOptions& options, const Comparison& comparison) {
  auto rows = rows_of(options, comparison);
  std::array<std::size_t, 3> widths = {};
  for (auto& row : rows) {
    for (auto& cell : row) cell = printable_line(cell);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  print("in a model of %s\n\n", model_summary(comparison.left).c_str());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      print("%-*s  ", static_cast<int>(widths[i]), row[i].c_str());
    }
    print("%s\n", row.back().c_str());
  }
  std::vector<std::string> sentences = {moved_norms_text(options, comparison),
                                        relation_text(comparison.relation)};
  std::erase(sentences, "");
  if (!sentences.empty()) print("\n");
  for (const auto& each : sentences) print("%s\n", each.c_str());
}

/// Relation, parameter counts ([left, right]), and one object per difference.
nlohmann::ordered_json schemes_diff_as_json(const SchemesDiffOptions& options,
                                            const Comparison& comparison) {
  auto differences = nlohmann::ordered_json::array();
  for (const auto& each : comparison.differences) {
    nlohmann::ordered_json range;  // null outside the blocks
    if (each.first > 0) range = {each.first, each.last};
    differences.push_back({{"blocks", range},
                           {"place", each.place},
                           {"left", each.left},
                           {"right", each.right},
                           {"only_at_start", each.at_start}});
  }
  return {{"left", options.left},
          {"right", options.right},
          {"preset", comparison.left.preset},
          {"layers", comparison.left.scheme.shape.layers},
          {"norm_parameters", {comparison.left.counts.norms, comparison.right.counts.norms}},
          {"relation", relation_name(comparison.relation)},
          {"norms_moved", {comparison.left_moved, comparison.right_moved}},
          {"differences", differences}};
}

/// Prints the comparison as a table or as JSON.
/// \return Exit::success, also for schemes that differ
Exit diff(const SchemesDiffOptions& options) {
  const auto found = comparison_of(options);
  if (options.common->json) {
    print_json(schemes_diff_as_json(options, found));
  } else {
    schemes_diff_print(options, found);
  }
  return Exit::success;
}

}  // namespace

/// `schemes diff` compares two schemes bound to one model, slot by slot, in the canonical form of
/// norm/canonical_form.h, where equal functions have equal slots. Exit code: 0, different or not.
Verb add_schemes_diff(const Command& schemes, const std::shared_ptr<CommonOptions>& common) {
  const auto options = std::make_shared<SchemesDiffOptions>(SchemesDiffOptions{common, "", ""});
  const auto command =
      schemes.add_subcommand("diff", "differences between two schemes, slot by slot");
  command.add_option("left", options->left, "a name or a .toml file")
      .type_name("NAME|FILE")
      .required();
  command.add_option("right", options->right, "another name or .toml file")
      .type_name("NAME|FILE")
      .required();
  add_model_options(command, *common);
  add_json(command, *common);
  command.footer(kSchemesDiffExamples);
  return {command, [options] { return diff(*options); }};
}

}  // namespace evenkeel::cli
