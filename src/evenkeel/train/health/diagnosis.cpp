// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/diagnosis.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/nn/attention_inputs.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/mixture_of_experts.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/ops/optim/sum_of_squares.h"
#include "evenkeel/probe/layer_profile_builder.h"

namespace evenkeel::train {

namespace {

bool is_finite(const at::Tensor& x) {
  return x.isfinite().all().item<bool>();
}

/// A tensor's block and name.
struct Location {
  std::int64_t layer = 0;  // block, from 1; 0: outside the blocks
  std::string name;
};

/// The first activation of a training pass with a NaN or an infinity; nullopt if all are finite.
/// \param ids  [B, T], int64
std::optional<Location> first_nonfinite(const nn::Model& model, const at::Tensor& ids) {
  std::optional<Location> found;
  const auto check = [&found](std::int64_t l, const char* what, const at::Tensor& x) {
    if (!found && !is_finite(x)) found = {l, what};
  };
  nn::Observer observer;
  observer.stream = [&](std::int64_t l, const at::Tensor& stream) {
    check(l, l == 0 ? "embedding.weight" : "residual stream", stream);
  };
  observer.branch = [&](std::int64_t l, nn::Sublayer sublayer, const at::Tensor&,
                        const at::Tensor& branch) {
    check(l, sublayer == nn::Sublayer::attention ? "attention branch" : "feed-forward branch",
          branch);
  };
  observer.attention = [&](std::int64_t l, const nn::AttentionInputs& inputs) {
    check(l, "attention queries", inputs.q);
    check(l, "attention keys", inputs.k);
    check(l, "attention values", inputs.v);
  };
  observer.routing = [&](std::int64_t l, const nn::Routing& routing) {
    check(l, "router logits", routing.logits);
  };
  const auto x = model.hidden(ids, {.mode = nn::Mode::training, .observer = &observer});
  check(0, "final stream", x);
  check(0, "logits", model.logits(x));
  return found;
}

/// The first non-finite activation for a batch, sequence by sequence. If a norm has statistics over
/// the batch, all sequences run together.
std::optional<Location> first_nonfinite(const nn::Model& model, const data::Batch& batch) {
  const at::NoGradGuard no_grad;
  const bool is_tokenwise = norm::leaks_of(model.scheme()).empty();
  const auto rows = is_tokenwise ? 1 : batch.rows;
  std::optional<Location> found;
  for (std::int64_t i = 0; i < batch.rows && !found; i += rows) {
    const auto part = data::batch_slice(batch, i, rows);
    found = first_nonfinite(model, nn::batch_tensors(part.inputs, part.targets, rows).first);
  }
  return found;
}

HealthEvent event_at(const nn::Model& model, const std::string& parameter) {
  HealthEvent event;
  const auto layers = model.scheme().shape.layers;
  const auto layer = probe::location_of(parameter, layers).layer;
  event.layer = layer <= layers ? layer : 0;
  event.tensor = parameter;
  return event;
}

/// The mean loss of each sequence, nats per token.
std::vector<double> losses_of(const nn::Model& model, const data::Batch& batch) {
  const at::NoGradGuard no_grad;
  std::vector<double> losses;
  for (std::int64_t i = 0; i < batch.rows; ++i) {
    const auto row = data::batch_slice(batch, i, 1);
    const auto scored = std::count_if(row.targets.begin(), row.targets.end(),
                                      [](std::int64_t target) { return target >= 0; });
    const auto [ids, targets] = nn::batch_tensors(row.inputs, row.targets, 1);
    losses.push_back(model.loss_sum(ids, targets).item<double>() /
                     static_cast<double>(std::max<std::ptrdiff_t>(scored, 1)));
  }
  return losses;
}

/// The first tokens of a sequence as text, in quotes.
std::string excerpt(const BatchOfRun& where, std::int64_t row) {
  constexpr std::int64_t kShown = 32;
  if (where.encoding == nullptr) return "";
  const auto& batch = *where.batch;
  const auto width = static_cast<std::int64_t>(batch.inputs.size()) / batch.rows;
  const auto first = batch.inputs.begin() + row * width;
  const std::vector<std::int64_t> tokens(first, first + std::min(width, kShown));
  auto shown = where.encoding->tokenizer().decode(tokens);
  for (auto& letter : shown) {
    const bool plain = letter >= ' ' && letter <= '~' && letter != '"';
    if (!plain) letter = '.';
  }
  return text(" (\"", shown, "...\")");
}

/// The sequences with outlier losses: "sequences 961, 963 ("As they said...")". These are the
/// losses in the upper half between median and maximum, if the maximum is an outlier; else the
/// result is "".
/// \param losses    one per sequence, nats per token
/// \param baseline  loss of a healthy batch, nats per token
std::string outlier_sequences(const BatchOfRun& where, const std::vector<double>& losses,
                              double baseline) {
  constexpr double kOutlierRatio = 1.3;  // in units of the median
  auto sorted = losses;
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[(sorted.size() - 1) / 2];
  if (median > kOutlierRatio * baseline)
    return "";  // most sequences have a large loss, so single texts are not the cause
  const double most = sorted.back();
  if (most < kOutlierRatio * median) return "";
  std::string out;
  int count = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i] < (median + most) / 2) continue;
    out += text(count++ == 0 ? "" : ", ", where.first_sequence + static_cast<std::int64_t>(i));
  }
  out.insert(0, count == 1 ? "sequence " : "sequences ");
  const auto worst = std::max_element(losses.begin(), losses.end()) - losses.begin();
  return out + excerpt(where, worst);
}

