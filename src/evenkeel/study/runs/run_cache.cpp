// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/runs/run_cache.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/config/keys.h"
#include "evenkeel/config/scheme/released_titles.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::study {

namespace {

/// The settings that determine the text: [data], and the context, which needs enough text.
std::string data_section(const config::Config& config) {
  auto out = text(config.model.context);
  for (const auto& section : config::sections()) {
    if (section.name != "data") continue;
    for (const auto& key : section.keys) out += "\n" + key.write(config);
  }
  return out;
}

/// The configuration without the keys that change no number (in a timed run: nor its time), and
/// without the name of the preset. A scheme outside the catalogue has its released titles.
config::Config canonical_config(config::Config config, bool is_timed) {
  config.preset = "any";
  config.train.precision = "auto";  // the key contains the resolved precision separately
  if (!is_timed) {
    config.train.threads = 0;
    config.train.cuda_graphs = false;
    config.model.recompute = "none";
    config.checkpoint = {};
  }
  config.data.train =
      config.data.validation = {"the text"};  // the key contains its digest separately
  config.data.weights.clear();
  config.data.ood.clear();  // likewise
  config.log.tensorboard = true;
  config.log.csv = false;
  // A scheme of the catalogue is a name here; its table must not change.
  if (!is_of_catalogue(config.scheme)) config.scheme = with_released_titles(config.scheme);
  config.distributed = {};  // the results do not depend on it
  return config;
}

/// The keys of version 0.1.0, whose cache keys hold all of them. This list never changes.
const std::set<std::string> kKeysOfFirstVersion = {"seed",
                                                   "model.layers",
                                                   "model.width",
                                                   "model.heads",
                                                   "model.kv_heads",
                                                   "model.inner",
                                                   "model.context",
                                                   "model.vocabulary",
                                                   "model.pad_vocabulary_to",
                                                   "model.rope_theta",
                                                   "model.tied",
                                                   "model.init",
                                                   "model.recompute",
                                                   "model.experts.count",
                                                   "model.experts.active",
                                                   "model.experts.shared",
                                                   "model.experts.dense_layers",
                                                   "model.experts.renormalize",
                                                   "model.experts.balance",
                                                   "model.experts.router_z",
                                                   "model.experts.bias_rate",
                                                   "data.train",
                                                   "data.validation",
                                                   "data.validation_fraction",
                                                   "data.mask_documents",
                                                   "data.tokenizer",
                                                   "data.format",
                                                   "data.text_key",
                                                   "train.steps",
                                                   "train.tokens",
                                                   "train.batch",
                                                   "train.micro_batch",
                                                   "train.precision",
                                                   "train.threads",
                                                   "train.from",
                                                   "optimizer.kind",
                                                   "optimizer.betas",
                                                   "optimizer.epsilon",
                                                   "optimizer.weight_decay",
                                                   "optimizer.decay_gains",
                                                   "optimizer.decay_embedding",
                                                   "optimizer.clip",
                                                   "schedule.kind",
                                                   "schedule.steps",
                                                   "schedule.peak",
                                                   "schedule.floor",
                                                   "schedule.start",
                                                   "schedule.warmup",
                                                   "schedule.decay",
                                                   "evaluate.every",
                                                   "evaluate.sequences",
                                                   "checkpoint.every",
                                                   "checkpoint.keep",
                                                   "checkpoint.seconds",
                                                   "probe.steps",
                                                   "probe.every",
                                                   "probe.what",
                                                   "health.on_spike",
                                                   "health.on_nonfinite",
                                                   "health.budget",
                                                   "log.every",
                                                   "kernels.fused",
                                                   "kernels.attention"};

/// canonical_config() as TOML. A key that was added after version 0.1.0 is left out while it has
/// its default, so that runs of that version, and those before a new key, are found.
std::string canonical_text(const config::Config& config, bool is_timed) {
  static const auto defaults = [] {
    std::map<std::string, std::string> values;
    for (const auto& section : config::sections()) {
      for (const auto& key : section.keys)
        values[config::full_name(section, key)] = key.write(config::Config{});
    }
    return values;
  }();
  return config::to_toml(canonical_config(config, is_timed),
                         [](const std::string& name, const std::string& value) {
                           return kKeysOfFirstVersion.contains(name) || value != defaults.at(name);
                         });
}

/// The settings that determine the tasks: the folder of their files, and their labels.
std::string task_settings(const config::Evaluate& evaluate) {
  auto out = evaluate.task_folder;
  for (const auto& label : evaluate.tasks) out += "\n" + label;
  return out;
}

/// True if the records have the evaluation of this step: a loss, or null if it is not finite.
bool was_evaluated(const store::Directory& run, std::int64_t step) {
  const auto records = store::read_records(run, "metrics.jsonl").records;
  return std::any_of(records.rbegin(), records.rend(), [step](const nlohmann::json& record) {
    const auto loss = record.find("val_loss");
    return loss != record.end() && (loss->is_number() || loss->is_null()) &&
           record.value("step", std::int64_t{-1}) == step;
  });
}

}  // namespace

