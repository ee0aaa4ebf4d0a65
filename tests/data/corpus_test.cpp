// SPDX-License-Identifier: Apache-2.0
#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/data/detokenize.h"
#include "evenkeel/data/load_corpora.h"

namespace evenkeel::data {
namespace {

class LoadCorpora : public TemporaryFolder {};

std::string text_of(const Corpus& corpus) {
  return detokenize(corpus.tokens.range(0, corpus.tokens.size()));
}

TEST_F(LoadCorpora, GivesTheBuiltinTextByDefault) {
  const auto texts = load_corpora({}, 256);
  const auto& train = texts.train.front().corpus;
  const auto& validation = texts.validation.front().corpus;
  EXPECT_TRUE(train.has_known_entropy && validation.has_known_entropy);
  EXPECT_EQ(train.description, "builtin:sentences, 32,000 documents, 4.0 MiB");
  EXPECT_EQ(validation.description, "builtin:sentences, 1,400 documents, 180.7 KiB");
  EXPECT_NE(train.digest, validation.digest);
}

TEST_F(LoadCorpora, CutsValidationOffTheEndOfAFile) {
  const auto a = file("a.txt", "one\ntwo\nthree\n");
  const auto texts = load_corpora({.train = {a}, .validation_fraction = 0.5}, 4);
  const auto& train = texts.train.front().corpus;
  const auto& validation = texts.validation.front().corpus;
  EXPECT_EQ(text_of(train), "one\n");
  EXPECT_EQ(text_of(validation), "two\nthree\n");
  EXPECT_EQ(train.description, a + " (1 text), 1 document, 4 B");
  EXPECT_EQ(validation.description, "the last 71.4 % of " + a + " (1 text), 1 document, 10 B");
  EXPECT_FALSE(train.has_known_entropy);
}

TEST_F(LoadCorpora, ReadsTheValidationFilesThatAreNamed) {
  const auto texts =
      load_corpora({.train = {file("a.txt", "train")}, .validation = {file("b.txt", "check")}}, 4);
  const auto& train = texts.train.front().corpus;
  const auto& validation = texts.validation.front().corpus;
  EXPECT_EQ(text_of(train), "train");
  EXPECT_EQ(text_of(validation), "check");
}

TEST_F(LoadCorpora, MixesABuiltinAndFiles) {
  const auto a = file("a.txt", "a text");
  EXPECT_EQ(text_of(load_corpora({.train = {"builtin:sentences"}, .validation = {a}}, 4)
                        .validation.front()
                        .corpus),
            "a text");
  EXPECT_TRUE(load_corpora({.train = {a}, .validation = {"builtin:sentences"}}, 4)
                  .validation.front()
                  .corpus.has_known_entropy);
}

TEST_F(LoadCorpora, SetsDocumentsBetweenEndsOfText) {
  const auto a = file("a.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"c\"}");
  const auto corpus = load_corpora({.train = {a}, .validation = {a}}, 2).train.front().corpus;
  EXPECT_EQ(corpus.tokens.range(0, 6), (std::vector<std::int64_t>{256, 'a', 'b', 256, 'c', 256}));
  ASSERT_EQ(corpus.documents.size(), 2U);
  EXPECT_EQ(corpus.documents[1].begin, 4);
  EXPECT_EQ(corpus.documents[1].end, 5);
  EXPECT_EQ(corpus.digest, corpus.tokens.digest());
}

TEST_F(LoadCorpora, ReadsTextOfAnotherDistributionToMeasureOn) {
  EXPECT_FALSE(load_corpora({}, 4).ood);
  const auto files = load_corpora({.train = {file("a.txt", "train")},
                                   .ood = {file("c.txt", "else")},
                                   .validation_fraction = 0.5},
                                  2);
  ASSERT_TRUE(files.ood);
  EXPECT_EQ(text_of(*files.ood), "else");
  const auto sums =
      load_corpora({.train = {"builtin:addition"}, .ood = {"builtin:addition_longer"}}, 64);
  EXPECT_EQ(sums.train.front().corpus.description, "builtin:addition, 60,000 documents, 562.2 KiB");
  ASSERT_TRUE(sums.ood);
  EXPECT_EQ(sums.ood->description, "builtin:addition_longer, 2,000 documents, 28.9 KiB");
  EXPECT_NE(sums.ood->digest, sums.validation.front().corpus.digest);
}

TEST_F(LoadCorpora, TakesTheHeldOutSumsWhereABuiltinIsNamedForBoth) {
  const auto both =
      load_corpora({.train = {"builtin:addition"}, .validation = {"builtin:addition"}}, 64);
  const auto other =
      load_corpora({.train = {"builtin:sentences"}, .validation = {"builtin:addition"}}, 64);
  const auto one = load_corpora({.train = {"builtin:addition"}}, 64);
  EXPECT_EQ(both.validation.front().corpus.digest, one.validation.front().corpus.digest);
  EXPECT_EQ(both.validation.front().corpus.description, one.validation.front().corpus.description);
  EXPECT_EQ(other.validation.front().corpus.digest, one.validation.front().corpus.digest);
}

TEST_F(LoadCorpora, RefusesAWindowThatHoldsNoQuestion) {
  EXPECT_EQ(refusal([] {
              load_corpora({.train = {"builtin:addition"}, .ood = {"builtin:addition_longer"}}, 17);
            }),
            "data.ood: model.context must be at least 18, for the longest question with its "
            "answer, but is 17");
}

TEST_F(LoadCorpora, RefusesAnUnknownBuiltin) {
  EXPECT_EQ(refusal([] { load_corpora({.train = {"builtin:sentence"}}, 4); }),
            "data.train: no builtin text is named \"sentence\"; did you mean \"sentences\"? known: "
            "addition, addition_longer, sentences");
}

TEST_F(LoadCorpora, RefusesABuiltinInAList) {
  EXPECT_EQ(refusal([] { load_corpora({.validation = {"a.txt", "builtin:sentences"}}, 4); }),
            "data.validation: \"builtin:sentences\" must stand alone, but 1 more are listed");
}

TEST_F(LoadCorpora, RefusesATextShorterThanOneWindow) {
  const auto a = file("a.txt", "123");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .validation = {a}}, 5); }),
            "data.train: one window needs 6 tokens, but the text has 5; add text or lower "
            "model.context");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .validation = {a}}, 4); }), "no refusal");
}

