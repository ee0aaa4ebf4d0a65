// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/convert/olmo_sections.h"

namespace evenkeel::convert {

namespace {

using config::Length;

constexpr double kMostTokens = 9e15;  // below 2^53

void take_optimizer(OlmoKeys& keys, config::Config& config) {
  constexpr double kOlmoEpsilon = 1e-5, kOlmoDecay = 0.01;
  auto& optimizer = config.optimizer;
  if (keys.word("optimizer.name", "optimizer.kind").value_or("lionw") != "adamw") {
    keys.refuse("optimizer.name", "\"adamw\"", "");
  }
  optimizer.epsilon = keys.number("optimizer.eps", "optimizer.epsilon").value_or(kOlmoEpsilon);
  optimizer.weight_decay =
      keys.number("optimizer.weight_decay", "optimizer.weight_decay").value_or(kOlmoDecay);
  const auto legacy = keys.flag("optimizer.no_decay_norm_and_bias", "optimizer.decay_gains");
  optimizer.decay_gains = keys.flag("optimizer.decay_norm_and_bias", "optimizer.decay_gains")
                              .value_or(legacy ? !*legacy : false);
  optimizer.decay_embedding =
      keys.flag("optimizer.decay_embeddings", "optimizer.decay_embedding").value_or(false);
  keys.write("optimizer.betas");
  if (const auto* const betas = keys.value("optimizer.betas", "optimizer.betas")) {
    const bool is_pair = betas->is_array() && betas->size() == 2 && (*betas)[0].is_number() &&
                         (*betas)[1].is_number();
    if (!is_pair) keys.refuse("optimizer.betas", "two numbers", "");
    optimizer.beta1 = (*betas)[0].get<double>();
    optimizer.beta2 = (*betas)[1].get<double>();
  }
  optimizer.clip = keys.number("max_grad_norm", "optimizer.clip").value_or(0);
  if (keys.flag("optimizer.selective_updates", "").value_or(false)) {
    keys.note("optimizer.selective_updates", KeyUse::differs, "all weights are updated");
  } else {
    keys.note_equal("optimizer.selective_updates");
  }
}

/// The z-loss of the logits.
void take_z_loss(OlmoKeys& keys, config::Config& config) {
  constexpr const char* kSwitch = "softmax_auxiliary_loss";
  constexpr const char* kMultiplier = "auxiliary_loss_multiplier";
  constexpr double kOlmoMultiplier = 1e-4;
  if (!keys.flag(kSwitch, "").value_or(false)) {
    keys.note_equal(kSwitch);
    return;
  }
  auto& z_loss = config.train.z_loss;
  z_loss = keys.number(kMultiplier, "train.z_loss").value_or(kOlmoMultiplier);
  if (!(z_loss >= 0 && std::isfinite(z_loss))) keys.refuse(kMultiplier, ">= 0", "");
  keys.write("train.z_loss");
  for (const auto* key : {kSwitch, kMultiplier}) keys.note(key, KeyUse::taken, "train.z_loss");
}

/// Keys that change a training and have no counterpart; null, false and 0 are equal to ours.
void note_other_training(OlmoKeys& keys) {
  struct Other {
    const char* key;
    const char* why;
  };
  for (const auto& [key, why] :
       {Other{"max_grad_norm_ratio", "gradients are clipped by max_grad_norm alone"},
        Other{"scheduler.grad_clip_warmup_steps", "the max gradient norm is constant"},
        Other{"scheduler.grad_clip_warmup_factor", "the max gradient norm is constant"},
        Other{"early_stopping_factor", "health.on_spike and on_nonfinite stop a run"},
        Other{"stop_at", "set train.steps, and schedule.steps for the length of the schedule"},
        Other{"load_path", "train.from starts from a run of this program"},
        Other{"epoch", "a run begins with the first epoch"}}) {
    const auto* const value = keys.value(key, "");
    const bool is_off = value == nullptr || *value == false || *value == 0;
    keys.note(key, is_off ? KeyUse::equal : KeyUse::differs, is_off ? "" : why);
  }
}

/// max_duration: steps, "1e12T" tokens or "2ep" epochs. \return tokens or steps; nullopt: epochs
std::optional<Length> run_length(OlmoKeys& keys) {
  constexpr double kOlmoSteps = 10000;
  keys.write("train.tokens");
  const auto* const value = keys.value("max_duration", "");
  if (value == nullptr) return Length{kOlmoSteps, Length::Unit::steps};
  if (value->is_number()) {
    return Length{static_cast<double>(*keys.integer("max_duration", "train.steps")),
                  Length::Unit::steps};
  }
  const auto word = *keys.word("max_duration", "train.tokens");
  double amount = 0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), amount);
  const std::string unit = result.ec == std::errc() ? std::string(result.ptr) : "";
  if (unit == "ep") return std::nullopt;
  const bool is_amount = std::isfinite(amount) && amount >= 1 && amount <= kMostTokens;
  if (unit == "T" && is_amount) return Length{std::floor(amount), Length::Unit::tokens};
  keys.refuse("max_duration", "steps, tokens (\"2e12T\") or epochs (\"1ep\")", "");
}

