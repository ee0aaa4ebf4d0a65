// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/completion.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "evenkeel/serve/completion_json.h"
#include "serve/served_bytes.h"

namespace evenkeel::serve {
namespace {

using Json = nlohmann::ordered_json;
using testing::ServedBytes;

bool never() {
  return false;
}

/// The pieces of a request.
std::vector<CompletionPiece> pieces_of(const ServedModel& served, const std::string& body) {
  const auto request = parse_completion_request(body);
  std::vector<CompletionPiece> pieces;
  complete(
      served, request, encode_prompts(served, request),
      [&](CompletionPiece piece) {
        pieces.push_back(std::move(piece));
        return true;
      },
      never);
  return pieces;
}

/// The result of a request.
Json completed(const ServedModel& served, const std::string& body) {
  const auto request = parse_completion_request(body);
  std::vector<CompletionPiece> pieces;
  const auto usage = complete(
      served, request, encode_prompts(served, request),
      [&](CompletionPiece piece) {
        pieces.push_back(std::move(piece));
        return true;
      },
      never);
  return completion_json({"cmpl-1", 5, served.id}, pieces, choices_of(request),
                         request.logprobs.has_value(), usage.value());
}

/// ln p(ids[t] | ids[0 .. t - 1]) for t = 1, 2, ...
std::vector<double> logprobs_by_hand(const ServedBytes& bytes,
                                     const std::vector<std::int64_t>& ids) {
  const at::NoGradGuard no_grad;
  const auto input = at::tensor(ids, at::kLong).unsqueeze(0);
  const auto& model = *bytes.tiny.model;
  const auto rows = at::log_softmax(model.logits(model.hidden(input)).to(at::kDouble), -1)[0];
  std::vector<double> out;
  for (std::size_t t = 1; t < ids.size(); ++t) {
    out.push_back(rows[static_cast<std::int64_t>(t) - 1][ids[t]].item<double>());
  }
  return out;
}

// lm-evaluation-harness sums token_logprobs[context:-1].
TEST(Completion, HasOneEntryPerSentIdAndPerGeneratedToken) {
  const ServedBytes bytes;
  const auto result = completed(bytes.served,
                                R"({"prompt": [[84, 104, 101, 32], [255, 1]], "max_tokens": 1,
                                    "logprobs": 1, "echo": true, "temperature": 0})");
  const auto& logprobs = result["choices"][0]["logprobs"];
  for (const auto* const name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    EXPECT_EQ(logprobs[name].size(), 5u) << name;
    EXPECT_EQ(result["choices"][1]["logprobs"][name].size(), 3u) << name;
  }
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  const auto wanted = logprobs_by_hand(bytes, {84, 104, 101, 32});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(logprobs["token_logprobs"][i + 1].get<double>(), wanted[i], 1e-10);
  }
  EXPECT_EQ(result["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(result["usage"]["completion_tokens"], 2);
  EXPECT_EQ(result["choices"][0]["finish_reason"], "length");
}

TEST(Completion, ScoresThePromptAloneWithMaxTokensZero) {
  const ServedBytes bytes;
  const auto result = completed(
      bytes.served, R"({"prompt": [72, 105], "max_tokens": 0, "logprobs": 0, "echo": true})");
  const auto& choice = result["choices"][0];
  EXPECT_EQ(choice["text"], "Hi");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json::array({"H", "i"}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1].size(), 1u) << "the token itself";
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(result["usage"]["completion_tokens"], 0);
}

// So the entries are those of a client's own tokenizer, and their sum is the text's log-likelihood.
TEST(Completion, HasNoEntryForTheBeginTokenOfAText) {
  const ServedBytes bytes;
  const auto result =
      completed(bytes.served, R"({"prompt": "Hi", "max_tokens": 0, "logprobs": 1, "echo": true})");
  const auto& logprobs = result["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json::array({"H", "i"}));
  const auto wanted = logprobs_by_hand(bytes, {256, 'H', 'i'});
  EXPECT_NEAR(logprobs["token_logprobs"][0].get<double>(), wanted[0], 1e-10);
  EXPECT_NEAR(logprobs["token_logprobs"][1].get<double>(), wanted[1], 1e-10);
  EXPECT_EQ(result["usage"]["prompt_tokens"], 3);
}

TEST(Completion, GivesTheLogprobsOfGeneratedTokensBeforeTemperature) {
  const ServedBytes bytes;
  const auto result = completed(bytes.served,
                                R"({"prompt": [65], "max_tokens": 4, "logprobs": 2,
                                    "temperature": 0.5, "top_k": 5})");
  const auto& logprobs = result["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["token_logprobs"].size(), 4u);
  const auto prompt = completed(bytes.served, R"({"prompt": [65], "max_tokens": 1, "logprobs": 2,
                                                  "echo": true})");
  EXPECT_NEAR(logprobs["top_logprobs"][0].front().get<double>(),
              prompt["choices"][0]["logprobs"]["top_logprobs"][1].front().get<double>(), 1e-10);
}

TEST(Completion, SamplesTheSameTokenWithAndWithoutAnEcho) {
  const ServedBytes bytes;
  for (int seed = 0; seed < 5; ++seed) {
    const auto fields =
        "\"prompt\": \"ab\", \"max_tokens\": 1, \"logprobs\": 0, \"seed\": " + std::to_string(seed);
    const auto plain = completed(bytes.served, "{" + fields + "}");
    const auto echo = completed(bytes.served, "{" + fields + ", \"echo\": true}");
    EXPECT_EQ(plain["choices"][0]["logprobs"]["tokens"].back(),
              echo["choices"][0]["logprobs"]["tokens"].back());
  }
}

TEST(Completion, DependsOnTheSeedAndTheNumberOfThePromptOnly) {
  const ServedBytes bytes;
  const auto run = [&](const std::string& seed) {
    return completed(bytes.served, R"({"prompt": ["ab", "ab"], "max_tokens": 20, "seed": )" + seed +
                                       "}")["choices"];
  };
  EXPECT_EQ(run("3"), run("3"));
  EXPECT_NE(run("3")[0]["text"], run("4")[0]["text"]);
  EXPECT_NE(run("3")[0]["text"], run("3")[1]["text"]);
}

// Choice c has the random stream (seed, c), and the prompt counts once.
TEST(Completion, GivesSeveralChoicesOfEachPrompt) {
  const ServedBytes bytes;
  for (const std::string fields :
       {R"("max_tokens": 20, "logprobs": 1)", R"("max_tokens": 1, "logprobs": 1, "echo": true)"}) {
    const auto run = [&](const std::string& prompts) {
      return completed(bytes.served, "{\"seed\": 3, " + fields + ", " + prompts + "}");
    };
    const auto several = run(R"("prompt": ["ab", "c"], "n": 2)");
    const auto alone = run(R"("prompt": ["ab", "ab", "c", "c"])");
    ASSERT_EQ(several["choices"].size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(several["choices"][i]["index"], i);
      EXPECT_EQ(several["choices"][i]["text"], alone["choices"][i]["text"]);
      EXPECT_EQ(several["choices"][i]["logprobs"]["tokens"],
                alone["choices"][i]["logprobs"]["tokens"]);
    }
    EXPECT_EQ(several["usage"]["completion_tokens"], alone["usage"]["completion_tokens"]);
    EXPECT_EQ(several["usage"]["prompt_tokens"], 5);
  }
}

// More than one batch has.
TEST(Completion, GivesManyChoices) {
  const ServedBytes bytes;
  const auto result = completed(bytes.served, R"({"prompt": "a", "n": 40, "max_tokens": 2})");
  EXPECT_EQ(result["choices"].size(), 40u);
  for (const auto& choice : result["choices"]) EXPECT_FALSE(choice["finish_reason"].is_null());
  EXPECT_EQ(result["usage"]["completion_tokens"], 80);
}

TEST(Completion, GivesTheSameTextInPieces) {
  const ServedBytes bytes;
  const std::string body = R"({"prompt": [[195], [97]], "max_tokens": 30, "echo": true})";
  const auto whole = completed(bytes.served, body);
  std::vector<std::string> texts(2);
  for (const auto& piece : pieces_of(bytes.served, body)) texts[piece.index] += piece.text;
  EXPECT_EQ(texts[0], whole["choices"][0]["text"]);
  EXPECT_EQ(texts[1], whole["choices"][1]["text"]);
}

/// The texts of the tokens that a greedy decoding adds to a prompt.
std::vector<std::string> greedy_tokens(const ServedModel& served, const Json& prompt, int count) {
  const Json body = {
      {"prompt", prompt}, {"temperature", 0}, {"max_tokens", count}, {"logprobs", 0}};
  return completed(served, body.dump())["choices"][0]["logprobs"]["tokens"];
}

/// A prompt that is continued by an ASCII character at the index `place`, which is new there.
struct Continued {
  Json prompt;
  std::vector<std::string> tokens;
};

Continued find_continued(const ServedModel& served, std::size_t place) {
  for (int first = 1; first < 256; ++first) {
    Continued found = {Json::array({first}), {}};
    found.tokens = greedy_tokens(served, found.prompt, static_cast<int>(place) + 2);
    const auto end = found.tokens.begin() + static_cast<std::ptrdiff_t>(place);
    const bool is_new = std::find(found.tokens.begin(), end, *end) == end;
    if (end->size() == 1 && is_new) return found;
  }
  ADD_FAILURE() << "no prompt is continued so";
  return {};
}

TEST(Completion, EndsBeforeAStopString) {
  const ServedBytes bytes;
  const auto found = find_continued(bytes.served, 3);
  Json body = {{"prompt", found.prompt}, {"temperature", 0}, {"max_tokens", 12}, {"logprobs", 0}};
  body["stop"] = Json::array({"not in it", found.tokens[3]});
  const auto choice = completed(bytes.served, body.dump())["choices"][0];
  body["max_tokens"] = 3;
  EXPECT_EQ(choice["text"], completed(bytes.served, body.dump())["choices"][0]["text"]);
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["logprobs"]["tokens"].size(), 4u) << "the stop string has an entry, too";
}

