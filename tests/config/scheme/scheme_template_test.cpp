// SPDX-License-Identifier: Apache-2.0
// The file that `evenkeel schemes new` writes: it holds every word, and every example is right.
#include "evenkeel/config/scheme/scheme_template.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>

#include "config/scheme/scheme_of.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/scheme_relation.h"

namespace evenkeel::config {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "#skip = ..." is an example, "# prose" is not.
bool is_example(const std::string& line) {
  return line.size() > 1 && line[0] == '#' && std::islower(static_cast<unsigned char>(line[1]));
}

/// For each example its line, and the template in which this example is active. (As a table, it
/// drops the formula of its parent's parameters.)
std::vector<std::pair<std::string, std::string>> each_taken_up(const std::string& parent) {
  const auto lines = lines_of(scheme_template("mine.toml", parent));
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t taken = 0; taken < lines.size(); ++taken) {
    if (!is_example(lines[taken])) continue;
    std::string toml;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      toml += (i == taken ? lines[i].substr(1) : lines[i]) + "\n";
    }
    all.emplace_back(lines[taken], toml);
  }
  return all;
}

TEST(Template, IsItsParentAsItStands) {
  for (const auto& parent : catalogue()) {
    const auto toml = scheme_template("mine.toml", parent);
    const auto mine = scheme_of(toml);
    EXPECT_EQ(norm::relation(mine, bind(find_scheme(parent), mine.shape)),
              norm::SchemeRelation::same)
        << parent;
    EXPECT_NE(toml.find(text("\ntitle = \"mine\"\nextends = \"", parent, "\"")), std::string::npos);
    EXPECT_EQ(toml.find('@'), std::string::npos) << parent;
  }
}

TEST(Template, HoldsOnlyExamplesThatAreAccepted) {
  const auto all = each_taken_up("hybrid_norm");
  EXPECT_GT(all.size(), 70u);
  for (const auto& [line, toml] : all) {
    if (line.starts_with("#norm = \"l2\"")) continue;  // q and k of hybrid_norm need a score_scale
    EXPECT_EQ(refusal(toml), "accepted") << line;
  }
}

// Under another parent an example may break a rule of meaning, but each is still read.
TEST(Template, HoldsExamplesThatAreReadUnderOtherParents) {
  const std::set<std::string> rules = {"normed_without_input", "rule_in_parallel",
                                       "update_with_residual_norm", "l2_without_score_scale"};
  for (const auto* const parent : {"keel", "ngpt", "dyt", "parallel", "siamese_norm"}) {
    for (const auto& [line, toml] : each_taken_up(parent)) {
      const auto refused = refusal(toml);
      bool is_rule = refused == "accepted";
      for (const auto& rule : rules) is_rule |= refused.find(rule) != std::string::npos;
      EXPECT_TRUE(is_rule) << parent << ": " << line << ": " << refused;
    }
  }
}

/// The words that a message lists as known.
std::vector<std::string> known_in(const std::string& toml) {
  const auto message = refusal(toml);
  const auto at = message.find("known: ");
  EXPECT_NE(at, std::string::npos) << toml << ": " << message;
  if (at == std::string::npos) return {};
  std::istringstream in(message.substr(at + std::string("known: ").size()));
  std::vector<std::string> words;
  for (std::string word; std::getline(in >> std::ws, word, ',');) words.push_back(word);
  return words;
}

bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) {
      return true;
    }
  }
  return false;
}

/// Schemes with one unknown word "zzz" each, so that each message lists the words of one place.
std::vector<std::string> schemes_with_an_unknown_word() {
  std::vector<std::string> places = {
      "zzz = 1",
      "attention.zzz = 1",
      "feed_forward.zzz = 1",
      "embedding.zzz = 1",
      "logits.zzz = 1",
      "equation.zzz = 1",
      "dual = { read = 'x', output = 'x + norm(y)', zzz = 1 }",
      "layers = [{ where = 'first(1)', zzz = 1 }]",
      "init = [{ weights = [], factor = 1, zzz = 1 }]",
      "init = [{ weights = ['zzz'], factor = 1 }]",
      "reparameterize = [{ rule = 'weight_norm', weights = [], zzz = 1 }]",
      "reparameterize = [{ rule = 'zzz', weights = [] }]",
      "hooks = [{ kind = 'zzz' }]",
      "hooks = [{ kind = 'unit_norm', weights = [], axis = 'in', zzz = 1 }]",
      "hooks = [{ kind = 'unit_norm', weights = [], axis = 'zzz' }]",
      "hooks = [{ kind = 'qk_clip', threshold = 1, zzz = 1 }]",
      "logits.scale = { learned = 'scalar', init = 1, zzz = 1 }",
      "logits.scale = { learned = 'zzz', init = 1 }",
      "attention.score_scale = { learned = 'zzz', init = 1 }",
      "logits.scale = { learned = 'scalar', init = 1, through = 'zzz' }",
      "head = 'zzz'",
      "layout = 'zzz'",
      "dual = { read = 'zzz', output = 'x + norm(y)' }",
      "dual = { read = 'x', output = 'zzz' }",
      "norm = 'zzz'"};
  for (const auto* const field :
       {"scope", "affine", "gain_form", "epsilon_at", "pre_scale", "rope"}) {
    places.push_back(text("norm = { kind = 'rms_norm', ", field, " = 'zzz' }"));
  }
  for (const auto& kind : norm::kind_names()) {
    places.push_back(text("norm = { kind = '", kind, "', zzz = 1 }"));
  }
  return places;
}

TEST(Template, HoldsEveryWordOfTheVocabulary) {
  std::string examples;  // without what is inherited
  for (const auto& line : lines_of(scheme_template("mine.toml", "no_norm"))) {
    if (!line.starts_with("#   ")) examples += line + "\n";
  }
  for (const auto& place : schemes_with_an_unknown_word()) {
    for (const auto& word : known_in(place)) {
      const bool is_matrix = word.starts_with("attention.") || word.starts_with("feed_forward.");
      const auto short_word = is_matrix ? word.substr(word.find('.')) : word;
      EXPECT_TRUE(has_word(examples, word) || has_word(examples, short_word)) << word;
    }
  }
}

TEST(Template, HoldsTheWordsThatNoMessageLists) {
  const auto examples = scheme_template("mine.toml", "no_norm");
  for (const auto* const word :
       {"stream",  "normed", "block_input", "add",      "sphere", "geodesic", "shared",
        "none",    "first",  "last",        "fraction", "every",  "normal",   "trunc_normal",
        "uniform", "xavier", "default",     "sqrt",     "log2",   "ln",       "exp",
        "floor",   "min",    "max",         "N",        "S",      "l",        "d",
        "dk",      "f",      "h",           "kv",       "vocab",  "context",  "width",
        "t",       "T",      "per head"}) {
    EXPECT_TRUE(has_word(examples, word)) << word;
  }
}

TEST(Template, ShowsWhatIsInherited) {
  const auto toml = scheme_template("mine.toml", "hybrid_norm");
  for (const auto* const line :
       {"\n#   blocks 1-4    attention     q, k, v: rms_norm per head -> attention -> + stream\n",
        "\n#   final = \"norm\"\n", "\n#   feed_forward.skip = \"normed\"\n",
        "\n#norm_parameters = \"N*(d + 3*dk) + d\"\n"}) {
    EXPECT_NE(toml.find(line), std::string::npos) << line << toml;
  }
}

}  // namespace
}  // namespace evenkeel::config
