// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "evenkeel/convert/weights.h"

/// A folder with a Hugging Face model that is imported.
namespace evenkeel::convert {

/// The values of config.json, with messages that name file and key.
class HfConfig {
 public:
  /// \throws Error (data, exit code 65) if config.json is missing, or is no JSON object
  explicit HfConfig(const std::filesystem::path& folder);

  const nlohmann::json& json() const { return json_; }
  /// The path of config.json.
  const std::string& path() const { return path_; }
  /// True if the key is there and is not null.
  bool has(const char* key) const;
  /// True if the key is missing: transformers then has the value of the class. null is "none".
  bool is_absent(const char* key) const;

  // Each function throws Error (data) if the value is missing, or of another type.
  std::int64_t integer(const char* key) const;
  double number(const char* key) const;
  std::string string(const char* key) const;
  /// `fallback` if the key is missing or null.
  std::int64_t integer(const char* key, std::int64_t fallback) const;
  double number(const char* key, double fallback) const;
  bool flag(const char* key, bool fallback) const;
  std::string string(const char* key, const std::string& fallback) const;

  /// \throws Error (data): "model/config.json: KEY must be `wanted`, but is VALUE; `what`"
  [[noreturn]] void refuse(const char* key, const std::string& wanted,
                           const std::string& what = "") const;

 private:
  const nlohmann::json& value(const char* key) const;

  std::string path_;
  nlohmann::json json_;
};

/// The tensors of model.safetensors, or of all files of model.safetensors.index.json.
/// \throws Error (data, exit code 65) if files and index disagree, or a file is damaged; (io, 74)
Weights open_hf_weights(const std::filesystem::path& folder);

}  // namespace evenkeel::convert