SharedTexts RunCacheKeys::texts(const config::Config& config) {
  auto settings = data_section(config);
  for (const auto& [name, inputs] : config.evaluate.texts) {
    settings += name + '\n';
    for (const auto& input : inputs) settings += input + '\n';
  }
  auto& read = texts_[settings];
  if (read == nullptr) read = std::make_shared<const std::vector<RunText>>(run_texts(config));
  if (config.evaluate.tasks.empty()) return read;
  const auto of_tasks = task_settings(config.evaluate);
  auto& whole = texts_with_tasks_[settings + '\n' + of_tasks];
  if (whole == nullptr) {
    auto found = tasks_.find(of_tasks);
    if (found == tasks_.end()) found = tasks_.emplace(of_tasks, run_tasks(config.evaluate)).first;
    auto all = *read;
    all.push_back(found->second);
    whole = std::make_shared<const std::vector<RunText>>(std::move(all));
  }
  return whole;
}

std::string RunCacheKeys::key(const config::Config& config, const std::string& arithmetic,
                              const std::string& timing_context) {
  const bool is_timed = !timing_context.empty();
  const auto whole = text("numerics ", kNumericsVersion, "\narithmetic ", arithmetic,
                          is_timed ? "\ntimed with " : "", timing_context, "\ntext ",
                          digests_in_key(*texts(config)), "\n", canonical_text(config, is_timed),
                          config::scheme_text(config::with_released_titles(config.scheme)));
  constexpr std::size_t kDigits = 16;
  return config.scheme.name + "-" + digest(whole.data(), whole.size()).substr(0, kDigits);
}

RunStatus run_status(const std::filesystem::path& run) {
  RunStatus status;
  const auto folder = store::Directory::find(run);
  if (!folder || !folder->has("run.toml")) return status;
  status.state = RunStatus::State::started;
  const auto saved = store::read_status(*folder);
  if (!saved) return status;
  status.step = saved->step;
  status.steps = saved->steps;
  if (saved->state == "finished") {
    const bool has_final_evaluation = was_evaluated(*folder, status.step);
    status.state = has_final_evaluation ? RunStatus::State::finished : RunStatus::State::damaged;
  }
  if (saved->state == "diverged") status.state = RunStatus::State::diverged;
  return status;
}

std::filesystem::path rename_damaged(const std::filesystem::path& run) {
  auto aside = run;
  aside += ".damaged";
  std::error_code failed;
  for (int number = 2; exists(aside, failed); ++number) {
    aside = run;
    aside += text(".damaged", number);
  }
  rename(run, aside, failed);
  if (failed) {
    throw Error(Exit::io, text(run.string(), ": cannot be renamed to ", aside.filename().string(),
                               ": ", failed.message()));
  }
  return aside;
}

}  // namespace evenkeel::study
