// SPDX-License-Identifier: Apache-2.0
// The provenance of a run, and whether that of a checkpoint is the same.
#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/version.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/warnings.h"
#include "evenkeel/train/run.h"

namespace evenkeel::train {

namespace {

bool caps_scores(const norm::Scheme& scheme) {
  return std::any_of(scheme.blocks.begin(), scheme.blocks.end(),
                     [](const norm::Block& block) { return block.attention.softcap.has_value(); });
}

/// Notes on what is unexpected about this scheme.
std::vector<std::string> notes_of(const config::Config& config, const norm::Scheme& scheme) {
  auto notes = norm::leaks_of(scheme);
  if (config.kernels.attention == "flash" && caps_scores(scheme)) {
    notes.emplace_back(
        "scores are capped, which LibTorch's flash attention cannot do: attention is computed "
        "explicitly");
  }
  return notes;
}

}  // namespace

void Run::print_summary() const {
  const auto& config = open_.config;
  const auto specs = nn::parameter_specs(trainer_->model().scheme(),
                                         padded_vocabulary_size(config.model, shape_.vocabulary),
                                         config.model.tied);
  const auto counts = nn::parameter_counts(specs);
  console_.info(text("evenkeel ", kVersion, " on ", machine_.description));
  console_.info(text("text   ", text_.train.description));
  console_.info(text("valid  ", text_.validation.description));
  console_.info(text("model  ", config.scheme.name, ", ",
                     with_unit(static_cast<double>(counts.total)), " parameters (",
                     with_commas(counts.norms), " in norms), ", config.model.layers, " layer",
                     config.model.layers == 1 ? "" : "s", " of width ", config.model.width));
  if (shape_.is_mixture()) {
    const auto active = static_cast<double>(nn::active_parameters(specs, shape_));
    console_.info(text("       ", norm::describe(shape_.experts), ": ", with_unit(active),
                       " parameters work on a token"));
  }
  if (config.model.vocabulary > data::kByteVocabulary) {
    console_.info(
        text("note   text is read as bytes: no tokenizer was given for the vocabulary of ",
             with_commas(config.model.vocabulary),
             "; --set model.vocabulary=tokenizer makes the embedding that small"));
  }
  for (const auto& note : notes_of(config, trainer_->model().scheme())) {
    console_.info(text("note   ", note));
  }
  console_.info(text("run    ", open_.folder.string()));
  for (const auto& warning : norm::unexpected_warnings(trainer_->model().scheme())) {
    console_.warn(text("warning ", warning.code, ": ", warning.explanation));
  }
}

nlohmann::ordered_json Run::provenance() const {
  auto provenance = provenance_of(machine_);
  provenance["scheme"] = open_.config.scheme.name;
  provenance["preset"] = open_.config.preset;
  provenance["parameters"] =
      nn::parameter_counts(
          nn::parameter_specs(trainer_->model().scheme(),
                              padded_vocabulary_size(open_.config.model, shape_.vocabulary),
                              open_.config.model.tied))
          .total;
  provenance["data"] = {{"train", text_.train.description},
                        {"train_digest", text_.train.digest},
                        {"validation", text_.validation.description},
                        {"validation_digest", text_.validation.digest}};
  if (text_.ood) {
    provenance["data"]["ood"] = text_.ood->description;
    provenance["data"]["ood_digest"] = text_.ood->digest;
  }
  for (const auto& warning : norm::unexpected_warnings(trainer_->model().scheme())) {
    provenance["warnings"].push_back(warning.code);
  }
  for (const auto& leak : norm::leaks_of(trainer_->model().scheme())) {
    provenance["leaks"].push_back(leak);
  }
  if (!changes_.empty()) provenance["changes"] = changes_;
  return provenance;
}

/// The fields of MANIFEST.json besides the digests: everything that the continuation depends on.
nlohmann::ordered_json Run::manifest() const {
  auto manifest = provenance();
  manifest["config"] = config::to_toml(open_.config);
  manifest["random"] = {{"generator", "philox4x32-10"}, {"key", open_.config.seed}};
  manifest["cursor"] = trainer_->progress().sequences;
  return manifest;
}

/// run.toml, provenance.json and scheme.txt: written when a run starts, and again when it is
/// resumed.
void Run::write_provenance() const {
  write_file(open_.folder / "run.toml", config::to_toml(open_.config));
  write_file(open_.folder / "provenance.json", provenance().dump(2) + "\n");
  write_file(open_.folder / "scheme.txt", norm::diagram(trainer_->model().scheme()));
}

void Run::resume(const store::VerifiedCheckpoint& checkpoint) {
  if (checkpoint.manifest.contains("changes")) changes_ = checkpoint.manifest.at("changes");
  for (const auto& change : open_.changes) changes_.push_back(record_of(checkpoint.step, change));
  check_provenance(checkpoint);
  const auto steps = trainer_->progress().steps;
  trainer_->restore(checkpoint);
  if (const auto planned = planned_steps(open_.config); steps > planned && planned > 0) {
    console_.info(text("the learning rate was laid out for ", planned,
                       " steps and keeps to that; --override schedule lays it out anew"));
  }
  metrics_.truncate_after(checkpoint.step);
  health_.truncate_after(checkpoint.step);
  probes_.truncate_after(checkpoint.step);
  saved_at_ = checkpoint.step;
  for (const auto& line : store::read_json_lines(open_.folder / "metrics.jsonl")) {
    if (!line.contains("val_loss")) continue;
    evaluated_at_ = line.at("step").get<std::int64_t>();
    const auto gap = line.value("val_gap", nlohmann::json());
    if (gap.is_number()) gap_ = gap.get<double>();
  }
  console_.info(text("goes on from step ", checkpoint.step, " of ", steps, " (",
                     checkpoint.folder.filename().string(), ")"));
}

/// The same text and the same arithmetic: else the continuation is another run.
void Run::check_provenance(const store::VerifiedCheckpoint& checkpoint) {
  const auto now = provenance();
  const auto compare = [&](const char* what, const nlohmann::json& before,
                           const nlohmann::json& after, const char* key) {
    if (before == after) return;
    if (config::is_named(key, request_.overrides)) {
      changes_.push_back(record_of(checkpoint.step, {what, before.dump(), after.dump()}));
      return;
    }
    throw Error(Exit::differs, text(open_.folder.string(), ": ", what, " was ", before.dump(),
                                    " when the checkpoint was written, but is ", after.dump(),
                                    " now; allow it with --override ", key));
  };
  const auto& before = checkpoint.manifest;
  if (!before.contains("data") || !before.contains("isa")) {
    throw Error(Exit::no_checkpoint, text(checkpoint.folder.string(),
                                          ": its manifest does not say what it was made from"));
  }
  compare("the digest of the training text", before.at("data").at("train_digest"),
          now.at("data").at("train_digest"), "data");
  for (const char* const key : {"isa", "libtorch", "libtorch_isa"}) {
    compare(key, before.at(key), now.at(key), "numerics");
  }
  compare("precision", before.at("precision"), now.at("precision"), "train.precision");
}

}  // namespace evenkeel::train
