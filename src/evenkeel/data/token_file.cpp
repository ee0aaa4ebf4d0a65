// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr std::int64_t kTokenBlock = 1 << 14;  // ids that are converted at once

/// act(T{}) with the C++ type of the ids.
template <typename Act>
void with_type(TokenType type, const Act& act) {
  switch (type) {
    case TokenType::uint8:
      return act(std::uint8_t{});
    case TokenType::int8:
      return act(std::int8_t{});
    case TokenType::uint16:
      return act(std::uint16_t{});
    case TokenType::int16:
      return act(std::int16_t{});
    case TokenType::uint32:
      return act(std::uint32_t{});
    case TokenType::int32:
      return act(std::int32_t{});
    case TokenType::uint64:
      return act(std::uint64_t{});
    case TokenType::int64:
      return act(std::int64_t{});
  }
}

/// What to do about an id that is negative or not below the vocabulary.
std::string remedy(const TokenLayout& layout, const std::string& path, bool is_negative) {
  if (is_negative) return "remove it, and write the file again";
  if (layout.format != TokenFormat::tokens) {
    return "set model.vocabulary, or data.tokenizer to the tokenizer that made the ids";
  }
  const bool is_npy = layout.is_assumed && std::filesystem::path(path).extension() == ".npy";
  return text(
      "set model.vocabulary, or data.token_type if the type is not ", name_of(layout.type),
      is_npy ? "; a file of numpy.save would begin with a header, and this one does not" : "");
}

}  // namespace

TokenFile::TokenFile(std::string path, const TokenType* type, std::int64_t vocabulary)
    : bytes_(std::move(path)), layout_(token_layout(bytes_, type, vocabulary)) {}

void TokenFile::read(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  EK_ASSERT(begin >= 0 && count >= 0 && begin <= layout_.count && count <= layout_.count - begin);
  with_type(layout_.type, [&](auto id) {
    using Id = decltype(id);
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Id));
    std::array<Id, kTokenBlock> block{};
    while (count > 0) {
      const auto some = std::min(count, kTokenBlock);
      bytes_.read(layout_.offset + begin * kSize, some * kSize, block.data());
      out = std::transform(block.begin(), block.begin() + some, out,
                           [](Id each) { return static_cast<std::int64_t>(each); });
      begin += some;
      count -= some;
    }
  });
}

TokenFile::Digests TokenFile::check_ids(std::int64_t vocabulary) const {
  Digest ids, file;
  const bool has_header = layout_.offset > 0;
  if (has_header) {
    std::vector<char> header(static_cast<std::size_t>(layout_.offset));
    bytes_.read(0, layout_.offset, header.data());
    file.update(header.data(), header.size());
  }
  with_type(layout_.type, [&](auto id) {
    using Id = decltype(id);
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(Id));
    constexpr std::int64_t kIds = (std::int64_t{1} << 20) / kSize;
    std::vector<Id> block(static_cast<std::size_t>(kIds));
    const auto limit = static_cast<std::uint64_t>(vocabulary);
    // A negative id becomes a number above all limits.
    const auto is_too_large = [limit](Id each) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(each)) >= limit;
    };
    for (std::int64_t begin = 0; begin < layout_.count; begin += kIds) {
      const auto some = std::min(kIds, layout_.count - begin);
      bytes_.read(layout_.offset + begin * kSize, some * kSize, block.data());
      ids.update(block.data(), static_cast<std::size_t>(some * kSize));
      if (has_header) file.update(block.data(), static_cast<std::size_t>(some * kSize));
      const auto end = block.begin() + some;
      bool any = false;
      for (auto at = block.begin(); at != end; ++at) any |= is_too_large(*at);
      if (!any) continue;
      const auto bad = std::find_if(block.begin(), end, is_too_large);
      refuse_id(vocabulary, begin + (bad - block.begin()), text(+*bad), std::cmp_less(*bad, 0));
    }
  });
  return {.ids = ids.hex(), .file = has_header ? file.hex() : ids.hex()};
}

void TokenFile::check_first_ids(std::int64_t vocabulary) const {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(std::min(kTokenBlock, count())));
  read(0, static_cast<std::int64_t>(ids.size()), ids.data());
  const auto bad = std::find_if(
      ids.begin(), ids.end(), [vocabulary](std::int64_t id) { return id < 0 || id >= vocabulary; });
  if (bad != ids.end()) refuse_id(vocabulary, bad - ids.begin(), text(*bad), *bad < 0);
}

void TokenFile::refuse_id(std::int64_t vocabulary, std::int64_t position, const std::string& id,
                          bool is_negative) const {
  bytes_.refuse(text("token ids must be 0 to ", vocabulary - 1, ", but token ", position, " is ",
                     id, "; ", remedy(layout_, bytes_.path(), is_negative)));
}

}  // namespace evenkeel::data
