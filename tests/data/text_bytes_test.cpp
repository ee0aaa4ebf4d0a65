// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <numeric>

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/shard_manifest.h"
#include "evenkeel/data/token_writer.h"
#include "evenkeel/data/windows.h"

/// The bytes of a text are those of its files, whatever the tokenizer makes of it.
namespace evenkeel::data {
namespace {

const std::string kGoldenTokenizers = EK_TESTS "/golden/tokenizers/";
constexpr std::int64_t kTextContext = 4;
const std::string kComposedText = "a cafe\u0301, a cafe\u0301 and a ship";
const std::string kPlainText = "the moon and the sea of ships";

class TextBytesOfFiles : public TemporaryFolder {
 protected:
  TextBytesOfFiles() { ::setenv("EVENKEEL_CACHE", path("cache").c_str(), 1); }
  ~TextBytesOfFiles() override { ::unsetenv("EVENKEEL_CACHE"); }

  static config::Data data_of(const std::string& input, const std::string& tokenizer) {
    config::Data data;
    data.train = data.validation = {input};
    data.tokenizer = tokenizer;
    data.end_of_text = tokenizer == "bytes" ? "auto" : "2";
    return data;
  }
  static Corpus corpus_of(const std::string& input, const std::string& tokenizer) {
    return load_corpora(data_of(input, tokenizer), kTextContext).validation.front().corpus;
  }
  /// Writes the shards of a text, as `evenkeel tokenize` does, and gives their folder.
  std::string shards_of(const std::string& input, const std::string& tokenizer,
                        std::int64_t shard_tokens) const {
    const auto data = data_of(input, tokenizer);
    const TextEncoding encoding(data);
    TokenWriter writer({.folder = path("shards"),
                        .shard_tokens = shard_tokens,
                        .vocabulary = encoding.vocabulary(),
                        .end_of_text = encoding.required_end_of_text(),
                        .tokenizer = encoding.tokenizer().digest()});
    encode_files(find_text_files({input}, data).files, data, encoding, 1,
                 [&](const EncodedPiece& piece) {
                   if (piece.is_end) return writer.append(piece.ids, piece.text_bytes);
                   writer.append_part(piece.ids, piece.text_bytes);
                 });
    writer.finish();
    return path("shards");
  }
  /// Two documents. The tokenizer composes two characters of the first one, each to a byte less.
  std::string composed_documents() const {
    return file("a.jsonl",
                R"({"text": ")" + kComposedText + "\"}\n" + R"({"text": ")" + kPlainText + "\"}\n");
  }

  /// The bytes by which the loss of a text is divided.
  static std::int64_t scored_bytes(const Corpus& corpus) {
    return ValidationWindows(corpus, kTextContext, 0).scored_bytes().value();
  }
  /// Sum of the lengths of the scored tokens.
  static std::int64_t token_bytes(const Corpus& corpus) {
    const auto ids = corpus.tokens.range(1, corpus.tokens.size() - 1);
    return std::accumulate(ids.begin(), ids.end(), std::int64_t{0},
                           [&](std::int64_t sum, std::int64_t id) {
                             return sum + (*corpus.token_lengths)[static_cast<std::size_t>(id)];
                           });
  }
  /// A golden tokenizer with another value of a field.
  std::string changed(const std::string& name, const char* field,
                      const nlohmann::json& value) const {
    auto content = parse_json(read_file(kGoldenTokenizers + name));
    content[field] = value;
    return file(name, content.dump());
  }
};

// e and U+0301 have three bytes, the composed character has two.
TEST_F(TextBytesOfFiles, AreThoseBeforeNormalizationFormC) {
  const std::string content = "a cafe\u0301, a cafe\u0301 and a ship\n";
  const auto corpus = corpus_of(file("a.txt", content), kGoldenTokenizers + "neox.json");
  ASSERT_LT(token_bytes(corpus), static_cast<std::int64_t>(content.size()));
  EXPECT_EQ(scored_bytes(corpus), static_cast<std::int64_t>(content.size()) + 1);
}

// The ligature has three bytes, "fi" has two.
TEST_F(TextBytesOfFiles, AreThoseBeforeNormalizationFormKC) {
  const std::string content = "the \ufb01rst \ufb01sh of the ship";
  const auto tokenizer = changed("gpt2.json", "normalizer", {{"type", "NFKC"}});
  EXPECT_EQ(scored_bytes(corpus_of(file("a.txt", content), tokenizer)),
            static_cast<std::int64_t>(content.size()) + 1);
}

