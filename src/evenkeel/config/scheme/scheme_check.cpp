// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_check.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "evenkeel/config/scheme/scheme_patch.h"
#include "evenkeel/config/scheme/scheme_table.h"
#include "evenkeel/norm/count_formula.h"
#include "evenkeel/norm/initial_values.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

constexpr std::array<std::int64_t, 5> kDepths = {1, 2, 4, 12, 29};
constexpr std::int64_t kDefaultDepth = 12;

/// The second shape of a check: an odd number of heads, one key-value head.
norm::Shape other_shape(std::int64_t layers) {
  return {.layers = layers,
          .width = 192,
          .heads = 3,
          .kv_heads = 1,
          .inner = 512,
          .vocabulary = 1000,
          .context = 100};
}

std::string shape_text(const norm::Shape& shape) {
  return text(shape.layers, shape.layers == 1 ? " block" : " blocks", " of width ", shape.width,
              ", ", shape.heads, " heads and ", shape.kv_heads,
              shape.kv_heads == 1 ? " key head" : " key heads");
}

/// The correct value of `norm_parameters`, as the end of a message.
std::string suggestion(const SchemeSource& original) {
  auto table = table_of(original);
  table.erase("norm_parameters");
  const auto source = make_source(original.name, std::move(table));
  std::vector<norm::Scheme> schemes;
  schemes.reserve(kDepths.size());
  for (const auto layers : kDepths) schemes.push_back(bind(source, default_shape(layers)));
  const auto formula = norm::count_formula(schemes);
  return formula ? text("; here that is norm_parameters = \"", *formula, "\"") : "";
}

norm::Scheme bind_at(const SchemeSource& source, const norm::Shape& shape, bool is_first) {
  try {
    auto scheme = bind(source, shape);
    norm::initial_values(scheme, {.done = 0, .planned = 1});  // throws the errors of a run's start
    return scheme;
  } catch (const norm::SchemeError& error) {
    const auto more = error.code() == "norm_parameters" ? suggestion(source)
                      : is_first                        ? ""
                                 : text("; in a model of ", shape_text(shape));
    if (more.empty()) throw;
    throw error.with(more);
  }
}

void add_warnings(Findings& findings, const norm::Scheme& scheme) {
  const auto& expected = scheme.info.warnings;
  for (const auto& warning : norm::validate(scheme)) {
    auto& all = findings.warnings;
    auto known = std::find_if(all.begin(), all.end(), [&](const WarningOccurrence& each) {
      return each.warning.code == warning.code;
    });
    const bool is_expected =
        std::find(expected.begin(), expected.end(), warning.code) != expected.end();
    if (known == all.end()) known = all.insert(known, WarningOccurrence{warning, {}, is_expected});
    known->depths.push_back(scheme.shape.layers);
  }
}

std::vector<std::string> never_raised_warnings(const Findings& findings) {
  auto unused = findings.scheme.info.warnings;
  std::erase_if(unused, [&](const std::string& code) {
    return std::any_of(findings.warnings.begin(), findings.warnings.end(),
                       [&](const WarningOccurrence& each) { return each.warning.code == code; });
  });
  return unused;
}

/// The closest relation that holds in all checked shapes.
/// \param at_default  the relation at default_shape(kDefaultDepth)
norm::SchemeRelation relation_in_all_shapes(const SchemeSource& source, const SchemeSource& other,
                                            norm::SchemeRelation at_default) {
  auto relation = at_default;
  for (const auto layers : kDepths) {
    for (const auto& shape : {default_shape(layers), other_shape(layers)}) {
      if (relation == norm::SchemeRelation::different) return relation;
      relation = std::max(relation, norm::relation(bind(source, shape), bind(other, shape)));
    }
  }
  return relation;
}

/// The names of known schemes with the same function.
std::vector<std::string> same_function(const SchemeSource& source, const norm::Scheme& scheme,
                                       const std::vector<KnownScheme>& known) {
  std::vector<std::string> same;
  const auto print = norm::fingerprint(scheme);
  for (const auto& [name, other] : known) {
    if (name == scheme.info.name) continue;
    auto relation = norm::relation(print, other);
    if (relation == norm::SchemeRelation::different) continue;
    relation = relation_in_all_shapes(source, find_scheme(name), relation);
    if (relation == norm::SchemeRelation::different) continue;
    const char* words =
        relation == norm::SchemeRelation::other_start            ? " (with other initial weights)"
        : relation == norm::SchemeRelation::same_before_training ? " (before the first step only)"
                                                                 : "";
    same.push_back(name + words);
  }
  return same;
}

/// Notes on patches that select no block at any depth, and on a residual stream that damp removes.
std::vector<std::string> notes_of(const SchemeSource& source, const norm::Scheme& scheme) {
  std::vector<std::string> notes;
  const Place top = {scheme.info.name, ""};
  for (const auto& patch : patches_of(table_of(source), top)) {
    const bool names_one = std::any_of(kDepths.begin(), kDepths.end(), [&](std::int64_t layers) {
      std::int64_t l = 0;
      while (l < layers && !selects(patch, l + 1, default_shape(layers))) ++l;
      return l < layers;
    });
    if (names_one) continue;
    notes.push_back(text(patch.place.path, " names no block of a model of ", kDepths.front()));
    for (const auto layers : kDepths) {
      if (layers != kDepths.front())
        notes.back() += text(layers == kDepths.back() ? " or " : ", ", layers);
    }
  }
  const auto lost =
      std::find_if(scheme.blocks.begin(), scheme.blocks.end(), [](const norm::Block& block) {
        const auto* const fixed =
            block.damp ? std::get_if<norm::Expression>(&*block.damp) : nullptr;
        return fixed != nullptr && fixed->names().empty() && fixed->value({}) == 1;
      });
  if (lost != scheme.blocks.end())
    notes.emplace_back("damp = 1 removes the whole stream, the token included");
  return notes;
}

}  // namespace

norm::Shape default_shape(std::int64_t layers) {
  return {.layers = layers,
          .width = 128,
          .heads = 4,
          .kv_heads = 2,
          .inner = 352,
          .vocabulary = 257,
          .context = 256};
}

std::vector<norm::Scheme> catalogue_in_default_shape() {
  std::vector<norm::Scheme> schemes;
  for (const auto& name : catalogue()) {
    schemes.push_back(bind(find_scheme(name), default_shape(kDefaultDepth)));
  }
  return schemes;
}

std::vector<KnownScheme> known_schemes(const std::vector<norm::Scheme>& schemes) {
  std::vector<KnownScheme> known;
  known.reserve(schemes.size());
  for (const auto& scheme : schemes) {
    known.push_back({scheme.info.name, norm::fingerprint(scheme)});
  }
  return known;
}

Findings check_scheme(const SchemeSource& source, const std::vector<KnownScheme>& known) {
  Findings findings;
  findings.scheme = bind_at(source, default_shape(kDefaultDepth), true);
  std::vector<norm::Scheme> schemes;
  for (const auto layers : kDepths) {
    schemes.push_back(bind_at(source, default_shape(layers), false));
    bind_at(source, other_shape(layers), false);
    add_warnings(findings, schemes.back());
  }
  findings.depths.assign(kDepths.begin(), kDepths.end());
  findings.never_raised = never_raised_warnings(findings);
  findings.notes = notes_of(source, findings.scheme);
  findings.same_as = same_function(source, findings.scheme, known);
  findings.count = norm::count_formula(schemes).value_or("");
  return findings;
}

}  // namespace evenkeel::config
