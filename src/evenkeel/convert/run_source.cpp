// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/run_source.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/tokenizer_record.h"
#include "evenkeel/store/checkpoint_pieces.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/store/tokenizer_copy.h"

namespace evenkeel::convert {

namespace {

/// The step in "120", "step-120" or "step-00000120".
std::int64_t step_of(const std::string& word) {
  constexpr std::string_view kBefore = "step-";
  const auto digits = word.starts_with(kBefore) ? word.substr(kBefore.size()) : word;
  std::int64_t step = -1;
  const auto* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, step);
  if (read.ec == std::errc() && read.ptr == end && step >= 0) return step;
  throw Error(
      Exit::usage,
      text("--checkpoint must be a step, as 400 or step-400, but is \"", word,
           "\"; best is the one of the lowest validation loss; leave it out for the newest"));
}

std::string known_steps(const std::vector<std::int64_t>& steps) {
  std::string known;
  for (const auto each : steps) known += text(known.empty() ? "" : ", ", each);
  return known.empty() ? "(none)" : known;
}

[[noreturn]] void refuse_no_checkpoint(const RunSource& source, const std::string& reasons) {
  throw Error(Exit::no_checkpoint, text(source.folder.string(), ": has no usable checkpoint",
                                        reasons, "; train it, or restore the folder from a copy"));
}

/// The step of the lowest validation loss in metrics.jsonl among those with a checkpoint; of equal
/// losses the newest.
std::int64_t best_step(const RunSource& source, const std::vector<std::int64_t>& steps) {
  const auto lines = store::read_records(store::Directory(source.folder), "metrics.jsonl");
  std::map<std::int64_t, double> losses;
  for (const auto& record : lines.records) {
    const auto loss = record.find("val_loss");
    if (loss != record.end() && loss->is_number()) {
      losses[record.at("step").get<std::int64_t>()] = loss->get<double>();
    }
  }
  std::optional<std::int64_t> best;
  for (const auto step : steps) {
    const bool is_better = losses.contains(step) && (!best || losses.at(step) <= losses.at(*best));
    if (is_better) best = step;
  }
  if (best) return *best;
  throw Error(Exit::no_checkpoint,
              text(source.folder.string(), ": no step with a checkpoint (", known_steps(steps),
                   ") has a validation loss in metrics.jsonl; name a step, or set evaluate.every "
                   "to checkpoint.every"));
}

/// The newest valid checkpoint, or that of --checkpoint.
store::VerifiedCheckpoint last_checkpoint(RunSource& source, const std::vector<std::int64_t>& steps,
                                          const std::optional<std::string>& wanted) {
  if (!wanted) {
    const auto search = store::newest_checkpoint(source.folder);
    source.skipped = search.skipped;
    if (search.found) return *search.found;
    std::string reasons;
    for (const auto& line : search.skipped) reasons += "; " + line;
    refuse_no_checkpoint(source, reasons);
  }
  const auto step = *wanted == "best" ? best_step(source, steps) : step_of(*wanted);
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
    throw Error(Exit::no_checkpoint, text(source.folder.string(), ": has no checkpoint of step ",
                                          step, ", but of: ", known_steps(steps)));
  }
  const auto search =
      store::find_checkpoint(source.folder / "checkpoints" / store::step_name(step));
  if (search.found) return *search.found;
  refuse_no_checkpoint(source, text("; checkpoints/", store::step_name(step), ": ",
                                    search.skipped.empty() ? "" : search.skipped.front()));
}

/// True if the weights of step 0 are random, and not those of another model.
bool starts_at_random(const RunSource& source) {
  const auto& manifest = source.checkpoints.front().manifest;
  return source.config.train.from.empty() && !manifest.value("imported", false);
}

/// Appends to `checkpoints` those before the last one, up to `average` in all; then oldest first.
/// Random weights are left out.
void add_earlier(RunSource& source, const std::vector<std::int64_t>& steps, std::int64_t average) {
  const auto last = source.checkpoints.front().step;
  auto known = steps;
  std::erase_if(known, [&](std::int64_t step) { return step > last; });
  const bool leaves_first = starts_at_random(source) && std::erase(known, 0) > 0;
  if (static_cast<std::int64_t>(known.size()) < average) {
    const auto* const why =
        leaves_first ? "; step 0 has random weights, which are not averaged" : "";
    throw Error(Exit::no_checkpoint, text(source.folder.string(), ": --average ", average,
                                          " wants ", average, " checkpoints up to step ", last,
                                          ", but the run has those of: ", known_steps(known), why,
                                          "; checkpoint.keep sets how many a run keeps"));
  }
  for (auto i = known.size() - static_cast<std::size_t>(average); i + 1 < known.size(); ++i) {
    const auto name = store::step_name(known[i]);
    const auto search = store::find_checkpoint(source.folder / "checkpoints" / name);
    if (!search.found) {
      refuse_no_checkpoint(source, text(" of step ", known[i], " to average: ",
                                        search.skipped.empty() ? "" : search.skipped.front()));
    }
    source.checkpoints.insert(source.checkpoints.end() - 1, *search.found);
  }
}

