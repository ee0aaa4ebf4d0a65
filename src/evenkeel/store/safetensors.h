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

/// The element types of the format.
enum class Dtype { f64, f32, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// The name in a file: "F32".
std::string_view name_of(Dtype dtype);

/// Bytes of one element.
std::int64_t bytes_of(Dtype dtype);

/// The dtype of a name in a file; none if the format has no such name.
std::optional<Dtype> dtype_named(std::string_view name);

/// One tensor to be written. `data` must be contiguous, little-endian, and valid until the file is
/// written.
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
  std::uint64_t begin = 0, end = 0;  // bytes in the data area

  /// The number of elements: the product of `shape`.
  std::int64_t numel() const;
};

/// Writes a file, or replaces it atomically: durable when this returns, the old file intact if it
/// throws. The bytes depend on the content only: tensors are sorted by descending bytes of an
/// element, then by name; keys of the header are sorted; the header is padded to 8 bytes.
/// \param tensors   with unique names
/// \param metadata  UTF-8
/// \throws Error (io) that names the file
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A file that was read and checked: the ranges of the tensors cover the data area without hole or
/// overlap, sizes match shapes, names are unique. The file is read, not mapped, so later changes of
/// the file have no effect. Limits: 16 MiB of header, 100,000 tensors, 8 dimensions, names of 4
/// KiB.
class Safetensors {
 public:
  /// Reads a whole file.
  /// \throws Error (io) if it cannot be read; Error (data) that names the file and what is wrong
  static Safetensors read(const std::filesystem::path& path);

  /// All tensors, by name.
  const std::map<std::string, TensorInfo>& entries() const { return entries_; }

  /// The entry __metadata__ of the header.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Whether the file has a tensor of this name.
  bool has(const std::string& name) const { return entries_.contains(name); }

  /// The tensor of a name.
  /// \throws Error (data) that names the file if there is none
  const TensorInfo& entry(const std::string& name) const;

  /// The bytes of a tensor of this file; aligned to its element if the writer sorted by element
  /// size.
  const std::byte* data(const TensorInfo& entry) const;

  /// The path of the file.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::shared_ptr<const std::byte[]> data_;  // the data area; copies share it
  std::map<std::string, TensorInfo> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace evenkeel::store
