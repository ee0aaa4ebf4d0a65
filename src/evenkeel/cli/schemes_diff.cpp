// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "evenkeel/base/number.h"
#include "evenkeel/cli/schemes.h"
#include "evenkeel/norm/difference.h"
#include "evenkeel/norm/relation.h"

namespace evenkeel::cli {

namespace {

using norm::Difference;
using norm::Relation;

constexpr const char* kExamples = R"(Examples:
  evenkeel schemes diff pre_norm peri_ln
  evenkeel schemes diff hybrid_norm mine.toml --preset 151m)";

struct Options {
  std::shared_ptr<CommonOptions> common;
  std::string left, right;
};

/// Two schemes in one model.
struct Two {
  Bound left, right;
  std::vector<Difference> differences;
  Relation relation = Relation::different;
  bool left_moved = false, right_moved = false;  // the table shows norms in other places
};

Two compared(const Options& options) {
  auto common = *options.common;
  common.scheme = options.left;
  auto left = bound(common);
  common.scheme = options.right;
  auto right = bound(common);
  auto differences = norm::differences(left.scheme, right.scheme);
  const auto a = norm::fingerprint(left.scheme);
  const auto b = norm::fingerprint(right.scheme);
  return {std::move(left),      std::move(right),      std::move(differences),
          norm::relation(a, b), a.function != a.moved, b.function != b.moved};
}

/// What a table of differences does not say by itself; empty if nothing.
const char* sentence(Relation relation) {
  switch (relation) {
    case Relation::same:
    case Relation::moved:
      return "the same function";
    case Relation::other_start:
      return "the same function from other initial weights";
    case Relation::until_step:
      return "the same function before the first step; then they part: what is trained differs";
    case Relation::different:
      break;
  }
  return "";
}

const char* name(Relation relation) {
  switch (relation) {
    case Relation::same:
      return "same";
    case Relation::moved:
      return "moved";
    case Relation::other_start:
      return "other_start";
    case Relation::until_step:
      return "until_step";
    case Relation::different:
      break;
  }
  return "different";
}

/// Whose norms do not stand where its file puts them; empty if all do.
std::string moved(const Options& options, const Two& two) {
  if (!two.left_moved && !two.right_moved) return "";
  return text("norms on a sum are shown as the input norm of the half that reads it, in ",
              two.left_moved ? options.left : "", two.left_moved && two.right_moved ? " and " : "",
              two.right_moved ? options.right : "");
}

std::string blocks(const Difference& each) {
  if (each.first == 0) return each.at_start ? "start" : "model";
  return each.first == each.last ? text("block ", each.first)
                                 : text("blocks ", each.first, "-", each.last);
}

using Row = std::array<std::string, 4>;  // blocks, place, left, right

std::vector<Row> rows_of(const Options& options, const Two& two) {
  std::vector<Row> rows = {{"", "", options.left, options.right}};
  std::string group;
  for (const auto& each : two.differences) {
    const auto name = blocks(each);
    rows.push_back({name == group ? "" : name, each.place, each.left, each.right});
    group = name;
  }
  rows.push_back({"norms", "parameters", with_commas(two.left.counts.norms),
                  with_commas(two.right.counts.norms)});
  return rows;
}

void print(const Options& options, const Two& two) {
  const auto rows = rows_of(options, two);
  std::array<std::size_t, 3> widths = {};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::printf("in a model of %s\n\n", model_words(two.left).c_str());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      std::printf("%-*s  ", static_cast<int>(widths[i]), row[i].c_str());
    }
    std::printf("%s\n", row.back().c_str());
  }
  std::vector<std::string> sentences = {moved(options, two), sentence(two.relation)};
  std::erase(sentences, "");
  if (!sentences.empty()) std::printf("\n");
  for (const auto& each : sentences) std::printf("%s\n", each.c_str());
}

nlohmann::ordered_json as_json(const Options& options, const Two& two) {
  auto differences = nlohmann::ordered_json::array();
  for (const auto& each : two.differences) {
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
          {"preset", two.left.preset},
          {"layers", two.left.scheme.shape.layers},
          {"norm_parameters", {two.left.counts.norms, two.right.counts.norms}},
          {"relation", name(two.relation)},
          {"norms_moved", {two.left_moved, two.right_moved}},
          {"differences", differences}};
}

Exit diff(const Options& options) {
  const auto found = compared(options);
  if (options.common->json) {
    print_json(as_json(options, found));
  } else {
    print(options, found);
  }
  return Exit::done;
}

}  // namespace

Verb add_schemes_diff(const Command& schemes, const std::shared_ptr<CommonOptions>& common) {
  const auto options = std::make_shared<Options>(Options{common, "", ""});
  const auto command = schemes.add_subcommand("diff", "what differs between two, place by place");
  command.add_option("left", options->left, "a name or a .toml file")
      .type_name("NAME|FILE")
      .required();
  command.add_option("right", options->right, "another one").type_name("NAME|FILE").required();
  add_model(command, *common);
  add_json(command, *common);
  command.footer(kExamples);
  return {command, [options] { return diff(*options); }};
}

}  // namespace evenkeel::cli