/// The configuration of the checkpoint, from its manifest: run.toml may have been edited.
void read_config(RunSource& source, const store::Directory& run) {
  const auto& last = source.checkpoints.back();
  const auto config = last.manifest.find("config");
  const auto name = (last.folder.path() / "MANIFEST.json").string();
  if (config == last.manifest.end() || !config->is_string()) {
    throw Error(Exit::no_checkpoint, text(last.folder.path().string(),
                                          ": its manifest does not say what it was made with"));
  }
  source.run_toml = config->get<std::string>();
  source.config = config::read_back(source.run_toml, name);
  auto& data = source.config.data;
  const auto copy = store::tokenizer_copy_path(run, data.tokenizer);
  data.tokenizer = store::tokenizer_of_run(run, data.tokenizer);
  source.encoding =
      std::make_shared<const data::TextEncoding>(data, data::trained_on(last.manifest));
  const auto earlier = store::earlier_tokenizer(run, data::trained_digest(last.manifest));
  data::check_tokenizer_of_run(last.manifest, source.encoding->tokenizer(),
                               {.copy = copy,
                                .earlier = earlier,
                                .end = "; a changed tokenizer belongs in the exported folder"});
  const auto shape = config::shape_of(source.config, source.encoding->vocabulary());
  source.training = data::training_of(data, *source.encoding, shape.vocabulary);
  const auto& train = source.config.train;
  const auto tokens_a_step = train.batch * source.config.model.context;
  const auto steps =
      train.steps > 0 ? train.steps : (train.tokens + tokens_a_step - 1) / tokens_a_step;
  const auto scheduled = source.config.schedule.steps;
  source.steps = {.done = last.step, .planned = scheduled > 0 ? scheduled : steps};
  source.scheme = config::bind(source.config.scheme, shape);
  source.rows = padded_rows(source.config.model, shape.vocabulary);
  source.specs = norm::parameter_specs(source.scheme, source.rows, source.config.model.tied);
}

/// Opens the weights and compares their names and shapes with the model.
void open_weights(RunSource& source) {
  for (const auto& checkpoint : source.checkpoints) {
    source.weights.add(store::open_tensors(checkpoint, store::kModelStem));
  }
  const auto shapes = source.weights.shapes();
  const auto path = store::open_tensors(source.checkpoints.back(), store::kModelStem).path();
  const bool fits =
      shapes.size() == source.specs.size() &&
      std::all_of(source.specs.begin(), source.specs.end(), [&](const norm::ParameterSpec& spec) {
        const auto found = shapes.find(spec.name);
        return found != shapes.end() && found->second == spec.shape;
      });
  if (fits) return;
  throw Error(Exit::data, text(path,
                               ": names and shapes of its tensors must be those of the model "
                               "in its manifest, but are not; restore it from a copy"));
}

}  // namespace

std::int64_t padded_rows(const config::Model& model, std::int64_t vocabulary) {
  const auto pad = model.pad_vocabulary_to;
  return (vocabulary + pad - 1) / pad * pad;
}

RunSource open_run_source(const std::filesystem::path& run,
                          const std::optional<std::string>& checkpoint, std::int64_t average) {
  RunSource source;
  source.folder = run;
  const auto folder = store::Directory::find(run);
  if (!folder || !folder->has("run.toml")) {
    throw Error(Exit::no_checkpoint, text(run.string(),
                                          ": not a run folder (no run.toml); "
                                          "`evenkeel runs` lists them",
                                          store::no_run_hint(run)));
  }
  const auto steps = store::checkpoint_steps(run);
  source.checkpoints = {last_checkpoint(source, steps, checkpoint)};
  read_config(source, *folder);
  if (average > 1) add_earlier(source, steps, average);
  open_weights(source);
  return source;
}

}  // namespace evenkeel::convert
