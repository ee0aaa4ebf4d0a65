// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/shard_tokenizers.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "data/token_bytes_of.h"
#include "evenkeel/data/input_kinds.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/text_size.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

constexpr std::int64_t kIds = 300;

/// Makes a folder the current one, and goes back at its end.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;
  InFolder(InFolder&&) = delete;
  InFolder& operator=(InFolder&&) = delete;
  ~InFolder() {
    std::error_code none;
    std::filesystem::current_path(before_, none);
  }

 private:
  std::filesystem::path before_;
};

class ShardTokenizers : public TemporaryFolder {
 protected:
  /// Shards of 41 ids in a folder. \param tokenizer, encoding  digests
  std::string shards(const std::string& name, const std::string& tokenizer,
                     const std::string& encoding = "", std::uint32_t end = 0) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    TokenWriter writer({.folder = path(name),
                        .vocabulary = kIds,
                        .end_of_text = end,
                        .tokenizer = tokenizer,
                        .tokenizer_encoding = encoding});
    writer.append(std::vector<std::uint32_t>(40, 1));
    writer.finish();
    return path(name);
  }
  std::string refused(const config::Data& data, std::int64_t vocabulary = kIds) const {
    return refusal([&] { load_corpora(data, 2, vocabulary); });
  }
  static std::string other(const std::string& name, const std::string& first) {
    return name + ": the tokens must be of the tokenizer of " + first +
           ", but manifest.json names another tokenizer; tokenize both texts with one";
  }
};

TEST_F(ShardTokenizers, OfARunAreOne) {
  const auto a = shards("a", "one"), b = shards("b", "two");
  EXPECT_EQ(refused({.train = {a, b}}), other(b, a));
  EXPECT_EQ(refused({.train = {a, b}, .weights = {1, 1}}), other(b, a));
  EXPECT_EQ(refused({.train = {a}, .validation = {b}}), other(b, a));
  EXPECT_EQ(refused({.train = {a}, .validation = {a}, .ood = {b}}), other(b, a));
  EXPECT_EQ(refused({.train = {a, b}}, 0), other(b, a)) << "without model.vocabulary";
  EXPECT_EQ(refusal([&] { text_sizes({.train = {a, b}}, kIds); }), other(b, a)) << "plan";
  EXPECT_EQ(refused({.train = {a, a}, .validation = {a}}), "no refusal");
}

TEST_F(ShardTokenizers, OfAnEvaluationAreThoseOfTheTraining) {
  const auto a = shards("a", "one"), b = shards("b", "two");
  const auto encoding = std::make_shared<const TextEncoding>(config::Data());
  const config::Data data = {.train = {a}, .validation = {b}}, own = {.train = {a}};
  EXPECT_EQ(refusal([&] { load_evaluation_corpora(data, encoding, 2, kIds); }), other(b, a));
  const std::vector<config::NamedText> news = {{"news", {b}}};
  EXPECT_EQ(refusal([&] { load_named_texts(news, own, encoding, 2, kIds); }), other(b, a));
  const config::Data gone = {.train = {path("gone.npy")}, .validation = {b}};
  EXPECT_EQ(refusal([&] { load_evaluation_corpora(gone, encoding, 2, kIds); }), "no refusal");
}

// The training text may be in another folder than the current one.
TEST_F(ShardTokenizers, OfAnEvaluationAreThoseOfDataTokenizer) {
  const auto file = text(EK_TESTS, "/golden/tokenizers/gpt2.json");
  const auto a = shards("a", "one"), b = shards("b", tokenizer::Tokenizer::load(file).digest());
  const auto refused_evaluation = [&](const std::string& validation) {
    const config::Data data = {.train = {a}, .validation = {validation}, .tokenizer = file};
    const auto encoding = std::make_shared<const TextEncoding>(data);
    const std::vector<config::NamedText> news = {{"news", {validation}}};
    return refusal([&] { load_evaluation_corpora(data, encoding, 2); }) + "\n" +
           refusal([&] { load_named_texts(news, data, encoding, 2); });
  };
  EXPECT_EQ(refused_evaluation(b), "no refusal\nno refusal");
  const auto other_tokenizer =
      a +
      ": the tokens were made with another tokenizer than data.tokenizer; name that tokenizer, or "
      "tokenize the text again";
  EXPECT_EQ(refused_evaluation(a), other_tokenizer + "\n" + other_tokenizer);
}

TEST_F(ShardTokenizers, AreComparedBeforeATextIsRead) {
  const auto tokenizer = text(EK_TESTS, "/golden/tokenizers/gpt2.json");
  const auto a = shards("a", tokenizer::Tokenizer::load(tokenizer).digest());
  const auto b = shards("b", "two"), bad = file("bad.txt", "\xff\xfe no UTF-8");
  const config::Data data = {.train = {bad, a, b}, .weights = {1, 1, 1}, .tokenizer = tokenizer};
  EXPECT_EQ(refused(data, 0), other(b, a));
  EXPECT_EQ(refusal([&] { text_sizes(data, 0); }), other(b, a)) << "plan";
}

TEST_F(ShardTokenizers, AreOneWithEqualIds) {
  const auto a = shards("a", "one", "ids"), b = shards("b", "two", "ids"), c = shards("c", "two");
  EXPECT_EQ(refused({.train = {a, b}, .validation = {c}}), "no refusal") << "b is as a and as c";
  EXPECT_EQ(refused({.train = {a, c, b}, .validation = {c}}), "no refusal") << "in any order";
  EXPECT_EQ(refused({.train = {a, c}}), other(c, a));
  const auto d = shards("d", "three", "others");
  EXPECT_EQ(refused({.train = {a, b, c, d}}), other(d, a));
}

