// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/ops/common/embedding.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/grouped_linear.h"
#include "evenkeel/ops/linear/int8_linear.h"
#include "evenkeel/ops/linear/linear_cross_entropy.h"
#include "evenkeel/ops/linear/swiglu.h"
#include "evenkeel/ops/linear/swiglu_linear.h"
#include "evenkeel/ops/linear/weight_gradient.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

namespace reference = ops::reference;

/// arXiv:2002.05202, eq. 6 and 5:  Swish_1(xW) * xV,  Swish_1(z) = z sigmoid(z).
OperatorCase swiglu_case() {
  return {.name = "swiglu",
          .inputs =
              [](std::int64_t n) {
                auto up_gate = rows({n, 2 * 50});
                up_gate.value *= 3;
                return Inputs{up_gate};
              },
          .run = [](const Tensors& in) { return Tensors{ops::swiglu(in[0])}; },
          .formula =
              [](const Tensors& in) {
                const auto halves = in[0].chunk(2, -1);
                return Tensors{halves[0] * halves[1] * at::sigmoid(halves[1])};
              },
          .refusals = {{"[swiglu] up_gate must be up and gate side by side, [..., 2 * F], but is "
                        "[2, 5]",
                        [] { ops::swiglu(at::ones({2, 5})); }}}};
}

void refused_loss(at::ScalarType weight, std::int64_t columns, std::int64_t vocabulary,
                  std::int64_t target, double z_loss = 0) {
  ops::linear_cross_entropy(at::ones({7, 6}, at::kDouble), at::ones({13, columns}, weight),
                            at::full({7}, target, at::kLong),
                            {.vocabulary = vocabulary, .z_loss = z_loss});
}

/// The last rows of weight are padding; some targets do not count.
OperatorCase linear_cross_entropy_case(const char* name, const ops::LogitsOptions& options) {
  return {
      .name = name,
      .inputs =
          [=](std::int64_t n) {
            const auto targets = at::randint(-2, options.vocabulary, {n}, at::kLong);
            const auto weights = std::max<std::int64_t>(13, options.vocabulary);
            return Inputs{rows({n, 6}), rows({weights, 6}), {targets, Role::index}};
          },
      .run =
          [=](const Tensors& in) {
            return Tensors{ops::linear_cross_entropy(in[0], in[1], in[2], options)};
          },
      .formula =
          [=](const Tensors& in) {
            auto logits = at::linear(in[0], in[1].narrow(0, 0, options.vocabulary));
            logits = logits * options.scale;
            if (options.softcap) logits = at::tanh(logits / *options.softcap) * *options.softcap;
            return Tensors{reference::cross_entropy_sum(logits, in[2]) +
                           options.z_loss * reference::squared_lse_sum(logits, in[2])};
          },
      .tolerance = {.float32 = 1e-5, .bfloat16 = 2e-2, .strides = 1e-14},
      .refusals =
          {{"[linear_cross_entropy] x must be [n, D] and weight [rows, D], but they are [7, 6] and "
            "[13, 5]",
            [] { refused_loss(at::kDouble, 5, 10, 1); }},
           {"[linear_cross_entropy] weight must be float64 on cpu like x, but is float32 on cpu",
            [] { refused_loss(at::kFloat, 6, 10, 1); }},
           {"[linear_cross_entropy] vocabulary must be 1 to 13, the rows of weight, but is 14",
            [] { refused_loss(at::kDouble, 6, 14, 1); }},
           {"[linear_cross_entropy] target 12 is not below the vocabulary of 10",
            [] { refused_loss(at::kDouble, 6, 10, 12); }},
           {"[linear_cross_entropy] z_loss must be at least 0 and finite, but is -0.5",
            [] { refused_loss(at::kDouble, 6, 10, 1, -0.5); }}},
      .rows_of_threads = options.vocabulary < 100 ? 5000 : 50};
}

