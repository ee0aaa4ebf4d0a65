// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/grammar.h"

#include "evenkeel/data/lexicon.h"

namespace evenkeel::data {

namespace {

using List = std::vector<std::string>;
using Weights = std::vector<double>;

/// Offsets of the Zipf laws: the smaller, the more probable the first words.
constexpr double kNounOffset = 4, kVerbOffset = 1, kAdjectiveOffset = 1, kSmallOffset = 1;

Categorical bernoulli(double probability) {
  return {{"no", "yes"}, {1 - probability, probability}};
}

Categorical zipf_distribution(const List& list, double offset) {
  return {list, zipf(list.size(), offset)};
}

List with_ending(List list, const char* ending) {
  for (auto& word : list) word += ending;
  return list;
}

List with_beginning(const char* beginning, List list) {
  for (auto& word : list) word.insert(0, beginning);
  return list;
}

List numbers(std::size_t from, std::size_t to) {
  List texts;
  for (auto number = from; number <= to; ++number) texts.push_back(std::to_string(number));
  return texts;
}

List operand_texts() {
  return numbers(1, kHighestOperand);
}
List count_texts() {
  return numbers(100, 999);
}

List noun_texts() {
  return split_words(lexicon::kNouns);
}
List transitive_verbs() {
  return split_words(lexicon::kTransitive);
}
List say_verbs() {
  return {"say", "write", "swear"};
}

List singular_plural(const List& list) {
  List both;
  for (const auto& word : list) both.insert(both.end(), {word, word + "s"});
  return both;
}

Weights halves(const Weights& weights) {
  Weights both;
  for (const double weight : weights) both.insert(both.end(), {weight / 2, weight / 2});
  return both;
}

List plural_determiner_texts() {
  return joined(split_words(lexicon::kPlural), count_texts());
}

List determiner_texts() {
  return joined(joined(split_words(lexicon::kSingular), plural_determiner_texts()),
                split_words(lexicon::kEither));
}

/// \param total  probability of a determiner among all first words
Weights determiner_weights(double total) {
  constexpr double kOne = 0.3, kSeveral = 0.16, kCount = 0.16, kEither = 0.38, kOffset = 1;
  const auto counts = count_texts().size();
  return joined(
      joined(joined(zipf(split_words(lexicon::kSingular).size(), kOffset, kOne * total),
                    zipf(split_words(lexicon::kPlural).size(), kOffset, kSeveral * total)),
             Weights(counts, kCount * total / static_cast<double>(counts))),
      zipf(split_words(lexicon::kEither).size(), kOffset, kEither * total));
}

Categorical start_distribution() {
  constexpr double kEither = 0.15, kIf = 0.15, kWho = 0.06, kSum = 0.04;
  return {joined(joined(List{"either", "if", "who"}, operand_texts()), determiner_texts()),
          joined(joined(Weights{kEither, kIf, kWho}, zipf(kHighestOperand, kSmallOffset, kSum)),
                 determiner_weights(1 - kEither - kIf - kWho - kSum))};
}

Categorical modifier_distribution() {
  constexpr double kWho = 0.4, kWhom = 0.12, kParenthesis = 0.1;
  const auto prepositions = split_words(lexicon::kPrepositions);
  return {joined(List{"who", "whom", "("}, prepositions),
          joined(Weights{kWho, kWhom, kParenthesis},
                 zipf(prepositions.size(), kSmallOffset, 1 - kWho - kWhom - kParenthesis))};
}

Categorical inflected_verbs(const List& list, const char* ending) {
  return zipf_distribution(with_ending(list, ending), kVerbOffset);
}

/// The first word of a verb phrase: a transitive verb, or the adverb before an intransitive verb.
Categorical verb_distribution(const char* ending) {
  constexpr double kTransitive = 0.65;
  const auto transitive = transitive_verbs();
  const auto adverbs = split_words(lexicon::kAdverbs);
  return {joined(with_ending(transitive, ending), adverbs),
          joined(zipf(transitive.size(), kVerbOffset, kTransitive),
                 zipf(adverbs.size(), kSmallOffset, 1 - kTransitive))};
}

}  // namespace

Grammar::Grammar()
    : has_speaker(bernoulli(0.06)),
      has_second_speaker(bernoulli(0.3)),
      has_adjective(bernoulli(0.4)),
      has_modifier(bernoulli(0.35)),
      has_second_clause(bernoulli(0.35)),
      speakers(zipf_distribution(split_words(lexicon::kSpeakers), kSmallOffset)),
      second_speakers(zipf_distribution(
          with_beginning("and ", split_words(lexicon::kSecondSpeakers)), kSmallOffset)),
      say{zipf_distribution(with_ending(say_verbs(), "s"), 1), zipf_distribution(say_verbs(), 1)},
      starts(start_distribution()),
      operands(zipf_distribution(operand_texts(), kSmallOffset)),
      determiners(determiner_texts(), determiner_weights(1)),
      singular_determiners(split_words(lexicon::kSingular).size()),
      plural_determiners(plural_determiner_texts().size()),
      adjectives(zipf_distribution(split_words(lexicon::kAdjectives), kAdjectiveOffset)),
      modifiers(modifier_distribution()),
      conjunctions({", and", ", but", ", so", ", while", ", for", ", yet"}, {6, 5, 3, 3, 2, 2}),
      nouns{zipf_distribution(noun_texts(), kNounOffset),
            zipf_distribution(with_ending(noun_texts(), "s"), kNounOffset)},
      nouns_of_either(singular_plural(noun_texts()),
                      halves(zipf(noun_texts().size(), kNounOffset))),
      verbs{verb_distribution("s"), verb_distribution("")},
      transitive{inflected_verbs(transitive_verbs(), "s"), inflected_verbs(transitive_verbs(), "")},
      intransitive{inflected_verbs(split_words(lexicon::kIntransitive), "s"),
                   inflected_verbs(split_words(lexicon::kIntransitive), "")} {}

const Grammar& grammar() {
  static const Grammar kGrammar;
  return kGrammar;
}

}  // namespace evenkeel::data