// Each document has 8 bytes and a prefix of one space, which no file has.
TEST_F(TextBytesOfFiles, HaveNoPrefixOfADocument) {
  const auto documents = file("a.jsonl", R"({"text": "the ship"}
{"text": "the sea."}
{"text": "A ship!!"}
)");
  const auto bare = changed("llama2.json", "decoder", nullptr);
  for (const auto& tokenizer : {kGoldenTokenizers + "llama2.json", bare}) {
    const auto corpus = corpus_of(documents, tokenizer);
    EXPECT_EQ(token_bytes(corpus), 3 * (8 + 1 + 1)) << tokenizer;
    EXPECT_EQ(scored_bytes(corpus), 3 * (8 + 1)) << tokenizer;
  }
}

// The pre-tokenizer drops white space.
TEST_F(TextBytesOfFiles, IncludeTextWithoutTokens) {
  const std::string content = "the ship  of\nThe moon";
  const auto corpus = corpus_of(file("a.txt", content), kGoldenTokenizers + "removed.json");
  EXPECT_EQ(scored_bytes(corpus), static_cast<std::int64_t>(content.size()) + 1);
}

// "Special tokens count as one byte": of a tokenizer that changes no text, all counts are those of
// the tokens, so that its bits per byte are what they were.
TEST_F(TextBytesOfFiles, AreThoseOfTheTokensOfAByteLevelTokenizer) {
  const std::string content = "the ship<|endoftext|> of \u6f22\U0001f600\n";
  const auto input = file("a.txt", content);
  auto data = data_of(input, kGoldenTokenizers + "gpt2.json");
  data.end_of_text = "auto";
  const auto corpus = load_corpora(data, kTextContext).validation.front().corpus;
  ASSERT_TRUE(corpus.text_bytes);
  EXPECT_EQ(corpus.text_bytes->read, corpus.text_bytes->counted);
  constexpr std::int64_t kSpecial = 13;  // bytes of <|endoftext|>
  EXPECT_EQ(scored_bytes(corpus), static_cast<std::int64_t>(content.size()) - kSpecial + 2);
  EXPECT_EQ(scored_bytes(corpus), token_bytes(corpus));
  const auto bytes = corpus_of(input, "bytes");
  EXPECT_EQ(scored_bytes(bytes), static_cast<std::int64_t>(content.size()) + 1);
}

TEST_F(TextBytesOfFiles, OfAPartAreInProportion) {
  constexpr TextBytes kShrunk{.read = 300, .counted = 200}, kEqual{.read = 7, .counted = 7};
  EXPECT_EQ(kShrunk.read_of(200), 300);
  EXPECT_EQ(kShrunk.read_of(20), 30);
  EXPECT_EQ(kShrunk.read_of(3), 5);  // 4.5, rounded
  EXPECT_EQ(kEqual.read_of(3), 3);
  EXPECT_EQ(TextBytes{}.read_of(5), 5);
  std::string content;
  for (int i = 0; i < 50; ++i) content += "cafe\u0301 ";
  const auto corpus = corpus_of(file("a.txt", content), kGoldenTokenizers + "neox.json");
  const auto all = ValidationWindows(corpus, kTextContext, 0);
  const auto half = ValidationWindows(corpus, kTextContext, all.count() / 2);
  EXPECT_NEAR(static_cast<double>(half.scored_bytes().value()),
              static_cast<double>(all.scored_bytes().value()) / 2, 16);
}

// Larger than 16 MiB: its tokens are read from the cache.
TEST_F(TextBytesOfFiles, OfALargeTextAreInTheCache) {
  const std::string line =
      "cafe\u0301 the ship of the moon and the ship of the sea and the moon and the sea of ships\n";
  constexpr std::size_t kLarge = std::size_t{17} << 20;
  std::string content;
  content.reserve(kLarge + line.size());
  while (content.size() < kLarge) content += line;
  auto data = data_of(file("a.txt", content), kGoldenTokenizers + "neox.json");
  data.validation = {"auto"};
  const auto lines = static_cast<std::int64_t>(content.size() / line.size());
  for (const auto* times : {"encodes", "reads"}) {
    const auto corpora = load_corpora(data, kTextContext);
    for (const auto* source : {&corpora.train.front(), &corpora.validation.front()}) {
      const auto bytes = source->corpus.text_bytes.value();
      EXPECT_EQ(bytes.read, static_cast<std::int64_t>(content.size()) + 1) << times;
      EXPECT_EQ(bytes.counted, bytes.read - lines) << times;
    }
  }
}

