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
#include "evenkeel/store/tokenizer_copy.h"
#include "evenkeel/train/run_checks.h"
#include "evenkeel/train/run_provenance.h"
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

/// The configuration that the model of a checkpoint was trained with.
config::Config trained_config(const store::VerifiedCheckpoint& checkpoint) {
  const auto name = (checkpoint.folder.path() / "MANIFEST.json").string();
  return config::read_back(config_text_of(checkpoint), name);
}

/// Compares model and scheme of run.toml with those of the checkpoint: an edited run.toml would
/// load the weights into another model.
/// \throws Error (differs)
void check_model(const store::VerifiedCheckpoint& checkpoint, const config::Config& saved,
                 const std::filesystem::path& file) {
  for (const auto& each : config::differences(trained_config(checkpoint), saved)) {
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
                     store::no_run_hint(*run)));
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

/// The tokenizer of the training: "bytes", or its copy in the run folder.
/// \param trained     data.tokenizer of the checkpoint. After a resume with another tokenizer, that
///                    of run.toml is another one until the next checkpoint
/// \param configured  data.tokenizer of run.toml: for a run without a copy, and for one on token
///                    files whose tokenizer no record knows
std::string trained_tokenizer(const store::Directory& run, const std::string& trained,
                              const nlohmann::json& manifest, const std::string& configured) {
  const auto training = data::trained_on(manifest);
  const bool is_of_bytes = trained == "bytes" && training && training->knows_tokenizer;
  auto copy = store::tokenizer_of_run(run, trained);
  if (is_of_bytes || copy != trained) return copy;
  return store::tokenizer_of_run(run, configured);
}

/// "bytes", or the path of a tokenizer.
std::string tokenizer_name(const tokenizer::Tokenizer& tokenizer) {
  return tokenizer.path().empty() ? tokenizer.kind() : tokenizer.path();
}

/// A warning of a named tokenizer that is not the one of the training; nullopt: it is that one.
/// \param manifest  of the checkpoint. That of bytes has no digest, as those of earlier versions
/// \param trained   data.tokenizer of the checkpoint
std::optional<std::string> other_tokenizer_warning(const nlohmann::json& manifest,
                                                   const tokenizer::Tokenizer& named,
                                                   const std::string& trained) {
  const auto before = manifest.value("data", nlohmann::json::object());
  if (!before.is_object()) return std::nullopt;
  const bool is_of_bytes = trained == "bytes" && before.value("tokenizer_known", false);
  if (!is_of_bytes && !before.contains("tokenizer_digest")) return std::nullopt;
  if (data::is_same_tokenizer(before, data::tokenizer_record(named))) return std::nullopt;
  const auto name = tokenizer_name(named);
  return text("warning: data.tokenizer: ", name,
              " is not the tokenizer that the model was trained with",
              name == trained ? std::string() : text(" (", trained, ")"),
              ", so that texts and losses may be wrong; leave data.tokenizer out");
}

/// What to do about a copy that is not the tokenizer of a checkpoint.
/// \param trained  data.tokenizer of the checkpoint
/// \param step     the checkpoint that the command names
data::TokenizerAdvice tokenizer_advice(const store::Directory& run,
                                       const store::VerifiedCheckpoint& checkpoint,
                                       const std::string& trained,
                                       std::optional<std::int64_t> step) {
  data::TokenizerAdvice advice;
  advice.earlier = store::earlier_tokenizer(run, data::trained_digest(checkpoint.manifest));
  const auto steps = store::checkpoint_steps(run.path());
  const bool is_newest = !step || steps.empty() || steps.back() == *step;
  if (!is_newest) return advice;  // a newer checkpoint needs the copy
  advice.copy = store::tokenizer_copy_path(run, trained);
  advice.end = ", or name the tokenizer to take with --set data.tokenizer=FILE";
  return advice;
}

