// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "convert/support.h"
#include "evenkeel/convert/olmo_yaml.h"

namespace evenkeel::convert {

/// A configuration of OLMo: a small model with values that differ from OLMo's defaults where those
/// are refused.
inline constexpr const char* kSmallOlmo = R"(
model:
  d_model: 32
  n_heads: 4
  n_layers: 4
  mlp_hidden_size: 48
  max_sequence_length: 24
  vocab_size: 300
  embedding_size: 320
  rope: true
  include_bias: false
  attention_dropout: 0
  residual_dropout: 0
  embedding_dropout: 0
  layer_norm_type: rms
optimizer: {name: adamw}
data: {paths: [a.npy]}
)";

/// The import of a text as x.yaml in a folder.
inline YamlImport import_in(const TestFolder& folder, const std::string& yaml,
                            std::vector<std::string> arguments = {}) {
  folder.write("x.yaml", yaml);
  return import_yaml({.file = folder.path() / "x.yaml", .arguments = std::move(arguments)});
}

/// The message of an import that is refused, without the folder; "" if it is not refused.
inline std::string refusal_in(const TestFolder& folder, const std::string& yaml,
                              const std::vector<std::string>& arguments = {}) {
  auto message = message_of([&] { import_in(folder, yaml, arguments); });
  const auto path = folder.path().string() + "/";
  for (auto at = message.find(path); at != std::string::npos; at = message.find(path)) {
    message.erase(at, path.size());
  }
  return message;
}

}  // namespace evenkeel::convert
