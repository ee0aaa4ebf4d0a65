// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/token_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/tasks/python_text.h"
#include "evenkeel/tokenizer/encoder.h"

namespace evenkeel::tasks {

namespace {

using Tokens = std::vector<std::int64_t>;

/// Context and continuation of a row as tokens.
struct EncodedRow {
  Tokens context, continuation;
  bool differs = false;  // encoded together, they have other tokens
};

/// Encodes the rows of one task.
class RowEncoder {
 public:
  RowEncoder(const Task& task, const data::TextEncoding& encoding, const EncodingOptions& options)
      : task_(task),
        options_(options),
        begin_(encoding.prompt("")),
        end_of_text_(encoding.end_of_text()),
        encoder_(encoding.tokenizer(), encoding.special_in_text()) {}

  TokenRows encode_all() {
    TokenRows all;
    for (const auto& document : task_.documents) {
      for (const auto& row : document.rows) add(all, document, row);
    }
    return all;
  }

 private:
  Tokens tokens_of(std::string_view string) {
    ids_.clear();
    encoder_.encode(string, ids_);
    return {ids_.begin(), ids_.end()};
  }

  /// The tokens of the row; `context` without the begin token.
  EncodedRow encode_row(const Row& row) {
    std::string_view context = row.context;
    std::string continuation = row.continuation;
    if (options_.rule == Rule::lm_eval) {
      const auto kept = rstrip(context);
      continuation = std::string(context.substr(kept.size())) + continuation;
      context = kept;
    }
    auto first = tokens_of(context);
    auto second = tokens_of(continuation);
    auto together = tokens_of(std::string(context) + continuation);
    const auto split = std::min(first.size(), together.size());
    EncodedRow result;
    result.differs = together.size() != first.size() + second.size() ||
                     !std::equal(first.begin(), first.end(), together.begin()) ||
                     !std::equal(second.begin(), second.end(),
                                 together.end() - static_cast<std::ptrdiff_t>(second.size()));
    if (options_.rule == Rule::lm_eval && !first.empty()) {
      const auto middle = together.begin() + static_cast<std::ptrdiff_t>(split);
      first.assign(together.begin(), middle);
      second.assign(middle, together.end());
    }
    result.context = std::move(first);
    result.continuation = std::move(second);
    return result;
  }

  /// Puts the begin token before the context.
  void begin(Tokens& context, const Document& document) const {
    const bool begins = !begin_.empty() && (context.empty() || context.front() != begin_.front());
    if (begins) context.insert(context.begin(), begin_.begin(), begin_.end());
    if (!context.empty()) return;
    if (!end_of_text_) {
      refuse(document,
             "has a choice without a context, and the tokenizer has no end-of-text token "
             "that could stand in its place");
    }
    context.push_back(*end_of_text_);
  }

  void add(TokenRows& all, const Document& document, const Row& row) {
    check_length(row, document);
    auto encoded = encode_row(row);
    all.encoded_differently += encoded.differs ? 1 : 0;
    begin(encoded.context, document);
    const auto scored = static_cast<std::int64_t>(encoded.continuation.size());
    if (scored == 0) refuse(document, "has a continuation without tokens");
    if (scored > options_.max_context) {
      refuse(document, text("has a continuation of ", scored, " tokens, but at most ",
                            options_.max_context, " fit; raise evaluate.max_context"));
    }
    auto inputs = std::move(encoded.context);
    inputs.insert(inputs.end(), encoded.continuation.begin(), encoded.continuation.end() - 1);
    const auto excess = static_cast<std::int64_t>(inputs.size()) - options_.max_context;
    if (excess > 0) inputs.erase(inputs.begin(), inputs.begin() + excess);
    all.truncated += excess > 0 ? 1 : 0;
    check(inputs, document);
    check(encoded.continuation, document);
    all.rows.push_back({std::move(inputs), std::move(encoded.continuation)});
  }

  /// Rules that do not count the first character need a second one.
  void check_length(const Row& row, const Document& document) const {
    const auto characters = std::count_if(row.continuation.begin(), row.continuation.end(),
                                          [](char byte) { return !is_utf8_continuation(byte); });
    const bool counts_first = options_.rule == Rule::olmo_v2 ||
                              (options_.rule == Rule::lm_eval && row.continuation != " ");
    if (characters != 1 || counts_first) return;
    refuse(document, text("has a choice of one character, and the rule \"", name_of(options_.rule),
                          "\" does not count the first one; begin choices with a space, or set "
                          "evaluate.rule = \"olmo_v2\""));
  }

  void check(const Tokens& tokens, const Document& document) const {
    const auto largest = *std::max_element(tokens.begin(), tokens.end());
    if (largest < options_.vocabulary) return;
    refuse(document, text("has token ", largest, ", but the model's vocabulary has ",
                          options_.vocabulary, " tokens; take the tokenizer of the model"));
  }

  [[noreturn]] void refuse(const Document& document, const std::string& what) const {
    throw Error(Exit::data, text(task_.label, ": document ", document.id, " ", what));
  }

  const Task& task_;
  const EncodingOptions& options_;
  Tokens begin_;
  std::optional<data::TokenId> end_of_text_;
  tokenizer::Encoder encoder_;
  std::vector<tokenizer::Id> ids_;
};

}  // namespace

TokenRows encode(const Task& task, const data::TextEncoding& encoding,
                 const EncodingOptions& options) {
  return RowEncoder(task, encoding, options).encode_all();
}

}  // namespace evenkeel::tasks
