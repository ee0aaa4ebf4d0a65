// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/safetensors_stream.h"

/// The files of tensors in a checkpoint: one file, or one piece per gradient shard.
///
///   model.safetensors               train.gradient_shards = 1
///   model-00003-of-00008.safetensors    the piece of the third of 8 shards
///
/// A piece holds whole tensors, and ranges of tensors: a range is a tensor of one dimension, and
/// the
/// __metadata__ of the file says "NAME": "BEGIN END SHAPE...", for instance "65536 131072 512 384".
namespace evenkeel::store {

inline constexpr std::string_view kModelStem = "model";
inline constexpr std::string_view kOptimizerStem = "optimizer";

/// The elements [begin, end) of a tensor in row-major order.
struct TensorRange {
  std::int64_t begin = 0, end = 0;
  std::vector<std::int64_t> shape;  // of the whole tensor
};

/// The text of a range in the __metadata__ of a piece.
std::string range_text(const TensorRange& range);
/// The range with this text; nullopt if the text is not one of range_text().
std::optional<TensorRange> parse_range(const std::string& text);

/// The name of a piece. \param shard  from 0
std::string piece_name(std::string_view stem, std::int64_t shard, std::int64_t shards);

/// The names of the files of `stem` that a manifest has: one file, or all pieces in order.
/// \param files  the entry "files" of a manifest
/// \return empty if the manifest has none, or not all pieces
std::vector<std::string> tensor_files(const nlohmann::json& files, std::string_view stem);

/// Opens the tensors of a checkpoint. Tensors in pieces are joined where they are read.
/// \throws Error (io, exit code 74); Error (data, 65), with the path and the defect, for an invalid
///         file, or for pieces that are no whole tensors
SafetensorsStream open_tensors(const VerifiedCheckpoint& checkpoint, std::string_view stem);

}  // namespace evenkeel::store
