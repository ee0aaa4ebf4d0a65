// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/megatron_index.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
constexpr std::int64_t kIndexHeaderBytes = 34;
constexpr std::int64_t kIndexBlock = 1 << 16;  // numbers that are read at once

[[noreturn]] void refuse_index(const TokenBytes& index, const std::string& reason) {
  index.refuse(reason + "; write the index again");
}

/// Numbers of an index, read in blocks from the first to the last.
template <typename T>
class IndexNumbers {
 public:
  IndexNumbers(const TokenBytes& index, std::int64_t offset, std::int64_t count)
      : index_(&index), offset_(offset), left_(count) {}

  T next() {
    if (at_ == block_.size()) fill();
    return block_[at_++];
  }

 private:
  void fill() {
    EK_ASSERT(left_ > 0);
    const auto count = std::min(left_, kIndexBlock);
    const auto bytes = count * static_cast<std::int64_t>(sizeof(T));
    block_.resize(static_cast<std::size_t>(count));
    index_->read(offset_, bytes, block_.data());
    offset_ += bytes;
    left_ -= count;
    at_ = 0;
  }

  const TokenBytes* index_;
  std::int64_t offset_, left_;
  std::vector<T> block_;
  std::size_t at_ = 0;
};

TokenType megatron_type(const TokenBytes& index, int code) {
  switch (code) {
    case 1:
      return TokenType::uint8;
    case 2:
      return TokenType::int8;
    case 3:
      return TokenType::int16;
    case 4:
      return TokenType::int32;
    case 5:
      return TokenType::int64;
    case 8:
      return TokenType::uint16;
    case 6:
    case 7:
      refuse_index(index, "token ids must be integers, but are floating-point numbers");
    default:
      refuse_index(index, text("codes 1 to 8 of types are known, but the index has ", code));
  }
}

/// The numbers of an index: sequences, and documents + 1.
struct IndexCounts {
  std::int64_t sequences = 0, documents = 0;
};

/// \throws Error unless the index is large enough for its numbers
IndexCounts index_counts(const TokenBytes& index) {
  constexpr std::int64_t kSequenceBytes = 4 + 8, kDocumentBytes = 8;
  const IndexCounts counts = {index.value<std::int64_t>(18), index.value<std::int64_t>(26)};
  const auto room = index.size() - kIndexHeaderBytes;
  const bool fits = counts.sequences >= 0 && counts.documents >= 1 &&
                    counts.sequences <= room / kSequenceBytes &&
                    counts.documents <= (room - counts.sequences * kSequenceBytes) / kDocumentBytes;
  if (!fits) {
    refuse_index(index, text("must hold ", counts.sequences, " sequences and ",
                             counts.documents - 1, " documents, but has ", index.size(), " bytes"));
  }
  return counts;
}

/// The number of ids of all sequences, which follow each other from byte 0 on.
std::int64_t sequence_tokens(const TokenBytes& index, std::int64_t sequences, std::int64_t item,
                             std::int64_t file_bytes) {
  IndexNumbers<std::int32_t> lengths(index, kIndexHeaderBytes, sequences);
  IndexNumbers<std::int64_t> pointers(index, kIndexHeaderBytes + 4 * sequences, sequences);
  std::int64_t tokens = 0;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t length = lengths.next(), pointer = pointers.next();
    if (pointer != tokens * item) {
      refuse_index(index, text("sequence ", i, " must begin at byte ", tokens * item,
                               ", after the one before it, but begins at ", pointer));
    }
    if (length < 0 || length > file_bytes / item - tokens) {
      refuse_index(index, text("sequence ", i, " must end within the ", file_bytes,
                               " bytes of the .bin file, but has ", length, " tokens from byte ",
                               pointer, " on"));
    }
    tokens += length;
  }
  return tokens;
}

void check_documents(const TokenBytes& index, const IndexCounts& counts) {
  IndexNumbers<std::int64_t> starts(index, kIndexHeaderBytes + 12 * counts.sequences,
                                    counts.documents);
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < counts.documents; ++i) {
    const auto start = starts.next();
    const bool is_in_order = i == 0 ? start == 0 : start >= last && start <= counts.sequences;
    if (!is_in_order) {
      refuse_index(index,
                   text("the first sequence of document ", i, " must be ",
                        i == 0 ? "0" : text(last, " to ", counts.sequences), ", but is ", start));
    }
    last = start;
  }
}

}  // namespace

std::optional<TokenBytes> megatron_index_of(const std::string& path) {
  const auto index = std::filesystem::path(path).replace_extension(".idx");
  std::error_code error;
  if (index == path || !std::filesystem::exists(index, error)) return std::nullopt;
  TokenBytes bytes(index.string());
  std::string start(kIndexMagic.size(), '\0');
  const auto size = static_cast<std::int64_t>(start.size());
  if (bytes.size() >= size) bytes.read(0, size, start.data());
  if (start == kIndexMagic) return bytes;
  bytes.refuse(text("must be the index of ", path,
                    " and begin with MMIDIDX, as Megatron's does, but does "
                    "not; write it again, or give it another name"));
}

TokenLayout megatron_layout(const TokenBytes& file, const TokenBytes& index) {
  if (index.size() < kIndexHeaderBytes) {
    refuse_index(index, text("the header has 34 bytes, but the index has ", index.size()));
  }
  const auto version = index.value<std::int64_t>(9);
  if (version != 1) {
    refuse_index(index, text("version 1 of Megatron's index is known, but it has ", version));
  }
  TokenLayout layout;
  layout.format = TokenFormat::megatron;
  layout.type = megatron_type(index, index.value<std::uint8_t>(17));
  const auto counts = index_counts(index);
  const auto item = item_bytes(layout.type);
  layout.count = sequence_tokens(index, counts.sequences, item, file.size());
  if (layout.count * item != file.size()) {
    refuse_index(index, text("its sequences take ", layout.count * item,
                             " bytes, but the .bin file has ", file.size()));
  }
  check_documents(index, counts);
  layout.documents = counts.documents - 1;
  return layout;
}

std::string megatron_index(TokenType type, const std::vector<std::int64_t>& ends) {
  constexpr std::int64_t kVersion = 1;
  constexpr char kInt32Code = 4, kUint16Code = 8;
  EK_ASSERT(type == TokenType::uint16 || type == TokenType::int32);
  const auto count = static_cast<std::int64_t>(ends.size());
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers, documents = {0};
  std::int64_t start = 0;
  for (const auto end : ends) {
    lengths.push_back(static_cast<std::int32_t>(end - start));
    pointers.push_back(start * item_bytes(type));
    documents.push_back(documents.back() + 1);
    start = end;
  }
  std::string index(kIndexMagic);
  const auto add = [&](const auto* numbers, std::size_t size) {
    index.append(reinterpret_cast<const char*>(numbers), size * sizeof *numbers);
  };
  add(&kVersion, 1);
  index += type == TokenType::int32 ? kInt32Code : kUint16Code;
  add(&count, 1);
  const std::int64_t with_end = count + 1;
  add(&with_end, 1);
  add(lengths.data(), lengths.size());
  add(pointers.data(), pointers.size());
  add(documents.data(), documents.size());
  return index;
}

}  // namespace evenkeel::data