/// The length of a part of the schedule. \param step  tokens of a step
Length part_of_schedule(double amount, bool is_in_tokens, double step) {
  if (!is_in_tokens) return {amount, Length::Unit::steps};
  const double steps = amount / step;
  if (steps == std::floor(steps)) return {steps, Length::Unit::steps};
  return {amount, Length::Unit::tokens};
}

std::string schedule_kind(OlmoKeys& keys) {
  const auto name = keys.word("scheduler.name", "schedule.kind").value_or("cosine_with_warmup");
  if (name == "cosine_with_warmup") return "cosine";
  if (name == "linear_with_warmup") return "linear";
  if (name == "constant" || name == "constant_with_warmup") return "constant";
  keys.refuse("scheduler.name",
              "\"cosine_with_warmup\", \"linear_with_warmup\", \"constant_with_warmup\" or "
              "\"constant\"",
              "");
}

double length_key(OlmoKeys& keys, const char* key, const char* as, double fallback) {
  const auto value = keys.number(key, as).value_or(fallback);
  if (!(value >= 0 && value <= kMostTokens)) keys.refuse(key, "from 0 to 9e15", "");
  return value;
}

/// Sets the length of the run. A run in epochs has the length of the schedule.
void take_run_length(OlmoKeys& keys, config::Config& config, double schedule_tokens) {
  auto& train = config.train;
  train.steps = train.tokens = 0;
  const auto length = run_length(keys);
  if (!length && schedule_tokens == 0) {
    keys.refuse("max_duration", "steps or tokens", "without scheduler.t_max the length is unknown");
  }
  if (!length) {
    train.tokens = static_cast<std::int64_t>(schedule_tokens);
    keys.note("max_duration", KeyUse::differs,
              "train.tokens is the length of the schedule instead; set it to that of the data");
    return;
  }
  const auto amount = static_cast<std::int64_t>(length->amount);
  if (amount < 1) keys.refuse("max_duration", "at least 1", "");
  (length->unit == Length::Unit::steps ? train.steps : train.tokens) = amount;
  keys.write("train.steps");
}