// Shards of an earlier version have no digest of the ids; those of an export have another file.
TEST_F(ShardTokenizers, AreOneWhereDataTokenizerIsThatOfBoth) {
  const auto file = text(EK_TESTS, "/golden/tokenizers/gpt2.json");
  const auto own = tokenizer::Tokenizer::load(file);
  const auto a = shards("a", own.digest()), b = shards("b", "two", own.encoding_digest());
  for (const auto& train : {std::vector{a, b}, std::vector{b, a}}) {
    const config::Data both = {.train = train, .validation = {a}, .tokenizer = file};
    EXPECT_EQ(refused(both, 0), "no refusal");
  }
  const auto c = shards("c", "two");
  const config::Data wrong = {.train = {a, c}, .validation = {a}, .tokenizer = file};
  EXPECT_EQ(refused(wrong, 0), other(c, a));
}

TEST_F(ShardTokenizers, OfFilesWithoutAManifestAreNotCompared) {
  const auto a = shards("a", "one");
  const auto raw = file("raw.bin", bytes_of<std::uint16_t>({1, 2, 3, 4}));
  EXPECT_EQ(refused({.train = {a, raw}, .validation = {raw}}), "no refusal");
}

TEST_F(ShardTokenizers, OfTheFoldersInAFolderAreOne) {
  const auto a = shards("all/a", "one"), b = shards("all/b", "two");
  for (const auto& input : {path("all"), path("all/*/*.npy")}) {
    EXPECT_EQ(refused({.train = {input}}), other(b, a)) << input;
  }
  std::filesystem::remove_all(b);
  shards("all/b", "one");
  EXPECT_EQ(refused({.train = {path("all")}, .validation = {a}}), "no refusal");
}

TEST_F(ShardTokenizers, AreKnownInTheCurrentFolder) {
  const auto a = shards("a", "one");
  const InFolder folder(a);
  EXPECT_TRUE(manifest_of("tokens-00000.npy").has_value());
}

TEST_F(ShardTokenizers, OrTheNumberOfIdsAreWanted) {
  const auto a = shards("a", "one");
  EXPECT_EQ(refused({.train = {a}}, 0),
            a + ": token ids need the tokenizer that made them or the number of ids; set "
                "data.tokenizer or model.vocabulary (300)");
}

TEST_F(ShardTokenizers, OfBytesNeedNoNameForDataBegin) {
  const auto a = shards("a", tokenizer::Tokenizer::bytes().digest()), b = shards("b", "one");
  const auto checked = [](const std::string& input) {
    return refusal([&] { check_unused_keys({.train = {input}, .begin = true}); });
  };
  EXPECT_EQ(checked(a), "no refusal");
  EXPECT_EQ(checked(b),
            "exit code 64: data.begin has no effect for token files without a tokenizer file in "
            "data.tokenizer; leave it out");
}

TEST_F(ShardTokenizers, WithAnotherEndOfTextThanIsNamedAreAWarning) {
  const auto a = shards("a", "one", "", 9);
  const auto warning = [&](const std::string& named) {
    const config::Data data = {.train = {a}, .end_of_text = named};
    ::testing::internal::CaptureStderr();
    const auto corpus = token_corpus({a}, data, TextEncoding(data), kIds, true);
    EXPECT_EQ(corpus.end_of_text, static_cast<TokenId>(named == "auto" ? 9 : std::stoi(named)));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warning("auto"), "");
  EXPECT_EQ(warning("9"), "");
  EXPECT_EQ(warning("5"), "warning: " + a +
                              ": data.end_of_text is 5, but manifest.json says that its documents "
                              "end with token 9\n");
  EXPECT_EQ(warning("5"), "") << "once: a study reads a text for each run";
}

TEST_F(ShardTokenizers, AreNextToTheCountsOfWhatWasLeftOut) {
  const auto write = [&](const std::vector<std::vector<std::uint32_t>>& documents,
                         const JsonCounts& counts) {
    std::filesystem::remove_all(path("a"));
    TokenWriter writer({.folder = path("a"), .vocabulary = kIds, .tokenizer = "one"});
    for (const auto& each : documents) writer.append(each);
    writer.append_part({});
    writer.append({});
    writer.finish(counts);
    return read_shard_manifest(path("a"));
  };
  JsonCounts counts;
  counts.nulls = 3;
  counts.empties = 2;
  const auto manifest = write({{1}, {}, {2, 3}}, counts);
  EXPECT_EQ(manifest.documents(), 2);
  EXPECT_EQ(manifest.null_texts, 3);
  EXPECT_EQ(manifest.empty_texts, 2);
  EXPECT_EQ(manifest.documents_without_tokens, 2);
  EXPECT_FALSE(manifest.invalid_lines.has_value());
  EXPECT_EQ(left_out_counts(manifest).size(), 3U);
  EXPECT_EQ(left_out_counts(write({{1}}, {})).size(), 1U);
  file("a/manifest.json",
       "{\"format\":\"olmo\",\"tokenizer\":\"\",\"vocabulary\":300,\"type\":\"uint16\","
       "\"end_of_text\":1,\"empty_texts\":-1}");
  EXPECT_EQ(refusal([&] { read_shard_manifest(path("a")); }),
            path("a/manifest.json") +
                ": must be a manifest of shards, but \"empty_texts\" is missing or wrong; write "
                "the shards again");
}

}  // namespace
}  // namespace evenkeel::data
