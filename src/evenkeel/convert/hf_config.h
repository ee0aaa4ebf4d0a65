// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/config/config.h"
#include "evenkeel/convert/model_class.h"
#include "evenkeel/norm/scheme.h"

/// config.json and generation_config.json of a Hugging Face model.
namespace evenkeel::convert {

/// What a config.json says besides the scheme.
struct HfModel {
  const norm::Scheme* scheme = nullptr;  // bound
  norm::Steps steps;                     // values of t and T
  const config::Config* config = nullptr;
  std::int64_t rows = 0;                    // of the exported embedding
  std::optional<std::int64_t> end_of_text;  // eos, bos and pad token
  /// bos, eos and pad token of the imported model in place of end_of_text; nullptr: none.
  const nlohmann::ordered_json* token_ids = nullptr;
  std::string dtype;  // "float32"
  bool uses_cache = true;
};

/// config.json of a native class.
nlohmann::ordered_json class_config_json(const HfModel& model, const ModelClass& model_class,
                                         const ClassFit& fit);

/// config.json of EvenkeelForCausalLM, with the bound scheme.
nlohmann::ordered_json evenkeel_config_json(const HfModel& model);

/// generation_config.json
nlohmann::ordered_json generation_config_json(const HfModel& model);

}  // namespace evenkeel::convert
