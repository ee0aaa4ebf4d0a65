// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_norm.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

using norm::Norm;

/// A TOML value, its place, and the variables of its expressions.
struct Value {
  const toml::node& node;
  const Place& place;
  const norm::Variables& sizes;

  norm::Expression formula() const { return read_expression(node, place); }
};

double positive(const Value& value) {
  return read_positive(value.node, value.place, value.sizes);
}

double fraction(const Value& value) {
  const double number = positive(value);
  if (number > 1) refuse("bad_value", value.place, value.node, "wanted a number in (0, 1]");
  return number;
}

/// Reads one field of a norm.
using ReadField = std::function<void(Norm&, const Value&)>;

template <typename T>
ReadField choice_field(T Norm::* field, std::vector<std::pair<std::string, T>> words) {
  return [field, words = std::move(words)](Norm& norm, const Value& value) {
    norm.*field = read_choice<T>(value.node, value.place, words);
  };
}

ReadField flag_field(bool Norm::* field) {
  return
      [field](Norm& norm, const Value& value) { norm.*field = read_flag(value.node, value.place); };
}

ReadField number_field(double Norm::* field, double (*read)(const Value&)) {
  return [=](Norm& norm, const Value& value) { norm.*field = read(value); };
}

/// \param field  field of Norm, of type Expression or std::optional<Expression>
template <typename T>
ReadField formula_field(T Norm::* field) {
  return [field](Norm& norm, const Value& value) { norm.*field = value.formula(); };
}

const std::map<std::string, ReadField, std::less<>>& fields() {
  using norm::Affine, norm::Detach, norm::EpsilonAt, norm::GainForm, norm::PreScale, norm::Rope,
      norm::Scope;
  static const std::map<std::string, ReadField, std::less<>> fields = {
      {"scope",
       choice_field<Scope>(&Norm::scope, {{"token", Scope::token}, {"head", Scope::head}})},
      {"affine", choice_field<Affine>(&Norm::affine, {{"none", Affine::none},
                                                      {"scalar", Affine::scalar},
                                                      {"vector", Affine::vector},
                                                      {"vector+bias", Affine::vector_bias}})},
      {"gain_form", choice_field<GainForm>(&Norm::gain_form,
                                           {{"w", GainForm::w}, {"1+w", GainForm::one_plus_w}})},
      {"epsilon_at", choice_field<EpsilonAt>(&Norm::epsilon_at, {{"inside", EpsilonAt::inside},
                                                                 {"outside", EpsilonAt::outside},
                                                                 {"clamp", EpsilonAt::clamp}})},
      {"pre_scale", choice_field<PreScale>(&Norm::pre_scale, {{"none", PreScale::none},
                                                              {"absmax8", PreScale::absmax8}})},
      {"rope", choice_field<Rope>(&Norm::rope, {{"after", Rope::after}, {"before", Rope::before}})},
      {"detach", choice_field<Detach>(&Norm::detach, {{"mean", Detach::mean},
                                                      {"variance", Detach::variance},
                                                      {"both", Detach::both}})},
      {"heads_share", flag_field(&Norm::heads_share)},
      {"allow_leakage", flag_field(&Norm::allow_leakage)},
      {"epsilon", number_field(&Norm::epsilon, positive)},
      {"momentum", number_field(&Norm::momentum, fraction)},
      {"partial", number_field(&Norm::partial, fraction)},
      {"gain_init", formula_field(&Norm::gain_init)},
      {"stored_at", formula_field(&Norm::stored_at)},
      {"out_scale", formula_field(&Norm::out_scale)},
      {"groups", formula_field(&Norm::groups)},
      {"alpha_init", formula_field(&Norm::alpha_init)},
      {"shift_init", formula_field(&Norm::shift_init)},
      {"beta_init", formula_field(&Norm::beta_init)},
      {"rate_max", formula_field(&Norm::rate_max)},
      {"shift_max", formula_field(&Norm::shift_max)},
  };
  return fields;
}

/// \param others  words that this place accepts in addition
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