/// The parameter with the largest ratio of present norm to baseline norm, and that ratio.
std::pair<std::string, double> most_grown(const L2NormsByName& now, const L2NormsByName& baseline,
                                          double L2Norms::* which) {
  std::pair<std::string, double> most;
  for (const auto& [name, norms] : now) {
    const auto before = baseline.find(name);
    if (before == baseline.end() || !(before->second.*which > 0)) continue;
    const double ratio = norms.*which / (before->second.*which);
    if (ratio > most.second) most = {name, ratio};
  }
  return most;
}

}  // namespace

L2NormsByName l2_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients) {
  L2NormsByName norms;
  for (const auto& parameter : parameters.all()) {
    norms[parameter.name] = {
        .weight = std::sqrt(ops::sum_of_squares(parameter.value.detach())),
        .gradient = std::sqrt(ops::sum_of_squares(parameter.slice_of(gradients[parameter.group])))};
  }
  return norms;
}

HealthEvent origin_of_nonfinite(const nn::Model& model, const nn::Parameters& parameters,
                                const std::vector<at::Tensor>& gradients,
                                const data::Batch& batch) {
  for (const auto& parameter : parameters.all()) {
    if (is_finite(parameter.value.detach())) continue;
    auto event = event_at(model, parameter.name);
    event.explanation = "the weight is not finite";
    event.remedy = "go back to an earlier checkpoint (train --checkpoint STEP)";
    return event;
  }
  if (const auto found = first_nonfinite(model, batch)) {
    HealthEvent event{.layer = found->layer, .tensor = found->name};
    event.explanation = "the forward pass leaves the range of the number format there";
    event.remedy = "lower schedule.peak, or a longer schedule.warmup";
    if (parameters.precision() == nn::Precision::bfloat16) {
      event.remedy += ", or train.precision = \"float32\"";
    }
    return event;
  }
  const auto& all = parameters.all();
  for (auto parameter = all.rbegin(); parameter != all.rend(); ++parameter) {
    if (is_finite(parameter->slice_of(gradients[parameter->group]))) continue;
    auto event = event_at(model, parameter->name);
    event.explanation = "the forward pass is finite, its gradient is not";
    event.remedy = "lower schedule.peak, or a longer schedule.warmup";
    return event;
  }
  return {.tensor = "logits",
          .explanation = "the loss overflows",
          .remedy = "lower schedule.peak, or a longer schedule.warmup"};
}

HealthEvent origin_of_spike(const nn::Model& model, const nn::Parameters& parameters,
                            const std::vector<at::Tensor>& gradients, const BatchOfRun& where,
                            const Baseline& baseline) {
  constexpr double kJump = 2;  // above the growth of a weight's norm between health checks
  const auto now = l2_norms(parameters, gradients);
  const auto weight = most_grown(now, baseline.norms, &L2Norms::weight);
  if (weight.second > kJump) {
    auto event = event_at(model, weight.first);
    event.explanation =
        text("the weight is ", with_digits(weight.second, 3), " times as long as before");
    event.remedy = "lower schedule.peak, or optimizer.clip";
    return event;
  }
  const auto gradient = most_grown(now, baseline.norms, &L2Norms::gradient);
  auto event = event_at(model, gradient.first);
  const auto sequences = outlier_sequences(where, losses_of(model, *where.batch), baseline.loss);
  event.explanation =
      gradient.first.empty()
          ? "one batch or one layer"
          : text("its gradient is ", with_digits(gradient.second, 3), " times the usual");
  if (!sequences.empty()) event.explanation += text(", the loss is that of ", sequences);
  event.remedy = sequences.empty() ? "a lower schedule.peak, or a longer schedule.warmup"
                                   : "check that text, or a lower schedule.peak";
  return event;
}

}  // namespace evenkeel::train
