// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/token_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/config.h"

namespace evenkeel {
namespace {

using tasks::Rule;
using tasks::Task;
using Tokens = std::vector<std::int64_t>;

constexpr std::int64_t kEndOfText = 256;

/// The encoding of a run with bytes as tokens. \param begins  contexts begin with end-of-text
data::TextEncoding byte_encoding(bool begins) {
  config::Data data;
  data.begin = begins;
  return data::TextEncoding(data);
}

Task one_document(const std::string& context, const std::string& continuation) {
  Task task{.label = "one"};
  task.documents = {{4, {{context, continuation}}, 0, ""}};
  return task;
}

tasks::TokenRows encoded(const Task& task, const tasks::EncodingOptions& options,
                         bool begins = false) {
  return tasks::encode(task, byte_encoding(begins), options);
}

TEST(TokenRows, AreTheInputsBeforeEachTargetAndTheTargets) {
  const auto rows = encoded(one_document("ab", " cd"), {.max_context = 10, .vocabulary = 257});
  ASSERT_EQ(rows.rows.size(), 1U);
  EXPECT_EQ(rows.rows[0].inputs, (Tokens{'a', 'b', ' ', 'c'}));
  EXPECT_EQ(rows.rows[0].targets, (Tokens{' ', 'c', 'd'}));
  EXPECT_EQ(rows.truncated, 0);
  EXPECT_EQ(rows.encoded_differently, 0);
}

TEST(TokenRows, BeginAsAPromptOfTheModel) {
  const tasks::EncodingOptions options = {.max_context = 10, .vocabulary = 257};
  EXPECT_EQ(encoded(one_document("a", " b"), options, true).rows[0].inputs,
            (Tokens{kEndOfText, 'a', ' '}));
  EXPECT_EQ(encoded(one_document("", " b"), options, false).rows[0].inputs,
            (Tokens{kEndOfText, ' '}));
}

TEST(TokenRows, LoseTheBeginningOfLongContextsButNoTarget) {
  const auto rows =
      encoded(one_document("abcdefgh", " xyz"), {.max_context = 5, .vocabulary = 257});
  EXPECT_EQ(rows.rows[0].inputs, (Tokens{'g', 'h', ' ', 'x', 'y'}));
  EXPECT_EQ(rows.rows[0].targets, (Tokens{' ', 'x', 'y', 'z'}));
  EXPECT_EQ(rows.truncated, 1);
}

TEST(TokenRows, OfLmEvalMoveSpacesToTheContinuation) {
  const tasks::EncodingOptions options = {
      .rule = Rule::lm_eval, .max_context = 10, .vocabulary = 257};
  const auto rows = encoded(one_document("ab  ", "cd"), options);
  EXPECT_EQ(rows.rows[0].inputs, (Tokens{'a', 'b', ' ', ' ', 'c'}));
  EXPECT_EQ(rows.rows[0].targets, (Tokens{' ', ' ', 'c', 'd'}));
  const auto separate = encoded(one_document("ab  ", "cd"), {.max_context = 10, .vocabulary = 257});
  EXPECT_EQ(separate.rows[0].targets, (Tokens{'c', 'd'}));
}

// The white space of Python 3.11's str.rstrip(): lm-evaluation-harness moves all of it.
TEST(TokenRows, OfLmEvalMoveTheWhiteSpaceOfUnicodeToTheContinuation) {
  const tasks::EncodingOptions options = {
      .rule = Rule::lm_eval, .max_context = 10, .vocabulary = 257};
  const auto wide = encoded(one_document("a\xe3\x80\x80", "b"), options);  // U+3000
  EXPECT_EQ(wide.rows[0].inputs, (Tokens{'a', 0xe3, 0x80, 0x80}));
  EXPECT_EQ(wide.rows[0].targets, (Tokens{0xe3, 0x80, 0x80, 'b'}));
  const auto mixed = encoded(one_document("a\xc2\xa0\x1c\xc2\x85 ", "b"), options);
  EXPECT_EQ(mixed.rows[0].targets, (Tokens{0xc2, 0xa0, 0x1c, 0xc2, 0x85, ' ', 'b'}));
  const auto other = encoded(one_document("a\xe2\x80\x8b", "bc"), options);  // U+200B is no space
  EXPECT_EQ(other.rows[0].targets, (Tokens{'b', 'c'}));
}

void expect_refusal(const Task& task, const tasks::EncodingOptions& options,
                    const std::string& part) {
  try {
    encoded(task, options);
    ADD_FAILURE() << "was not refused: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_NE(std::string(error.what()).find("one: document 4 has " + part), std::string::npos)
        << error.what();
  }
}

TEST(TokenRows, RefuseWhatCannotBeScored) {
  expect_refusal(one_document("a", ""), {.max_context = 9, .vocabulary = 257},
                 "a continuation without tokens");
  expect_refusal(one_document("a", "\u00e9"), {.max_context = 9, .vocabulary = 257},
                 "a choice of one character");
  expect_refusal(one_document("a", " bcdef"), {.max_context = 5, .vocabulary = 257},
                 "a continuation of 6 tokens, but at most 5 fit");
  expect_refusal(one_document("a", " z"), {.max_context = 5, .vocabulary = 100},
                 "token 122, but the model's vocabulary has 100 tokens");
}

}  // namespace
}  // namespace evenkeel
