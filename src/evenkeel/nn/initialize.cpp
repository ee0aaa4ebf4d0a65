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
#include "evenkeel/norm/distribution.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::nn {

namespace {

using norm::Distribution;

/// Some rows of a stored matrix that have a name of their own.
struct Logical {
  std::string name;  // "attention.q"
  std::int64_t first = 0, rows = 0;
};

/// What a stored matrix of a block is made of.
std::vector<Logical> parts_of(const std::string& stored, const norm::Shape& shape) {
  const auto query = shape.heads * shape.head_width();
  const auto key = shape.kv_heads * shape.head_width();
  if (stored == "attention.qkv.weight") {
    return {
        {"attention.q", 0, query}, {"attention.k", query, key}, {"attention.v", query + key, key}};
  }
  if (stored == "feed_forward.up_gate.weight") {
    return {{"feed_forward.up", 0, shape.inner}, {"feed_forward.gate", shape.inner, shape.inner}};
  }
  const auto name = stored.substr(0, stored.rfind('.'));
  return {{name, 0, shape.width}};
}

/// A standard normal number, given that its magnitude is at most `cut`. Rejection, from the normal
/// itself or, where that would seldom fall inside, from the uniform numbers in [-cut, cut]: either
/// way six of ten attempts or more are taken.
double cut_normal(double cut, const Philox& random, std::uint64_t index) {
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

double draw(const Distribution& from, const Philox& random, std::uint64_t index, double deviation) {
  switch (from.kind) {
    case Distribution::Kind::uniform:
      return from.first + (from.second - from.first) * random.uniform(index);
    case Distribution::Kind::trunc_normal:
      return deviation * cut_normal(from.second, random, index);
    default:
      return deviation * random.normal(index);
  }
}

/// Fills [rows, columns] starting at `first` values into the tensor that `random` is named after.
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

/// What the parameter behind a gain starts at.
double stored_gain(const norm::Norm& norm, const norm::Variables& variables) {
  if (norm.stored_at) return norm.stored_at->value(variables);
  const double gain = norm.gain_init.value(variables);
  return norm.gain_form == norm::GainForm::one_plus_w ? gain - 1 : gain;
}

void fill_norms(Parameters& parameters, const norm::Scheme& scheme, const norm::Steps& steps) {
  for (auto& group : parameters.groups()) {
    if (group.role == Role::gain) group.master.zero_();
  }
  for (const auto& slot : norm::slots_of(scheme)) {
    if (slot.norm->affine == norm::Affine::none) continue;
    const auto variables = norm::variables_of(slot, scheme.shape, steps);
    parameters.at(slot.name + ".gain").master.fill_(stored_gain(*slot.norm, variables));
  }
}

}  // namespace

void initialize(Parameters& parameters, const norm::Scheme& scheme, const std::string& init,
                std::uint64_t seed, std::int64_t planned) {
  const at::NoGradGuard no_grad;
  const norm::Steps start = {.done = 0, .planned = planned};
  const bool own = init == "scheme";
  const auto variables = scheme.shape.variables(start);
  const auto base = config::parse_init(own ? scheme.base_init : init, variables);
  const auto embedding = config::parse_init(own ? scheme.embedding_init : init, variables);
  const auto factors = own ? scheme.init : config::init_factors(init);

  fill_norms(parameters, scheme, start);
  for (const auto& parameter : parameters.all()) {
    if (parameter.shape.size() != 2) continue;
    const Philox random(seed, "init/" + parameter.name);
    const bool in_block = parameter.name.starts_with("blocks.");
    if (!in_block) {
      fill(parameter.master, parameter.name == "embedding.weight" ? embedding : base, random, 0, 1);
      continue;
    }
    const auto dot = parameter.name.find('.', std::string("blocks.").size());
    const auto block = std::stoll(parameter.name.substr(std::string("blocks.").size()));
    const auto in_this_block = scheme.shape.variables_of_block(block + 1, start);
    for (const auto& part : parts_of(parameter.name.substr(dot + 1), scheme.shape)) {
      fill(parameter.master.narrow(0, part.first, part.rows), base, random,
           part.first * parameter.shape[1], factor_of(factors, part.name, in_this_block));
    }
  }
  parameters.publish();
}

}  // namespace evenkeel::nn
