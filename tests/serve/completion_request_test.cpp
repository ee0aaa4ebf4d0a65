// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/completion_request.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "serve/request_refusal.h"

namespace evenkeel::serve {
namespace {

using Ids = std::vector<std::int64_t>;

std::string refused(const std::string& body) {
  return testing::request_refusal([&] { parse_completion_request(body); });
}

std::string list_of(const std::string& element, std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? "," : "") + element;
  return out + "]";
}

TEST(CompletionRequest, HasTheDefaultsOfTheApi) {
  const auto request = parse_completion_request(R"({"model": "any", "prompt": "Hi"})");
  ASSERT_EQ(request.prompts.size(), 1u);
  EXPECT_EQ(std::get<std::string>(request.prompts[0]), "Hi");
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_FALSE(request.logprobs);
  EXPECT_EQ(request.temperature, 1);
  EXPECT_EQ(request.top_p, 1);
  EXPECT_EQ(request.seed, 1u);
  EXPECT_FALSE(request.echo || request.stream || request.include_usage);
  EXPECT_EQ(std::get<std::string>(parse_completion_request("{}").prompts.at(0)), "");
}

// What lm-evaluation-harness 0.4.13 sends for log-likelihoods.
TEST(CompletionRequest, ReadsTheRequestOfLmEval) {
  const auto request = parse_completion_request(
      R"({"model": "m", "prompt": [[1, 2], [3]], "temperature": 0, "max_tokens": 1, "logprobs": 1,
          "seed": 1234, "echo": true})");
  ASSERT_EQ(request.prompts.size(), 2u);
  EXPECT_EQ(std::get<Ids>(request.prompts[0]), (Ids{1, 2}));
  EXPECT_EQ(std::get<Ids>(request.prompts[1]), (Ids{3}));
  EXPECT_EQ(request.temperature, 0);
  EXPECT_EQ(request.max_tokens, 1);
  EXPECT_EQ(request.logprobs, 1);
  EXPECT_EQ(request.seed, 1234u);
  EXPECT_TRUE(request.echo);
}

TEST(CompletionRequest, ReadsEachFormOfPromptAndStop) {
  EXPECT_EQ(std::get<Ids>(parse_completion_request(R"({"prompt": [5, 0]})").prompts.at(0)),
            (Ids{5, 0}));
  EXPECT_EQ(parse_completion_request(R"({"prompt": ["a", ""]})").prompts.size(), 2u);
  EXPECT_EQ(parse_completion_request(R"({"stop": "a"})").stops, (std::vector<std::string>{"a"}));
  EXPECT_EQ(parse_completion_request(R"({"stop": ["a", "b"]})").stops.size(), 2u);
  EXPECT_TRUE(parse_completion_request(R"({"stop": null})").stops.empty());
}

TEST(CompletionRequest, AcceptsNeutralValuesAndFieldsWithoutEffect) {
  EXPECT_EQ(refused(R"({"n": 1, "best_of": 1, "suffix": null, "presence_penalty": 0.0,
                        "frequency_penalty": 0, "logit_bias": {}, "user": "u", "top_k": -1,
                        "logprobs": null, "max_tokens": 16.0, "top_p": 0, "seed": -5,
                        "stream_options": {"include_usage": true}})"),
            "accepted");
}

TEST(CompletionRequest, RefusesByNameWhatWouldChangeTheResult) {
  const std::string only = ", because this server has nothing else, but is ";
  EXPECT_EQ(refused(R"({"best_of": 4})"), "400 best_of: must be 1" + only + "4");
  EXPECT_EQ(refused(R"({"n": 2, "best_of": 4})"), "400 best_of: must be 2" + only + "4");
  EXPECT_EQ(refused(R"({"suffix": "x"})"), "400 suffix: must be \"\"" + only + "\"x\"");
  EXPECT_EQ(refused(R"({"presence_penalty": 0.5})"),
            "400 presence_penalty: must be 0" + only + "0.5");
  EXPECT_EQ(refused(R"({"logit_bias": {"5": 1}})"),
            "400 logit_bias: must be {}" + only + "an object");
  EXPECT_TRUE(refused(R"({"promt": "x"})")
                  .starts_with("400 unknown field \"promt\"; did you mean \"prompt\"? known: "));
  EXPECT_TRUE(refused("{\"a\\u001b[2J\": 1}").starts_with("400 unknown field \"a\\u001B[2J\"; "));
}

TEST(CompletionRequest, RefusesValuesOutOfRange) {
  EXPECT_EQ(refused(R"({"max_tokens": -1})"),
            "400 max_tokens: must be an integer from 0 to 1000000, but is -1");
  EXPECT_EQ(refused(R"({"max_tokens": 18446744073709551615})"),
            "400 max_tokens: must be an integer from 0 to 1000000, but is 18446744073709551615");
  EXPECT_EQ(refused(R"({"max_tokens": 0})"),
            "400 max_tokens: must be 1 or more without \"echo\", but is 0");
  EXPECT_EQ(refused(R"({"logprobs": 101})"),
            "400 logprobs: must be an integer from 0 to 100, but is 101");
  EXPECT_EQ(refused(R"({"logprobs": true})"),
            "400 logprobs: must be an integer from 0 to 100, but is true");
  EXPECT_EQ(refused(R"({"temperature": 2.5})"),
            "400 temperature: must be a number from 0.0 to 2.0, but is 2.5");
  EXPECT_EQ(refused(R"({"top_p": "1"})"),
            "400 top_p: must be a number from 0.0 to 1.0, but is \"1\"");
  EXPECT_EQ(refused(R"({"top_p": 1.5})"),
            "400 top_p: must be a number from 0.0 to 1.0, but is 1.5");
  EXPECT_EQ(refused(R"({"top_k": -2})"),
            "400 top_k: must be an integer from -1 to 2147483647, but is -2");
  EXPECT_EQ(refused(R"({"seed": 1.5})").substr(0, 37), "400 seed: must be an integer from -92");
  EXPECT_EQ(refused(R"({"echo": 1})"), "400 echo: must be true or false, but is 1");
  EXPECT_EQ(refused(R"({"stop": ""})"), "400 stop: must have 1 to 1024 bytes, but has 0");
  EXPECT_EQ(refused(R"({"stop": [7]})"), "400 stop[0]: must be a string, but is 7");
  EXPECT_EQ(refused("{\"stop\": " + list_of("\"a\"", 17) + "}"),
            "400 stop: must be at most 16 strings, but is 17");
  EXPECT_EQ(refused(R"({"stream_options": {"include_usag": true}})"),
            "400 unknown field \"include_usag\"; did you mean \"include_usage\"? known: "
            "include_obfuscation, include_usage");
}

