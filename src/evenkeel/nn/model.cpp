// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/block.h"
#include "evenkeel/nn/build.h"
#include "evenkeel/nn/embedding.h"
#include "evenkeel/nn/head.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::nn {

Model::Model(norm::Scheme scheme, const ModelOptions& options, const Parameters& parameters,
             const norm::Steps& steps)
    : scheme_(std::move(scheme)),
      options_(options),
      parameters_(&parameters),
      layers_(std::make_unique<Layers>(build_layers(scheme_, options_, parameters, steps))),
      steps_(steps),
      rotary_(scheme_.shape.context, scheme_.shape.head_width(), options_.rope_theta,
              at::TensorOptions(parameters.device()).dtype(compute_dtype(parameters.precision()))) {
}

Model::~Model() = default;

void Model::at_step(const norm::Steps& steps) {
  const bool same_numbers = !layers_->names_step && steps.planned == steps_.planned;
  steps_ = steps;
  if (same_numbers) return;
  set_step(*layers_, scheme_.shape, steps);
  ++evaluations_;
}

bool Model::names_step() const {
  return layers_->names_step;
}

at::Tensor Model::rotary_angles(std::int64_t length) const {
  return rotary_.rows(0, length).cos_sin;
}

const std::vector<Block>& Model::blocks() const {
  return layers_->blocks;
}

/// The start of each token's document; undefined where all positions are visible.
at::Tensor Model::document_starts_of(const at::Tensor& ids, std::int64_t first,
                                     ModelCache* cache) const {
  if (!options_.document_end) return {};
  const auto before = cache != nullptr ? cache->front().document_start : at::Tensor();
  auto documents = find_document_starts(ids, *options_.document_end, first, before);
  if (cache != nullptr) cache->front().document_start = documents.next;
  return documents.of_tokens;
}

/// Rotary angles and document starts of the tokens of a pass.
Positions Model::positions_of(const at::Tensor& ids, const Pass& pass) const {
  if (pass.packing != nullptr) {
    EK_ASSERT(pass.cache == nullptr && ids.size(0) == 1);
    const auto at = pass.packing->positions(ids.size(1));
    const auto angles = rotary_.rows(0, at.max().item<std::int64_t>() + 1).cos_sin;
    return {{angles.index_select(0, on_device(at))},
            options_.document_end ? pass.packing->document_starts(ids, *options_.document_end)
                                  : at::Tensor(),
            pass.packing};
  }
  const auto first = pass.cache != nullptr ? pass.cache->front().length : 0;
  return {rotary_.rows(first, ids.size(1)), document_starts_of(ids, first, pass.cache)};
}

/// The input of the first block: x = embedding_scale * norm(embedding), y = y_init * x.
BlockState Model::embedded(const at::Tensor& ids, Mode mode) const {
  const auto& weight = parameters_->at("embedding.weight");
  auto x = nn::embedding({weight.value, weight.gradient_buffer}, ids);
  if (layers_->embedding_norm) x = (*layers_->embedding_norm)(x, mode);
  x = layers_->embedding_scale(x);
  return {ResidualStream(x), scheme_.dual ? x * layers_->y_init.value : at::Tensor(), {}, {}};
}

/// Whether the backward pass runs the blocks again.
bool Model::is_checkpointed(const Pass& pass) const {
  return options_.recompute == Recompute::block && pass.mode == Mode::training &&
         !pass.keeps_graph && at::GradMode::is_enabled();
}

/// The output of the last block as the input of the head: final_norm(x), or in a scheme with two
/// streams final_norm(stream_x_norm(x) + stream_y_norm(y)). [B, T, D]
at::Tensor Model::final_stream(BlockState& state, Mode mode) const {
  if (state.y.defined()) {
    auto x = state.x.value();
    if (layers_->stream_x_norm) x = (*layers_->stream_x_norm)(x, mode);
    state.x = ResidualStream(x, (*layers_->stream_y_norm)(state.y, mode));
  }
  return layers_->final_norm ? state.x.normed(*layers_->final_norm, mode) : state.x.value();
}

bool Model::uses_library_operators() const {
  return !options_.fused;
}

/// Token ids on the device of the model. To a GPU they are copied while it computes.
at::Tensor Model::on_device(const at::Tensor& ids) const {
  const auto device = parameters_->device();
  if (ids.device() == device) return ids;
  return ids.pin_memory().to(device, /*dtype=*/at::kLong, /*non_blocking=*/true);
}

at::Tensor Model::hidden(const at::Tensor& token_ids, const Pass& pass) const {
  const ops::SerialLibraries one_thread(uses_library_operators());
  const auto ids = on_device(token_ids);
  const auto positions = positions_of(ids, pass);
  const bool reports_stream = pass.observer != nullptr && pass.observer->stream;
  const auto run = is_checkpointed(pass) ? run_block_checkpointed : run_block;
  auto state = embedded(ids, pass.mode);
  if (reports_stream) pass.observer->stream(0, state.x.value());
  for (const auto& block : layers_->blocks) {
    if (block.l == pass.skipped_block) continue;
    run(state, block, pass, positions);
    if (reports_stream) pass.observer->stream(block.l, state.x.value());
  }
  if (state.router.defined()) {
    const auto routers = scheme_.shape.layers - scheme_.shape.experts.dense_layers;
    const auto means = state.router / static_cast<double>(routers);
    *pass.router = {.balance = means[0], .z = means[1]};
  }
  return final_stream(state, pass.mode);
}

Head Model::head() const {
  return {parameters_->at(options_.tied ? "embedding.weight" : "head.weight"), *layers_,
          options_.vocabulary, master_dtype(parameters_->precision()), options_.fused};
}

void Model::quantize(Int8Use use) {
  const at::NoGradGuard no_grad;
  nn::quantize(*layers_, head().weight.value, options_.vocabulary, use);
}

at::Tensor Model::logits(const at::Tensor& x) const {
  const ops::SerialLibraries one_thread(uses_library_operators());
  return head_logits(head(), x);
}

at::Tensor Model::loss_sum_of(const at::Tensor& x, const at::Tensor& targets, ZLoss* z_loss) const {
  const ops::SerialLibraries one_thread(uses_library_operators());
  return head_loss_sum(head(), x.flatten(0, 1), on_device(targets).flatten(), z_loss);
}

ModelCache Model::empty_cache(std::int64_t batch, std::int64_t capacity) const {
  const auto& shape = scheme_.shape;
  const auto options =
      at::TensorOptions(parameters_->device()).dtype(compute_dtype(parameters_->precision()));
  ModelCache cache(layers_->blocks.size());
  for (auto& each : cache) {
    each.keys = at::empty({batch, shape.kv_heads, capacity, shape.head_width()}, options);
    each.values = at::empty_like(each.keys);
  }
  return cache;
}

}  // namespace evenkeel::nn
