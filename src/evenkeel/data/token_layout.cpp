// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_layout.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/data/megatron_index.h"
#include "evenkeel/data/npy_header.h"
#include "evenkeel/data/wider_type.h"

namespace evenkeel::data {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::int64_t kLlmCHeaderBytes = 1024;

std::int32_t first_int(const TokenBytes& file) {
  return file.size() >= 4 ? file.value<std::int32_t>(0) : 0;
}

/// What a file of llm.c is that holds no training tokens; nullptr for any other number.
const char* llm_c_kind(std::int32_t magic) {
  switch (magic) {
    case 20240326:
      return "a model";
    case 20240327:
      return "a state for debugging";
    case 20240328:
      return "a tokenizer";
    case 20240522:
      return "an evaluation";
    case 20240527:
      return "a state of the optimizer";
    default:
      return nullptr;
  }
}

/// \return a layout without ids for a file that is not llm.c's
TokenLayout llm_c_layout(const TokenBytes& file) {
  TokenLayout layout;
  const auto magic = first_int(file);
  if (const auto* const kind = llm_c_kind(magic); kind != nullptr) {
    file.refuse(text("must hold tokens, but is ", kind, " of llm.c; name a file of tokens"));
  }
  const bool is_gpt2 = magic == 20240520;
  if (!is_gpt2 && magic != 20240801) return layout;
  if (file.size() < kLlmCHeaderBytes) {
    file.refuse(text("llm.c's header has 1024 bytes, but the file has ", file.size(),
                     "; copy or download the file again"));
  }
  const auto version = file.value<std::int32_t>(4);
  const std::int32_t wanted = is_gpt2 ? 1 : 7;
  if (version != wanted) {
    file.refuse(text("version ", wanted, " of llm.c's format is known, but the file has ", version,
                     "; write it again"));
  }
  layout.format = TokenFormat::llm_c;
  layout.type = is_gpt2 ? TokenType::uint16 : TokenType::uint32;
  layout.offset = kLlmCHeaderBytes;
  layout.count = file.value<std::int32_t>(8);
  const auto bytes = kLlmCHeaderBytes + layout.count * item_bytes(layout.type);
  if (layout.count < 0 || bytes != file.size()) {
    file.refuse(text("the header says ", layout.count, " tokens, which take ", bytes,
                     " bytes, but the file has ", file.size(), "; copy or download it again"));
  }
  return layout;
}

/// Refuses a file that begins as a compressed one does, or is a text.
void check_is_no_other_kind(const TokenBytes& file, const TokenLayout& layout) {
  constexpr std::int64_t kBytes = 4096;
  std::string start(static_cast<std::size_t>(std::min(kBytes, file.size())), '\0');
  file.read(0, static_cast<std::int64_t>(start.size()), start.data());
  constexpr std::array<std::array<const char*, 2>, 4> kKinds = {
      {{"\x1f\x8b\x08", "gzip; unpack it"},
       {"\x28\xb5\x2f\xfd", "zstd; unpack it"},
       {"PK\x03\x04", "zip, as numpy.savez writes it; use numpy.save"},
       {"PAR1", "parquet; name it .parquet"}}};
  for (const auto& [first, kind] : kKinds) {
    if (start.starts_with(first)) file.refuse(text("must be token ids, but is of the kind ", kind));
  }
  constexpr std::size_t kFewest = 64;
  const bool is_text =
      layout.is_assumed && layout.type != TokenType::uint8 && start.size() >= kFewest &&
      std::all_of(start.begin(), start.end(), [](unsigned char byte) {
        return byte == '\n' || byte == '\r' || byte == '\t' || (byte >= ' ' && byte < 0x7f);
      });
  if (is_text) {
    file.refuse(text("must be token ids, but its first ", start.size(),
                     " bytes are text; name it .txt, or set data.token_type if they are ids"));
  }
}

/// Refuses a file whose type is not known and seems to be another one.
void check_guess(const TokenBytes& file, const TokenLayout& layout, std::int64_t vocabulary) {
  const auto wider = wider_type(file, layout, vocabulary);
  if (!wider) return;
  const auto parts = item_bytes(*wider) / item_bytes(layout.type);
  const auto upper = parts == 2 ? std::string("every second one") : text(parts - 1, " of ", parts);
  file.refuse(text("has no header and is read as ", name_of(layout.type), ", but ", upper,
                   " of its ids would be 0 or nearly so, as if they were ", name_of(*wider),
                   "; set data.token_type to ", name_of(*wider), ", or to ", name_of(layout.type),
                   " if that is right"));
}

TokenLayout raw_layout(const TokenBytes& file, const TokenType* type, std::int64_t vocabulary) {
  TokenLayout layout;
  const bool is_npy = std::filesystem::path(file.path()).extension() == ".npy";
  layout.type = type != nullptr ? *type : is_npy ? smallest_type(vocabulary) : TokenType::uint16;
  layout.is_assumed = type == nullptr;
  check_is_no_other_kind(file, layout);
  const auto item = item_bytes(layout.type);
  if (file.size() % item != 0) {
    file.refuse(text("ids of type ", name_of(layout.type), " take ", item,
                     " bytes each, but the file has ", file.size(),
                     " bytes; set data.token_type, or copy the file again"));
  }
  layout.count = file.size() / item;
  if (layout.is_assumed) check_guess(file, layout, vocabulary);
  return layout;
}

TokenLayout any_layout(const TokenBytes& file, const TokenType* type, std::int64_t vocabulary) {
  if (is_npy(file)) return npy_layout(file);
  if (auto layout = llm_c_layout(file); layout.format == TokenFormat::llm_c) return layout;
  if (const auto index = megatron_index_of(file.path())) return megatron_layout(file, *index);
  return raw_layout(file, type, vocabulary);
}

}  // namespace

std::int64_t item_bytes(TokenType type) {
  constexpr std::array<std::int64_t, 8> kBytes = {1, 1, 2, 2, 4, 4, 8, 8};
  return kBytes.at(static_cast<std::size_t>(type));
}

const char* name_of(TokenType type) {
  constexpr std::array<const char*, 8> kNames = {"uint8",  "int8",  "uint16", "int16",
                                                 "uint32", "int32", "uint64", "int64"};
  return kNames.at(static_cast<std::size_t>(type));
}

TokenType smallest_type(std::int64_t vocabulary) {
  const auto largest = vocabulary - 1;
  if (largest <= std::numeric_limits<std::uint8_t>::max()) return TokenType::uint8;
  if (largest <= std::numeric_limits<std::uint16_t>::max()) return TokenType::uint16;
  if (largest <= std::numeric_limits<std::uint32_t>::max()) return TokenType::uint32;
  return TokenType::uint64;
}

const char* name_of(TokenFormat format) {
  constexpr std::array<const char*, 4> kNames = {"tokens", "npy", "llm_c", "megatron"};
  return kNames.at(static_cast<std::size_t>(format));
}

TokenLayout token_layout(const TokenBytes& file, const TokenType* type, std::int64_t vocabulary) {
  auto layout = any_layout(file, type, vocabulary);
  if (layout.count == 0) file.refuse("must hold tokens, but is empty");
  return layout;
}

}  // namespace evenkeel::data
