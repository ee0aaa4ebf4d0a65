// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/coupling.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/norm/logical_matrices.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/random.h"
#include "evenkeel/probe/small_model.h"

namespace evenkeel::probe {

namespace {

constexpr std::array<double, 4> kCouplingFactors = {0.25, 1, 3, 16};
constexpr std::size_t kUnscaled = 1;  // index in kCouplingFactors

/// Rows of the embedding get the L2 norm 1e4. A branch reaches about 100 at c = 16, so c changes
/// the residual stream, and the gradient from later layers, by about 1 % at most.
constexpr double kLargeEmbedding = 1e4;
constexpr double kSlopeTolerance = 0.05;
constexpr double kCouplingRounding = 1e-12;  // float64 rounding

/// The matrices whose gradients are measured, with their names in the paper.
constexpr std::array<std::pair<const char*, const char*>, 3> kMatrices = {
    {{"W_O", "attention.output"}, {"W_Q", "attention.q"}, {"W_K", "attention.k"}}};

/// A slice of the rows of a stored matrix in one block.
struct MatrixRows {
  std::string stored;
  std::int64_t first = 0, count = 0;
  at::Tensor of(const at::Tensor& whole) const { return whole.narrow(0, first, count); }
};

MatrixRows coupling_rows_of(const norm::Shape& shape, std::int64_t block, const std::string& name) {
  for (const auto& logical : norm::logical_matrices(shape, block)) {
    if (logical.name != name) continue;
    return {text("blocks.", block, ".", logical.stored, ".weight"), logical.first, logical.rows};
  }
  EK_ASSERT(false && "a logical matrix of every block");
}

/// Gradients of kMatrices, in order: [rows, columns], float64.
using Gradients = std::array<at::Tensor, kMatrices.size()>;

/// The gradients of one block after its W_V is multiplied by c.
Gradients gradients(SmallModel& small, std::int64_t block, double c, std::uint64_t seed) {
  const auto& shape = small.model->scheme().shape;
  const auto value = coupling_rows_of(shape, block, "attention.v");
  auto weight = value.of(small.parameters->at(value.stored).master);
  const auto saved = weight.clone();
  const auto ids = random_tokens(seed, "probe/coupling/ids", 2, shape.context, shape.vocabulary);
  const auto targets =
      random_tokens(seed, "probe/coupling/targets", 2, shape.context, shape.vocabulary);
  weight.mul_(c);
  small.parameters->copy_masters_to_values();
  small.parameters->zero_gradients();
  small.model->loss_sum(ids, targets, {.mode = nn::Mode::training}).backward();
  small.parameters->accumulate_gradients();
  const at::NoGradGuard no_grad;
  weight.copy_(saved);
  Gradients found;
  for (std::size_t i = 0; i < kMatrices.size(); ++i) {
    const auto rows = coupling_rows_of(shape, block, kMatrices[i].second);
    found[i] = rows.of(small.parameters->at(rows.stored).gradient_buffer.value()).clone();
  }
  return found;
}

/// The gradients at all kCouplingFactors, in order.
std::vector<Gradients> gradients_by_factor(SmallModel& small, std::int64_t block,
                                           std::uint64_t seed) {
  std::vector<Gradients> found;
  found.reserve(kCouplingFactors.size());
  for (const double c : kCouplingFactors) found.push_back(gradients(small, block, c, seed));
  return found;
}

/// The slope of the least-squares line y(x).
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, both = 0, square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean_x) * (y[i] - mean_y);
    square += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return both / square;
}

/// The exponent p of |g(c)| ~ c^p for one matrix.
double exponent(const std::vector<Gradients>& by_factor, std::size_t matrix) {
  std::vector<double> x, y;
  for (std::size_t f = 0; f < kCouplingFactors.size(); ++f) {
    x.push_back(std::log(kCouplingFactors[f]));
    y.push_back(std::log(by_factor[f][matrix].norm().item<double>()));
  }
  return slope(x, y);
}

/// The largest relative change of the gradients of one matrix from those at c = 1.
double change(const std::vector<Gradients>& by_factor, std::size_t matrix) {
  double worst = 0;
  for (const auto& each : by_factor) {
    worst = max_or_nan(worst, max_relative_error(each[matrix], by_factor[kUnscaled][matrix]));
  }
  return worst;
}

void drop_epsilon_of_values(norm::Scheme& scheme) {
  for (auto& block : scheme.blocks) {
    if (block.attention.v) block.attention.v->epsilon = 0;
  }
}

/// One number per matrix of kMatrices, over all blocks.
using Measured = std::array<double, kMatrices.size()>;

/// The largest change() over all blocks.
Measured largest_changes(SmallModel& small, std::uint64_t seed) {
  Measured measured{};
  for (std::int64_t block = 0; block < small.model->scheme().shape.layers; ++block) {
    const auto found = gradients_by_factor(small, block, seed);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      measured[i] = max_or_nan(measured[i], change(found, i));
    }
  }
  return measured;
}

/// The exponent() with the largest distance from 1.
Measured farthest_exponents(SmallModel& small, std::uint64_t seed) {
  small.parameters->at("embedding.weight").master.mul_(kLargeEmbedding);
  Measured measured;
  measured.fill(1);
  for (std::int64_t block = 0; block < small.model->scheme().shape.layers; ++block) {
    const auto found = gradients_by_factor(small, block, seed);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const auto power = exponent(found, i);
      const bool nearer = std::abs(power - 1) <= std::abs(measured[i] - 1);
      if (!nearer && !std::isnan(measured[i])) measured[i] = power;  // NaN stays
    }
  }
  return measured;
}

}  // namespace

Claims coupling_claims(norm::Scheme scheme, Coupling expected, std::uint64_t seed) {
  drop_epsilon_of_values(scheme);
  auto small = small_model(scheme, seed);
  const bool grows = expected == Coupling::grows;
  const auto measured = grows ? farthest_exponents(small, seed) : largest_changes(small, seed);
  Claims claims;
  for (std::size_t i = 0; i < kMatrices.size(); ++i) {
    claims.push_back({.subject = text("a model of ", scheme.info.name),
                      .statement = text("c W_V: gradients of ", kMatrices[i].first,
                                        grows ? " grow as c^p; p" : " stay"),
                      .measured = measured[i],
                      .relation = grows ? Relation::near : Relation::at_most,
                      .limit = grows ? 1 : kCouplingRounding,
                      .tolerance = kSlopeTolerance});
  }
  return claims;
}

Claims coupling_claims(std::uint64_t seed) {
  const std::pair<const char*, Coupling> expected[] = {{"pre_norm", Coupling::grows},
                                                       {"pre_qk", Coupling::grows},
                                                       {"qkv_norm", Coupling::invariant},
                                                       {"hybrid_norm", Coupling::invariant},
                                                       {"hybrid_norm_star", Coupling::invariant}};
  Claims claims;
  for (const auto& [name, coupling] : expected) {
    const auto scheme = config::bind(config::find_scheme(name), small_shape());
    const auto part = coupling_claims(scheme, coupling, seed);
    claims.insert(claims.end(), part.begin(), part.end());
  }
  return claims;
}

}  // namespace evenkeel::probe