/// Takes end_of_text, begin and special_in_text from the checkpoint: a resume changes them in
/// run.toml before its first checkpoint. Keys that `sources` sets stay.
void take_trained_keys(config::Data& data, const config::Data& trained,
                       const config::Sources& sources) {
  const auto is_set = [&](const char* key) { return config::sets_key(sources, key); };
  if (!is_set("data.end_of_text")) data.end_of_text = trained.end_of_text;
  if (!is_set("data.begin")) data.begin = trained.begin;
  if (!is_set("data.special_in_text")) data.special_in_text = trained.special_in_text;
}

/// Loads the tokenizer: that of `sources`, else the copy in the run folder.
/// \param step  the checkpoint that the command names
/// \throws OtherTokenizer (differs) if the copy is not the tokenizer of the training
void load_tokenizer(TrainedModel& loaded, const config::Sources& sources,
                    const store::Directory& run, const store::VerifiedCheckpoint& checkpoint,
                    std::optional<std::int64_t> step) {
  auto& data = loaded.config.data;
  const auto& manifest = checkpoint.manifest;
  const auto before = trained_config(checkpoint).data;
  const auto& trained = before.tokenizer;
  const bool is_named = config::sets_key(sources, "data.tokenizer");
  if (!is_named) {
    data.tokenizer = trained_tokenizer(run, trained, manifest, data.tokenizer);
    take_trained_keys(data, before, sources);
  }
  loaded.encoding = std::make_shared<const data::TextEncoding>(data, data::trained_on(manifest));
  if (is_named) {
    const auto warning = other_tokenizer_warning(manifest, loaded.encoding->tokenizer(), trained);
    if (warning) loaded.warnings.push_back(*warning);
    return;
  }
  data::check_tokenizer_of_run(manifest, loaded.encoding->tokenizer(),
                               tokenizer_advice(run, checkpoint, trained, step));
}

/// Compares the embedding of a checkpoint with that of the model for a named tokenizer.
/// \throws Error (differs) if the tokenizer has another number of tokens
void check_vocabulary(const store::SafetensorsStream& file,
                      const std::vector<nn::ParameterSpec>& specs, const TrainedModel& loaded) {
  constexpr std::string_view kEmbedding = "embedding.weight";
  const auto wanted = std::find_if(specs.begin(), specs.end(),
                                   [&](const auto& spec) { return spec.name == kEmbedding; });
  const auto found = file.entries().find(std::string(kEmbedding));
  if (wanted == specs.end() || found == file.entries().end()) return;
  const auto& shape = found->second.shape;
  if (shape.empty() || shape.front() == wanted->shape.front()) return;
  throw Error(Exit::differs,
              text("data.tokenizer: ", tokenizer_name(loaded.encoding->tokenizer()), " has ",
                   loaded.encoding->vocabulary(), " tokens, which need an embedding of ",
                   wanted->shape.front(), " rows, but that of the model has ", shape.front(),
                   "; leave data.tokenizer out, or name the tokenizer of the training"));
}

/// Builds the model of `loaded.config` and loads the weights of a checkpoint.
/// \param is_named  the command names the tokenizer
void load_model(TrainedModel& loaded, const store::VerifiedCheckpoint& checkpoint, bool is_named,
                nn::ParameterUse use) {
  const auto scheme = config::bind(loaded.config.scheme, loaded.shape);
  const auto specs = plan::parameter_specs_of(loaded.config.model, scheme);
  check_inference_memory(specs, loaded.shape, loaded.machine.precision, use);
  const auto file = store::open_tensors(checkpoint, store::kModelStem);
  if (is_named) check_vocabulary(file, specs, loaded);
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
  loaded.data_record = checkpoint.manifest.value("data", nlohmann::json());
  const bool is_named = config::sets_key(sources, "data.tokenizer");
  load_tokenizer(loaded, sources, store::Directory(*run), checkpoint, step);
  loaded.shape = config::shape_of(loaded.config, loaded.encoding->vocabulary());
  load_model(loaded, checkpoint, is_named, use);
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
