// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/declare.h"

#include "evenkeel/base/error.h"

namespace evenkeel::nn {

namespace {

class List {
 public:
  List(const norm::Scheme& scheme) : shape_(scheme.shape) {}  // NOLINT(google-explicit-constructor)

  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
    declared.push_back({name, {rows, columns}, Role::matrix, 0});
  }

  /// The parts of one norm over `width` values; with scope head, over `width / heads` each.
  /// \param l  the block's number from 1; 0 outside blocks
  void norm(const std::string& name, const std::optional<norm::Norm>& norm, std::int64_t width,
            std::int64_t heads, std::int64_t l) {
    if (!norm || norm->affine == norm::Affine::none) return;
    const bool per_head = norm->scope == norm::Scope::head;
    const auto features = per_head ? width / heads : width;
    const auto copies = per_head && !norm->heads_share ? heads : 1;
    const auto gains = norm->affine == norm::Affine::scalar ? 1 : features;
    declared.push_back({name + ".gain", {copies * gains}, Role::gain, stored(*norm, features, l)});
    if (norm->affine == norm::Affine::vector_bias) {
      declared.push_back({name + ".bias", {copies * features}, Role::gain, 0});
    }
  }

  std::vector<Declared> declared;

 private:
  /// What the gain's parameter starts at.
  double stored(const norm::Norm& norm, std::int64_t features, std::int64_t l) const {
    auto variables = l > 0 ? shape_.variables_of_block(l) : shape_.variables();
    variables["width"] = static_cast<double>(features);
    if (norm.stored_at) return norm.stored_at->value(variables);
    const double gain = norm.gain_init.value(variables);
    return norm.gain_form == norm::GainForm::one_plus_w ? gain - 1 : gain;
  }

  norm::Shape shape_;
};

void declare_block(List& list, const norm::Scheme& scheme, std::int64_t i) {
  const auto& shape = scheme.shape;
  const auto& [attention, feed_forward, damp] = scheme.blocks.at(static_cast<std::size_t>(i));
  const auto dk = shape.head_width();
  const auto l = i + 1;

  const auto a = text("blocks.", i, ".attention.");
  const auto query_width = shape.heads * dk;
  const auto key_width = shape.kv_heads * dk;
  list.norm(a + "input_norm", attention.input, shape.width, 1, l);
  list.matrix(a + "qkv.weight", query_width + 2 * key_width, shape.width);
  list.norm(a + "q_norm", attention.q, query_width, shape.heads, l);
  list.norm(a + "k_norm", attention.k, key_width, shape.kv_heads, l);
  list.norm(a + "v_norm", attention.v, key_width, shape.kv_heads, l);
  list.norm(a + "context_norm", attention.context, query_width, shape.heads, l);
  list.matrix(a + "output.weight", shape.width, query_width);
  list.norm(a + "output_norm", attention.output, shape.width, 1, l);
  list.norm(a + "residual_norm", attention.residual, shape.width, 1, l);

  const auto f = text("blocks.", i, ".feed_forward.");
  list.norm(f + "input_norm", feed_forward.input, shape.width, 1, l);
  list.matrix(f + "up_gate.weight", 2 * shape.inner, shape.width);
  list.norm(f + "hidden_norm", feed_forward.hidden, shape.inner, 1, l);
  list.matrix(f + "down.weight", shape.width, shape.inner);
  list.norm(f + "output_norm", feed_forward.output, shape.width, 1, l);
  list.norm(f + "residual_norm", feed_forward.residual, shape.width, 1, l);
}

}  // namespace

std::int64_t Declared::numel() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

std::vector<Declared> declare(const norm::Scheme& scheme, std::int64_t rows, bool tied) {
  const auto width = scheme.shape.width;
  List list(scheme);
  list.declared.push_back({"embedding.weight", {rows, width}, Role::embedding, 0});
  list.norm("embedding_norm", scheme.embedding_norm, width, 1, 0);
  for (std::int64_t i = 0; i < scheme.shape.layers; ++i) declare_block(list, scheme, i);
  list.norm("final_norm", scheme.final, width, 1, 0);
  if (!tied) list.matrix("head.weight", rows, width);
  return std::move(list.declared);
}

Counts count(const std::vector<Declared>& declared) {
  Counts counts;
  for (const auto& each : declared) {
    counts.total += each.numel();
    if (each.role == Role::embedding || each.name == "head.weight") {
      counts.embedding += each.numel();
    }
    if (each.role == Role::gain) counts.norms += each.numel();
  }
  return counts;
}

double flops_per_token(const norm::Scheme& scheme, std::int64_t rows) {
  const auto& shape = scheme.shape;
  const auto d = static_cast<double>(shape.width);
  const auto key_width = static_cast<double>(shape.kv_heads * shape.head_width());
  const auto inner = static_cast<double>(shape.inner);
  const auto layers = static_cast<double>(shape.layers);
  const double weights =
      layers * (d * (d + 2 * key_width) + d * d + 3 * d * inner) + static_cast<double>(rows) * d;
  return 6 * (weights + layers * static_cast<double>(shape.context) * d);
}

}  // namespace evenkeel::nn
