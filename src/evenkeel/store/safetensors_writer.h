// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/store/output_file.h"
#include "evenkeel/store/safetensors.h"

namespace evenkeel::store {

/// A safetensors file before it is written: order of tensors, header, size. For this floor only.
class SafetensorsWriter {
 public:
  /// Sorts the tensors and builds the header.
  SafetensorsWriter(std::vector<TensorView> tensors,
                    const std::map<std::string, std::string>& metadata);

  /// Bytes of the file.
  std::uint64_t size() const { return size_; }

  /// Writes a new file.
  /// \throws Error (io)
  WrittenFile write(const SystemCalls& system, const std::filesystem::path& path) const;

  /// {"name": {"dtype": "F32", "shape": [2, 3]}, ...} for the manifest.
  nlohmann::json tensors() const;

 private:
  std::vector<TensorView> tensors_;  // in the order of the file
  std::string header_;               // padded
  std::uint64_t size_ = 0;
};

}  // namespace evenkeel::store