// Without the end-of-text token before a text, both have equal tokens.
TEST_F(TextBytesOfFiles, OfShardsAreThoseOfTheText) {
  const auto tokenizer = kGoldenTokenizers + "neox.json";
  const auto input = composed_documents();
  auto data = data_of(input, tokenizer);
  data.begin = false;
  const auto of_text = load_corpora(data, kTextContext).validation.front().corpus;
  const auto of_shards = corpus_of(shards_of(input, tokenizer, 1000), tokenizer);
  ASSERT_TRUE(of_shards.tokens == of_text.tokens);
  ASSERT_NE(of_text.text_bytes->read, of_text.text_bytes->counted);
  EXPECT_EQ(of_shards.text_bytes, of_text.text_bytes);
  EXPECT_EQ(scored_bytes(of_shards), scored_bytes(of_text));
}

TEST_F(TextBytesOfFiles, OfOneShardAreItsOwn) {
  const auto tokenizer = kGoldenTokenizers + "neox.json";
  const auto folder = shards_of(composed_documents(), tokenizer, /*shard_tokens=*/1);
  const auto first = static_cast<std::int64_t>(kComposedText.size()) + 1;
  const auto second = static_cast<std::int64_t>(kPlainText.size()) + 1;
  const auto bytes_in = [&](const std::string& input) {
    return corpus_of(input, tokenizer).text_bytes.value();
  };
  EXPECT_EQ(bytes_in(folder + "/tokens-00000.npy"),
            (TextBytes{.read = first, .counted = first - 2}));
  EXPECT_EQ(bytes_in(folder + "/tokens-00001.npy"), (TextBytes{.read = second, .counted = second}));
  const TextBytes both{.read = first + second, .counted = first + second - 2};
  EXPECT_EQ(bytes_in(folder), both);
  EXPECT_EQ(bytes_in(folder + "/*.npy"), both);
}

// Of an earlier version, or of token files next to shards.
TEST_F(TextBytesOfFiles, OfShardsWithoutThemAreUnknown) {
  const auto tokenizer = kGoldenTokenizers + "neox.json";
  const auto folder = shards_of(composed_documents(), tokenizer, /*shard_tokens=*/1);
  const auto manifest = folder + "/manifest.json";
  auto content = parse_json(read_file(manifest));
  content["shards"][1].erase("text_bytes");
  write_file(manifest, content.dump());
  EXPECT_EQ(corpus_of(folder, tokenizer).text_bytes, std::nullopt);
  EXPECT_TRUE(corpus_of(folder + "/tokens-00000.npy", tokenizer).text_bytes.has_value());
  write_file(folder + "/tokens-00002.npy", read_file(folder + "/tokens-00000.npy"));
  EXPECT_EQ(corpus_of(folder + "/tokens-0000[02].npy", tokenizer).text_bytes, std::nullopt);
  content["shards"][1]["text_bytes"] = {{"read", 7}};
  write_file(manifest, content.dump());
  EXPECT_EQ(refusal([&] { corpus_of(folder + "/tokens-00000.npy", tokenizer); }),
            manifest +
                ": must be a manifest of shards, but \"text_bytes\" is missing or wrong; write the "
                "shards again");
}

// The second document no longer fits into the first shard. The third has no ids.
TEST_F(TextBytesOfFiles, OfADocumentAreInItsShard) {
  using TokenIds = std::vector<TokenId>;
  TokenWriter writer({.folder = path("shards"),
                      .shard_tokens = 6,
                      .vocabulary = 10,
                      .end_of_text = 9,
                      .tokenizer = "t"});
  writer.append(TokenIds{1, 2}, TextBytes{.read = 7, .counted = 5});
  writer.append_part(TokenIds{3, 4}, TextBytes{.read = 10, .counted = 9});
  writer.append_part({}, TextBytes{.read = 1, .counted = 0});
  writer.append(TokenIds{5, 6}, TextBytes{.read = 20, .counted = 19});
  writer.append({}, TextBytes{.read = 1000, .counted = 0});
  writer.append(TokenIds{1, 2, 3, 4, 5, 6});  // of an unknown text
  writer.finish();
  const auto manifest = read_shard_manifest(path("shards"));
  ASSERT_EQ(manifest.shards.size(), 3U);
  EXPECT_EQ(manifest.shards[0].text_bytes, (TextBytes{.read = 7, .counted = 5}));
  EXPECT_EQ(manifest.shards[1].text_bytes, (TextBytes{.read = 31, .counted = 28}));
  EXPECT_EQ(manifest.shards[2].text_bytes, std::nullopt);
  EXPECT_EQ(manifest.text_bytes(), std::nullopt);
}

}  // namespace
}  // namespace evenkeel::data
