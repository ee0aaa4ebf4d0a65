// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/store/output_file.h"
#include "evenkeel/store/safetensors_stream.h"

namespace evenkeel::store {

/// A safetensors file to be written: sorted tensors, header, total size. Internal to store/.
class SafetensorsWriter {
 public:
  /// Sorts the tensors and builds the header.
  SafetensorsWriter(std::vector<TensorView> tensors,
                    const std::map<std::string, std::string>& metadata);

  /// The size of the file in bytes.
  std::uint64_t size() const { return size_; }

  /// Writes a new file, durably.
  /// \param file  of size()
  /// \throws Error (io)
  WrittenFile write(OutputFile file) const;

  /// As above, with bytes that `content` writes to its sink: those of each tensor, in file order.
  WrittenFile write(
      OutputFile file,
      const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content) const {
    return write_to(file, content);
  }

  /// The dtypes and shapes for the manifest: {"name": {"dtype": "F32", "shape": [2, 3]}, ...}.
  nlohmann::json tensors() const;

 private:
  WrittenFile write_to(
      OutputFile& file,
      const std::function<void(const TensorView& tensor, const ByteSink& sink)>& content) const;

  std::vector<TensorView> tensors_;  // in file order
  std::string header_;               // padded to 8 bytes
  std::uint64_t size_ = 0;
};

}  // namespace evenkeel::store
