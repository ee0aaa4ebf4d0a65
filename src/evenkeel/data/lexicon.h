// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The words of builtin:sentences, most frequent first, separated by blanks. No word is in two
/// lists, nor does a word with the `s` of its plural (nouns) or singular (verbs).
namespace evenkeel::data::lexicon {

extern const std::string_view kNouns;  // plural with -s
extern const std::string_view kAdjectives;
extern const std::string_view kTransitive;    // verbs with an object; singular with -s
extern const std::string_view kIntransitive;  // verbs without; singular with -s
extern const std::string_view kAdverbs;       // only before intransitive verbs
extern const std::string_view kPrepositions;
extern const std::string_view kSpeakers;        // names; who is quoted
extern const std::string_view kSecondSpeakers;  // names; the second one
extern const std::string_view kSingular;        // determiners of one
extern const std::string_view kPlural;          // determiners of several
extern const std::string_view kEither;          // determiners of one or several

}  // namespace evenkeel::data::lexicon
