// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/parameter_specs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/learned_numbers.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/norm/validate.h"

namespace evenkeel::norm {

namespace {

bool parameter_specs_names(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Collects specs in the order of the forward pass. Names and sizes of norms come from
/// norm::slots_of().
class SpecList {
 public:
  explicit SpecList(const Scheme& scheme)
      : scheme_(scheme), slots_(slots_by_name(scheme)), numbers_(learned_numbers_of(scheme)) {}

  void add(const std::string& name, std::vector<std::int64_t> shape, ParameterRole role) {
    specs_.push_back({name, std::move(shape), role});
  }

  /// Parameters and states of the norm of that name; nothing if the scheme does not have it.
  void norm(const std::string& name) {
    const auto found = slots_.find(name);
    if (found == slots_.end()) return;
    const auto& slot = found->second;
    for (const auto& parameter : parameters_of(*slot.norm, slot.width, slot.heads)) {
      add(name + "." + parameter.name, {parameter.size}, ParameterRole::gain);
    }
    for (const auto& state : buffers_of(*slot.norm, slot.width, slot.heads)) {
      add(name + "." + state.name, {state.size}, ParameterRole::state);
    }
  }

  /// The trained numbers whose names begin with `prefix`.
  void numbers(const std::string& prefix) {
    for (const auto& number : numbers_) {
      if (number.name.starts_with(prefix)) add(number.name, {number.size}, ParameterRole::scale);
    }
  }

  /// The parameters and states of the reparameterizations in block i, from 0.
  void reparameterization(std::int64_t i) {
    for (const auto& rule : scheme_.reparameterize) {
      for (const auto& matrix : logical_matrices(scheme_.shape, i)) {
        if (!parameter_specs_names(rule.weights, matrix.name)) continue;
        const auto name = text("blocks.", i, ".", matrix.own_name);
        if (rule.rule == "weight_norm") {
          add(name + ".row_gain", {matrix.rows}, ParameterRole::scale);
        } else {
          add(name + ".gamma", {1}, ParameterRole::scale);
          add(name + ".left", {matrix.rows}, ParameterRole::state);
          add(name + ".right", {matrix.columns}, ParameterRole::state);
        }
      }
    }
  }

  std::vector<ParameterSpec> specs() && { return std::move(specs_); }

 private:
  const Scheme& scheme_;
  std::map<std::string, Slot> slots_;
  std::vector<LearnedNumber> numbers_;
  std::vector<ParameterSpec> specs_;
};

/// All tensors of block i, from 0.
void add_block_specs(SpecList& list, const Shape& shape, std::int64_t i) {
  const auto query_width = shape.heads * shape.head_width();
  const auto key_width = shape.kv_heads * shape.head_width();

  const auto a = text("blocks.", i, ".attention.");
  for (const auto* const norm : {"dual_norm", "input_norm"}) list.norm(a + norm);
  list.add(a + "qkv.weight", {query_width + 2 * key_width, shape.width}, ParameterRole::matrix);
  for (const auto* const norm : {"q_norm", "k_norm", "v_norm", "context_norm"}) list.norm(a + norm);
  list.add(a + "output.weight", {shape.width, query_width}, ParameterRole::matrix);
  for (const auto* const norm : {"output_norm", "residual_norm"}) list.norm(a + norm);

  const auto f = text("blocks.", i, ".feed_forward.");
  for (const auto* const norm : {"dual_norm", "input_norm"}) list.norm(f + norm);
  const auto& experts = shape.experts;
  const bool has_router = shape.has_router(i);
  // FFN width that is active for every token: the whole width in a block without a router.
  const auto dense_width = (has_router ? experts.shared : shape.dense_ffn_multiple()) * shape.inner;
  const auto dense_prefix = has_router ? f + "shared." : f;
  if (has_router) {
    list.add(f + "router.weight", {experts.count, shape.width}, ParameterRole::router);
    if (experts.has_bias) list.add(f + "router.bias", {experts.count}, ParameterRole::state);
    list.add(f + "experts.up_gate.weight", {experts.count, 2 * shape.inner, shape.width},
             ParameterRole::matrix);
  }
  if (dense_width > 0)
    list.add(dense_prefix + "up_gate.weight", {2 * dense_width, shape.width},
             ParameterRole::matrix);
  list.norm(f + "hidden_norm");
  if (has_router) {
    list.add(f + "experts.down.weight", {experts.count, shape.width, shape.inner},
             ParameterRole::matrix);
  }
  if (dense_width > 0)
    list.add(dense_prefix + "down.weight", {shape.width, dense_width}, ParameterRole::matrix);
  for (const auto* const norm : {"output_norm", "residual_norm"}) list.norm(f + norm);
  list.numbers(text("blocks.", i, "."));
  list.reparameterization(i);
}

}  // namespace

std::int64_t ParameterSpec::numel() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

std::vector<ParameterSpec> parameter_specs(const Scheme& scheme, std::int64_t padded_vocabulary,
                                           bool tied) {
  const auto width = scheme.shape.width;
  SpecList list(scheme);
  list.add("embedding.weight", {padded_vocabulary, width}, ParameterRole::embedding);
  list.numbers("embedding_scale");
  list.norm("embedding_norm");
  for (std::int64_t i = 0; i < scheme.shape.layers; ++i) add_block_specs(list, scheme.shape, i);
  for (const auto* const norm : {"stream_x_norm", "stream_y_norm", "final_norm"}) list.norm(norm);
  if (!tied) list.add("head.weight", {padded_vocabulary, width}, ParameterRole::matrix);
  list.numbers("logits_scale");
  auto specs = std::move(list).specs();
  EK_ASSERT(parameter_counts(specs).norms == norm_parameter_count(scheme));
  return specs;
}

bool is_moved_in_forward(const std::string& state_name) {
  return !state_name.ends_with(".router.bias");
}

ParameterCounts parameter_counts(const std::vector<ParameterSpec>& specs) {
  ParameterCounts counts;
  for (const auto& each : specs) {
    if (each.role == ParameterRole::state) continue;
    counts.total += each.numel();
    if (each.role == ParameterRole::embedding || each.name == "head.weight") {
      counts.embedding += each.numel();
    }
    if (each.role == ParameterRole::gain) counts.norms += each.numel();
  }
  return counts;
}

std::int64_t active_parameters(const std::vector<ParameterSpec>& specs, const Shape& shape) {
  std::int64_t active = 0;
  for (const auto& each : specs) {
    if (each.role == ParameterRole::state) continue;
    const bool stacked = each.shape.size() == 3;
    active += stacked ? each.numel() / shape.experts.count * shape.experts.active : each.numel();
  }
  return active;
}

}  // namespace evenkeel::norm
