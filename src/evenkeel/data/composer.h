// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "evenkeel/data/grammar.h"
#include "evenkeel/data/pen.h"

namespace evenkeel::data {

/// Runs the grammar with a pen, a Writer or a Reader: one function for each rule.
template <typename Pen>
class Composer {
 public:
  explicit Composer(Pen& pen) : pen_(pen), g_(grammar()) {}

  void document() {
    pen_.join(Joint::capital);
    const auto teller = pen_.maybe(g_.has_teller, g_.tellers);
    if (!teller) return sentences();
    const auto partner = pen_.maybe(g_.has_partner, g_.partners);
    const auto number = partner ? plural : singular;
    const auto say = pen_.pick(g_.say[number]);
    pen_.mark(": \"");
    sentences();
    pen_.mark("\" So");
    pen_.mark(g_.say[number].text(say));
    pen_.mark(g_.tellers.text(*teller));
    if (partner) pen_.mark(g_.partners.text(*partner));
    pen_.mark(".");
  }

 private:
  void sentences() {
    for (;;) {
      sentence();
      if (pen_.length() > kEnough) return;
      pen_.mark(" ");
    }
  }

  void sentence() {
    pen_.join(Joint::capital);
    const auto start = pen_.pick(g_.starts);
    if (start == either) return framed(", or");
    if (start == if_then) return framed(", then");
    if (start == question) {
      verbs(singular);
      return pen_.mark("?");
    }
    if (start < frames + kHighestOperand) return sum(start - frames);
    lone_clause(start - frames - kHighestOperand);
  }

  void sum(std::size_t first) {
    pen_.mark("plus");
    const auto second = pen_.pick(g_.operands);
    pen_.mark("is");
    pen_.mark(std::to_string(first + 1 + second + 1));
    pen_.mark(".");
  }

  void framed(const char* between) {
    clause();
    pen_.mark(between);
    clause();
    pen_.mark(".");
  }

  /// A sentence of its own: with a modifier, or perhaps with a second clause.
  void lone_clause(std::size_t determiner) {
    const auto number = things(determiner);
    const bool modified = modifier(number);
    verbs(number);
    if (!modified && pen_.maybe(g_.has_second_clause, g_.joins)) clause();
    pen_.mark(".");
  }

  bool modifier(Number number) {
    const auto opener = pen_.maybe(g_.has_modifier, g_.modifiers);
    if (!opener) return false;
    if (*opener == who) {
      verbs(number);
    } else if (*opener == whom) {
      pen_.pick(g_.transitive[things(pen_.pick(g_.determiners))]);
    } else if (*opener == parenthesis) {
      pen_.join(Joint::glued);
      clause();
      pen_.mark(")");
    } else {
      things(pen_.pick(g_.determiners));
    }
    return true;
  }

  void clause() { verbs(things(pen_.pick(g_.determiners))); }

  /// The number that the determiner or, if it goes with both, the noun shows.
  Number things(std::size_t determiner) {
    pen_.maybe(g_.has_adjective, g_.adjectives);
    if (determiner >= g_.singular_determiners + g_.plural_determiners) {
      return pen_.pick(g_.nouns_of_either) % 2 == 0 ? singular : plural;
    }
    const auto number = determiner < g_.singular_determiners ? singular : plural;
    pen_.pick(g_.nouns[number]);
    return number;
  }

  void verbs(Number number) {
    const auto verb = pen_.pick(g_.verbs[number]);
    if (verb < g_.transitive[number].size()) {
      things(pen_.pick(g_.determiners));
    } else {
      pen_.pick(g_.intransitive[number]);
    }
  }

  Pen& pen_;
  const Grammar& g_;
};

}  // namespace evenkeel::data
