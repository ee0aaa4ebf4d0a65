// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/data/categorical.h"

/// The grammar of builtin:sentences. Its words stand in lexicon.h, its probabilities in
/// grammar.cpp, its rules here:
///
///   document = quotation | sentence " " sentence ...      until kMinSentenceBytes bytes are passed
///   quotation = Name ["and" Name] SAY `: "` sentence " " sentence ... `" So` SAY the Names "."
///   sentence = clause "." | clause ", and" clause "." | "Either" clause ", or" clause "."
///     | "If" clause ", then" clause "." | "Who" verb_phrase "?" | A "plus" B "is" A+B "."
///   clause = noun_phrase [modifier] verb_phrase               a modifier only where a clause is
///   alone modifier = PREPOSITION noun_phrase | "who" verb_phrase | "whom" noun_phrase TRANSITIVE |
///   "(" clause ")" noun_phrase = DETERMINER [ADJECTIVE] NOUN       the determiner may be a number,
///   100 .. 999 verb_phrase = TRANSITIVE noun_phrase | ADVERB INTRANSITIVE
///
/// Verbs agree with the noun they belong to. Each choice is seen from the next word alone, since
/// the words between which it is made begin differently; so a text has at most one derivation.
namespace evenkeel::data {

enum Number : std::size_t { singular, plural };

/// What `starts` begins with, before the operands and the determiners.
enum Frame : std::size_t { either, if_then, question, frames };
/// What `modifiers` begins with, before the prepositions.
enum Opener : std::size_t { who, whom, parenthesis, openers };

/// A document whose sentences have more bytes than this begins no further sentence.
inline constexpr std::size_t kMinSentenceBytes = 103;
inline constexpr std::size_t kHighestOperand = 9;

/// All choices with their probabilities.
struct Grammar {
  Grammar();

  // Gates: the probability that something optional is there.
  Categorical has_speaker, has_second_speaker, has_adjective, has_modifier, has_second_clause;

  Categorical speakers, second_speakers;  // "Anna", "and Olga"
  std::array<Categorical, 2> say;         // by number
  Categorical starts;                     // of a sentence: frames, operands, determiners
  Categorical operands;                   // "1" .. "9"
  Categorical determiners;                // of one, of several, of either
  std::size_t singular_determiners, plural_determiners;  // how many
  Categorical adjectives;
  Categorical modifiers;             // openers, then prepositions
  Categorical conjunctions;          // ", and" ...
  std::array<Categorical, 2> nouns;  // by number
  Categorical nouns_of_either;       // singular and plural in turn
  // By number; `verbs` are transitive ones, then adverbs.
  std::array<Categorical, 2> verbs, transitive, intransitive;
};

const Grammar& grammar();

}  // namespace evenkeel::data
