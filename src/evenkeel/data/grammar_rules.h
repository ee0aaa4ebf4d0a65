// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "evenkeel/data/generator_parser.h"
#include "evenkeel/data/grammar.h"

namespace evenkeel::data {

/// The rules of the grammar for a DocumentGenerator or a DocumentParser: one function per
/// production.
template <typename Visitor>
class GrammarRules {
 public:
  explicit GrammarRules(Visitor& visitor) : visitor_(visitor), g_(grammar()) {}

  void document() {
    visitor_.set_spacing(Spacing::capitalized);
    const auto speaker = visitor_.optional_choice(g_.has_speaker, g_.speakers);
    if (!speaker) return sentences();
    const auto second_speaker = visitor_.optional_choice(g_.has_second_speaker, g_.second_speakers);
    const auto number = second_speaker ? plural : singular;
    const auto say = visitor_.choice(g_.say[number]);
    visitor_.literal(": \"");
    sentences();
    visitor_.literal("\" So");
    visitor_.literal(g_.say[number].text(say));
    visitor_.literal(g_.speakers.text(*speaker));
    if (second_speaker) visitor_.literal(g_.second_speakers.text(*second_speaker));
    visitor_.literal(".");
  }

 private:
  void sentences() {
    for (;;) {
      sentence();
      if (visitor_.length() > kMinSentenceBytes) return;
      visitor_.literal(" ");
    }
  }

  void sentence() {
    visitor_.set_spacing(Spacing::capitalized);
    const auto start = visitor_.choice(g_.starts);
    if (start == either) return framed(", or");
    if (start == if_then) return framed(", then");
    if (start == question) {
      verb_phrase(singular);
      return visitor_.literal("?");
    }
    if (start < frames + kHighestOperand) return sum(start - frames);
    main_clause(start - frames - kHighestOperand);
  }

  void sum(std::size_t first) {
    visitor_.literal("plus");
    const auto second = visitor_.choice(g_.operands);
    visitor_.literal("is");
    visitor_.literal(std::to_string(first + 1 + second + 1));
    visitor_.literal(".");
  }

  void framed(const char* between) {
    clause();
    visitor_.literal(between);
    clause();
    visitor_.literal(".");
  }

  /// A main clause: either with a modifier, or with an optional second clause.
  void main_clause(std::size_t determiner) {
    const auto number = noun_phrase(determiner);
    const bool modified = modifier(number);
    verb_phrase(number);
    if (!modified && visitor_.optional_choice(g_.has_second_clause, g_.conjunctions)) clause();
    visitor_.literal(".");
  }

  bool modifier(Number number) {
    const auto modifier_kind = visitor_.optional_choice(g_.has_modifier, g_.modifiers);
    if (!modifier_kind) return false;
    if (*modifier_kind == who) {
      verb_phrase(number);
    } else if (*modifier_kind == whom) {
      visitor_.choice(g_.transitive[noun_phrase(visitor_.choice(g_.determiners))]);
    } else if (*modifier_kind == parenthesis) {
      visitor_.set_spacing(Spacing::none);
      clause();
      visitor_.literal(")");
    } else {
      noun_phrase(visitor_.choice(g_.determiners));
    }
    return true;
  }

  void clause() { verb_phrase(noun_phrase(visitor_.choice(g_.determiners))); }

  /// The number (singular or plural) of the determiner; of the noun if the determiner fits both.
  Number noun_phrase(std::size_t determiner) {
    visitor_.optional_choice(g_.has_adjective, g_.adjectives);
    if (determiner >= g_.singular_determiners + g_.plural_determiners) {
      return visitor_.choice(g_.nouns_of_either) % 2 == 0 ? singular : plural;
    }
    const auto number = determiner < g_.singular_determiners ? singular : plural;
    visitor_.choice(g_.nouns[number]);
    return number;
  }

  void verb_phrase(Number number) {
    const auto verb = visitor_.choice(g_.verbs[number]);
    if (verb < g_.transitive[number].size()) {
      noun_phrase(visitor_.choice(g_.determiners));
    } else {
      visitor_.choice(g_.intransitive[number]);
    }
  }

  Visitor& visitor_;
  const Grammar& g_;
};

}  // namespace evenkeel::data
