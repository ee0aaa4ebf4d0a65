// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_norm.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

using norm::Norm;

/// A value with all that reading it may need.
struct Value {
  const toml::node& node;
  const Place& place;
  const norm::Variables& sizes;

  norm::Expression formula() const { return read_expression(node, place); }
  double positive() const { return read_positive(node, place, sizes); }
};

double fraction(const Value& value) {
  const double number = value.positive();
  if (number > 1) refuse("bad_value", value.place, value.node, "wanted a number in (0, 1]");
  return number;
}

using ReadField = void (*)(Norm&, const Value&);

const std::map<std::string, ReadField, std::less<>>& fields() {
  static const std::map<std::string, ReadField, std::less<>> fields = {
      {"scope",
       [](Norm& norm, const Value& value) {
         norm.scope = read_choice<norm::Scope>(
             value.node, value.place, {{"token", norm::Scope::token}, {"head", norm::Scope::head}});
       }},
      {"affine",
       [](Norm& norm, const Value& value) {
         norm.affine = read_choice<norm::Affine>(value.node, value.place,
                                                 {{"none", norm::Affine::none},
                                                  {"scalar", norm::Affine::scalar},
                                                  {"vector", norm::Affine::vector},
                                                  {"vector+bias", norm::Affine::vector_bias}});
       }},
      {"gain_form",
       [](Norm& norm, const Value& value) {
         norm.gain_form = read_choice<norm::GainForm>(
             value.node, value.place,
             {{"w", norm::GainForm::w}, {"1+w", norm::GainForm::one_plus_w}});
       }},
      {"epsilon_at",
       [](Norm& norm, const Value& value) {
         norm.epsilon_at = read_choice<norm::EpsilonAt>(value.node, value.place,
                                                        {{"inside", norm::EpsilonAt::inside},
                                                         {"outside", norm::EpsilonAt::outside},
                                                         {"clamp", norm::EpsilonAt::clamp}});
       }},
      {"pre_scale",
       [](Norm& norm, const Value& value) {
         norm.pre_scale = read_choice<norm::PreScale>(
             value.node, value.place,
             {{"none", norm::PreScale::none}, {"absmax8", norm::PreScale::absmax8}});
       }},
      {"rope",
       [](Norm& norm, const Value& value) {
         norm.rope = read_choice<norm::Rope>(
             value.node, value.place,
             {{"after", norm::Rope::after}, {"before", norm::Rope::before}});
       }},
      {"heads_share",
       [](Norm& norm, const Value& value) {
         norm.heads_share = read_flag(value.node, value.place);
       }},
      {"allow_leakage",
       [](Norm& norm, const Value& value) {
         norm.allow_leakage = read_flag(value.node, value.place);
       }},
      {"epsilon", [](Norm& norm, const Value& value) { norm.epsilon = value.positive(); }},
      {"momentum", [](Norm& norm, const Value& value) { norm.momentum = fraction(value); }},
      {"partial", [](Norm& norm, const Value& value) { norm.partial = fraction(value); }},
      {"gain_init", [](Norm& norm, const Value& value) { norm.gain_init = value.formula(); }},
      {"stored_at", [](Norm& norm, const Value& value) { norm.stored_at = value.formula(); }},
      {"out_scale", [](Norm& norm, const Value& value) { norm.out_scale = value.formula(); }},
      {"groups", [](Norm& norm, const Value& value) { norm.groups = value.formula(); }},
      {"alpha_init", [](Norm& norm, const Value& value) { norm.alpha_init = value.formula(); }},
      {"shift_init", [](Norm& norm, const Value& value) { norm.shift_init = value.formula(); }},
      {"beta_init", [](Norm& norm, const Value& value) { norm.beta_init = value.formula(); }},
      {"rate_max", [](Norm& norm, const Value& value) { norm.rate_max = value.formula(); }},
      {"shift_max", [](Norm& norm, const Value& value) { norm.shift_max = value.formula(); }},
  };
  return fields;
}

/// \param others  words beside the kinds that can stand here
norm::Kind read_kind(const std::string& word, const toml::node& node, const Place& place,
                     const std::vector<std::string>& others = {}) {
  auto known = norm::kind_names();
  if (std::find(known.begin(), known.end(), word) != known.end()) return norm::kind_named(word);
  known.insert(known.begin(), others.begin(), others.end());
  refuse("unknown_kind", place, node,
         text("no norm kind is named \"", word, "\"", did_you_mean(word, known)));
}

Norm read_norm_word(std::string word, const toml::node& node, const Place& place, const Norm& own) {
  constexpr std::string_view kPerHead = " per head";
  const bool per_head = word.ends_with(kPerHead);
  if (per_head) word.resize(word.size() - kPerHead.size());
  auto norm =
      word == "norm" ? own : norm::default_norm(read_kind(word, node, place, {"norm", "none"}));
  if (per_head) norm.scope = norm::Scope::head;
  return norm;
}

}  // namespace

std::optional<Norm> read_norm(const toml::node& node, const Place& place, const Norm& own,
                              const norm::Variables& sizes) {
  if (is_none(node)) return std::nullopt;
  if (!node.is_table()) return read_norm_word(read_word(node, place), node, place, own);
  const auto& table = *node.as_table();
  auto norm = own;
  if (const auto* const kind = table.get("kind")) {
    norm = norm::default_norm(read_kind(read_word(*kind, place.in("kind")), *kind, place));
  }
  auto known = norm::allowed_fields(norm.kind);
  known.emplace_back("kind");
  check_keys(table, known, place);
  for (const auto& [key, value] : table) {
    if (key.str() != "kind")
      fields().at(std::string(key.str()))(norm, {value, place.in(key.str()), sizes});
  }
  return norm;
}

}  // namespace evenkeel::config
