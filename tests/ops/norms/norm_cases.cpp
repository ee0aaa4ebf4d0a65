// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/add_rms_norm.h"
#include "evenkeel/ops/norms/affine.h"
#include "evenkeel/ops/norms/bounded.h"
#include "evenkeel/ops/norms/column_norm.h"
#include "evenkeel/ops/norms/layer_norm.h"
#include "evenkeel/ops/norms/rms_norm.h"
#include "evenkeel/ops/norms/row_norm.h"
#include "evenkeel/ops/norms/seed_norm.h"
#include "evenkeel/ops/norms/sphere.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

namespace reference = ops::reference;

constexpr double kEps = 0.01;
constexpr std::int64_t kWidth = 96;

at::Tensor x235() {
  return at::ones({2, 3, 5}, at::kDouble);
}
at::Tensor ones(std::int64_t width, at::ScalarType dtype = at::kDouble) {
  return at::ones({width}, dtype);
}

const std::vector<OperatorCase> kNorms = {
    {.name = "rms_norm",
     .inputs = [](std::int64_t n) { return Inputs{rows({n, kWidth}), vector(kWidth)}; },
     .run = [](const Tensors& in) { return Tensors{ops::rms_norm(in[0], in[1], kEps)}; },
     .formula = [](const Tensors& in) { return Tensors{reference::rms_norm(in[0], in[1], kEps)}; },
     .refusals = {{"[rms_norm] gain must be [5] to fit x [2, 3, 5], but is [4]",
                   [] { ops::rms_norm(x235(), ones(4), 0); }},
                  {"[rms_norm] gain must be float32 on cpu, for x of bfloat16, but is bfloat16 "
                   "on cpu",
                   [] { ops::rms_norm(x235().to(at::kBFloat16), ones(5, at::kBFloat16), 0); }},
                  {"[rms_norm] x must be float32, bfloat16 or float64, but is int64",
                   [] { ops::rms_norm(x235().to(at::kLong), std::nullopt, 0); }},
                  {"[rms_norm] x must have an axis of features, but is a scalar",
                   [] { ops::rms_norm(at::scalar_tensor(1.0), std::nullopt, 0); }},
                  {"[rms_norm] epsilon must be >= 0, but is -1",
                   [] { ops::rms_norm(x235(), ones(5), -1); }}}},
    {.name = "add_rms_norm",
     .inputs =
         [](std::int64_t n) {
           return Inputs{rows({n, kWidth}), rows({n, kWidth}), vector(kWidth)};
         },
     .run =
         [](const Tensors& in) {
           const auto [sum, y] = ops::add_rms_norm(in[0], in[1], in[2], kEps);
           return Tensors{sum, y};
         },
     .formula =
         [](const Tensors& in) {
           const auto [sum, y] = reference::add_rms_norm(in[0], in[1], in[2], kEps);
           return Tensors{sum, y};
         },
     .tolerance = {.bfloat16 = 0x1p-8},  // y is that of the rounded sum
     .refusals = {{"[add_rms_norm] branch must be [2, 3, 5] like residual, but is [3, 5]",
                   [] { ops::add_rms_norm(x235(), x235()[0], ones(5)); }},
                  {"[add_rms_norm] branch must be float64 on cpu like residual, but is float32 on "
                   "cpu",
                   [] { ops::add_rms_norm(x235(), x235().to(at::kFloat), ones(5)); }},
                  {"[add_rms_norm] gain must be [5] to fit x [2, 3, 5], but is [4]",
                   [] { ops::add_rms_norm(x235(), x235(), ones(4)); }}}},
    {.name = "layer_norm",
     .inputs =
         [](std::int64_t n) { return Inputs{rows({n, kWidth}), vector(kWidth), vector(kWidth)}; },
     .run = [](const Tensors& in) { return Tensors{ops::layer_norm(in[0], in[1], in[2], kEps)}; },
     .formula =
         [](const Tensors& in) {
           return Tensors{reference::layer_norm(in[0], in[1], in[2], kEps)};
         },
     .refusals = {{"[layer_norm] gain must be [5] to fit x [2, 3, 5], but is [4]",
                   [] { ops::layer_norm(x235(), ones(4), ones(5)); }},
                  {"[layer_norm] bias must be float64 on cpu, for x of float64, but is float32 "
                   "on cpu",
                   [] { ops::layer_norm(x235(), ones(5), ones(5, at::kFloat)); }}}},
    {.name = "affine",
     .inputs =
         [](std::int64_t n) { return Inputs{rows({n, kWidth}), vector(kWidth), vector(kWidth)}; },
     .run = [](const Tensors& in) { return Tensors{ops::affine(in[0], in[1], in[2])}; },
     .formula = [](const Tensors& in) { return Tensors{in[1] * in[0] + in[2]}; },
     .refusals = {{"[affine] gain must be [5] to fit x [2, 3, 5], but is [4]",
                   [] { ops::affine(x235(), ones(4)); }},
                  {"[affine] gain must be float32 on cpu, for x of float32, but is float64 on "
                   "cpu",
                   [] { ops::affine(x235().to(at::kFloat), ones(5)); }}}},
    {.name = "affine_of_groups",  // gain of 4 groups, bias of all features
     .inputs = [](std::int64_t n) { return Inputs{rows({n, 24}), vector(4), vector(24)}; },
     .run = [](const Tensors& in) { return Tensors{ops::affine(in[0], in[1], in[2])}; },
     .formula =
         [](const Tensors& in) {
           return Tensors{in[1].unsqueeze(1).expand({4, 6}).flatten() * in[0] + in[2]};
         }},
    {.name = "affine_of_one_value",
     .inputs = [](std::int64_t n) { return Inputs{rows({n, kWidth}), vector(1), vector(1)}; },
     .run = [](const Tensors& in) { return Tensors{ops::affine(in[0], in[1], in[2])}; },
     .formula = [](const Tensors& in) { return Tensors{in[1] * in[0] + in[2]}; }},
};

