// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/initialize.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"
#include "evenkeel/config/init.h"
#include "evenkeel/nn/reparameterized_weight.h"
#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/initial_values.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::nn {

namespace {

using norm::Distribution;

/// A standard normal number truncated to [-cut, cut], by rejection sampling. Proposals come from
/// the normal distribution, for a small cut from the uniform one: at least 60 % are accepted.
double truncated_normal(double cut, const Philox& random, std::uint64_t index) {
  constexpr double kNarrow = 1;  // P(|z| <= 1) = 0.68; the density falls to e^(-1/2) = 0.61 there
  for (std::uint64_t attempt = 0;; ++attempt) {
    if (cut >= kNarrow) {
      const double z = random.normal(index, attempt);
      if (std::abs(z) <= cut) return z;
    } else {
      const double z = cut * (2 * random.uniform(index, 2 * attempt) - 1);
      if (random.uniform(index, 2 * attempt + 1) < std::exp(-z * z / 2)) return z;
    }
  }
}

/// One number of the distribution. \param deviation  standard deviation of the normal kinds
double draw(const Distribution& from, const Philox& random, std::uint64_t index, double deviation) {
  switch (from.kind) {
    case Distribution::Kind::uniform:
      return from.first + (from.second - from.first) * random.uniform(index);
    case Distribution::Kind::trunc_normal:
      return deviation * truncated_normal(from.second, random, index);
    default:
      return deviation * random.normal(index);
  }
}

/// Fills a matrix with factor * random numbers.
/// \param matrix  [rows, columns], contiguous
/// \param random  the stream of the stored tensor
/// \param first   index of the matrix's first value in the stored tensor
void fill(at::Tensor matrix, const Distribution& from, const Philox& random, std::int64_t first,
          double factor) {
  const auto size = static_cast<double>(matrix.size(0) + matrix.size(1));
  const bool xavier = from.kind == Distribution::Kind::xavier;
  const double deviation = xavier ? from.first * std::sqrt(2 / size) : from.first;
  AT_DISPATCH_FLOATING_TYPES(matrix.scalar_type(), "initialize", [&] {
    auto* const to = matrix.mutable_data_ptr<scalar_t>();
    constexpr std::int64_t kGrain = 4096;
    at::parallel_for(0, matrix.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        const auto index = static_cast<std::uint64_t>(first + i);
        to[i] = static_cast<scalar_t>(factor * draw(from, random, index, deviation));
      }
    });
  });
}

/// The product of all factors that name the logical matrix.
double factor_of(const std::vector<norm::InitFactor>& factors, const std::string& name,
                 const norm::Variables& variables) {
  double product = 1;
  for (const auto& each : factors) {
    const bool named =
        std::find(each.weights.begin(), each.weights.end(), name) != each.weights.end();
    if (named) product *= each.factor.value(variables);
  }
  return product;
}

/// Fills the tensors with one value everywhere: parameters and states of norms, trained numbers.
void fill_constants(Parameters& parameters, const norm::Scheme& scheme, const norm::Steps& steps) {
  for (const auto& [name, value] : norm::initial_values(scheme, steps)) {
    const auto state = parameters.find_state(name);
    (state.defined() ? state : parameters.at(name).master).fill_(value);
  }
}

/// Fills a vector with a random direction of length 1. \param vector  [n]
void fill_unit(const at::Tensor& vector, const Philox& random) {
  constexpr double kStandard = 1;
  fill(vector.unsqueeze(0), {.kind = Distribution::Kind::normal, .first = kStandard}, random, 0, 1);
  const ops::SerialLibraries one_thread;
  vector.div_(vector.to(at::kDouble).square().sum().sqrt().item<double>());
}

/// The row gains of weight_norm start at the lengths of the rows: the weight is V. The vectors of
/// sigma_reparam start after one step of power iteration from a random direction, so sigma > 0.
/// \param rows  V: [rows, columns]
void fill_reparameterization(Parameters& parameters, const std::string& rule,
                             const std::string& name, const at::Tensor& rows, std::uint64_t seed) {
  if (rule == "weight_norm") {
    const auto lengths = rows.to(at::kDouble).square().sum(-1).sqrt();
    parameters.at(name + ".row_gain").master.copy_(lengths);
    return;
  }
  parameters.at(name + ".gamma").master.fill_(1);
  const auto right = parameters.find_state(name + ".right");
  fill_unit(right, Philox(seed, "init/" + name + ".right"));
  power_iteration(rows, parameters.find_state(name + ".left"), right);
}

