// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/served_model.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/request_refusal.h"
#include "serve/served_bytes.h"

namespace evenkeel::serve {
namespace {

using Ids = std::vector<std::int64_t>;

config::Data without_begin() {
  return {.begin = false};
}

std::vector<EncodedPrompt> encoded(const ServedModel& served, const std::string& body) {
  return encode_prompts(served, parse_completion_request(body));
}

std::string refused(const ServedModel& served, const std::string& body) {
  return testing::request_refusal([&] { encoded(served, body); });
}

TEST(EncodePrompts, PutsEndOfTextBeforeATextButNeverBeforeIds) {
  const testing::ServedBytes bytes;
  const auto both = encoded(bytes.served, R"({"prompt": ["hi", ""]})");
  EXPECT_EQ(both[0].ids, (Ids{256, 'h', 'i'}));
  EXPECT_TRUE(both[0].has_begin);
  EXPECT_EQ(both[0].bytes, "hi");
  EXPECT_EQ(both[1].ids, (Ids{256}));
  const auto ids = encoded(bytes.served, R"({"prompt": [104, 105]})");
  EXPECT_EQ(ids[0].ids, (Ids{'h', 'i'}));
  EXPECT_FALSE(ids[0].has_begin);
  EXPECT_EQ(ids[0].bytes, "hi");
  EXPECT_EQ(encoded(bytes.served, R"({"prompt": "hi", "add_special_tokens": false})")[0].ids,
            (Ids{'h', 'i'}));
}

TEST(EncodePrompts, FollowsTheKeyDataBegin) {
  const testing::ServedBytes bytes(without_begin());
  EXPECT_EQ(encoded(bytes.served, R"({"prompt": "hi"})")[0].ids, (Ids{'h', 'i'}));
  EXPECT_EQ(encoded(bytes.served, R"({"prompt": ""})")[0].ids, (Ids{256})) << "a token is needed";
  EXPECT_EQ(refused(bytes.served, R"({"prompt": "", "add_special_tokens": false})"),
            "400 prompt: must have a token, but is empty");
}

// The last generated token is no input of the model.
TEST(EncodePrompts, RefusesWhatDoesNotFitTheContext) {
  const testing::ServedBytes bytes(without_begin());
  const auto body = [](std::size_t length, int max_tokens) {
    return R"({"prompt": ")" + std::string(length, 'a') + R"(", "max_tokens": )" +
           std::to_string(max_tokens) + "}";
  };
  EXPECT_EQ(refused(bytes.served, body(64, 1)), "accepted");
  EXPECT_EQ(refused(bytes.served, body(33, 32)), "accepted");
  EXPECT_EQ(refused(bytes.served, body(65, 1)),
            "400 prompt: this model's maximum context length is 64 tokens, but the request has 65 "
            "in the prompt and 1 in max_tokens; shorten one of them");
  EXPECT_EQ(refused(bytes.served, body(34, 32)),
            "400 prompt: this model's maximum context length is 64 tokens, but the request has 34 "
            "in the prompt and 32 in max_tokens; shorten one of them");
  EXPECT_EQ(refused(bytes.served, body(100000, 1)),
            "400 prompt: this model's maximum context length is 64 tokens, but the request has "
            "more than 1923 in the prompt and 1 in max_tokens; shorten one of them");
  EXPECT_EQ(RequestError(400, refused(bytes.served, body(65, 1))).body()["error"]["code"],
            "context_length_exceeded");
}

TEST(EncodePrompts, RefusesIdsBeyondTheVocabulary) {
  const testing::ServedBytes bytes;
  EXPECT_EQ(refused(bytes.served, R"({"prompt": [256]})"), "accepted");
  EXPECT_EQ(refused(bytes.served, R"({"prompt": [1, 257]})"),
            "400 prompt[1]: must be a token id from 0 to 256, but is 257");
  EXPECT_EQ(refused(bytes.served, R"({"prompt": [[1], [300]]})"),
            "400 prompt[1][0]: must be a token id from 0 to 256, but is 300");
}

TEST(EncodePrompts, RefusesATextWithoutATokenizer) {
  testing::ServedBytes bytes;
  bytes.served.has_tokenizer = false;
  EXPECT_EQ(refused(bytes.served, R"({"prompt": [1]})"), "accepted");
  EXPECT_EQ(refused(bytes.served, R"({"prompt": "a"})"),
            "400 prompt: must be token ids, because the model was trained on token files and its "
            "tokenizer is unknown; name it with --set data.tokenizer=tokenizer.json");
  EXPECT_EQ(token_text(bytes.served, 65), "token_id:65");
  EXPECT_FALSE(bytes.served.end_of_text());
}

TEST(EncodePrompts, RefusesAResultThatIsTooLarge) {
  const testing::ServedBytes bytes;
  std::string prompts;
  for (int i = 0; i < 200; ++i) prompts += (i > 0 ? ",\"" : "\"") + std::string(60, 'a') + "\"";
  const auto body = [&](int logprobs) {
    return R"({"echo": true, "max_tokens": 1, "logprobs": )" + std::to_string(logprobs) +
           ", \"prompt\": [" + prompts + "]}";
  };
  EXPECT_EQ(refused(bytes.served, body(79)), "accepted");
  EXPECT_EQ(refused(bytes.served, body(80)),
            "400 the result must have at most 1000000 log-probabilities, but would have 1004400; "
            "send fewer prompts, or a smaller n, logprobs or max_tokens");
}

TEST(TokenText, IsDistinctForBytesThatAreNoText) {
  const testing::ServedBytes bytes;
  EXPECT_EQ(token_text(bytes.served, 'a'), "a");
  EXPECT_EQ(token_text(bytes.served, 0xe2), "bytes:\\xe2");
  EXPECT_EQ(token_text(bytes.served, 256), "<|endoftext|>");
  EXPECT_EQ(token_text(bytes.served, 300), "token_id:300");
}

// A text of SentencePiece begins with a space that decode() strips; within a text it is a space.
TEST(TokenText, KeepsTheSpaceOfASentencePieceToken) {
  const testing::ServedBytes words(
      {.tokenizer = EK_TESTS "/golden/tokenizers/llama2.json", .end_of_text = "</s>"});
  const auto ids = tokenize(words.served, {.prompt = "The", .add_special_tokens = false});
  std::string joined;
  for (const auto id : ids) joined += token_text(words.served, id);
  EXPECT_EQ(joined, " The");
  EXPECT_EQ(detokenize(words.served, ids), "The");
}

TEST(Tokenize, IsTheInverseOfDetokenize) {
  const testing::ServedBytes bytes;
  EXPECT_EQ(tokenize(bytes.served, {.prompt = "hi"}), (Ids{256, 'h', 'i'}));
  EXPECT_EQ(tokenize(bytes.served, {.prompt = "hi", .add_special_tokens = false}), (Ids{'h', 'i'}));
  EXPECT_EQ(tokenize(bytes.served, {.prompt = "<|endoftext|>", .add_special_tokens = false}),
            (Ids{256}));
  EXPECT_EQ(detokenize(bytes.served, {'h', '\r', 0xff, 0xc3}), "h\r\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace evenkeel::serve
