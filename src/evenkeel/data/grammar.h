// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/data/categorical.h"

/// The grammar of builtin:sentences. Its words are in lexicon.h, its probabilities in grammar.cpp.
///
///   document    = quotation | sentence " " sentence ...   until kMinSentenceBytes is exceeded
///   quotation   = Name ["and" Name] SAY `: "` sentence " " sentence ... `" So` SAY Names "."
///   sentence    = clause "." | clause ", and" clause "."
///               | "Either" clause ", or" clause "." | "If" clause ", then" clause "."
///               | "Who" verb_phrase "?" | A "plus" B "is" A+B "."
///   clause      = noun_phrase [modifier] verb_phrase      modifier: only in `clause "."`
///   modifier    = PREPOSITION noun_phrase | "who" verb_phrase
///               | "whom" noun_phrase TRANSITIVE | "(" clause ")"
///   noun_phrase = DETERMINER [ADJECTIVE] NOUN             the determiner may be 100 .. 999
///   verb_phrase = TRANSITIVE noun_phrase | ADVERB INTRANSITIVE
///
/// Verbs agree in number with their noun. The grammar is LL(1) over words: the next word determines
/// each choice, so a text has at most one derivation.
namespace evenkeel::data {

enum Number : std::size_t { singular, plural };

/// The first entries of `starts`, before operands and determiners.
enum Frame : std::size_t { either, if_then, question, frames };
/// The first entries of `modifiers`, before the prepositions.
enum Opener : std::size_t { who, whom, parenthesis, openers };

/// The document ends after the sentence that makes it longer than this, in bytes.
inline constexpr std::size_t kMinSentenceBytes = 103;
inline constexpr std::size_t kHighestOperand = 9;

/// All choices of the grammar with their probabilities.
struct Grammar {
  Grammar();

  // Gates: the probability of an optional part.
  Categorical has_speaker, has_second_speaker, has_adjective, has_modifier, has_second_clause;

  Categorical speakers, second_speakers;  // "Anna", "and Olga"
  std::array<Categorical, 2> say;         // indexed by Number
  Categorical starts;                     // first word of a sentence: frames, operands, determiners
  Categorical operands;                   // "1" .. "9"
  Categorical determiners;                // singular, plural, then those of either number
  std::size_t singular_determiners, plural_determiners;  // counts
  Categorical adjectives;
  Categorical modifiers;             // openers, then prepositions
  Categorical conjunctions;          // ", and" ...
  std::array<Categorical, 2> nouns;  // indexed by Number
  Categorical nouns_of_either;       // alternating singular and plural
  // Indexed by Number. `verbs` lists transitive verbs, then adverbs.
  std::array<Categorical, 2> verbs, transitive, intransitive;
};

const Grammar& grammar();

}  // namespace evenkeel::data
