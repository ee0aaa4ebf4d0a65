// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/round_trip.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/tokenizer/encoder.h"
#include "evenkeel/tokenizer/model.h"

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

/// Decodes ids and encodes the text again. The parts of a document between added tokens are
/// compared one by one, because a tokenizer encodes each of them alone, some with a prefix (Llama
/// 2), some without one. decode() drops the space of a prefix also where the space is of the text,
/// so that the bytes of the tokens, encoded without a prefix, are compared, too.
class RoundTrip {
 public:
  explicit RoundTrip(const TextEncoding& encoding)
      : tokenizer_(encoding.tokenizer()), encoder_(tokenizer_, encoding.special_in_text()) {
    for (const auto& [text, id] : tokenizer_.model().added_ids) added_.insert(id);
  }

  bool gives_equal_ids(std::span<const std::int64_t> ids) {
    const auto is_added = [this](std::int64_t id) { return added_.contains(id); };
    for (auto begin = ids.begin(); begin != ids.end();) {
      const auto end = std::find_if(begin, ids.end(), is_added);
      if (begin != end && !is_equal_part({begin, end})) return false;
      begin = end == ids.end() ? end : end + 1;
    }
    return true;
  }

 private:
  bool is_equal_part(std::span<const std::int64_t> part) {
    if (gives(part, tokenizer_.decode(part), /*continues=*/false)) return true;
    std::string bytes;
    for (const auto id : part) bytes += tokenizer_.token_bytes(static_cast<tokenizer::Id>(id));
    return gives(part, bytes, /*continues=*/true);
  }

  bool gives(std::span<const std::int64_t> ids, const std::string& text, bool continues) {
    again_.clear();
    encoder_.encode(text, again_, continues);
    return std::ranges::equal(ids, again_);
  }

  const tokenizer::Tokenizer& tokenizer_;
  tokenizer::Encoder encoder_;
  std::unordered_set<std::int64_t> added_;  // ids
  std::vector<tokenizer::Id> again_;
};

}  // namespace

std::int64_t check_round_trip(const std::string& folder, const TextEncoding& encoding,
                              std::int64_t documents) {
  config::Data data;
  data.special_in_text = encoding.special_in_text();
  const auto corpus =
      token_corpus({folder}, data, encoding, encoding.vocabulary(), /*is_vocabulary_named=*/false);
  EK_ASSERT(corpus.end_of_text);
  RoundTrip round_trip(encoding);
  std::int64_t begin = 0, count = 0;
  for (; count < documents && begin < corpus.tokens.size(); ++count) {
    const auto ids = document_at(corpus.tokens, begin, std::int64_t{*corpus.end_of_text});
    if (!round_trip.gives_equal_ids(ids)) {
      throw Error(Exit::data, text(folder, ": document ", count, ", at token ", begin,
                                   ", gives other ids when it is decoded and encoded again; "
                                   "tokenize the text again"));
    }
    begin += static_cast<std::int64_t>(ids.size()) + 1;
  }
  return count;
}

}  // namespace evenkeel::data