/// bounded() with every argument; its inputs are wider than a run of a row.
OperatorCase bounded_case(const char* name, bool is_erf) {
  return {
      .name = name,
      .inputs =
          [](std::int64_t n) {
            auto x = rows({n, 300});
            x.value *= 3;
            return Inputs{x, value_float64(0.7), value_float64(-0.2), vector(300), vector(300)};
          },
      .run =
          [=](const Tensors& in) {
            return Tensors{ops::bounded(in[0], in[1], in[2], in[3], in[4], is_erf)};
          },
      .formula =
          [=](const Tensors& in) {
            const auto u = in[1] * in[0] + in[2];
            return Tensors{in[3] * (is_erf ? at::erf(u) : at::tanh(u)) + in[4]};
          },
      .tolerance = {.value = 1e-14, .value_floor = 1e-14},
      .refusals = {{"[bounded] alpha must be float64 [1] on cpu, D = 6, but is float32 [1] on cpu",
                    [=] {
                      ops::bounded(at::zeros({2, 6}), at::ones({1}), std::nullopt, at::ones({6}),
                                   std::nullopt, is_erf);
                    }},
                   {"[bounded] gain must be [6] to fit x [2, 6], but is [5]", [=] {
                      ops::bounded(at::zeros({2, 6}), ones(1), std::nullopt, at::ones({5}),
                                   std::nullopt, is_erf);
                    }}}};
}

at::Tensor seed_formula(const Tensors& in) {
  const auto x_hat = reference::rms_rows(in[0], kEps);
  return reference::seed_rows(in[0], x_hat, in[1], in[2]) + in[3] * x_hat + in[4];
}

void refused_seed_norm(std::int64_t alpha, std::int64_t beta) {
  ops::seed_norm(at::zeros({2, 6}), at::ones({alpha}), at::ones({beta}), std::nullopt, std::nullopt,
                 kEps);
}

