// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/checkpoint_pieces.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <sstream>

#include "evenkeel/base/error.h"

namespace evenkeel::store {

namespace {

constexpr std::string_view kExtension = ".safetensors";

std::string whole_name(std::string_view stem) {
  return std::string(stem) + std::string(kExtension);
}

/// The number of pieces in a name as model-00001-of-00008.safetensors; 0: it is another name.
std::int64_t piece_count(const std::string& name, std::string_view stem) {
  const auto of = name.rfind("-of-");
  if (of == std::string::npos) return 0;
  std::int64_t count = 0;
  std::from_chars(name.data() + of + 4, name.data() + name.size(), count);
  return count > 0 && name == piece_name(stem, 0, count) ? count : 0;
}

}  // namespace

std::string range_text(const TensorRange& range) {
  auto out = text(range.begin, " ", range.end);
  for (const auto size : range.shape) out += text(" ", size);
  return out;
}

std::optional<TensorRange> parse_range(const std::string& content) {
  std::istringstream in(content);
  TensorRange range;
  in >> range.begin >> range.end;
  for (std::int64_t size = 0; in >> size;) range.shape.push_back(size);
  if (range_text(range) != content || range.begin < 0 || range.end < range.begin) {
    return std::nullopt;
  }
  return range;
}

std::string piece_name(std::string_view stem, std::int64_t shard, std::int64_t shards) {
  const auto number = static_cast<long long>(shard) + 1, all = static_cast<long long>(shards);
  std::array<char, 64> part{};
  std::snprintf(part.data(), part.size(), "-%05lld-of-%05lld", number, all);
  return text(stem, part.data(), kExtension);
}

std::vector<std::string> tensor_files(const nlohmann::json& files, std::string_view stem) {
  if (files.contains(whole_name(stem))) return {whole_name(stem)};
  std::int64_t count = 0;
  for (const auto& [name, entry] : files.items()) {
    if (count == 0) count = piece_count(name, stem);
  }
  std::vector<std::string> names;
  for (std::int64_t shard = 0; shard < count; ++shard) {
    names.push_back(piece_name(stem, shard, count));
    if (!files.contains(names.back())) return {};
  }
  return names;
}

SafetensorsStream open_tensors(const VerifiedCheckpoint& checkpoint, std::string_view stem) {
  return {checkpoint.folder, tensor_files(checkpoint.manifest.at("files"), stem)};
}

}  // namespace evenkeel::store