// Without the entry, token_logprobs[context:-1] would lack the last token of a continuation.
TEST(Completion, CountsAnEndOfTextTokenThatItLeavesOutOfTheText) {
  const ServedBytes bytes;
  const auto found = find_continued(bytes.served, 0);
  const config::Data data = {.end_of_text = std::to_string(static_cast<int>(found.tokens[0][0]))};
  const ServedBytes ending(data);
  for (const bool echo : {true, false}) {
    const Json body = {{"prompt", found.prompt},
                       {"temperature", 0},
                       {"max_tokens", 1},
                       {"logprobs", 1},
                       {"echo", echo}};
    const auto result = completed(ending.served, body.dump());
    const auto& choice = result["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "stop");
    EXPECT_EQ(choice["logprobs"]["tokens"].back(), found.tokens[0]);
    EXPECT_EQ(choice["logprobs"]["tokens"].size(), echo ? 2u : 1u);
    EXPECT_EQ(choice["text"].get<std::string>().empty(), !echo);
    EXPECT_EQ(result["usage"]["completion_tokens"], 1);
  }
}

// The vocabulary has "A" and the byte token <0x41>, which both have the text "A".
TEST(Completion, HasDistinctKeysInTopLogprobs) {
  const ServedBytes words({.tokenizer = EK_TESTS "/golden/tokenizers/llama2.json"});
  const auto result = completed(
      words.served, R"({"prompt": [65], "max_tokens": 1, "logprobs": 100, "temperature": 0})");
  const auto& top = result["choices"][0]["logprobs"]["top_logprobs"][0];
  EXPECT_EQ(top.size(), 100u);
  std::set<double> values;
  bool has_id = false;
  for (const auto& [name, value] : top.items()) {
    values.insert(value.get<double>());
    has_id = has_id || name.starts_with("token_id:");
  }
  EXPECT_EQ(values.size(), 100u);
  EXPECT_TRUE(has_id) << "no two of the tokens have the same text";
}

TEST(Completion, EndsWhenNobodyWaitsForIt) {
  const ServedBytes bytes;
  const auto request = parse_completion_request(R"({"prompt": "ab", "max_tokens": 50})");
  const auto prompts = encode_prompts(bytes.served, request);
  int pieces = 0;
  const auto usage = complete(
      bytes.served, request, prompts, [&](const CompletionPiece&) { return ++pieces < 3; }, never);
  EXPECT_FALSE(usage);
  EXPECT_EQ(pieces, 3);
  int calls = 0;
  EXPECT_FALSE(complete(
      bytes.served, request, prompts, [](const CompletionPiece&) { return true; },
      [&] { return ++calls > 5; }));
  EXPECT_EQ(calls, 6);
}

TEST(CompletionJson, HasTheShapeOfTheApi) {
  const CompletionPiece piece = {
      .text = "a",
      .tokens = {{.text = "a", .logprob = -0.5, .top = {{"a", -0.5}, {"b", -1}}, .offset = 0}},
      .finish_reason = "length"};
  EXPECT_EQ(
      completion_json({"cmpl-1", 5, "m"}, {piece}, 1, true,
                      {.prompt_tokens = 2, .completion_tokens = 1})
          .dump(),
      R"({"id":"cmpl-1","object":"text_completion","created":5,"model":"m","choices":[{"text":"a",)"
      R"("index":0,"logprobs":{"tokens":["a"],"token_logprobs":[-0.5],"top_logprobs":[{"a":-0.5,)"
      R"("b":-1.0}],"text_offset":[0]},"finish_reason":"length"}],"usage":{"prompt_tokens":2,)"
      R"("completion_tokens":1,"total_tokens":3}})");
  EXPECT_EQ(piece_json({"cmpl-1", 5, "m"}, piece, false)["choices"][0].dump(),
            R"({"text":"a","index":0,"logprobs":null,"finish_reason":"length"})");
  EXPECT_EQ(usage_json({"cmpl-1", 5, "m"}, {})["choices"].size(), 0u);
}

}  // namespace
}  // namespace evenkeel::serve