/// \param width  of alpha, beta, gain and bias: 300 or 1
OperatorCase seed_norm_case(const char* name, std::int64_t width) {
  return {.name = name,
          .inputs =
              [=](std::int64_t n) {
                auto beta = vector(width);
                beta.value *= 0.05;
                return Inputs{rows({n, 300}), vector(width), beta, vector(width), vector(width)};
              },
          .run =
              [](const Tensors& in) {
                return Tensors{ops::seed_norm(in[0], in[1], in[2], in[3], in[4], kEps)};
              },
          .formula = [](const Tensors& in) { return Tensors{seed_formula(in)}; },
          .refusals = {{"[seed_norm] alpha must be [6] to fit x [2, 6], but is [5]",
                        [] { refused_seed_norm(5, 6); }},
                       {"[seed_norm] beta must be [6] to fit x [2, 6], but is [4]",
                        [] { refused_seed_norm(6, 4); }}}};
}

void refused_row_norm(const ops::RowNormOptions& options, std::int64_t gain = 6) {
  ops::row_norm(at::zeros({2, 6}), at::ones({gain}), std::nullopt, options);
}

OperatorCase row_norm_case(const char* name, const ops::RowNormOptions& options,
                           const Function& x_hat) {
  return {
      .name = name,
      .inputs =
          [](std::int64_t n) { return Inputs{rows({n, kWidth}), vector(kWidth), vector(kWidth)}; },
      .run =
          [=](const Tensors& in) { return Tensors{ops::row_norm(in[0], in[1], in[2], options)}; },
      .formula = [=](const Tensors& in) { return Tensors{in[1] * x_hat(in)[0] + in[2]}; },
      .refusals =
          {{"[row_norm] groups must divide the width 6, but is 4",
            [] { refused_row_norm({.groups = 4}); }},
           {"[row_norm] partial must be above 0, at most 1, and 1 of centred rows, but is 0.5",
            [] { refused_row_norm({.centred = true, .partial = 0.5}); }},
           {"[row_norm] epsilon must be >= 0, but is -1",
            [] { refused_row_norm({.epsilon = -1}); }},
           {"[row_norm] epsilon_at must be 0 (inside), 1 (outside) or 2 (clamp), but is 3",
            [] { refused_row_norm({.epsilon_at = static_cast<ops::EpsilonAt>(3)}); }},
           {"[row_norm] gain must be [6] to fit x [2, 6], but is [5]",
            [] { refused_row_norm({}, 5); }}}};
}

void refused_column_norm(at::IntArrayRef sizes, at::ScalarType gain = at::kDouble) {
  ops::column_norm(at::zeros(sizes), ones(3, gain), std::nullopt, 1e-5);
}

OperatorCase column_norm_case() {
  return {
      .name = "column_norm",
      .inputs =
          [](std::int64_t n) {
            return Inputs{rows({n, 70, 3}),
                          {at::randn({3}, at::kDouble), Role::float64},
                          {at::randn({3}, at::kDouble), Role::float64}};
          },
      .run =
          [](const Tensors& in) {
            return Tensors{ops::column_norm(in[0], in[1], in[2], 0.1, ops::EpsilonAt::outside).y};
          },
      .formula =
          [](const Tensors& in) {
            return Tensors{in[1] * reference::instance_rows(in[0], 0.1, ops::EpsilonAt::outside) +
                           in[2]};
          },
      .refusals = {{"[column_norm] x must be [sequences, positions, features] with a position at "
                    "least, but is [4, 3]",
                    [] { refused_column_norm({4, 3}); }},
                   {"[column_norm] x must be [sequences, positions, features] with a position at "
                    "least, but is [1, 0, 3]",
                    [] { refused_column_norm({1, 0, 3}); }},
                   {"[column_norm] gain must be float64 [3] on cpu, but is float32 [3] on cpu",
                    [] { refused_column_norm({1, 4, 3}, at::kFloat); }}},
      .rows = 5,
      .rows_of_threads = 40};
}

