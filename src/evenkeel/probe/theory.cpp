// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/theory.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/probe/activation_stats.h"
#include "evenkeel/probe/random.h"

namespace evenkeel::probe {

namespace {

using Tensors = PerWeight<at::Tensor>;

constexpr double kTheoryRounding = 1e-12;  // float64 rounding of a softmax and a few sums
constexpr std::array<double, 6> kTheoryFactors = {0.25, 0.5, 2, 3, 4, 16};

/// Calls body(head) with one random head per seed, 1 to options.seeds.
template <typename Body>
void for_each_head(const TheoryOptions& options, const Body& body) {
  for (std::int64_t seed = 1; seed <= options.seeds; ++seed) {
    body(random_head(static_cast<std::uint64_t>(seed), options.sequence, options.width));
  }
}

double frobenius(const at::Tensor& jacobian) {
  return jacobian.norm().item<double>();
}

/// Updates the rows of a placement with one head.
/// \param rows  the first of four rows, in the order of kHeadWeights
void update_rows(BoundRow* rows, const Head& head) {
  const auto exact = jacobians(rows->placement, head);
  const auto all = bounds(rows->placement, head);
  for (std::size_t w = 0; w < kHeadWeights<Bound>.size(); ++w) {
    auto& row = rows[w];
    const auto norm = frobenius(exact.*kHeadWeights<at::Tensor>[w].member);
    const auto& bound = all.*kHeadWeights<Bound>[w].member;
    if (norm > bound.printed) ++row.exceeded;
    row.ratio_to_printed = max_or_nan(row.ratio_to_printed, norm / bound.printed);
    const auto before = row.ratio_to_corrected;
    row.ratio_to_corrected = max_or_nan(before, norm / bound.corrected);
    if (row.ratio_to_corrected == before) continue;
    row.norm = norm;
    row.bound = bound;
  }
}

/// A random orthogonal matrix [d, d], float64: Q of the QR decomposition of a normal matrix.
at::Tensor orthogonal(std::int64_t width) {
  return std::get<0>(at::linalg_qr(randn(1, "probe/theory/orthogonal", {width, width})));
}

std::string statement_of(const ScalingRule& rule, std::size_t weight) {
  const auto* const change = rule.power > 0    ? " is multiplied by c"
                             : rule.power == 0 ? " stays as it is"
                                               : " is divided by c";
  return text("c ", rule.scaled_name, ": dS/d", kHeadWeights<at::Tensor>[weight].name, change);
}

}  // namespace

BoundRows bound_rows(const TheoryOptions& options) {
  BoundRows rows;
  for (const auto placement : kPlacements) {
    for (const auto& each : kHeadWeights<Bound>) {
      rows.push_back({.placement = placement, .weight = each.name, .bound = {}});
    }
  }
  for_each_head(options, [&](const Head& head) {
    for (std::size_t i = 0; i < rows.size(); i += kHeadWeights<Bound>.size())
      update_rows(&rows[i], head);
  });
  return rows;
}

Claims bound_claims(const BoundRows& rows) {
  Claims claims;
  for (const auto& row : rows) {
    claims.push_back({.subject = name_of(row.placement),
                      .statement = text("|dS/d", row.weight, "|_F over its corrected bound"),
                      .measured = row.ratio_to_corrected,
                      .relation = Relation::at_most,
                      .limit = 1});
  }
  return claims;
}

Claims counter_examples(std::int64_t width) {
  auto head = random_head(1, /*sequence=*/1, width);
  head.weights.value = orthogonal(width);
  head.weights.output = at::eye(width, at::kDouble);
  const auto d = static_cast<double>(width);
  Claims claims;
  for (const auto placement : {Placement::pre, Placement::qkv}) {
    const auto norm = frobenius(jacobians(placement, head).output);
    const auto limit = bounds(placement, head).output;
    const auto subject = text(name_of(placement), ", s = 1, W_V orthogonal");
    claims.push_back({.subject = subject,
                      .statement = placement == Placement::pre ? "|dS/dW_O|_F is d"
                                                               : "|dS/dW_O|_F is sqrt(d dk)",
                      .measured = norm,
                      .relation = Relation::near,
                      .limit = d,
                      .tolerance = kTheoryRounding * d});
    claims.push_back({.subject = subject,
                      .statement = "|dS/dW_O|_F is above its printed bound sqrt(d)",
                      .measured = norm,
                      .relation = Relation::at_least,
                      .limit = (1 + kTheoryRounding) * limit.printed});
  }
  return claims;
}

std::vector<ScalingRule> scaling_rules() {
  const std::vector<std::size_t> output_query_key = {0, 2, 3};  // W_O, W_Q, W_K
  const std::vector<std::size_t> query = {2};
  return {{Placement::pre, &Tensors::value, "W_V", output_query_key, 1},
          {Placement::pre_qk, &Tensors::value, "W_V", output_query_key, 1},
          {Placement::qkv, &Tensors::value, "W_V", output_query_key, 0},
          {Placement::qkv, &Tensors::query, "W_Q", query, -1}};
}

Claims scaling_claims(const TheoryOptions& options, const std::vector<ScalingRule>& rules) {
  Claims claims;
  for (const auto& rule : rules) {
    std::vector<double> worst(rule.affected.size(), 0);
    for_each_head(options, [&](const Head& head) {
      const auto before = jacobians(rule.placement, head);
      for (const double c : kTheoryFactors) {
        auto scaled = head;
        scaled.weights.*rule.scaled = head.weights.*rule.scaled * c;
        const auto after = jacobians(rule.placement, scaled);
        for (std::size_t i = 0; i < worst.size(); ++i) {
          const auto member = kHeadWeights<at::Tensor>[rule.affected[i]].member;
          const auto wanted = before.*member * std::pow(c, rule.power);
          worst[i] = max_or_nan(worst[i], max_relative_error(after.*member, wanted));
        }
      }
    });
    for (std::size_t i = 0; i < worst.size(); ++i) {
      claims.push_back({.subject = name_of(rule.placement),
                        .statement = statement_of(rule, rule.affected[i]),
                        .measured = worst[i],
                        .relation = Relation::at_most,
                        .limit = kTheoryRounding});
    }
  }
  return claims;
}

Theory theory(const TheoryOptions& options) {
  Theory all = {.rows = bound_rows(options), .claims = {}};
  for (const auto& part :
       {bound_claims(all.rows), counter_examples(options.width), scaling_claims(options)}) {
    all.claims.insert(all.claims.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace evenkeel::probe
