// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_notes.h"

#include <algorithm>
#include <array>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::report {

namespace {

constexpr std::array kSuperscripts = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
constexpr std::array kSymbols = {"α", "β", "γ", "δ", "ε", "ζ", "η", "θ", "κ", "λ", "μ", "ν"};
constexpr std::size_t kLongestFactor = 9;  // letters of a formula inside a box
constexpr std::size_t kBase = 10;

/// The index of a text in a list, to which it is added if it is new.
std::size_t index_of(std::vector<std::string>& list, const std::string& each) {
  const auto found = std::find(list.begin(), list.end(), each);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(each);
  return list.size() - 1;
}

std::string superscript(std::size_t number) {
  const std::string digit = kSuperscripts.at(number % kBase);
  return number < kBase ? digit : superscript(number / kBase) + digit;
}

/// α, β, ...; then α1, ...
std::string symbol(std::size_t index) {
  const std::string letter = kSymbols.at(index % kSymbols.size());
  return index < kSymbols.size() ? letter : text(letter, index / kSymbols.size());
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string block_notes_list(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out = norm::joined(out, word, ", ");
  return out;
}

}  // namespace

std::string BlockNotes::mark(const std::string& note) {
  return note.empty() ? "" : superscript(index_of(marked_, note) + 1);
}

std::string BlockNotes::factor(const norm::Number& number) {
  const auto* const fixed = std::get_if<norm::Expression>(&number);
  if (fixed != nullptr && fixed->formula().size() <= kLongestFactor) {
    return "× " + formula_text(fixed->formula());
  }
  return "× " + symbol(index_of(symbols_, formula_text(norm::describe(number))));
}

std::vector<std::string> BlockNotes::lines() const {
  std::vector<std::string> out;
  out.reserve(symbols_.size() + marked_.size());
  for (std::size_t at = 0; at < symbols_.size(); ++at) {
    out.push_back(text(symbol(at), ": ", symbols_[at]));
  }
  for (std::size_t at = 0; at < marked_.size(); ++at) {
    out.push_back(text(superscript(at + 1), ' ', marked_[at]));
  }
  out.insert(out.end(), plain_.begin(), plain_.end());
  return out;
}

std::string norm_details(const norm::Norm& norm) {
  const auto whole = norm::describe(norm);
  const auto comma = whole.find(", ");
  return comma == std::string::npos ? "" : formula_text(whole.substr(comma + 2));
}

std::string formula_text(const std::string& formula) {
  auto out = formula;
  for (const auto& [from, to] : {std::pair{"sqrt(", "√("},
                                 {" * ", "·"},
                                 {"*", "·"},
                                 {"√(2)", "√2"},
                                 {"√(d)", "√d"},
                                 {"√(dk)", "√dk"},
                                 {"√(l)", "√l"},
                                 {"√(N)", "√N"}}) {
    replace_all(out, from, to);
  }
  return out;
}

std::vector<std::string> scheme_notes(const norm::Scheme& scheme) {
  std::vector<std::string> out;
  out.reserve(scheme.reparameterize.size() + scheme.hooks.size());
  for (const auto& rule : scheme.reparameterize) {
    out.push_back(text(rule.rule, " of ", block_notes_list(rule.weights)));
  }
  for (const auto& hook : scheme.hooks) {
    auto note = "after each step: " + hook.kind;
    if (hook.threshold > 0) note += " at " + shortest(hook.threshold);
    if (!hook.weights.empty()) note += " of " + block_notes_list(hook.weights);
    if (!hook.axis.empty()) note += ", along " + hook.axis;
    out.push_back(note);
  }
  return out;
}

}  // namespace evenkeel::report
