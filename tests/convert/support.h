// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/store/safetensors.h"
#include "support/message_of.h"

namespace evenkeel::convert {

/// A new folder that is removed at the end of a test.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ek-convert-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  TestFolder(TestFolder&&) = delete;
  TestFolder& operator=(TestFolder&&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  /// Writes float32 tensors, each with the values 0, 1, 2, ... times `factor`.
  void write_tensors(const std::string& name,
                     const std::map<std::string, std::vector<std::int64_t>>& shapes,
                     float factor = 1) const {
    std::vector<store::TensorView> views;
    std::vector<std::vector<float>> values;
    values.reserve(shapes.size());
    for (const auto& [tensor, shape] : shapes) {
      std::size_t count = 1;
      for (const auto size : shape) count *= static_cast<std::size_t>(size);
      auto& own = values.emplace_back(count);
      for (std::size_t i = 0; i < count; ++i) own[i] = factor * static_cast<float>(i);
      views.push_back({tensor, store::Dtype::f32, shape, own.data()});
    }
    store::write_safetensors(path_ / name, views);
  }

 private:
  std::filesystem::path path_;
};

/// Two blocks of width 8 with two heads, one key/value head and FFN width 3.
inline norm::Shape small_shape() {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .kv_heads = 1,
          .inner = 3,
          .vocabulary = 5,
          .context = 16};
}

/// A scheme of TOML, or of the catalogue, bound to a shape.
inline norm::Scheme bound(const std::string& name_or_toml, const norm::Shape& shape) {
  const bool is_toml = name_or_toml.find('=') != std::string::npos;
  return config::bind(
      is_toml ? config::inline_scheme(name_or_toml, "") : config::find_scheme(name_or_toml), shape);
}

}  // namespace evenkeel::convert