OperatorCase sphere_step_case(const char* name, std::int64_t width) {
  return {
      .name = name,
      .inputs =
          [=](std::int64_t n) {
            return Inputs{
                rows({n, 40}), rows({n, 40}), {at::rand({width}, at::kDouble), Role::float64}};
          },
      .run = [](const Tensors& in) { return Tensors{ops::sphere_step(in[0], in[1], in[2])}; },
      .formula =
          [](const Tensors& in) { return Tensors{reference::sphere_step(in[0], in[1], in[2])}; },
      .refusals =
          {{"[sphere_step] towards must be [2, 6] like start, but is [2, 5]",
            [] { ops::sphere_step(at::zeros({2, 6}), at::zeros({2, 5}), ones(6)); }},
           {"[sphere_step] start must be float32, bfloat16 or float64, but is float16",
            [] {
              const auto half = at::zeros({2, 6}, at::kHalf);
              ops::sphere_step(half, half, ones(6));
            }},
           {"[sphere_step] step must be float64 [1] or [D] on cpu, D = 6, but is float32 [6] on "
            "cpu",
            [] { ops::sphere_step(at::zeros({2, 6}), at::zeros({2, 6}), ones(6, at::kFloat)); }}}};
}

OperatorCase geodesic_step_case() {
  return {.name = "geodesic_step",
          .inputs =
              [](std::int64_t n) {
                return Inputs{rows({n, 40}), rows({n, 40}), value_float64(0.7),
                              value_float64(0.05)};
              },
          .run =
              [](const Tensors& in) {
                return Tensors{ops::geodesic_step(in[0], in[1], in[2], in[3], 0.5)};
              },
          .formula =
              [](const Tensors& in) {
                return Tensors{reference::geodesic_step(in[0], in[1], in[2], in[3], 0.5)};
              },
          .refusals =
              {{"[geodesic_step] bias must be float64 [1] on cpu, D = 6, but is float64 [6] on cpu",
                [] {
                  ops::geodesic_step(at::zeros({2, 6}), at::zeros({2, 6}), ones(1), ones(6), 1);
                }}}};
}

}  // namespace

std::vector<OperatorCase> norm_cases() {
  auto all = kNorms;
  const auto rows_over = [](double epsilon, ops::EpsilonAt at, double partial) -> Function {
    return [=](const Tensors& in) {
      return Tensors{reference::rms_rows(in[0], epsilon, at, partial)};
    };
  };
  using ops::EpsilonAt;
  all.push_back(bounded_case("bounded_tanh", false));
  all.push_back(bounded_case("bounded_erf", true));
  all.push_back(seed_norm_case("seed_norm", 300));
  all.push_back(seed_norm_case("seed_norm_of_one_value", 1));
  all.push_back(row_norm_case(
      "row_norm_of_groups", {.groups = 3, .centred = true, .epsilon = kEps},
      [](const Tensors& in) { return Tensors{reference::group_rows(in[0], 3, kEps)}; }));
  all.push_back(row_norm_case(
      "row_norm_of_length", {.length = true, .epsilon = kEps, .epsilon_at = EpsilonAt::clamp},
      [](const Tensors& in) { return Tensors{reference::unit_rows(in[0], kEps)}; }));
  all.push_back(row_norm_case("row_norm_of_a_part",
                              {.partial = 0.3, .epsilon = kEps, .epsilon_at = EpsilonAt::outside},
                              rows_over(kEps, EpsilonAt::outside, 0.3)));
  all.push_back(column_norm_case());
  all.push_back(sphere_step_case("sphere_step", 40));
  all.push_back(sphere_step_case("sphere_step_of_one_value", 1));
  all.push_back(geodesic_step_case());
  return all;
}

}  // namespace evenkeel::testing