void take_schedule(OlmoKeys& keys, config::Config& config) {
  constexpr double kPeak = 1e-4, kFloor = 0.1, kStart = 0.1, kWarmup = 100;
  auto& schedule = config.schedule;
  const double step = static_cast<double>(config.train.batch * config.model.context);
  schedule.kind = schedule_kind(keys);
  const auto units = keys.word("scheduler.units", "schedule").value_or("steps");
  if (units != "steps" && units != "tokens") {
    keys.refuse("scheduler.units", "\"steps\" or \"tokens\"", "");
  }
  const bool is_in_tokens = units == "tokens";
  schedule.peak = keys.number("optimizer.learning_rate", "schedule.peak").value_or(kPeak);
  const double longest = length_key(keys, "scheduler.t_max", "schedule.steps", 0);
  take_run_length(keys, config, is_in_tokens ? longest : longest * step);
  const auto own_tokens = config.train.tokens > 0 ? static_cast<double>(config.train.tokens)
                                                  : static_cast<double>(config.train.steps) * step;
  const double schedule_tokens = is_in_tokens ? longest : longest * step;
  if (longest > 0 && schedule_tokens != own_tokens) {
    schedule.steps = static_cast<std::int64_t>(schedule_tokens / step);
    if (schedule.steps < 1) keys.refuse("scheduler.t_max", "at least one step", "");
  }
  const double warmup = length_key(keys, "scheduler.t_warmup", "schedule.warmup", kWarmup);
  schedule.warmup = part_of_schedule(warmup, is_in_tokens, step);
  const auto floor = keys.number("scheduler.alpha_f", "").value_or(kFloor);
  if (schedule.kind == "constant") {
    keys.note("scheduler.alpha_f", KeyUse::no_effect, "a constant schedule does not decay");
  } else {
    schedule.floor = floor;
    keys.note("scheduler.alpha_f", KeyUse::taken, "schedule.floor");
    keys.write("schedule.floor");
  }
  const auto first = keys.number("scheduler.warmup_min_lr", "schedule.start");
  schedule.start = first ? *first / schedule.peak : kStart;
  if (keys.word("scheduler.name", "schedule.kind") == "constant") schedule.warmup = {};
}

void take_precision(OlmoKeys& keys, config::Config& config) {
  const auto precision = keys.word("precision", "train.precision");
  if (precision == "amp_bf16") config.train.precision = "bfloat16";
  if (precision == "fp32") config.train.precision = "float32";
  if (precision && config.train.precision == "auto") {
    keys.note("precision", KeyUse::differs, "train.precision is \"auto\": no run computes in it");
  }
}

void take_intervals(OlmoKeys& keys, config::Config& config) {
  constexpr std::int64_t kInterval = 1000;
  const auto interval = [&](const char* key, const char* as, std::int64_t fallback) {
    const auto steps = keys.integer(key, as).value_or(fallback);
    if (steps < 0) keys.refuse(key, ">= 0", "");
    return steps;
  };
  config.evaluate.every = interval("eval_interval", "evaluate.every", kInterval);
  config.checkpoint.every = interval("save_interval", "checkpoint.every", kInterval);
  const auto keep = keys.integer("save_num_checkpoints_to_keep", "").value_or(-1);
  if (keep >= 2) {
    config.checkpoint.keep = keep;
    keys.write("checkpoint.keep");
    keys.note("save_num_checkpoints_to_keep", KeyUse::taken, "checkpoint.keep");
  } else {
    keys.note("save_num_checkpoints_to_keep", KeyUse::no_effect,
              "the newest 2 checkpoints remain; checkpoint.keep can be larger");
  }
  if (keys.has("console_log_interval")) {
    config.log.every = interval("console_log_interval", "log.every", 1);
  }
  if (const auto recompute = keys.value("activation_checkpointing", ""); recompute != nullptr) {
    const bool is_block = *recompute == "whole_layer" || *recompute == true;
    if (is_block) config.model.recompute = "block";
    if (is_block) keys.write("model.recompute");
    keys.note("activation_checkpointing", is_block ? KeyUse::taken : KeyUse::no_effect,
              is_block ? "model.recompute" : "model.recompute trades time for memory");
  } else {
    keys.note_equal("activation_checkpointing");
  }
}

}  // namespace

void take_olmo_training(OlmoKeys& keys, config::Config& config) {
  constexpr std::int64_t kSeed = 6198, kBatch = 512, kMostBatch = 1 << 24;
  config.seed = keys.integer("seed", "seed").value_or(kSeed);
  config.train.batch = keys.integer("global_train_batch_size", "train.batch").value_or(kBatch);
  if (config.train.batch < 1 || config.train.batch > kMostBatch) {
    keys.refuse("global_train_batch_size", text("from 1 to ", kMostBatch), "");
  }
  if (keys.has("device_train_microbatch_size")) {
    config.train.micro_batch = *keys.integer("device_train_microbatch_size", "train.micro_batch");
  }
  take_optimizer(keys, config);
  take_schedule(keys, config);
  take_precision(keys, config);
  take_intervals(keys, config);
  take_z_loss(keys, config);
  note_other_training(keys);
}

}  // namespace evenkeel::convert