/// sum + dy^T x. With AMX or AVX-512 BF16, bfloat16 is summed in float32; elsewhere each product is
/// rounded before it is added.
OperatorCase add_weight_gradient_case(const char* name, std::int64_t height, std::int64_t width,
                                      std::int64_t rows_of_threads) {
  return {
      .name = name,
      .inputs =
          [=](std::int64_t n) {
            return Inputs{{at::randn({height, width}, at::kDouble), Role::vector},
                          rows({n, height}),
                          rows({n, width})};
          },
      .run =
          [](const Tensors& in) {
            const auto sum = in[0].clone(at::MemoryFormat::Contiguous);
            ops::add_weight_gradient(sum, in[1], in[2]);
            return Tensors{sum};
          },
      .formula = [](const Tensors& in) { return Tensors{in[0] + in[1].t().mm(in[2])}; },
      .tolerance = {.float32 = 1e-5,
                    .bfloat16 = CpuFeatures::detect().avx512_bf16 ? 1e-5 : 0x1p-8,
                    .strides = 1e-12},
      .refusals = {{"[add_weight_gradient_] sum must be [rows, columns], dy [n, rows] and x [n, "
                    "columns] of one dtype and device, which sum has, too, or float32 for "
                    "bfloat16; but they are [2, 3] of float32, [4, 2] of float32 and [5, 3] of "
                    "float32 on cpu, cpu and cpu",
                    [] {
                      ops::add_weight_gradient(at::zeros({2, 3}), at::zeros({4, 2}),
                                               at::zeros({5, 3}));
                    }},
                   {"[add_weight_gradient_] sum must be [rows, columns], dy [n, rows] and x [n, "
                    "columns] of one dtype and device, which sum has, too, or float32 for "
                    "bfloat16; but they are [2, 3] of bfloat16, [4, 2] of float32 and [4, 3] of "
                    "float32 on cpu, cpu and cpu",
                    [] {
                      ops::add_weight_gradient(at::zeros({2, 3}, at::kBFloat16), at::zeros({4, 2}),
                                               at::zeros({4, 3}));
                    }}},
      .rows_of_threads = rows_of_threads,
      .threads = {2, 3, 4, 5, 7, 8, 16},
      .has_gradient = false};
}

/// Products of bfloat16 are rounded on the way: of swiglu, and each gradient of a product.
constexpr Tolerance kOfProducts = {.float32 = 1e-5, .bfloat16 = 2e-2, .strides = 1e-14};

OperatorCase swiglu_linear_case() {
  return {
      .name = "swiglu_linear",
      .inputs = [](std::int64_t n) { return Inputs{rows({n, 2 * 24}), rows({32, 24})}; },
      .run = [](const Tensors& in) { return Tensors{ops::swiglu_linear(in[0], in[1])}; },
      .formula =
          [](const Tensors& in) { return Tensors{at::linear(reference::swiglu(in[0]), in[1])}; },
      .tolerance = kOfProducts,
      .refusals = {{"[swiglu] up_gate must be up and gate side by side, [..., 2 * F], but is "
                    "[2, 5]",
                    [] { ops::swiglu_linear(at::ones({2, 5}), at::ones({7, 2})); }}}};
}

/// Three groups of rows, the second empty.
Inputs grouped_inputs(std::int64_t n) {
  const auto offsets = at::tensor({std::int64_t{0}, n / 3, n / 3, n}, at::kLong);
  return {rows({n, 24}), rows({3, 40, 24}), {offsets, Role::index}};
}

at::Tensor grouped_formula(const Tensors& in) {
  std::vector<at::Tensor> parts;
  for (std::int64_t e = 0; e < 3; ++e) {
    const auto first = in[2][e].item<std::int64_t>(), last = in[2][e + 1].item<std::int64_t>();
    parts.push_back(at::linear(in[0].narrow(0, first, last - first), in[1][e]));
  }
  return at::cat(parts);
}

void refused_groups(std::int64_t inputs, const std::vector<std::int64_t>& offsets) {
  ops::grouped_linear(at::ones({5, 4}), at::ones({2, 3, inputs}), at::tensor(offsets, at::kLong));
}

OperatorCase grouped_linear_case() {
  return {
      .name = "grouped_linear",
      .inputs = grouped_inputs,
      .run = [](const Tensors& in) { return Tensors{ops::grouped_linear(in[0], in[1], in[2])}; },
      .formula = [](const Tensors& in) { return Tensors{grouped_formula(in)}; },
      .tolerance = kOfProducts,
      .refusals = {{"[grouped_linear] x must be [M, I] and weight [E, O, I] of the same dtype, "
                    "but they are [5, 4] of float32 and [2, 3, 5] of float32",
                    [] { refused_groups(5, {0, 2, 5}); }},
                   {"[grouped_linear] offsets must be [3] of int64 on cpu, but are [2] of int64 "
                    "on cpu",
                    [] { refused_groups(4, {0, 5}); }},
                   {"[grouped_linear] offsets must begin with 0, end with 5, the rows of x, and "
                    "never fall",
                    [] { refused_groups(4, {0, 6, 5}); }}}};
}

