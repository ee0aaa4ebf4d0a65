// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/gguf.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <type_traits>

#include "evenkeel/base/error.h"
#include "evenkeel/convert/gguf_tokens.h"

namespace evenkeel::convert {

namespace {

using store::Dtype;

constexpr std::uint64_t kAlignment = 32;  // of the data of each tensor

/// The identity of a dtype in a file.
std::uint32_t gguf_type(Dtype dtype) {
  constexpr std::uint32_t kF32 = 0, kF16 = 1, kBf16 = 30;
  if (dtype == Dtype::f16) return kF16;
  return dtype == Dtype::bf16 ? kBf16 : kF32;
}

std::uint64_t aligned(std::uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// Appends numbers and strings to the header.
class GgufHeader {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void string(std::string_view value) {
    number<std::uint64_t>(value.size());
    text_.append(value);
  }
  void key(const std::string& name, const GgufValue& value) {
    string(name);
    std::visit([this](const auto& each) { typed(each); }, value);
  }
  void tensor(const OutputTensor& tensor, std::uint64_t offset) {
    string(tensor.name);
    number(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
      number(static_cast<std::uint64_t>(*size));
    }
    number(gguf_type(tensor.dtype));
    number(offset);
  }
  std::string& text() { return text_; }

 private:
  enum Type : std::uint32_t {
    uint32 = 4,
    int32 = 5,
    float32 = 6,
    boolean = 7,
    string_value = 8,
    array = 9
  };

  void type(Type of) { number(static_cast<std::uint32_t>(of)); }
  void typed(std::uint32_t value) {
    type(uint32);
    number(value);
  }
  void typed(float value) {
    type(float32);
    number(value);
  }
  void typed(bool value) {
    type(boolean);
    number(static_cast<std::uint8_t>(value ? 1 : 0));
  }
  void typed(const std::string& value) {
    type(string_value);
    string(value);
  }
  void typed(const std::vector<std::string>& values) {
    type(array);
    type(string_value);
    number<std::uint64_t>(values.size());
    for (const auto& each : values) string(each);
  }
  void typed(const std::vector<std::int32_t>& values) {
    type(array);
    type(int32);
    number<std::uint64_t>(values.size());
    for (const auto each : values) number(each);
  }

  std::string text_;
};

/// Module of a Hugging Face layer -> llama.cpp. "post_attention_layernorm" is the FFN's input norm
/// in classes with an input norm alone, and attention's output norm in
/// classes with output norms.
std::string gguf_module(const std::string& module, bool has_output_norms) {
  const std::map<std::string, std::string> names = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", has_output_norms ? "post_attention_norm" : "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"mlp.gate", "ffn_gate_inp"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.down_proj", "ffn_down"}};
  return names.at(module);
}

/// Rows of a head in the order of interleaved rotary embedding: row 2j + s is row s dk/2 + j.
void interleave_rows(OutputTensor& tensor, std::int64_t head_width) {
  const auto whole = tensor.slices.front();
  const auto columns = tensor.shape.at(1), half = head_width / 2;
  tensor.slices.clear();
  for (std::int64_t row = 0; row < tensor.shape.front(); ++row) {
    const auto in_head = row % head_width;
    const auto from = row - in_head + (in_head % 2) * half + in_head / 2;
    tensor.slices.push_back({whole.tensor, whole.first + from * columns, columns});
  }
}

/// Names the tensors of one model.
class GgufNames {
 public:
  explicit GgufNames(const GgufModel& model) : model_(model) {
    for (const auto& each : model.model_class->norms) {
      if (std::string_view(each.slot) == "attention.output_norm") has_output_norms_ = true;
    }
  }

  std::string name_of(const std::string& theirs) const {
    const auto dot = theirs.rfind('.');
    const auto stem = theirs.substr(0, dot), ending = theirs.substr(dot);
    if (stem == "model.embed_tokens") return "token_embd" + ending;
    if (stem == "model.norm") return "output_norm" + ending;
    if (stem == "lm_head") return "output" + ending;
    constexpr std::string_view kLayers = "model.layers.";
    const auto after = stem.find('.', kLayers.size());
    return text("blk.", stem.substr(kLayers.size(), after - kLayers.size()), ".",
                gguf_module(stem.substr(after + 1), has_output_norms_), ending);
  }

 private:
  const GgufModel& model_;
  bool has_output_norms_ = false;
};

/// Whether llama.cpp reads the head of this architecture from "output.weight" alone. In other
/// architectures it takes the embedding if the file has no head.
bool needs_head(const ModelClass& model_class) {
  const std::string_view type = model_class.model_type;
  return type == "olmo2" || type == "stablelm";
}

/// Adds the embedding as the head, if llama.cpp needs a head and the model ties the two.
void add_tied_head(const GgufModel& model, std::vector<OutputTensor>& tensors) {
  if (!model.hf.config->model.tied || !needs_head(*model.model_class)) return;
  const auto embedding = std::ranges::find(tensors, "token_embd.weight", &OutputTensor::name);
  OutputTensor head = *embedding;
  head.name = "output.weight";
  tensors.push_back(std::move(head));
}

/// The place of "model.layers.3.mlp.experts.7.up_proj.weight": block "3", "up".
struct ExpertName {
  std::string block, matrix;
};
std::optional<ExpertName> expert_name(const std::string& theirs) {
  constexpr std::string_view kLayers = "model.layers.", kExperts = ".mlp.experts.";
  const auto at = theirs.find(kExperts);
  if (at == std::string::npos) return std::nullopt;
  const auto begin = theirs.find('.', at + kExperts.size()) + 1;
  return ExpertName{theirs.substr(kLayers.size(), at - kLayers.size()),
                    theirs.substr(begin, theirs.find('_', begin) - begin)};
}

/// "general.file_type" of the GGUF specification.
std::uint32_t file_type_of(const std::string& dtype) {
  constexpr std::uint32_t kAllF32 = 0, kMostlyF16 = 1, kMostlyBf16 = 32;
  if (dtype == "float16") return kMostlyF16;
  return dtype == "bfloat16" ? kMostlyBf16 : kAllF32;
}

}  // namespace

GgufKeys gguf_keys(const GgufModel& model) {
  const auto& shape = model.hf.scheme->shape;
  const std::string type = model.model_class->model_type;
  const std::string arch = type == "qwen3_moe" ? "qwen3moe" : type;
  check_gguf_class(model);
  const auto size = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  GgufKeys keys = {{"general.architecture", arch},
                   {"general.type", std::string("model")},
                   {"general.name", model.name},
                   {"general.file_type", file_type_of(model.hf.dtype)}};
  const auto add = [&](const char* name, GgufValue value) {
    keys.emplace_back(text(arch, ".", name), std::move(value));
  };
  add("block_count", size(shape.layers));
  add("context_length", size(shape.context));
  add("embedding_length", size(shape.width));
  add("feed_forward_length", size(shape.dense_ffn_multiple() * shape.inner));
  add("attention.head_count", size(shape.heads));
  add("attention.head_count_kv", size(shape.kv_heads));
  add("attention.key_length", size(shape.head_width()));
  add("attention.value_length", size(shape.head_width()));
  add("rope.dimension_count", size(shape.head_width()));
  add("rope.freq_base", static_cast<float>(model.hf.config->model.rope_theta));
  add(type == "stablelm" ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
      static_cast<float>(model.fit.epsilon));
  add("vocab_size", size(model.hf.rows));
  if (type == "stablelm") add("use_parallel_residual", false);
  if (shape.is_mixture()) {
    add("expert_count", size(shape.experts.count));
    add("expert_used_count", size(shape.experts.active));
    add("expert_feed_forward_length", size(shape.inner));
  }
  if (model.encoding != nullptr) {
    add_token_keys(keys, *model.encoding, model.hf.rows);
  } else {
    keys.emplace_back("tokenizer.ggml.model", std::string("no_vocab"));  // llama.cpp wants the key
  }
  return keys;
}

void check_gguf_class(const GgufModel& model) {
  const auto& experts = model.hf.scheme->shape.experts;
  const auto refuse = [&](const char* what) {
    throw Error(Exit::usage,
                text("--as gguf: ", what, "; export it as ", model.model_class->architecture,
                     " with --as ", model.model_class->name));
  };
  if (model.model_class->is_gemma) {
    refuse("llama.cpp computes Gemma's feed-forward with GELU, and this model has SiLU");
  }
  if (!model.model_class->has_experts) return;
  if (!experts.renormalize) {
    refuse("llama.cpp scales a token's router weights to a sum of 1, and this model does not");
  }
  if (experts.dense_layers > 0) {
    refuse("llama.cpp has experts in every layer of qwen3moe, and this model has dense layers");
  }
}

std::vector<OutputTensor> gguf_tensors(const GgufModel& model, const std::vector<MappedTensor>& map,
                                       Dtype dtype) {
  check_gguf_class(model);
  const GgufNames names(model);
  const bool is_interleaved = std::string_view(model.model_class->model_type) == "llama";
  std::vector<OutputTensor> out;
  std::map<std::string, std::size_t> stacked;  // name -> index in `out`
  for (const auto& each : map) {
    OutputTensor tensor = {.name = each.name,
                           .shape = each.shape,
                           .dtype = each.shape.size() == 1 ? Dtype::f32 : dtype,
                           .slices = {{each.own, each.first, each.numel()}},
                           .factor = each.factor,
                           .offset = each.offset};
    if (const auto expert = expert_name(each.name)) {
      tensor.name = text("blk.", expert->block, ".ffn_", expert->matrix, "_exps.weight");
      const auto [at, is_new] = stacked.emplace(tensor.name, out.size());
      if (!is_new) {
        auto& whole = out[at->second];
        whole.shape.front() += 1;
        whole.slices.push_back(tensor.slices.front());
        continue;
      }
      tensor.shape.insert(tensor.shape.begin(), 1);
    } else {
      tensor.name = names.name_of(each.name);
      if (tensor.name.ends_with("ffn_gate_inp.weight")) tensor.dtype = Dtype::f32;
      const bool is_rotated =
          each.name.ends_with(".q_proj.weight") || each.name.ends_with(".k_proj.weight");
      if (is_interleaved && is_rotated) {
        interleave_rows(tensor, model.hf.scheme->shape.head_width());
      }
    }
    out.push_back(std::move(tensor));
  }
  add_tied_head(model, out);
  return out;
}

void write_gguf(
    const store::Directory& folder, const std::string& name, const GgufKeys& keys,
    const std::vector<OutputTensor>& tensors,
    const std::function<void(const OutputTensor& tensor, const store::ByteSink& sink)>& content) {
  constexpr std::uint32_t kVersion = 3;
  GgufHeader header;
  header.text() = "GGUF";
  header.number(kVersion);
  header.number<std::uint64_t>(tensors.size());
  header.number<std::uint64_t>(keys.size());
  for (const auto& [key, value] : keys) header.key(key, value);
  std::uint64_t offset = 0;
  for (const auto& each : tensors) {
    header.tensor(each, offset);
    offset += aligned(each.bytes());
  }
  header.text().resize(aligned(header.text().size()), '\0');
  store::OutputFile file(folder, name, header.text().size() + offset);
  file.write(header.text().data(), header.text().size());
  const std::string zeros(kAlignment, '\0');
  const store::ByteSink sink = [&](const void* data, std::size_t size) { file.write(data, size); };
  for (const auto& each : tensors) {
    content(each, sink);
    file.write(zeros.data(), aligned(each.bytes()) - each.bytes());
  }
  file.finish();
}

}  // namespace evenkeel::convert
