// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/decode.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/bench/buffers.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/initialize.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/compute_device.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/plan/device_memory.h"
#include "evenkeel/plan/model_parameters.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::bench {

namespace {

constexpr std::int64_t kSteps = 4;  // decoding steps of a measurement
constexpr const char* kInt8 = "int8";

struct DecodeModel {
  std::string weights;
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

DecodeModel decode_model(const config::Config& config, const norm::Shape& shape,
                         const std::string& weights, nn::Precision automatic) {
  const auto precision = weights == "float32"    ? nn::Precision::float32
                         : weights == "bfloat16" ? nn::Precision::bfloat16
                                                 : automatic;
  const auto scheme = config::bind(config.scheme, shape);
  DecodeModel made{.weights = weights};
  made.parameters =
      std::make_unique<nn::Parameters>(plan::parameter_specs_of(config.model, scheme), precision);
  const auto planned = plan::planned_steps(config);
  nn::initialize(*made.parameters, scheme, config.model.init,
                 static_cast<std::uint64_t>(config.seed), planned);
  made.model =
      std::make_unique<nn::Model>(scheme, train::model_options(config, shape, {}), *made.parameters,
                                  norm::Steps{.done = 0, .planned = planned});
  if (weights == kInt8) made.model->quantize(nn::Int8Use::decoding);
  return made;
}

/// Bytes of the weights that a decoding step reads: all linear layers, once. nullopt for a mixture
/// of experts, whose tokens choose the experts.
std::optional<double> weight_bytes(const DecodeModel& of, const config::Config& config) {
  if (of.model->scheme().shape.is_mixture()) return std::nullopt;
  double bytes = 0;
  for (const auto& each : of.parameters->all()) {
    const bool is_head = each.name == (config.model.tied ? "embedding.weight" : "head.weight");
    const bool is_matrix = of.parameters->groups()[each.group].role == nn::ParameterRole::matrix;
    if (!is_head && !is_matrix) continue;
    const auto rows = static_cast<double>(each.shape.front());
    const auto values = static_cast<double>(each.value.numel());
    bytes += of.weights == kInt8 ? values + 4 * rows
                                 : values * static_cast<double>(each.value.element_size());
  }
  return bytes;
}

at::Tensor random_ids(std::int64_t batch, std::int64_t length, std::int64_t vocabulary) {
  return at::randint(vocabulary, {batch, length}, at::kLong);
}

/// kSteps decoding steps from a full cache of `prompt` positions on.
Arm decode_arm(const nn::Model& model, std::int64_t batch, std::int64_t prompt) {
  const auto vocabulary = model.scheme().shape.vocabulary;
  const auto cache = std::make_shared<nn::ModelCache>(model.empty_cache(batch, prompt + kSteps));
  model.hidden(random_ids(batch, prompt, vocabulary), {.cache = cache.get()});
  return {"decode", [&model, cache, prompt, ids = random_ids(batch, 1, vocabulary)] {
            for (auto& each : *cache) each.length = prompt;
            for (std::int64_t i = 0; i < kSteps; ++i) {
              model.logits(model.hidden(ids, {.cache = cache.get()}));
            }
          }};
}

/// A pass over a prompt, which fills a cache or has none. Logits of the last token.
Arm prompt_arm(const nn::Model& model, std::int64_t prompt, bool has_cache) {
  const auto ids = random_ids(1, prompt, model.scheme().shape.vocabulary);
  const auto cache = std::make_shared<nn::ModelCache>();
  if (has_cache) *cache = model.empty_cache(1, prompt);
  return {"prompt", [&model, ids, cache, prompt] {
            for (auto& each : *cache) each.length = 0;
            const auto x = model.hidden(ids, {.cache = cache->empty() ? nullptr : cache.get()});
            model.logits(x.narrow(1, prompt - 1, 1));
          }};
}

Timing scaled(Timing timing, double factor) {
  for (auto& each : timing.seconds) each *= factor;
  return timing;
}

config::Config checked_config(const config::Sources& sources, const DecodeRequest& request) {
  auto config = config::resolve(sources);
  if (request.prompt + kSteps > config.model.context) {
    throw Error(Exit::usage,
                text("bench decode: --prompt ", request.prompt, " and ", kSteps,
                     " steps need model.context = ", request.prompt + kSteps,
                     " or more, but it is ", config.model.context, "; shorten the prompt"));
  }
  return config;
}

/// Compares the memory of all models with that of the machine or GPU.
/// \throws Error (busy, exit code 75) if it is more
void check_decode_memory(const config::Config& config, const norm::Shape& shape,
                         const DecodeRequest& request) {
  double values = 0, needed = 2.0 * kCopied;
  for (const auto& spec :
       plan::parameter_specs_of(config.model, config::bind(config.scheme, shape))) {
    values += static_cast<double>(spec.numel());
  }
  constexpr double kMasterBytes = 4, kCopyBytes = 2, kInt8Bytes = 1;  // per value
  for (const auto& weights : request.weights) {
    needed += values * (kMasterBytes + (weights == "float32" ? 0 : kCopyBytes) +
                        (weights == kInt8 ? kInt8Bytes : 0));
  }
  double positions = 0;  // of all caches
  for (const auto batch : request.batches) {
    positions += static_cast<double>(batch * (request.prompt + kSteps));
  }
  const auto cached = static_cast<double>(2 * shape.layers * shape.kv_heads * shape.head_width());
  for (const auto& weights : request.weights) {
    needed += positions * cached * (weights == "float32" ? kMasterBytes : kCopyBytes);
  }
  const double installed = plan::device_memory().whole;
  if (installed <= 0 || needed <= installed) return;
  throw Error(Exit::busy,
              text("bench decode: models and caches take about ", bytes_text(needed),
                   " of memory, but ", plan::memory_owner(), " has ", bytes_text(installed),
                   "; name fewer --weights or smaller --batches, or take a smaller "
                   "model"));
}

/// All arms of a request: decoding by batch and weights, prompts by weights, and the copy.
struct DecodeArms {
  std::vector<DecodeModel> models;
  std::vector<Arm> arms;
};

DecodeArms decode_arms(const config::Config& config, const norm::Shape& shape,
                       const DecodeRequest& request, nn::Precision automatic) {
  DecodeArms all;
  for (const auto& weights : request.weights) {
    all.models.push_back(decode_model(config, shape, weights, automatic));
  }
  for (const auto batch : request.batches) {
    for (const auto& each : all.models) {
      all.arms.push_back(decode_arm(*each.model, batch, request.prompt));
    }
  }
  for (const auto& each : all.models) {
    all.arms.push_back(prompt_arm(*each.model, request.prompt, /*has_cache=*/true));
    all.arms.push_back(prompt_arm(*each.model, request.prompt, /*has_cache=*/false));
  }
  all.arms.push_back({"copy", device_copy()});
  return all;
}

/// The arms of decoding, in the order of decode_arms().
std::vector<DecodeArm> decode_results(const DecodeArms& all, const DecodeRequest& request,
                                      const std::vector<Timing>& timings,
                                      const config::Config& config) {
  std::vector<DecodeArm> results;
  for (std::size_t i = 0; i < request.batches.size() * all.models.size(); ++i) {
    const auto& model = all.models[i % all.models.size()];
    const auto& first = timings[i - i % all.models.size()];
    DecodeArm arm{.weights = model.weights, .batch = request.batches[i / all.models.size()]};
    arm.timing = scaled(timings[i], 1 / static_cast<double>(kSteps));
    arm.against_first = ratio(timings[i], first);
    arm.weight_bytes = weight_bytes(model, config);
    if (arm.weight_bytes) {
      const auto by_copy = scaled(timings.back(), *arm.weight_bytes / (2.0 * kCopied));
      arm.over_copy = ratio(by_copy, arm.timing);
    }
    results.push_back(std::move(arm));
  }
  return results;
}

}  // namespace

DecodeResult time_decoding(const config::Sources& sources, const DecodeRequest& request) {
  const at::NoGradGuard no_grad;
  const auto config = checked_config(sources, request);
  DecodeResult result{.machine = train::configure_machine(config.train), .prompt = request.prompt};
  result.compute_dtype = ops::dtype_name(nn::compute_dtype(result.machine.precision));
  const auto shape = config::shape_of(config, data::TextEncoding(config.data).vocabulary());
  check_decode_memory(config, shape, request);
  const auto all = decode_arms(config, shape, request, result.machine.precision);
  result.scheme = config.scheme.name;
  for (const auto& each : all.models.front().parameters->all()) {
    result.parameters += each.value.numel();
  }
  const auto timed = repeated_timings(all.arms, request.rounds);
  result.repeated = timed.repeated;
  result.contention = timed.contention;
  result.copy_rate = 2.0 * kCopied / timed.timings.back().median();
  result.decode = decode_results(all, request, timed.timings, config);
  const auto first_prompt = result.decode.size();
  for (std::size_t i = 0; i < all.models.size(); ++i) {
    const auto& cached = timed.timings[first_prompt + 2 * i];
    result.prefill.push_back(
        {.weights = all.models[i].weights,
         .timing = cached,
         .against_forward = ratio(cached, timed.timings[first_prompt + 2 * i + 1])});
  }
  return result;
}

}  // namespace evenkeel::bench
