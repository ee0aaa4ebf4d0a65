// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/load_run.h"

#include <algorithm>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/tokenizer_record.h"
#include "evenkeel/plan/memory.h"
#include "evenkeel/plan/model_parameters.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/checkpoint_pieces.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/run_checks.h"
#include "evenkeel/train/run_provenance.h"
#include "evenkeel/train/run_tokenizer.h"
#include "evenkeel/train/tensor_file.h"

namespace evenkeel::train {

namespace {

/// Keys that may differ from those of the run, because they do not affect the weights.
const std::vector<std::string> kChangeableKeys = {"data",
                                                  "kernels",
                                                  "train.precision",
                                                  "train.threads",
                                                  "train.deterministic",
                                                  "train.cuda_graphs",
                                                  "train.micro_batch",
                                                  "evaluate.texts",
                                                  "evaluate.tasks",
                                                  "evaluate.task_documents",
                                                  "evaluate.max_context",
                                                  "evaluate.rule",
                                                  "evaluate.score_precision",
                                                  "evaluate.task_folder"};

[[noreturn]] void refuse_change(const std::filesystem::path& run,
                                const config::KeyDifference& difference) {
  throw Error(Exit::differs,
              text(run.string(), ": the model was trained with ", difference.key, " = ",
                   difference.before, ", not ", difference.after, "; leave it out"));
}

/// Compares model and scheme of run.toml with those of the checkpoint: an edited run.toml would
/// load the weights into another model.
/// \throws Error (differs)
void check_model(const store::VerifiedCheckpoint& checkpoint, const config::Config& saved,
                 const std::filesystem::path& file) {
  const auto name = (checkpoint.folder.path() / "MANIFEST.json").string();
  const auto trained = config::read_back(config_text_of(checkpoint), name);
  for (const auto& each : config::differences(trained, saved)) {
    if (!config::is_named(each.key, {"model", "scheme"}) || each.key == "model.recompute") continue;
    throw Error(Exit::differs,
                text(file.string(), ": ", each.key, " = ", each.after,
                     ", but the model was trained with ", each.before, "; put that back"));
  }
}

/// The path of a run's run.toml.
/// \throws Error (usage) without a run, Error (no_checkpoint) if the folder has no run
std::filesystem::path config_file(const std::optional<std::filesystem::path>& run) {
  if (!run) {
    throw Error(Exit::usage,
                "--run is wanted: the folder of a trained model; `evenkeel runs` "
                "lists them");
  }
  const auto folder = store::Directory::find(*run);
  if (!folder || !folder->has("run.toml")) {
    throw Error(Exit::no_checkpoint,
                text(run->string(), ": not a run folder (no run.toml); `evenkeel runs` lists them",
                     store::import_hint(*run)));
  }
  folder->check_file("run.toml");
  return *run / "run.toml";
}

/// The checkpoint that was found, after check of its model against run.toml.
/// \throws Error (no_checkpoint), Error (differs)
store::VerifiedCheckpoint usable_checkpoint(const store::CheckpointSearch& search,
                                            const config::Config& saved,
                                            const std::filesystem::path& run) {
  if (search.found) {
    check_model(*search.found, saved, run / "run.toml");
    return *search.found;
  }
  std::string reasons;
  for (const auto& line : search.skipped) reasons += "; " + line;
  throw Error(Exit::no_checkpoint, text(run.string(), ": has no usable checkpoint", reasons,
                                        "; train it, or restore the folder from a copy"));
}

/// True if the command names a tokenizer, maybe the one of run.toml.
bool names_tokenizer(const config::Sources& sources, const TrainedModel& loaded,
                     const config::Config& saved) {
  constexpr std::string_view kSetting = "data.tokenizer=";
  return loaded.config.data.tokenizer != saved.data.tokenizer ||
         std::any_of(sources.sets.begin(), sources.sets.end(),
                     [&](const std::string& set) { return set.starts_with(kSetting); });
}

/// Loads the tokenizer.
/// \param is_named  the command names it; else it is the copy in the run folder
/// \param manifest  of the checkpoint
/// \throws Error (differs) if the copy is not the tokenizer of the training
void load_tokenizer(TrainedModel& loaded, bool is_named, const std::filesystem::path& run,
                    const nlohmann::json& manifest) {
  auto& data = loaded.config.data;
  if (!is_named) data.tokenizer = tokenizer_of_run(store::Directory(run), data.tokenizer);
  loaded.encoding = std::make_shared<const data::TextEncoding>(data, data::trained_on(manifest));
  if (is_named) return;
  data::check_tokenizer_of_run(
      manifest, loaded.encoding->tokenizer(),
      "restore the file, or name the tokenizer to take with --set data.tokenizer=FILE");
}

/// Builds the model of `loaded.config` and loads the weights of a checkpoint.
void load_model(TrainedModel& loaded, const store::VerifiedCheckpoint& checkpoint,
                nn::ParameterUse use) {
  const auto scheme = config::bind(loaded.config.scheme, loaded.shape);
  const auto specs = plan::parameter_specs_of(loaded.config.model, scheme);
  check_inference_memory(specs, loaded.shape, loaded.machine.precision, use);
  const auto file = store::open_tensors(checkpoint, store::kModelStem);
  check_tensors(file, specs, loaded.machine.precision);
  loaded.parameters =
      std::make_unique<nn::Parameters>(specs, loaded.machine.precision, ops::compute_device(), use);
  copy_weights(file, *loaded.parameters, CastDtype::yes);
  loaded.step = checkpoint.step;
  const norm::Steps steps = {.done = loaded.step, .planned = plan::planned_steps(loaded.config)};
  loaded.model = std::make_unique<nn::Model>(
      scheme, model_options(loaded.config, loaded.shape, loaded.encoding->end_of_text()),
      *loaded.parameters, steps);
}

}  // namespace

TrainedModel load_run(const std::optional<std::filesystem::path>& run,
                      const config::Sources& sources, std::optional<std::int64_t> step,
                      nn::ParameterUse use) {
  const auto file = config_file(run);
  auto all = sources;
  all.files.insert(all.files.begin(), file);
  TrainedModel loaded;
  loaded.config = config::resolve(all);
  const auto saved = config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
  for (const auto& each : config::differences(saved, loaded.config)) {
    if (!config::is_named(each.key, kChangeableKeys)) refuse_change(*run, each);
  }
  loaded.machine = configure_machine(loaded.config.train);
  loaded.watch = std::make_unique<ops::BusyMachineWatch>(loaded.machine.threads);
  const auto search =
      step ? store::checkpoint_of_step(*run, *step) : store::newest_checkpoint(*run);
  loaded.skipped = search.skipped;
  const auto checkpoint = usable_checkpoint(search, saved, *run);
  load_tokenizer(loaded, names_tokenizer(sources, loaded, saved), *run, checkpoint.manifest);
  loaded.shape = config::shape_of(loaded.config, loaded.encoding->vocabulary());
  load_model(loaded, checkpoint, use);
  return loaded;
}

void quantize(const TrainedModel& loaded, nn::Int8Use use) {
  loaded.model->quantize(use);
  loaded.parameters->release(nn::ParameterRole::matrix);
}

bool has_tokenizer(const TrainedModel& loaded) {
  return !data::is_tokenizer_unknown(loaded.config.data, *loaded.encoding, loaded.shape.vocabulary);
}

nn::ModelOptions model_options(const config::Config& config, const norm::Shape& shape,
                               std::optional<data::TokenId> end_of_text) {
  const auto& path = config.kernels.attention;
  return {.rope_theta = config.model.rope_theta,
          .tied = config.model.tied,
          .vocabulary = shape.vocabulary,
          .fused = config.kernels.fused,
          .attention = path == "explicit" ? nn::AttentionPath::explicit_scores
                       : path == "flash"  ? nn::AttentionPath::flash
                                          : nn::AttentionPath::automatic,
          .recompute = plan::recompute_of(config),
          .document_end = config.data.mask_documents && end_of_text
                              ? std::optional<std::int64_t>(*end_of_text)
                              : std::nullopt};
}

}  // namespace evenkeel::train
