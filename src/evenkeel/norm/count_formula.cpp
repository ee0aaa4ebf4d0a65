// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/count_formula.h"

#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

namespace {

/// The coefficient of each size: {"d": 5, "dk": 6} is 5*d + 6*dk.
using Terms = std::map<std::string, std::int64_t>;

/// The number of features in a row, as an expression.
std::string features_of(const Slot& slot) {
  if (slot.norm->scope == Scope::head) return "dk";
  if (slot.place == "feed_forward.hidden") return "f";
  return slot.place == "attention.k" || slot.place == "attention.v" ? "kv*dk" : "d";
}

/// The number of values of a gain or bias, as an expression.
std::string gain_of(const Slot& slot) {
  const auto& norm = *slot.norm;
  const bool copies = norm.scope == Scope::head && !norm.heads_share;
  const bool of_keys = slot.place == "attention.k" || slot.place == "attention.v";
  if (norm.affine == Affine::scalar) return !copies ? "1" : of_keys ? "kv" : "h";
  if (!copies) return features_of(slot);
  return of_keys ? "kv*dk" : "d";
}

Terms terms_of(const Scheme& scheme) {
  Terms terms;
  for (const auto& slot : slots_of(scheme)) {
    for (const auto& parameter : parameters_of(*slot.norm, slot.width, slot.heads)) {
      const bool is_affine = parameter.name == "gain" || parameter.name == "bias";
      ++terms[is_affine ? gain_of(slot) : parameter.per_feature ? features_of(slot) : "1"];
    }
  }
  return terms;
}

std::string count_formula_product(std::int64_t count, const std::string& size) {
  if (size == "1") return text(count);
  return count == 1 ? size : text(count, "*", size);
}

void count_formula_append(std::string& sum, std::int64_t count, const std::string& size) {
  if (count == 0) return;
  const auto* const sign = count < 0 ? " - " : sum.empty() ? "" : " + ";
  sum += text(sign, count_formula_product(count < 0 ? -count : count, size));
}

/// N times a sum: "N*(d + 3*dk)", "2*N*d".
std::string times_depth(const Terms& rises) {
  if (rises.size() == 1) {
    const auto& [size, rise] = *rises.begin();
    return count_formula_product(rise, size == "1" ? "N" : "N*" + size);
  }
  std::string sum;
  for (const auto& [size, rise] : rises) count_formula_append(sum, rise, size);
  return text("N*(", sum, ")");
}

}  // namespace

std::optional<std::string> count_formula(const std::vector<Scheme>& at_depths) {
  EK_ASSERT(at_depths.size() >= 2);
  std::vector<Terms> counts;
  counts.reserve(at_depths.size());
  for (const auto& scheme : at_depths) counts.push_back(terms_of(scheme));
  const auto layers = [&](std::size_t i) { return at_depths[i].shape.layers; };
  const auto last = at_depths.size() - 1;
  for (const auto& terms : counts) {
    for (const auto& [size, count] : terms) counts[last].try_emplace(size, 0);
  }
  Terms rises;
  std::string fixed;
  for (const auto& [size, most] : Terms(counts[last])) {
    const auto rise = most - counts[last - 1][size];
    const auto slope = rise / (layers(last) - layers(last - 1));
    const auto rest = most - slope * layers(last);
    for (std::size_t i = 0; i <= last; ++i) {
      if (counts[i][size] != slope * layers(i) + rest) return std::nullopt;
    }
    if (slope != 0) rises[size] = slope;
    count_formula_append(fixed, rest, size);
  }
  if (rises.empty()) return fixed.empty() ? "0" : fixed;
  if (fixed.empty()) return times_depth(rises);
  return text(times_depth(rises), fixed.starts_with(" - ") ? "" : " + ", fixed);
}

}  // namespace evenkeel::norm