TEST_F(LoadCorpora, RefusesAFractionWhereNothingIsSplitOff) {
  const auto a = file("a.txt", "a text"), b = file("b.txt", "a text");
  EXPECT_EQ(
      refusal(
          [&] { load_corpora({.train = {a}, .validation = {b}, .validation_fraction = 0.5}, 4); }),
      "exit code 64: data.validation_fraction has no effect where data.validation names a text; "
      "leave it out, or set it to 0.1");
  EXPECT_EQ(refusal([] { load_corpora({.validation_fraction = 0.5}, 4); }),
            "exit code 64: data.validation_fraction has no effect on a built-in text, which has "
            "validation documents of its own; leave it out, or set it to 0.1");
}

TEST_F(LoadCorpora, RefusesASplitThatLeavesNothingToValidate) {
  const auto a = file("a.jsonl", "{\"text\": \"a text\"}");
  EXPECT_EQ(refusal([&] { load_corpora({.train = {a}, .validation_fraction = 0}, 4); }),
            "data.validation: must hold text, but \"auto\" leaves none; raise "
            "data.validation_fraction or name files");
}

// XXH3-128 of the bytes 61 00 62 00 00 01, by the shared library of xxHash.
TEST(Tokens, HaveTheXxh3OfTheirIds) {
  EXPECT_EQ(Tokens({'a', 'b', 256}).digest(), "e8bbd0af7fd70bc5fec45d567cfd836f");
  EXPECT_NE(Tokens({'a', 'b'}).digest(), Tokens({'b', 'a'}).digest());
}

TEST(Detokenize, LeavesOutWhatIsNoByte) {
  EXPECT_EQ(detokenize(std::vector<std::int64_t>{256, 'h', 'i', 256, 300, -1}), "hi");
  EXPECT_EQ(detokenize(std::vector<std::int64_t>{256, 0xc3, 0xa9, 0}),
            std::string("\xc3\xa9\0", 3));
}

}  // namespace
}  // namespace evenkeel::data
