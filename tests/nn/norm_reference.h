// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numbers>

#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"
#include "support/row_reference.h"

// Every norm kind and its gradients in long double, from the table of docs/schemes.md.
namespace evenkeel::testing {

/// Values of x that share a statistic, and which value of the gain belongs to each.
struct StatisticGroup {
  std::vector<std::size_t> at, gain;
};

/// What a norm computes of x and of the gradient dy of its result.
struct NormReference {
  ReferenceValues y, dx, dgain, dbias, dalpha, dshift, dbeta;
};

struct NormInputs {
  Values x, dy, gain, bias, alpha, shift, beta;  // as stored
  double gain_factor = 1;
  double out_scale = 1;
};

/// The groups of a norm on x [..., T, heads * D]: rows, heads of rows, groups; or, over tokens, the
/// columns of all rows or of each sequence of T.
inline std::vector<StatisticGroup> statistic_groups(const norm::Norm& norm, std::int64_t count,
                                                    std::int64_t width, std::int64_t heads,
                                                    std::int64_t groups, std::int64_t positions) {
  const bool over_tokens = norm::mixes_tokens(norm.kind);
  const auto features = width / heads;
  std::vector<StatisticGroup> found;
  const auto gain_of = [&](std::int64_t j) {
    const auto head = norm.heads_share ? 0 : j / features;
    return static_cast<std::size_t>(
        norm.affine == norm::Affine::scalar ? head : head * features + j % features);
  };
  if (over_tokens) {
    const bool is_sequence = norm::row_of(norm.kind).axis == norm::StatisticAxis::sequence;
    const auto length = is_sequence ? positions : count / width;
    for (std::int64_t first = 0; first < count / width; first += length) {
      for (std::int64_t j = 0; j < width; ++j) {
        StatisticGroup group;
        for (std::int64_t t = first; t < first + length; ++t) {
          group.at.push_back(static_cast<std::size_t>(t * width + j));
          group.gain.push_back(gain_of(j));
        }
        found.push_back(group);
      }
    }
    return found;
  }
  const auto size = features / groups;
  for (std::int64_t first = 0; first < count; first += size) {
    StatisticGroup group;
    for (std::int64_t i = first; i < first + size; ++i) {
      group.at.push_back(static_cast<std::size_t>(i));
      group.gain.push_back(gain_of(i % width));
    }
    found.push_back(group);
  }
  return found;
}

inline Statistic statistic_of(const norm::Norm& norm) {
  using norm::EpsilonAt;
  const auto operation = norm::row_of(norm.kind).operation;
  return {.centred = operation == norm::Operation::standardize,
          .sum = operation == norm::Operation::divide_by_l2_norm,
          .partial = norm.partial,
          .epsilon = norm.epsilon,
          .at = norm.epsilon_at == EpsilonAt::inside    ? Statistic::At::inside
                : norm.epsilon_at == EpsilonAt::outside ? Statistic::At::outside
                                                        : Statistic::At::clamp};
}

/// One group at a time adds its part to the result.
class NormEquations {
 public:
  NormEquations(const norm::Norm& norm, NormInputs in) : norm_(norm), in_(std::move(in)) {
    reference_.y.resize(in_.x.size());
    reference_.dx.resize(in_.x.size());
    reference_.dgain.resize(in_.gain.size());
    reference_.dbias.resize(in_.bias.size());
    reference_.dalpha.resize(in_.alpha.size());
    reference_.dshift.resize(in_.shift.size());
    reference_.dbeta.resize(in_.beta.size());
  }

  void add(const StatisticGroup& group) {
    using norm::Kind;
    Values x;
    for (const auto i : group.at) x.push_back(in_.x[i]);
    const auto eighth = norm_.pre_scale == norm::PreScale::absmax8 ? eighth_of(x) : Wide{1};
    for (auto& value : x) value /= eighth;
    switch (norm_.kind) {
      case Kind::dyt:
      case Kind::derf:
        return add_bounded(group, x);
      case Kind::seed_norm:
        return add_seed_norm(group, x);
      case Kind::scale:
        return add_row(group, {.centred = x, .x_hat = x, .rho = 1, .divisor = 1}, eighth);
      default:
        return add_row(group, normed(x, statistic_of(norm_)), eighth);
    }
  }

  const NormReference& reference() const { return reference_; }

 private:
  static Wide eighth_of(const Values& x) {
    Wide largest = 0;
    for (const auto value : x) largest = std::max(largest, std::abs(value));
    return largest > 0 ? largest / 8 : 1;
  }

  Wide gain(std::size_t i) const {
    if (in_.gain.empty()) return 1;
    const Wide acting = in_.gain[i] * in_.gain_factor;
    return norm_.gain_form == norm::GainForm::one_plus_w ? acting + 1 : acting;
  }
  Wide bias(std::size_t i) const { return in_.bias.empty() ? 0 : in_.bias[i]; }

