// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "evenkeel/convert/hf_config.h"
#include "evenkeel/convert/model_class.h"
#include "evenkeel/convert/tensor_map.h"
#include "evenkeel/convert/weights.h"
#include "evenkeel/data/text_encoding.h"

/// Files of llama.cpp.
/// \source https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, version 3
namespace evenkeel::convert {

/// The value of a key of a GGUF file.
using GgufValue = std::variant<std::uint32_t, float, bool, std::string, std::vector<std::string>,
                               std::vector<std::int32_t>>;
using GgufKeys = std::vector<std::pair<std::string, GgufValue>>;

/// A model to be written as GGUF.
struct GgufModel {
  const ModelClass* model_class = nullptr;
  ClassFit fit;
  HfModel hf;
  std::string name;
  const data::TextEncoding* encoding = nullptr;  // nullptr: no tokenizer
};

/// \throws Error (usage, exit code 64) if llama.cpp computes something else for this class
void check_gguf_class(const GgufModel& model);

/// The keys of a model: general, sizes, tokenizer.
/// \throws Error (usage, exit code 64) as check_gguf_class(), and for a tokenizer other than
///         byte-level BPE
GgufKeys gguf_keys(const GgufModel& model);

/// The tensors of a model under llama.cpp's names. One-dimensional ones are F32. The rows of
/// Llama's q and k are in the order of interleaved rotary embedding; the experts of a block are one
/// tensor. A tied embedding is written twice if llama.cpp has no tied head for the architecture.
/// \param map  of map_to_class()
/// \throws Error (usage, exit code 64) as check_gguf_class()
std::vector<OutputTensor> gguf_tensors(const GgufModel& model, const std::vector<MappedTensor>& map,
                                       store::Dtype dtype);

/// Writes a new file, durably.
/// \param content  called for each tensor; writes all its bytes
/// \throws Error (io, exit code 74)
void write_gguf(
    const store::Directory& folder, const std::string& name, const GgufKeys& keys,
    const std::vector<OutputTensor>& tensors,
    const std::function<void(const OutputTensor& tensor, const store::ByteSink& sink)>& content);

}  // namespace evenkeel::convert