void fill_reparameterizations(Parameters& parameters, const norm::Scheme& scheme,
                              std::uint64_t seed) {
  for (const auto& [rule, weights] : scheme.reparameterize) {
    for (std::int64_t i = 0; i < scheme.shape.layers; ++i) {
      for (const auto& matrix : norm::logical_matrices(scheme.shape, i)) {
        const bool named = std::find(weights.begin(), weights.end(), matrix.name) != weights.end();
        if (!named) continue;
        const auto stored = parameters.at(text("blocks.", i, ".", matrix.stored, ".weight")).master;
        fill_reparameterization(parameters, rule, text("blocks.", i, ".", matrix.own_name),
                                stored.flatten(0, -2).narrow(0, matrix.first, matrix.rows), seed);
      }
    }
  }
}

/// The distribution of an untied head in a mixture of experts: the standard deviation is 1/sqrt(d),
/// as in the authors' code, unless the scheme or the user states a distribution.
Distribution head_distribution(Distribution base, const norm::Shape& shape) {
  const bool is_normal =
      base.kind == Distribution::Kind::normal || base.kind == Distribution::Kind::trunc_normal;
  if (is_normal) base.first = 1 / std::sqrt(static_cast<double>(shape.width));
  return base;
}

/// initialize() of parameters on the CPU.
void initialize_on_cpu(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                       std::uint64_t seed, std::int64_t planned) {
  const at::NoGradGuard no_grad;
  const norm::Steps start = {.done = 0, .planned = planned};
  const bool from_scheme = init == "scheme";
  const auto variables = scheme.shape.variables(start);
  const auto base = config::parse_init(from_scheme ? scheme.base_init : init, variables);
  const auto embedding = config::parse_init(from_scheme ? scheme.embedding_init : init, variables);
  const bool is_default = from_scheme && scheme.base_init == "default";
  const auto head =
      scheme.shape.is_mixture() && is_default ? head_distribution(base, scheme.shape) : base;
  const auto factors = from_scheme ? scheme.init : config::init_factors(init);

  fill_constants(parameters, scheme, start);
  for (const auto& parameter : parameters.all()) {
    if (parameter.shape.size() < 2) continue;
    const Philox random(seed, "init/" + parameter.name);
    if (!parameter.name.starts_with("blocks.")) {
      const bool is_embedding = parameter.name == "embedding.weight";
      fill(parameter.master, is_embedding ? embedding : head, random, 0, 1);
      continue;
    }
    if (parameter.name.ends_with(".router.weight")) {
      fill(parameter.master, base, random, 0, 1);
      continue;
    }
    const auto dot = parameter.name.find('.', std::string("blocks.").size());
    const auto block = std::stoll(parameter.name.substr(std::string("blocks.").size()));
    const auto in_this_block = scheme.shape.variables_of_block(block + 1, start);
    for (const auto& matrix : norm::logical_matrices(scheme.shape, block)) {
      if (matrix.stored + ".weight" != parameter.name.substr(dot + 1)) continue;
      fill(parameter.master.flatten(0, -2).narrow(0, matrix.first, matrix.rows), base, random,
           matrix.first * matrix.columns, factor_of(factors, matrix.name, in_this_block));
    }
  }
  fill_reparameterizations(parameters, scheme, seed);
  parameters.copy_masters_to_values();
}

}  // namespace

void initialize(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                std::uint64_t seed, std::int64_t planned) {
  if (parameters.device().is_cpu()) {
    return initialize_on_cpu(parameters, scheme, init, seed, planned);
  }
  auto on_cpu = parameters.empty_on(at::kCPU);  // the same initial bits for every device
  initialize_on_cpu(on_cpu, scheme, init, seed, planned);
  parameters.copy_from(on_cpu);
}

}  // namespace evenkeel::nn
