// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/tokens.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/token_file.h"

namespace evenkeel::data {

namespace {

static_assert(std::endian::native == std::endian::little);

/// XXH3-128 of ids with the size of Id.
template <typename Id>
std::string id_digest(const std::vector<TokenId>& ids) {
  std::vector<Id> sized;
  sized.reserve(ids.size());
  for (const auto id : ids) sized.push_back(static_cast<Id>(id));
  return evenkeel::digest(sized.data(), sized.size() * sizeof(Id));
}

std::string memory_digest(const std::vector<TokenId>& ids) {
  constexpr TokenId kMost = 0xffff;
  const bool is_narrow =
      std::all_of(ids.begin(), ids.end(), [](TokenId id) { return id <= kMost; });
  return is_narrow ? id_digest<std::uint16_t>(ids) : id_digest<TokenId>(ids);
}

}  // namespace

Tokens::Tokens(std::vector<TokenId> ids) {
  const auto count = static_cast<std::int64_t>(ids.size());
  add({.ids = std::move(ids), .count = count});
}

Tokens::Tokens(std::shared_ptr<const TokenFile> file, std::string digest) {
  const auto count = file->count();
  add({.ids = std::move(file), .digest = std::move(digest), .count = count});
}

void Tokens::add(Part part) {
  if (part.count == 0) return;
  part.first = size_;
  size_ += part.count;
  parts_.push_back(std::move(part));
}

void Tokens::push_back(TokenId id) {
  if (parts_.empty() || !std::holds_alternative<std::vector<TokenId>>(parts_.back().ids)) {
    add({.ids = std::vector<TokenId>{id}, .count = 1});
    return;
  }
  std::get<std::vector<TokenId>>(parts_.back().ids).push_back(id);
  ++parts_.back().count;
  ++size_;
}

bool Tokens::operator==(const Tokens& other) const {
  return size_ == other.size_ && range(0, size_) == other.range(0, size_);
}

void Tokens::append(const Tokens& more) {
  for (const auto& part : more.parts_) add(part);
}

void Tokens::read(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  EK_ASSERT(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin);
  auto part = std::upper_bound(parts_.begin(), parts_.end(), begin,
                               [](std::int64_t at, const Part& each) { return at < each.first; });
  for (--part; count > 0; ++part) {
    const auto at = begin - part->first;
    const auto some = std::min(count, part->count - at);
    if (const auto* const ids = std::get_if<std::vector<TokenId>>(&part->ids)) {
      out = std::copy_n(ids->begin() + at, some, out);
    } else {
      std::get<std::shared_ptr<const TokenFile>>(part->ids)->read(part->offset + at, some, out);
      out += some;
    }
    begin += some;
    count -= some;
  }
}

std::vector<std::int64_t> Tokens::range(std::int64_t begin, std::int64_t count) const {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  if (count > 0) read(begin, count, ids.data());
  return ids;
}

Tokens Tokens::slice(std::int64_t begin, std::int64_t end) const {
  Tokens out;
  for (const auto& part : parts_) {
    const auto from = std::max(begin, part.first) - part.first;
    const auto to = std::min(end, part.first + part.count) - part.first;
    if (from >= to) continue;
    Part some{
        .ids = part.ids, .digest = part.digest, .offset = part.offset + from, .count = to - from};
    if (auto* const ids = std::get_if<std::vector<TokenId>>(&some.ids)) {
      *ids = std::vector<TokenId>(ids->begin() + from, ids->begin() + to);
      some.offset = 0;
    }
    out.add(std::move(some));
  }
  return out;
}

std::vector<std::int64_t> Tokens::part_sizes() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(parts_.size());
  for (const auto& part : parts_) sizes.push_back(part.count);
  return sizes;
}

std::vector<Tokens::File> Tokens::files() const {
  std::vector<File> files;
  for (const auto& part : parts_) {
    if (const auto* const file = std::get_if<std::shared_ptr<const TokenFile>>(&part.ids)) {
      files.push_back({(*file)->path(), part.digest});
    }
  }
  return files;
}

std::string Tokens::digest() const {
  std::string all;
  for (const auto& part : parts_) {
    const auto* const ids = std::get_if<std::vector<TokenId>>(&part.ids);
    const auto one = ids != nullptr ? memory_digest(*ids) : part.digest;
    if (ids != nullptr && parts_.size() == 1) return one;
    all += text(one, " ", part.offset, " ", part.count, "\n");
  }
  return evenkeel::digest(all.data(), all.size());
}

}  // namespace evenkeel::data
