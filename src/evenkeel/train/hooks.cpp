// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/hooks.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/attention_stats.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/norms/normalize.h"

namespace evenkeel::train {

namespace {

bool has_hook(const norm::Scheme& scheme, const std::string& kind) {
  return std::any_of(scheme.hooks.begin(), scheme.hooks.end(),
                     [&](const norm::Hook& hook) { return hook.kind == kind; });
}

/// The variance of all entries, in float64. \param x  [B, T, D]
double variance_of(const at::Tensor& x) {
  const ops::SerialLibraries one_thread;
  const auto rows = x.detach().to(at::kDouble).flatten(0, -2);
  const auto mean = rows.mean(-1).mean();
  return (rows - mean).square().mean(-1).mean().item<double>();
}

}  // namespace

Hooks::Hooks(const nn::Model& model, nn::Parameters& parameters)
    : model_(&model), parameters_(&parameters) {
  if (!has_hook(model.scheme(), "qk_clip")) return;
  observer_.attention = [this](std::int64_t l, const nn::AttentionInputs& inputs) {
    const auto largest = nn::max_attention_scores(inputs);
    auto& max_scores = max_scores_[l];
    max_scores = max_scores.defined() ? at::maximum(max_scores, largest) : largest;
  };
}

std::int64_t Hooks::profile_sequences(const config::Config& config) {
  constexpr std::int64_t kTokens = 4096;
  const auto most = std::max<std::int64_t>(1, kTokens / config.model.context);
  return std::min(config.train.batch, most);
}

void Hooks::before_training(const at::Tensor& ids) {
  after_loading();
  const at::NoGradGuard no_grad;
  if (has_hook(model_->scheme(), "profile")) initialize_skip_scales(ids);
}

void Hooks::after_loading() {
  const at::NoGradGuard no_grad;
  for (const auto& hook : model_->scheme().hooks) {
    if (hook.kind == "unit_norm") apply_unit_norm(hook);
  }
  parameters_->copy_masters_to_values();
}

void Hooks::gather_scores(comm::Group& group) {
  if (group.ranks() == 1 || max_scores_.empty()) return;
  for (auto& [l, largest] : max_scores_) {
    const auto all = group.all_gather_scalars(largest.to(at::kDouble));
    largest = all.amax(0).to(largest.scalar_type());
  }
}

void Hooks::after_update() {
  const auto& hooks = model_->scheme().hooks;
  if (hooks.empty()) return;
  const at::NoGradGuard no_grad;
  for (const auto& hook : hooks) {
    if (hook.kind == "unit_norm") apply_unit_norm(hook);
    if (hook.kind == "qk_clip") apply_qk_clip(hook);
  }
  parameters_->copy_masters_to_values();
}

void Hooks::apply_unit_norm(const norm::Hook& hook) {
  const auto normalize = [&](const at::Tensor& w) {
    ops::normalize_(w, hook.axis == "in" ? 1 : 0);
  };
  const auto& shape = model_->scheme().shape;
  for (const auto& name : hook.weights) {
    if (name == "embedding" || name == "head") {
      if (parameters_->find(name + ".weight").defined()) {
        normalize(parameters_->at(name + ".weight").master);
      }
      continue;
    }
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      for (const auto& matrix : norm::logical_matrices(shape, i)) {
        if (matrix.name != name) continue;
        const auto& stored = parameters_->at(text("blocks.", i, ".", matrix.stored, ".weight"));
        normalize(stored.master.narrow(0, matrix.first, matrix.rows));
      }
    }
  }
}

void Hooks::apply_qk_clip(const norm::Hook& hook) {
  const auto& shape = model_->scheme().shape;
  const auto dk = shape.head_width();
  const bool shared = shape.kv_heads < shape.heads;
  for (const auto& [l, largest] : std::exchange(max_scores_, {})) {
    auto factor = at::where(largest > 0, (hook.threshold / largest).clamp_max(1), 1.0);
    if (!shared) factor = factor.sqrt();
    const auto rows = factor.repeat_interleave(dk).unsqueeze(-1);
    const auto& qkv = parameters_->at(text("blocks.", l - 1, ".attention.qkv.weight")).master;
    qkv.narrow(0, 0, shape.heads * dk).mul_(rows);
    if (!shared) qkv.narrow(0, shape.heads * dk, shape.kv_heads * dk).mul_(rows);
  }
}

void Hooks::initialize_skip_scales(const at::Tensor& ids) {
  double skip_scale = 1;  // of the current sublayer, from the variances of the previous one
  nn::Observer observer;
  observer.branch = [&](std::int64_t l, nn::Sublayer sublayer, const at::Tensor& stream,
                        const at::Tensor& branch) {
    const auto* const name = sublayer == nn::Sublayer::attention ? "attention" : "feed_forward";
    auto omega = parameters_->at(text("blocks.", l - 1, ".", name, ".skip_scale")).master;
    omega.fill_(skip_scale);
    skip_scale = std::sqrt(variance_of(stream * skip_scale) + variance_of(branch));
  };
  model_->hidden(ids, {.mode = nn::Mode::evaluation, .observer = &observer});
  parameters_->copy_masters_to_values();
}

}  // namespace evenkeel::train
