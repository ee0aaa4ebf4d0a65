// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Reads and writes the safetensors format. Independent of torch.
/// \source docs/formats.md
namespace evenkeel::store {

enum class Dtype { f64, f32, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

std::string_view name_of(Dtype dtype);  // "F32"
std::int64_t bytes_of(Dtype dtype);
std::optional<Dtype> dtype_named(std::string_view name);

/// One tensor to be written: contiguous, little-endian, alive until the file is written.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

/// One tensor of an open file.
struct TensorInfo {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the data area
  std::int64_t numel() const;
};

/// Writes a file, or replaces it in one step: durable when this returns, the old one intact if it
/// throws. Data sorted by descending dtype width, then name; header keys sorted, padded to 8 bytes;
/// so that save, load, save gives identical bytes. Names must be unique, metadata UTF-8.
/// \throws Error (io) that names the file
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A file that was read and checked: ranges cover the data area without hole or overlap, sizes
/// match shapes, names are unique. Read, not mapped: a file that changes later does no harm.
/// Refused: headers over 16 MiB, more than 100,000 tensors, 8 dimensions or 4 KiB of name.
class Safetensors {
 public:
  /// \throws Error (io) if it cannot be read; Error (data) that names the file and what is wrong
  static Safetensors read(const std::filesystem::path& path);

  const std::map<std::string, TensorInfo>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// \throws Error (data) that names the file if there is none
  const TensorInfo& entry(const std::string& name) const;
  /// The bytes of an entry of this file; aligned to its width if the writer sorted by width.
  const std::byte* data(const TensorInfo& entry) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::shared_ptr<const std::byte[]> data_;  // the data area; copies share it
  std::map<std::string, TensorInfo> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace evenkeel::store
