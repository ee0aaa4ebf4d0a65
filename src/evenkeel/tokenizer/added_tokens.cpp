// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/added_tokens.h"

#include <algorithm>
#include <optional>

#include "evenkeel/base/error.h"

namespace evenkeel::tokenizer {

namespace {

std::size_t byte_value(char byte) {
  return static_cast<unsigned char>(byte);
}

std::optional<std::uint32_t> child(
    const std::vector<std::pair<unsigned char, std::uint32_t>>& children, unsigned char byte) {
  for (const auto& [of, node] : children) {
    if (of == byte) return node;
  }
  return std::nullopt;
}

}  // namespace

void AddedTokens::add(AddedToken token) {
  EK_ASSERT(!token.text.empty());
  auto& root = by_byte_[byte_value(token.text[0])];
  if (root == 0) {
    first_bytes_ += token.text[0];
    nodes_.emplace_back();
    root = static_cast<std::uint32_t>(nodes_.size());
  }
  auto at = root - 1;
  for (const char each : std::string_view(token.text).substr(1)) {
    const auto byte = static_cast<unsigned char>(each);
    const auto next = child(nodes_[at].children, byte);
    if (next) {
      at = *next;
      continue;
    }
    const auto created = static_cast<std::uint32_t>(nodes_.size());
    nodes_[at].children.emplace_back(byte, created);
    nodes_.emplace_back();
    at = created;
  }
  nodes_[at].token = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(std::move(token));
}

std::size_t AddedTokens::first_candidate(std::string_view text, std::size_t from) const {
  if (first_bytes_.empty()) return text.size();
  if (first_bytes_.size() == 1) return std::min(text.find(first_bytes_[0], from), text.size());
  while (from < text.size() && by_byte_[byte_value(text[from])] == 0) ++from;
  return from;
}

const AddedToken* AddedTokens::match(std::string_view text, std::size_t at) const {
  auto node = by_byte_[byte_value(text[at])] - 1;
  std::int32_t token = -1;
  for (;;) {
    if (nodes_[node].token >= 0) token = nodes_[node].token;
    if (++at == text.size()) break;
    const auto next = child(nodes_[node].children, static_cast<unsigned char>(text[at]));
    if (!next) break;
    node = *next;
  }
  return token < 0 ? nullptr : &tokens_[static_cast<std::size_t>(token)];
}

}  // namespace evenkeel::tokenizer
