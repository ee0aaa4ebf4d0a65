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

#include "evenkeel/store/directory.h"

/// Reads and writes the safetensors format. Independent of torch.
/// \source https://github.com/huggingface/safetensors (README, section Format)
namespace evenkeel::store {

/// The element types of safetensors.
enum class Dtype { f64, f32, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

/// The name in the file format: "F32".
std::string_view name_of(Dtype dtype);

/// The size of one element in bytes.
std::int64_t bytes_of(Dtype dtype);

/// The dtype with this name in the file format; nullopt if there is none.
std::optional<Dtype> dtype_named(std::string_view name);

/// A tensor to be written. `data` must be contiguous and little-endian, and must stay valid until
/// the file is written.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  std::shared_ptr<const void> owner = {};  // keeps `data` alive; empty: the caller does
};

/// The size of a tensor in bytes.
std::uint64_t bytes_of(const TensorView& tensor);

/// The dtype, shape and position of a tensor in a file.
struct TensorInfo {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // byte range within the data area

  /// The number of elements: the product of `shape`.
  std::int64_t numel() const;
};

/// Writes a file, or replaces it atomically. After the return the file is durable; if the function
/// throws, an old file is intact. The bytes depend on the content only: tensors are sorted by
/// descending element size, then by name; header keys are sorted; the header is padded to 8 bytes.
/// \param tensors   names must be unique
/// \param metadata  UTF-8
/// \throws Error (io, exit code 74), with the path of the file
void write_safetensors(const std::filesystem::path& path, std::vector<TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

class InputFile;

/// A validated safetensors file in memory. Names are unique, sizes match shapes, and the tensors
/// cover the data area without gap or overlap. The file is read, not mapped, so later changes to it
/// have no effect. Limits: header 16 MiB, 100,000 tensors, 8 dimensions, names of 4 KiB.
class Safetensors {
 public:
  /// Reads and validates a whole file.
  /// \throws Error (io, exit code 74) if it cannot be read; Error (data, 65), with the path and the
  ///         defect, if it is invalid
  static Safetensors read(const std::filesystem::path& path);

  /// As above, for the file `name` of a folder. A symbolic link is an error.
  /// \throws Error (io), Error (data) as above
  static Safetensors read(const Directory& folder, const std::string& name);

  /// All tensors, keyed by name.
  const std::map<std::string, TensorInfo>& entries() const { return entries_; }

  /// The __metadata__ entry of the header.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// True if the file has a tensor with this name.
  bool has(const std::string& name) const { return entries_.contains(name); }

  /// The tensor with this name.
  /// \throws Error (data, exit code 65), with the path of the file, if there is none
  const TensorInfo& entry(const std::string& name) const;

  /// The first byte of a tensor. It is aligned to the element size if the writer sorted the tensors
  /// by element size.
  const std::byte* data(const TensorInfo& entry) const;

  /// The path of the file.
  const std::string& path() const { return path_; }

 private:
  static Safetensors parse(InputFile& in, std::string path);

  std::string path_;
  std::shared_ptr<const std::byte[]> data_;  // data area, shared between copies
  std::map<std::string, TensorInfo> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace evenkeel::store
