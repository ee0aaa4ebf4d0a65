// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/round_trip.h"

#include "data/refusal.h"
#include "data/temporary_folder.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/data/token_writer.h"

namespace evenkeel::data {
namespace {

class RoundTripTest : public TemporaryFolder {
 protected:
  static config::Data with_tokenizer(const std::string& name, const char* end_of_text = "</s>") {
    config::Data data;
    data.tokenizer = text(EK_TESTS, "/golden/tokenizers/", name);
    data.end_of_text = end_of_text;
    return data;
  }
  /// Writes a document of these ids as a shard.
  std::string shard(const TextEncoding& encoding, const std::vector<TokenId>& ids) {
    const auto folder = path(text("shards-", ++count_));
    TokenWriter writer({.folder = folder,
                        .vocabulary = encoding.vocabulary(),
                        .end_of_text = encoding.required_end_of_text(),
                        .tokenizer = encoding.tokenizer().digest(),
                        .special_in_text = encoding.special_in_text()});
    writer.append(ids);
    writer.finish();
    return folder;
  }
  std::string checked(const config::Data& data, const std::string& document) {
    const TextEncoding encoding(data);
    const auto folder = shard(encoding, encoding.encode(document));
    return refusal([&] { check_round_trip(folder, encoding, 1000); });
  }

 private:
  int count_ = 0;
};

// Llama 2 puts its prefix also before the text after a special token.
TEST_F(RoundTripTest, HoldsForSpecialTokensInATextWithPrefixes) {
  for (const auto* name : {"llama2.json", "metaspace.json", "sentencepiece.model"}) {
    for (const auto* document : {"The ship", "the <s>ship <s> is<s><s>", "<s> the ship", "the <s>",
                                 "a </s>b", "two  spaces<s>  ship"}) {
      EXPECT_EQ(checked(with_tokenizer(name), document), "no refusal") << name << ": " << document;
    }
  }
}

TEST_F(RoundTripTest, HoldsForSpecialTokensThatAreText) {
  auto data = with_tokenizer("gpt2.json", "<|endoftext|>");
  data.special_in_text = false;
  EXPECT_EQ(checked(data, "the <|endoftext|> ship"), "no refusal");
}

TEST_F(RoundTripTest, RefusesIdsThatTheTokenizerDoesNotGive) {
  const TextEncoding encoding(with_tokenizer("llama2.json"));
  auto ids = encoding.encode("the <s>ship");
  ids.push_back(*encoding.tokenizer().find_token("s"));
  ids.push_back(*encoding.tokenizer().find_token("o."));  // "so." is a token
  const auto folder = shard(encoding, ids);
  EXPECT_EQ(refusal([&] { check_round_trip(folder, encoding, 1000); }),
            folder +
                ": document 0, at token 0, gives other ids when it is decoded and encoded again; "
                "tokenize the text again");
}

// The ids of special tokens in a text are part of what the model learns.
TEST_F(RoundTripTest, IsOfShardsWithTheSpecialTokensOfTheRun) {
  auto data = with_tokenizer("gpt2.json", "<|endoftext|>");
  const TextEncoding encoding(data);
  const auto folder = shard(encoding, encoding.encode("the ship the ship the ship the ship"));
  data.train = data.validation = {folder};
  data.special_in_text = false;
  EXPECT_EQ(refusal([&] { load_corpora(data, 2); }),
            folder +
                ": the tokens were made with data.special_in_text = true, but it is false; set it "
                "to that, or tokenize the text again with --special-in-text false");
  data.special_in_text = true;
  EXPECT_EQ(refusal([&] { load_corpora(data, 2); }), "no refusal");
}

}  // namespace
}  // namespace evenkeel::data
