// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/npy_header.h"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/base/printable.h"

namespace evenkeel::data {

namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::int64_t kMaxHeaderBytes = 1 << 16;

[[noreturn]] void refuse_damaged(const TokenBytes& file) {
  file.refuse("NumPy's header is damaged; write the file again with numpy.save");
}

/// The literal after `'key':` in the dictionary of a header, up to the comma or bracket that ends
/// it.
std::string_view entry(const TokenBytes& file, std::string_view header, const char* key) {
  const auto name = text("'", key, "'");
  auto at = header.find(name);
  if (at == std::string_view::npos) refuse_damaged(file);
  at = header.find_first_not_of(" :", at + name.size());
  if (at == std::string_view::npos) refuse_damaged(file);
  const char first = header[at];
  const auto end = first == '\''  ? header.find('\'', at + 1)
                   : first == '(' ? header.find(')', at)
                                  : header.find_first_of(",}", at) - 1;
  if (end >= header.size()) refuse_damaged(file);
  return header.substr(at, end + 1 - at);
}

std::optional<TokenType> npy_type(std::string_view descr) {
  struct Row {
    std::string_view descr;
    TokenType type;
  };
  static constexpr std::array<Row, 8> kRows = {{{"'|u1'", TokenType::uint8},
                                                {"'|i1'", TokenType::int8},
                                                {"'<u2'", TokenType::uint16},
                                                {"'<i2'", TokenType::int16},
                                                {"'<u4'", TokenType::uint32},
                                                {"'<i4'", TokenType::int32},
                                                {"'<u8'", TokenType::uint64},
                                                {"'<i8'", TokenType::int64}}};
  for (const auto& row : kRows) {
    if (row.descr == descr) return row.type;
  }
  return std::nullopt;
}

/// The number in "(123,)"; nullopt for any other shape.
std::optional<std::int64_t> length_of(std::string_view shape) {
  if (shape.size() < 4 || shape.front() != '(' || !shape.ends_with(",)")) return std::nullopt;
  std::int64_t length = 0;
  const auto* const end = shape.data() + shape.size() - 2;
  const auto [stop, error] = std::from_chars(shape.data() + 1, end, length);
  if (error != std::errc() || stop != end || length < 0) return std::nullopt;
  return length;
}

/// The dictionary of the header. \param end  receives the offset of the data
std::string dictionary_of(const TokenBytes& file, std::int64_t& end) {
  constexpr std::int64_t kVersionBytes = 8;
  if (file.size() < kVersionBytes + 4) refuse_damaged(file);
  std::array<unsigned char, kVersionBytes + 4> start{};
  file.read(0, start.size(), start.data());
  const int version = start[6];
  if (version < 1 || version > 3) {
    file.refuse(text("versions 1 to 3 of NumPy's format are known, but the file has ", version,
                     "; write it again with numpy.save"));
  }
  const std::int64_t begin = version == 1 ? kVersionBytes + 2 : kVersionBytes + 4;
  std::int64_t length = start[8] | start[9] << 8;
  if (version > 1) length |= std::int64_t{start[10]} << 16 | std::int64_t{start[11]} << 24;
  if (length > kMaxHeaderBytes || length > file.size() - begin) refuse_damaged(file);
  std::string header(static_cast<std::size_t>(length), '\0');
  file.read(begin, length, header.data());
  end = begin + length;
  return header;
}

}  // namespace

bool is_npy(const TokenBytes& file) {
  std::array<char, kNpyMagic.size()> start{};
  if (file.size() < static_cast<std::int64_t>(start.size())) return false;
  file.read(0, start.size(), start.data());
  return std::string_view(start.data(), start.size()) == kNpyMagic;
}

TokenLayout npy_layout(const TokenBytes& file) {
  TokenLayout layout;
  layout.format = TokenFormat::npy;
  const auto header = dictionary_of(file, layout.offset);
  const auto descr = entry(file, header, "descr");
  const auto type = npy_type(descr);
  if (!type) {
    file.refuse(text("token ids must be little-endian integers, but are ", printable(descr),
                     "; convert them with astype(\"uint32\")"));
  }
  layout.type = *type;
  if (entry(file, header, "fortran_order") != "False") {
    file.refuse("must be in C order, but is in Fortran order; write numpy.ascontiguousarray");
  }
  const auto shape = entry(file, header, "shape");
  const auto length = length_of(shape);
  if (!length) {
    file.refuse(text("must have one dimension, but its shape is ", printable(shape),
                     "; write reshape(-1)"));
  }
  layout.count = *length;
  const auto bytes = file.size() - layout.offset;
  if (bytes % item_bytes(*type) != 0 || bytes / item_bytes(*type) != layout.count) {
    file.refuse(text("the header says ", layout.count, " ids of type ", name_of(*type), ", but ",
                     bytes, " bytes follow; copy or download the file again"));
  }
  return layout;
}

}  // namespace evenkeel::data
