// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The words of builtin:sentences, in descending frequency, separated by spaces. All words are
/// distinct, and so are their forms with -s: plurals of nouns, singulars of verbs.
namespace evenkeel::data::lexicon {

extern const std::string_view kNouns;  // plural with -s
extern const std::string_view kAdjectives;
extern const std::string_view kTransitive;    // transitive verbs; singular with -s
extern const std::string_view kIntransitive;  // intransitive verbs; singular with -s
extern const std::string_view kAdverbs;       // only before intransitive verbs
extern const std::string_view kPrepositions;
extern const std::string_view kSpeakers;        // names of first speakers
extern const std::string_view kSecondSpeakers;  // names of second speakers
extern const std::string_view kSingular;        // singular determiners
extern const std::string_view kPlural;          // plural determiners
extern const std::string_view kEither;          // determiners of either number

}  // namespace evenkeel::data::lexicon