/// \param rows   of x: above 64, weights are dequantized
/// \param error  of float32 and bfloat16, before its own rounding: that of 16-bit activations
OperatorCase int8_linear_case(const char* name, std::int64_t rows_of_x, double error) {
  const auto call = [](const Tensors& in) {
    return ops::int8_linear(in[0], {in[1], in[2].to(at::kFloat)});
  };
  return {.name = name,
          .inputs =
              [](std::int64_t n) {
                const auto scale = at::rand({37}, at::kFloat).to(at::kDouble);
                return Inputs{rows({n, 1100}),
                              {at::randint(-127, 128, {37, 1100}, at::kChar), Role::index},
                              {scale, Role::constant}};
              },
          .run = [=](const Tensors& in) { return Tensors{call(in)}; },
          .formula =
              [](const Tensors& in) {
                return Tensors{at::linear(in[0], in[1].to(at::kDouble) * in[2].unsqueeze(-1))};
              },
          .tolerance = {.float32 = error, .bfloat16 = error + 4e-3, .strides = 1e-14},
          .refusals =
              {{"[int8_linear] x must be [..., columns], values [rows, columns] and scale [rows], "
                "but they are [2, 5], [3, 4] and [3]",
                [] {
                  ops::int8_linear(at::ones({2, 5}), {at::ones({3, 4}, at::kChar), at::ones({3})});
                }},
               {"[int8_linear] values must be int8 and scale float32 on cpu, but they are float32 "
                "on cpu and float32 on cpu",
                [] { ops::int8_linear(at::ones({2, 4}), {at::ones({3, 4}), at::ones({3})}); }}},
          .rows = rows_of_x,
          .rows_of_threads = rows_of_x,
          .has_gradient = false};
}

OperatorCase embedding_case() {
  return {.name = "embedding",
          .inputs =
              [](std::int64_t n) {
                return Inputs{rows({50, 96}), {at::randint(50, {n}, at::kLong), Role::index}};
              },
          .run = [](const Tensors& in) { return Tensors{ops::embedding(in[0], in[1])}; },
          .formula = [](const Tensors& in) { return Tensors{at::embedding(in[0], in[1])}; },
          .refusals =
              {{"[embedding] weight must be [rows, D] and ids int64 on the same device, but they "
                "are [50] on cpu and int64 on cpu",
                [] { ops::embedding(at::ones({50}), at::zeros({3}, at::kLong)); }},
               {"[add_embedding_gradient_] ids must be 0 to 4, but are 5 to 5",
                [] {
                  ops::add_embedding_gradient(at::ones({5, 3}), at::ones({2, 3}),
                                              at::full({2}, 5, at::kLong));
                }}},
          .rows_of_threads = 4096};
}

}  // namespace

std::vector<OperatorCase> linear_cases() {
  return {
      swiglu_case(),
      swiglu_linear_case(),
      grouped_linear_case(),
      embedding_case(),
      int8_linear_case("int8_linear_of_few_rows", 61, 1e-4),
      int8_linear_case("int8_linear_of_many_rows", 130, 1e-6),
      linear_cross_entropy_case("linear_cross_entropy", {.vocabulary = 10}),
      linear_cross_entropy_case("linear_cross_entropy_scaled", {.vocabulary = 10, .scale = 0.3}),
      linear_cross_entropy_case("linear_cross_entropy_capped", {.vocabulary = 10, .softcap = 2.0}),
      linear_cross_entropy_case("linear_cross_entropy_scaled_and_capped",
                                {.vocabulary = 13, .scale = 3, .softcap = 1.5}),
      linear_cross_entropy_case("linear_cross_entropy_with_z_loss",
                                {.vocabulary = 10, .scale = 0.3, .z_loss = 0.01}),
      linear_cross_entropy_case("linear_cross_entropy_capped_with_z_loss",
                                {.vocabulary = 10, .scale = 3, .softcap = 1.5, .z_loss = 0.2}),
      linear_cross_entropy_case("linear_cross_entropy_of_1003", {.vocabulary = 1003}),
      linear_cross_entropy_case("linear_cross_entropy_of_1003_with_z_loss",
                                {.vocabulary = 1003, .z_loss = 0.01}),
      linear_cross_entropy_case("linear_cross_entropy_of_4096_capped",
                                {.vocabulary = 4096, .softcap = 2.0}),
      add_weight_gradient_case("add_weight_gradient_1_1", 1, 1, 1),
      add_weight_gradient_case("add_weight_gradient_3_5", 3, 5, 7),
      add_weight_gradient_case("add_weight_gradient_48_32", 48, 32, 100),
      add_weight_gradient_case("add_weight_gradient_64_80", 64, 80, 4096),
      add_weight_gradient_case("add_weight_gradient_1100_640", 1100, 640, 300)};
}

}  // namespace evenkeel::testing
