// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "evenkeel/data/grammar.h"
#include "evenkeel/data/generator_parser.h"

namespace evenkeel::data {

/// Runs the grammar with a DocumentGenerator or a DocumentParser: one function for each production.
template <typename Visitor>
class GrammarRules {
 public:
  explicit GrammarRules(Visitor& visitor) : visitor_(visitor), g_(grammar()) {}

  void document() {
    visitor_.set_spacing(Spacing::capitalized);
    const auto teller = visitor_.optional_choice(g_.has_teller, g_.tellers);
    if (!teller) return sentences();
    const auto partner = visitor_.optional_choice(g_.has_partner, g_.partners);
    const auto number = partner ? plural : singular;
    const auto say = visitor_.choice(g_.say[number]);
    visitor_.literal(": \"");
    sentences();
    visitor_.literal("\" So");
    visitor_.literal(g_.say[number].text(say));
    visitor_.literal(g_.tellers.text(*teller));
    if (partner) visitor_.literal(g_.partners.text(*partner));
    visitor_.literal(".");
  }

 private:
  void sentences() {
    for (;;) {
      sentence();
      if (visitor_.length() > kEnough) return;
      visitor_.literal(" ");
    }
  }

  void sentence() {
    visitor_.set_spacing(Spacing::capitalized);
    const auto start = visitor_.choice(g_.starts);
    if (start == either) return framed(", or");
    if (start == if_then) return framed(", then");
    if (start == question) {
      verbs(singular);
      return visitor_.literal("?");
    }
    if (start < frames + kHighestOperand) return sum(start - frames);
    lone_clause(start - frames - kHighestOperand);
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

  /// A sentence of its own: with a modifier, or perhaps with a second clause.
  void lone_clause(std::size_t determiner) {
    const auto number = things(determiner);
    const bool modified = modifier(number);
    verbs(number);
    if (!modified && visitor_.optional_choice(g_.has_second_clause, g_.joins)) clause();
    visitor_.literal(".");
  }

  bool modifier(Number number) {
    const auto opener = visitor_.optional_choice(g_.has_modifier, g_.modifiers);
    if (!opener) return false;
    if (*opener == who) {
      verbs(number);
    } else if (*opener == whom) {
      visitor_.choice(g_.transitive[things(visitor_.choice(g_.determiners))]);
    } else if (*opener == parenthesis) {
      visitor_.set_spacing(Spacing::none);
      clause();
      visitor_.literal(")");
    } else {
      things(visitor_.choice(g_.determiners));
    }
    return true;
  }

  void clause() { verbs(things(visitor_.choice(g_.determiners))); }

  /// The number that the determiner or, if it goes with both, the noun shows.
  Number things(std::size_t determiner) {
    visitor_.optional_choice(g_.has_adjective, g_.adjectives);
    if (determiner >= g_.singular_determiners + g_.plural_determiners) {
      return visitor_.choice(g_.nouns_of_either) % 2 == 0 ? singular : plural;
    }
    const auto number = determiner < g_.singular_determiners ? singular : plural;
    visitor_.choice(g_.nouns[number]);
    return number;
  }

  void verbs(Number number) {
    const auto verb = visitor_.choice(g_.verbs[number]);
    if (verb < g_.transitive[number].size()) {
      things(visitor_.choice(g_.determiners));
    } else {
      visitor_.choice(g_.intransitive[number]);
    }
  }

  Visitor& visitor_;
  const Grammar& g_;
};

}  // namespace evenkeel::data
