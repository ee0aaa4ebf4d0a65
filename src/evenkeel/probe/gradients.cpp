// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>
#include <optional>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/ops/optim/sum_of_squares.h"
#include "evenkeel/probe/layer_profile_builder.h"

namespace evenkeel::probe {

namespace {

std::string last_word(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

/// Sums of squares of gradients or weights.
struct SumsOfSquares {
  double model = 0;
  std::vector<double> blocks;                // one per block
  std::vector<std::optional<double>> gains;  // of all norms of a block; nullopt: it has none
  std::map<std::string, double> by_parameter;
};

SumsOfSquares sums_of_squares(const nn::Parameters& parameters,
                              const std::vector<at::Tensor>& values, std::int64_t layers) {
  SumsOfSquares squares;
  squares.blocks.resize(static_cast<std::size_t>(layers));
  squares.gains.resize(squares.blocks.size());
  for (const auto& parameter : parameters.all()) {
    const auto location = location_of(parameter.name, layers);
    const double own = ops::sum_of_squares(parameter.slice_of(values[parameter.group]));
    squares.by_parameter[parameter.name] = own;
    squares.model += own;
    if (location.layer < 1 || location.layer > layers) continue;
    const auto i = static_cast<std::size_t>(location.layer - 1);
    squares.blocks[i] += own;
    if (parameters.groups()[parameter.group].role == nn::ParameterRole::gain) {
      squares.gains[i] = squares.gains[i].value_or(0) + own;
    }
  }
  return squares;
}

/// Adds the parts q, k, v, output, up, gate, down of block `l`; each part covers all experts.
void add_matrices(const nn::Parameters& parameters, const std::vector<at::Tensor>& values,
                  const norm::Shape& shape, std::int64_t l, LayerProfileBuilder& out) {
  std::map<std::string, double> parts;
  for (const auto& matrix : norm::logical_matrices(shape, l - 1)) {
    const auto& parameter = parameters.at(text("blocks.", l - 1, ".", matrix.stored, ".weight"));
    const auto rows = parameter.slice_of(values[parameter.group]).flatten(0, -2);
    parts[last_word(matrix.name)] += ops::sum_of_squares(rows.narrow(0, matrix.first, matrix.rows));
  }
  for (const auto* const name : norm::kBlockMatrices) {
    const auto part = last_word(name);
    out.add({l, part}, std::sqrt(parts.at(part)));
  }
}

/// L2 norms of all parts. \param values  one flat buffer per parameter group
std::vector<LayerProfile> norms_by_part(const std::string& measure,
                                        const nn::Parameters& parameters,
                                        const std::vector<at::Tensor>& values,
                                        const norm::Scheme& scheme) {
  const auto layers = scheme.shape.layers;
  const auto squares = sums_of_squares(parameters, values, layers);
  LayerProfileBuilder out(measure, layers);
  out.add({0, "model"}, std::sqrt(squares.model));
  for (std::int64_t l = 1; l <= layers; ++l) {
    const auto i = static_cast<std::size_t>(l - 1);
    out.add({l, "block"}, std::sqrt(squares.blocks[i]));
    add_matrices(parameters, values, scheme.shape, l, out);
    if (scheme.shape.has_router(l - 1)) {
      const auto router = text("blocks.", i, ".feed_forward.router.weight");
      out.add({l, "router"}, std::sqrt(squares.by_parameter.at(router)));
    }
    if (squares.gains[i]) out.add({l, "gains"}, std::sqrt(*squares.gains[i]));
  }
  for (const auto& parameter : parameters.all()) {
    out.add(location_of(parameter.name, layers),
            std::sqrt(squares.by_parameter.at(parameter.name)));
  }
  return out.take();
}

}  // namespace

std::vector<LayerProfile> gradient_norms(const nn::Parameters& parameters,
                                         const std::vector<at::Tensor>& gradients,
                                         const norm::Scheme& scheme) {
  return norms_by_part("grad_norm", parameters, gradients, scheme);
}

std::vector<LayerProfile> weight_norms(const nn::Parameters& parameters,
                                       const norm::Scheme& scheme) {
  std::vector<at::Tensor> masters;
  masters.reserve(parameters.groups().size());
  for (const auto& group : parameters.groups()) masters.push_back(group.master);
  return norms_by_part("weight_norm", parameters, masters, scheme);
}

std::vector<LayerProfile> gain_drifts(const nn::Parameters& parameters, const norm::Scheme& scheme,
                                      std::int64_t planned) {
  const at::NoGradGuard no_grad;
  LayerProfileBuilder out("gain_drift", scheme.shape.layers);
  for (const auto& slot : norm::slots_of(scheme)) {
    if (!parameters.find(slot.name + ".gain").defined()) continue;
    const auto variables =
        norm::variables_of(slot, scheme.shape, norm::Steps{.done = 0, .planned = planned});
    const auto& master = parameters.at(slot.name + ".gain").master;
    const auto start =  // rounded to the dtype of the master
        at::full({}, norm::stored_initial(*slot.norm, "gain", variables), master.options());
    const auto moved = master.to(at::kDouble) - start.to(at::kDouble);
    const double factor = norm::gain_factor(*slot.norm, variables);
    const auto size = (moved * factor).abs();
    const auto [layer, part] = location_of(slot.name, scheme.shape.layers);
    out.add({layer, part + " mean"}, size.mean().item<double>());
    out.add({layer, part + " max"}, size.max().item<double>());
  }
  return out.take();
}

ParameterSnapshot::ParameterSnapshot(const nn::Parameters& parameters) {
  for (const auto& group : parameters.groups()) masters_.push_back(group.master.clone());
}

std::vector<LayerProfile> ParameterSnapshot::update_ratios(const nn::Parameters& now,
                                                           const norm::Scheme& scheme) const {
  const at::NoGradGuard no_grad;
  LayerProfileBuilder out("update_ratio", scheme.shape.layers);
  for (const auto& parameter : now.all()) {
    const auto before = parameter.slice_of(masters_[parameter.group]);
    const double length = std::sqrt(ops::sum_of_squares(before));
    const double moved = std::sqrt(ops::sum_of_squares(parameter.master - before));
    out.add(location_of(parameter.name, scheme.shape.layers),
            length > 0 ? moved / length : std::nan(""));
  }
  return out.take();
}

}  // namespace evenkeel::probe