  /// y = s (g x_hat + b), and what gain and bias get of dy; error: of x_hat, in units of double.
  void add_affine(std::size_t at, std::size_t part, Wide x_hat, Wide error) {
    const Wide s = in_.out_scale;
    const Wide dy = s * in_.dy[at];
    reference_.y[at].add(s * (gain(part) * x_hat + bias(part)),
                         std::abs(s) * (std::abs(gain(part)) * error + std::abs(bias(part))),
                         std::abs(s) * (std::abs(gain(part) * x_hat) + std::abs(bias(part))));
    if (!in_.gain.empty()) {
      const Wide size = std::abs(in_.gain_factor * dy) * (std::abs(x_hat) + error);
      reference_.dgain[part].add(in_.gain_factor * dy * x_hat, size);
    }
    if (!in_.bias.empty()) reference_.dbias[part].add(dy, std::abs(dy));
  }

  void add_row(const StatisticGroup& group, const NormedRow& row, Wide eighth) {
    Values g;
    for (std::size_t i = 0; i < group.at.size(); ++i) {
      add_affine(group.at[i], group.gain[i], row.x_hat[i], row.error);
      g.push_back(in_.out_scale * gain(group.gain[i]) * in_.dy[group.at[i]]);
    }
    const bool detaches = norm_.kind == norm::Kind::detach_norm;
    const bool keeps_mean = !detaches || norm_.detach == norm::Detach::variance;
    const bool keeps_variance = !detaches || norm_.detach == norm::Detach::mean;
    const auto dx = gradient_of(row, g, statistic_of(norm_).centred && keeps_mean, keeps_variance);
    for (std::size_t i = 0; i < group.at.size(); ++i) {
      auto& each = reference_.dx[group.at[i]];
      each.add(dx[i].value / eighth, dx[i].error_scale / eighth, dx[i].terms / eighth);
      each.row = std::max(each.row, dx[i].row / eighth);
    }
  }

  /// g f(a x + s) + b with f = tanh or erf
  void add_bounded(const StatisticGroup& group, const Values& x) {
    const bool is_erf = norm_.kind == norm::Kind::derf;
    const Wide a = in_.alpha[0];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Wide z = a * x[i] + (is_erf ? in_.shift[0] : 0);
      const Wide slope = is_erf ? 2 / std::sqrt(std::numbers::pi_v<Wide>) * std::exp(-z * z)
                                : 1 / (std::cosh(z) * std::cosh(z));
      const Wide error = is_erf ? slope * (1 + z * z) : 1;
      add_affine(group.at[i], group.gain[i], is_erf ? std::erf(z) : std::tanh(z), 1);
      const Wide g = in_.out_scale * gain(group.gain[i]) * in_.dy[group.at[i]];
      reference_.dx[group.at[i]].add(g * slope * a, std::abs(g * a) * error);
      reference_.dalpha[0].add(g * slope * x[i],
                               std::abs(z) < kFlat ? std::abs(g * x[i]) * error : 0);
      if (is_erf) reference_.dshift[0].add(g * slope, std::abs(g) * error);
    }
  }

  /// (tanh(x . beta) alpha + g) x_hat
  void add_seed_norm(const StatisticGroup& group, const Values& x) {
    const auto row = normed(x, statistic_of(norm_));
    Wide dot = 0, size = 0, pull = 0, pulls = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      dot += x[i] * in_.beta[i];
      size += std::abs(x[i] * in_.beta[i]);
    }
    const Wide t = std::tanh(dot);
    const Wide flat = 1 / (std::cosh(dot) * std::cosh(dot));
    const Wide error = std::min(Wide{1}, size);  // of t
    Values g;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Wide dy = in_.out_scale * in_.dy[group.at[i]];
      const Wide factor = t * in_.alpha[i] + gain(group.gain[i]);
      const Wide spread = error * std::abs(in_.alpha[i]) + std::abs(gain(group.gain[i]));
      reference_.y[group.at[i]].add(in_.out_scale * factor * row.x_hat[i],
                                    std::abs(in_.out_scale) * spread * std::abs(row.x_hat[i]));
      if (!in_.gain.empty()) {
        const auto gained = in_.gain_factor * dy * row.x_hat[i];
        reference_.dgain[group.gain[i]].add(gained, std::abs(gained));
      }
      reference_.dalpha[i].add(dy * t * row.x_hat[i], std::abs(dy * row.x_hat[i]) * error);
      pull += dy * in_.alpha[i] * row.x_hat[i];
      pulls += std::abs(dy * in_.alpha[i] * row.x_hat[i]);
      g.push_back(dy * factor);
    }
    const auto dx = gradient_of(row, g, /*centred=*/false);
    // 1 - t^2 is known to double's last place, and to what the dot product is.
    const Wide unsure = pulls * (1 + flat * size);
    for (std::size_t i = 0; i < x.size(); ++i) {
      reference_.dx[group.at[i]].add(dx[i].value + pull * flat * in_.beta[i],
                                     dx[i].error_scale + unsure * std::abs(in_.beta[i]));
      reference_.dbeta[i].add(pull * flat * x[i],
                              std::abs(dot) < kFlat ? unsure * std::abs(x[i]) : 0);
    }
  }

  static constexpr Wide kFlat = 40;  // from here on 1 - tanh^2 is exactly 0 in double

  norm::Norm norm_;
  NormInputs in_;
  NormReference reference_;
};

}  // namespace evenkeel::testing
