// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/tensor_map.h"

#include <map>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::convert {

namespace {

using Shape = std::vector<std::int64_t>;

/// Collects the tensors of a model, block by block.
class TensorMap {
 public:
  explicit TensorMap(const MappedModel& model)
      : model_(model), shape_(model.scheme->shape), slots_(norm::slots_by_name(*model.scheme)) {}

  void add(std::string name, Shape shape, std::string own, std::int64_t first = 0) {
    all_.push_back({std::move(name), std::move(shape), std::move(own), first});
  }

  void embedding() { add("model.embed_tokens.weight", {model_.rows, width()}, "embedding.weight"); }
  void head() {
    if (!model_.tied) add("lm_head.weight", {model_.rows, width()}, "head.weight");
  }

  /// The rows of q, k, v and the output matrix of block i.
  void attention(std::int64_t i) {
    const auto own = text("blocks.", i, ".attention."), theirs = layer(i) + "self_attn.";
    const auto query = shape_.heads * shape_.head_width();
    const auto key = shape_.kv_heads * shape_.head_width();
    const auto d = width();
    add(theirs + "q_proj.weight", {query, d}, own + "qkv.weight");
    add(theirs + "k_proj.weight", {key, d}, own + "qkv.weight", query * d);
    add(theirs + "v_proj.weight", {key, d}, own + "qkv.weight", (query + key) * d);
    add(theirs + "o_proj.weight", {d, query}, own + "output.weight");
  }

  /// The rows of up, then of gate, and the down matrix of a dense block.
  void dense(std::int64_t i) {
    const auto own = text("blocks.", i, ".feed_forward."), theirs = layer(i) + "mlp.";
    const auto inner = shape_.dense_ffn_multiple() * shape_.inner, d = width();
    add(theirs + "up_proj.weight", {inner, d}, own + "up_gate.weight");
    add(theirs + "gate_proj.weight", {inner, d}, own + "up_gate.weight", inner * d);
    add(theirs + "down_proj.weight", {d, inner}, own + "down.weight");
  }

  /// The router, and the matrices of each expert.
  void experts(std::int64_t i) {
    const auto own = text("blocks.", i, ".feed_forward."), theirs = layer(i) + "mlp.";
    const auto inner = shape_.inner, d = width();
    add(theirs + "gate.weight", {shape_.experts.count, d}, own + "router.weight");
    for (std::int64_t e = 0; e < shape_.experts.count; ++e) {
      const auto expert = text(theirs, "experts.", e, ".");
      const auto first = 2 * e * inner * d;
      add(expert + "up_proj.weight", {inner, d}, own + "experts.up_gate.weight", first);
      add(expert + "gate_proj.weight", {inner, d}, own + "experts.up_gate.weight",
          first + inner * d);
      add(expert + "down_proj.weight", {d, inner}, own + "experts.down.weight", e * d * inner);
    }
  }

  /// Gain and bias of a norm of a native class.
  void norm(const std::string& slot_name, const std::string& module,
            const ModelClass& model_class) {
    const auto& slot = slots_.at(slot_name);
    const auto variables = norm::variables_of(slot, shape_, model_.steps);
    const auto& own = *slot.norm;
    const double scale = own.out_scale.value(variables);
    const bool adds_one = own.gain_form == norm::GainForm::one_plus_w;
    const auto features = own.scope == norm::Scope::head ? slot.width / slot.heads : slot.width;
    const bool has_gain = own.affine != norm::Affine::none;
    const double from_one = adds_one || !has_gain ? scale : 0;
    all_.push_back({.name = module + ".weight",
                    .shape = {features},
                    .own = has_gain ? slot_name + ".gain" : "",
                    .factor = scale * (has_gain ? norm::gain_factor(own, variables) : 1),
                    .offset = from_one - (model_class.one_plus_w ? 1 : 0)});
    if (model_class.kind != norm::Kind::layer_norm) return;
    const bool has_bias = own.affine == norm::Affine::vector_bias;
    all_.push_back({.name = module + ".bias",
                    .shape = {features},
                    .own = has_bias ? slot_name + ".bias" : "",
                    .factor = scale});
  }

  std::vector<MappedTensor> tensors() && { return std::move(all_); }

  static std::string layer(std::int64_t i) { return text("model.layers.", i, "."); }

 private:
  std::int64_t width() const { return shape_.width; }

  MappedModel model_;
  const norm::Shape& shape_;
  std::map<std::string, norm::Slot> slots_;
  std::vector<MappedTensor> all_;
};

/// `name` with `from` at its beginning replaced by `to`; unchanged if it begins otherwise.
std::string with_prefix(const std::string& name, std::string_view from, std::string_view to) {
  if (!name.starts_with(from)) return name;
  return text(to, name.substr(from.size()));
}

/// The name of a tensor of EvenkeelForCausalLM that is one tensor of ours.
std::string evenkeel_name(const std::string& own) {
  auto name = own;
  constexpr std::string_view kGain = ".gain";
  if (name.ends_with(kGain)) name = name.substr(0, name.size() - kGain.size()) + ".weight";
  if (!name.starts_with("blocks.")) {
    return "model." + with_prefix(name, "final_norm.", "norm.");
  }
  const auto dot = name.find('.', std::string_view("blocks.").size());
  auto rest = name.substr(dot + 1);
  rest = with_prefix(rest, "attention.", "self_attn.");
  rest = with_prefix(rest, "feed_forward.", "mlp.");
  return text("model.layers.", name.substr(7, dot - 7), ".", rest);
}

}  // namespace

std::int64_t MappedTensor::numel() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

std::vector<MappedTensor> map_to_class(const MappedModel& model, const ModelClass& model_class) {
  TensorMap map(model);
  const auto& shape = model.scheme->shape;
  map.embedding();
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    map.attention(i);
    if (shape.has_router(i)) {
      map.experts(i);
    } else {
      map.dense(i);
    }
    for (const auto& each : model_class.norms) {
      map.norm(text("blocks.", i, ".", each.slot), TensorMap::layer(i) + each.module, model_class);
    }
  }
  map.norm("final_norm", "model.norm", model_class);
  map.head();
  return std::move(map).tensors();
}

std::vector<MappedTensor> map_to_evenkeel(const MappedModel& model) {
  TensorMap map(model);
  std::int64_t i = 0;  // block of the tensor
  for (const auto& spec : norm::parameter_specs(*model.scheme, model.own_rows, model.tied)) {
    if (spec.name == text("blocks.", i + 1, ".attention.qkv.weight")) ++i;
    const auto a = text("blocks.", i, ".attention."), f = text("blocks.", i, ".feed_forward.");
    if (spec.name == "embedding.weight") {
      map.embedding();
    } else if (spec.name == "head.weight") {
      map.head();
    } else if (spec.name == a + "qkv.weight") {
      map.attention(i);
    } else if (spec.name == f + "up_gate.weight") {
      map.dense(i);
    } else if (spec.name != a + "output.weight" && spec.name != f + "down.weight") {
      map.add(evenkeel_name(spec.name), spec.shape, spec.name);
    }
  }
  return std::move(map).tensors();
}

}  // namespace evenkeel::convert
