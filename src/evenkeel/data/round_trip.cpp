// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/round_trip.h"

#include <algorithm>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_corpus.h"

namespace evenkeel::data {

namespace {

/// The ids of the document at `begin`, without end-of-text.
std::vector<std::int64_t> document_at(const Tokens& tokens, std::int64_t begin,
                                      std::int64_t end_of_text) {
  constexpr std::int64_t kBlock = 1 << 14;
  std::vector<std::int64_t> ids;
  for (auto at = begin; at < tokens.size(); at += kBlock) {
    const auto block = tokens.range(at, std::min(kBlock, tokens.size() - at));
    const auto end = std::find(block.begin(), block.end(), end_of_text);
    ids.insert(ids.end(), block.begin(), end);
    if (end != block.end()) break;
  }
  return ids;
}

}  // namespace

std::int64_t check_round_trip(const std::string& folder, const TextEncoding& encoding,
                              std::int64_t documents) {
  const auto corpus =
      token_corpus({folder}, {}, encoding, encoding.vocabulary(), /*is_vocabulary_named=*/false);
  EK_ASSERT(corpus.end_of_text);
  std::int64_t begin = 0, count = 0;
  for (; count < documents && begin < corpus.tokens.size(); ++count) {
    const auto ids = document_at(corpus.tokens, begin, std::int64_t{*corpus.end_of_text});
    const auto again = encoding.encode(encoding.tokenizer().decode(ids));
    if (!std::equal(ids.begin(), ids.end(), again.begin(), again.end())) {
      throw Error(Exit::data, text(folder, ": document ", count, ", at token ", begin,
                                   ", gives other ids when it is decoded and encoded again; "
                                   "tokenize the text again"));
    }
    begin += static_cast<std::int64_t>(ids.size()) + 1;
  }
  return count;
}

}  // namespace evenkeel::data