TEST(CompletionRequest, LimitsTheNumberOfChoices) {
  EXPECT_EQ(choices_of(parse_completion_request(
                "{\"n\": 2, \"best_of\": 2, \"prompt\": " + list_of("\"a\"", 128) + "}")),
            256u);
  EXPECT_EQ(refused(R"({"n": 0})"), "400 n: must be an integer from 1 to 128, but is 0");
  EXPECT_EQ(refused(R"({"n": 129})"), "400 n: must be an integer from 1 to 128, but is 129");
  EXPECT_EQ(refused("{\"n\": 3, \"prompt\": " + list_of("\"a\"", 100) + "}"),
            "400 n: prompts times n must be at most 256, but is 300; send several requests");
}

TEST(CompletionRequest, RefusesPromptsOfOtherForms) {
  EXPECT_EQ(refused(R"({"prompt": 7})"),
            "400 prompt: must be a string, a list of strings, a list of token ids, or a list of "
            "such lists, but is 7");
  EXPECT_EQ(refused(R"({"prompt": []})"),
            "400 prompt: must be a string, a list of strings, a list of token ids, or a list of "
            "such lists, but is an empty list");
  EXPECT_EQ(refused(R"({"prompt": [[1], []]})"),
            "400 prompt[1]: must have a token id, but is empty");
  EXPECT_EQ(refused(R"({"prompt": ["a", [1]]})"),
            "400 prompt[1]: must be a string, as prompt[0], but is a list");
  EXPECT_EQ(refused(R"({"prompt": [1, "a"]})"),
            "400 prompt[1]: must be a token id, 0 or more, but is \"a\"");
  EXPECT_EQ(refused(R"({"prompt": [[1, -1]]})"),
            "400 prompt[0][1]: must be a token id, 0 or more, but is -1");
  EXPECT_EQ(refused(R"({"prompt": [4294967296]})"),
            "400 prompt[0]: must be a token id, 0 or more, but is 4294967296");
  EXPECT_EQ(refused(R"({"prompt": [1.0]})"),
            "400 prompt[0]: must be a token id, 0 or more, but is 1.0");
  EXPECT_EQ(refused(R"({"prompt": [null]})"),
            "400 prompt[0]: must be a string, a token id or a list of token ids, but is null");
  EXPECT_EQ(refused("{\"prompt\": " + list_of("\"a\"", 257) + "}"),
            "400 prompt: must be at most 256 prompts, but is 257; send several requests");
}

TEST(CompletionRequest, RefusesWhatIsNoJsonObject) {
  const std::string json = "400 the body must be JSON in UTF-8, nested at most 64 deep, but is not";
  for (const auto& body : {std::string(), std::string("{"), std::string("{\"prompt\": \"\xff\"}"),
                           std::string(100000, '['), std::string("{\"seed\": 1e999}")}) {
    EXPECT_EQ(refused(body), json);
  }
  EXPECT_EQ(refused("[]"), "400 the body must be a JSON object, but is a list");
  EXPECT_EQ(refused("\"" + std::string(100, 'a') + "\""),
            "400 the body must be a JSON object, but is \"" + std::string(39, 'a') + "...");
}

TEST(RequestError, HasTheShapeOfTheApi) {
  EXPECT_EQ(RequestError(400, "n: must be 1", "n").body().dump(),
            R"({"error":{"message":"n: must be 1","type":"invalid_request_error","param":"n",)"
            R"("code":null}})");
  EXPECT_EQ(RequestError(429, "a").body()["error"]["type"], "rate_limit_error");
  EXPECT_EQ(RequestError(503, "a").body()["error"]["type"], "server_error");
}

TEST(TokenizeRequest, IsReadAndChecked) {
  EXPECT_FALSE(
      parse_tokenize_request(R"({"prompt": "a", "add_special_tokens": false})").add_special_tokens);
  EXPECT_EQ(
      testing::request_refusal([] { parse_tokenize_request(R"({"prompt": "a", "promt": 1})"); }),
      "400 unknown field \"promt\"; did you mean \"prompt\"? known: add_special_tokens, model, "
      "prompt");
  EXPECT_EQ(testing::request_refusal([] { parse_tokenize_request("{}"); }),
            "400 prompt: is missing; it must be a string");
  EXPECT_EQ(parse_detokenize_request(R"({"tokens": [3, 4]})"), (Ids{3, 4}));
  EXPECT_EQ(testing::request_refusal([] { parse_detokenize_request(R"({"tokens": 3})"); }),
            "400 tokens: must be a list of token ids, but is 3");
}

}  // namespace
}  // namespace evenkeel::serve
