// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/store/directory.h"
#include "evenkeel/store/output_file.h"
#include "evenkeel/store/safetensors.h"

/// Safetensors files that are read and written in parts, so that no whole tensor is in memory.
namespace evenkeel::store {

/// An open, validated safetensors file, whose values are read where they are needed. Limits and
/// checks are those of Safetensors.
class SafetensorsStream {
 public:
  /// Opens the file `name` of a folder, and reads its header. A symbolic link is an error.
  /// \throws Error (io, exit code 74) if it cannot be read; Error (data, 65), with the path and the
  ///         defect, if it is invalid
  SafetensorsStream(const Directory& folder, const std::string& name);
  /// As above, for several files, which together hold every tensor once: pieces are joined
  /// (store/checkpoint_pieces.h).
  /// \throws Error (data, exit code 65) also if the pieces of a tensor are not the whole tensor
  SafetensorsStream(const Directory& folder, const std::vector<std::string>& names);
  /// As above, for a file that the user named. A symbolic link is followed.
  explicit SafetensorsStream(const std::filesystem::path& path);

  /// All tensors, keyed by name.
  const std::map<std::string, TensorInfo>& entries() const { return entries_; }
  /// The path of the first file.
  const std::string& path() const { return files_.front().path; }
  /// The size of all tensors in bytes.
  std::uint64_t size() const { return size_; }

  /// Reads `size` bytes of a tensor, beginning with its byte `offset`.
  /// \throws Error (io) on a read error, or if the file became shorter
  void read(const TensorInfo& tensor, std::uint64_t offset, void* to, std::size_t size) const;

 private:
  struct Piece;
  using Pieces = std::map<std::string, std::vector<Piece>>;
  struct File {
    std::shared_ptr<const int> descriptor;
    std::string path;
    std::uint64_t data_begin = 0;
  };
  struct Segment {  // bytes that one file holds
    std::uint64_t begin = 0;
    std::size_t file = 0;
    std::uint64_t position = 0;  // in the file
  };
  void add_file(int descriptor, std::string path, bool has_ranges, Pieces& pieces);
  void join(Pieces& pieces);

  std::vector<File> files_;
  std::vector<Segment> segments_;  // ascending; TensorInfo::begin counts their bytes
  std::uint64_t size_ = 0;
  std::map<std::string, TensorInfo> entries_;
};

/// Receives the bytes of a tensor in order.
using ByteSink = std::function<void(const void* data, std::size_t size)>;

/// Writes a new file, durably. Its bytes are those of write_safetensors().
/// \param tensors   without data
/// \param content   called for each tensor in the order of the file; writes all its bytes
/// \throws Error (io, exit code 74), and what `content` throws; the file is then incomplete
WrittenFile write_safetensors_stream(
    const Directory& folder, const std::string& name, std::vector<TensorView> tensors,
    const std::map<std::string, std::string>& metadata,
    const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content);

}  // namespace evenkeel::store
