// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/tiktoken_file.h"

#include <gtest/gtest.h>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "tokenizer/encoded.h"

namespace evenkeel::tokenizer {
namespace {

using Ids = std::vector<Id>;

/// Tokens a, b, c, space, bc, abc, "a ".
constexpr const char* kRanks = "YQ== 0\nYg== 1\nYw== 2\nIA== 3\nYmM= 4\nYWJj 5\r\n\nYSA= 6\n";

constexpr int kNone = -1;

/// A file of a known name: its number of ranks, the one that no token has, and its end-of-text.
struct KnownFile {
  const char* name;
  int ranks, gap;
  Id end;
};

/// As many ranks from 0 on without that of the gap, each of a token of three bytes.
std::string many_ranks(int count, int gap) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (int number = 0, rank = 0; number < count; ++number, ++rank) {
    if (rank == gap) ++rank;
    for (const int shift : {18, 12, 6, 0}) {
      out += kDigits[static_cast<std::size_t>(rank >> shift & 63)];
    }
    out += text(' ', rank, '\n');
  }
  return out;
}

class TiktokenFile : public data::TemporaryFolder {
 protected:
  std::string refused(const std::string& content, const std::string& pattern = "gpt2") const {
    const auto path = file("r.tiktoken", content);
    auto message = data::refusal([&] { Tokenizer::load(path, {pattern}); });
    const auto folder = path.substr(0, path.size() - 10);
    if (message.starts_with(folder)) message.erase(0, folder.size());
    return message;
  }
};

TEST_F(TiktokenFile, MergesPairsByTheRankOfTheirConcatenation) {
  const auto tokenizer = Tokenizer::load(file("r.tiktoken", kRanks), {"[abc ]+"});
  EXPECT_EQ(tokenizer.kind(), "tiktoken BPE");
  EXPECT_EQ(tokenizer.vocabulary(), 7);
  EXPECT_EQ(encoded(tokenizer, "bc"), (Ids{4}));
  EXPECT_EQ(encoded(tokenizer, "abcb"), (Ids{5, 1}));
  EXPECT_EQ(encoded(tokenizer, "aa b"), (Ids{0, 6, 1}));
  EXPECT_EQ(decoded(tokenizer, {5, 3, 6}), "abc a ");
}

TEST_F(TiktokenFile, TakesAWordThatIsATokenWithoutMerges) {
  const auto tokenizer = Tokenizer::load(file("r.tiktoken", "YQ== 0\nYw== 1\nYWNj 2\n"), {"[ac]+"});
  EXPECT_EQ(encoded(tokenizer, "acc"), (Ids{2}));
  EXPECT_EQ(encoded(tokenizer, "acca"), (Ids{0, 1, 1, 0}));
}

TEST_F(TiktokenFile, HasThePatternAndTheSpecialTokensOfItsName) {
  const auto tokenizer = Tokenizer::load(file("whisper.tiktoken", kRanks));
  EXPECT_EQ(tokenizer.end_of_text(), 7U);
  EXPECT_EQ(encoded(tokenizer, "a b<|endoftext|>"), (Ids{0, 3, 1, 7}));
  const auto gpt4 = Tokenizer::load(file("r.tiktoken", kRanks), {"cl100k"});
  EXPECT_EQ(gpt4.end_of_text(), 8U);
  EXPECT_EQ(gpt4.find_token("<|endofprompt|>"), 27U);
  EXPECT_EQ(gpt4.vocabulary(), 28);
}

TEST_F(TiktokenFile, MayHaveARankWithoutAToken) {
  const auto tokenizer = Tokenizer::load(file("multilingual.tiktoken", "YQ== 0\n= 1\n"));
  EXPECT_EQ(tokenizer.end_of_text(), 2U);
  EXPECT_EQ(tokenizer.token_bytes(1), "");
  EXPECT_EQ(
      refused("YQ== 0\n= 0\n"),
      "r.tiktoken:2: must have a token and a rank of its own, but another line has them, too");
}

TEST_F(TiktokenFile, HasTheFixedIdsOfTheSpecialTokensOfItsName) {
  for (const auto& [name, ranks, gap, end] :
       {KnownFile{"gpt2", 50256, kNone, 50256}, KnownFile{"r50k_base", 50256, kNone, 50256},
        KnownFile{"p50k_base", 50280, 50256, 50256},
        KnownFile{"cl100k_base", 100256, kNone, 100257},
        KnownFile{"o200k_base", 199998, kNone, 199999}}) {
    const auto path = file(text(name, ".tiktoken"), many_ranks(ranks, gap));
    EXPECT_EQ(Tokenizer::load(path).end_of_text(), end) << name;
    for (const int found : {ranks - 1, ranks + 1}) {
      file(text(name, ".tiktoken"), many_ranks(found, gap));
      const auto message = data::refusal([&] { Tokenizer::load(path); });
      EXPECT_NE(message.find(text(".tiktoken: must have the ", ranks, " ranks of ")),
                std::string::npos)
          << message;
      EXPECT_NE(message.find(text(", but has ", found, "; copy or download the file again")),
                std::string::npos)
          << message;
    }
  }
}

TEST_F(TiktokenFile, RefusesTheBeginningOfAFileOfAKnownName) {
  const auto path = file("cl100k_base.tiktoken", many_ranks(50000, kNone));
  EXPECT_EQ(data::refusal([&] { Tokenizer::load(path); }),
            path +
                ": must have the 100256 ranks of cl100k, but has 50000; copy or download the "
                "file again");
}

TEST_F(TiktokenFile, RefusesAGapBetweenRanks) {
  const auto message = [](int line, int missing, int next) {
    return text("r.tiktoken:", line, ": rank ", missing,
                " must be in the file, too, but this line has rank ", next,
                "; copy or download the file again");
  };
  EXPECT_EQ(refused("YQ== 0\nYg== 1\nYw== 3\n"), message(3, 2, 3));
  EXPECT_EQ(refused("YQ== 0\nYg== 1\n\nYw== 5\n", "[abc]+"), message(4, 2, 5));
  EXPECT_EQ(refused("Yg== 1\nYw== 2\n"), message(1, 0, 1));
  const auto path = file("cl100k_base.tiktoken", many_ranks(100255, 70000));
  EXPECT_TRUE(data::refusal([&] {
                Tokenizer::load(path);
              }).starts_with(path + ":70001: rank 70000 must be in the file, too"));
}

TEST_F(TiktokenFile, RefusesDamagedLines) {
  const auto message = [](int line, const std::string& found) {
    return text("r.tiktoken:", line,
                ": must be a token in base 64, a space and a rank below 16777216, but is ", found);
  };
  EXPECT_EQ(refused("YQ== 0\nYg=="), message(2, "Yg=="));
  EXPECT_EQ(refused("YQ== x"), message(1, "YQ== x"));
  EXPECT_EQ(refused("Y$== 1"), message(1, "Y$== 1"));
  EXPECT_EQ(refused("YQ== 16777216"), message(1, "YQ== 16777216"));
  EXPECT_EQ(
      refused("YQ== 0\nYQ== 1"),
      "r.tiktoken:2: must have a token and a rank of its own, but another line has them, too");
  EXPECT_EQ(refused(""), "r.tiktoken: must have a token in each line, but is empty");
}

TEST_F(TiktokenFile, RefusesUnknownPatterns) {
  const auto names =
      "; did you mean \"gpt2\"? known: cl100k, cl100k_base, gpt2, gpt4, gpt4o, llama3, "
      "multilingual, o200k, o200k_base, p50k, p50k_base, qwen, qwen2, r50k, r50k_base, "
      "whisper";
  EXPECT_EQ(refused(kRanks, "gpt3"), text("r.tiktoken: no pattern is named gpt3", names));
  EXPECT_EQ(refused(kRanks, "(a"),
            "r.tiktoken: pattern: must be a regular expression, but a \")\" is missing");
  const auto book = file("book.txt", "Once upon a time\n");
  EXPECT_EQ(data::refusal([&] { Tokenizer::load(book); }),
            book +
                ": must be a tokenizer (tokenizer.json, .model, .tiktoken), but is another file; "
                "name one, or \"bytes\"");
  const auto path = file("gpt3.tiktoken", kRanks);
  EXPECT_EQ(
      data::refusal([&] { Tokenizer::load(path); }),
      text(path, ": the pattern that divides text must be known, but no pattern is named gpt3",
           names, "; give its name or regular expression"));
}

TEST_F(TiktokenFile, RefusesARankWhereThePatternHasASpecialToken) {
  EXPECT_EQ(
      refused(many_ranks(26, kNone), "p50k"),
      "r.tiktoken: id 2 must be free for <|endoftext|> of p50k, but is a token of the file; give "
      "another pattern");
  EXPECT_EQ(refused("YQ== 0", "p50k"), "r.tiktoken: must be a file of p50k, but has only 1 tokens");
}

}  // namespace
}  // namespace evenkeel::tokenizer
