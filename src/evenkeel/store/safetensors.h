// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The safetensors format, both ways. Knows no torch.
/// \source docs/formats.md
namespace evenkeel::store {

enum class Dtype { f64, f32, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

std::string_view name_of(Dtype dtype);  // "F32"
std::int64_t bytes_of(Dtype dtype);

/// One tensor to be written: contiguous, little-endian, alive until the file is written.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

/// One tensor of an open file.
struct Entry {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // in the data area
  std::int64_t numel() const;
};

/// The whole file as bytes: sorted by descending dtype width, then name, header padded to 8 bytes; so
/// that save, load, save gives identical bytes.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// A file that was read and checked: ranges cover the data area without hole or overlap, sizes
/// match shapes, names are unique.
class Safetensors {
 public:
  /// \throws Error (io) if it cannot be read; Error (data) that names the file and what is wrong
  static Safetensors read(const std::filesystem::path& path);

  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  bool has(const std::string& name) const { return entries_.contains(name); }
  /// \throws Error (data) that names the file if there is none
  const Entry& entry(const std::string& name) const;
  const std::byte* data(const Entry& entry) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string bytes_;
  std::size_t data_begin_ = 0;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace evenkeel::store
