// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/open_run.h"

#include <algorithm>
#include <system_error>

#include "evenkeel/base/error.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/store/run_changes.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/change_refusal.h"
#include "evenkeel/train/run_provenance.h"

namespace evenkeel::train {

namespace {

constexpr const char* kConfigName = "run.toml";

/// Changes that an earlier call permitted with --override and that no checkpoint contains yet. They
/// need no second --override.
class UnsavedChanges {
 public:
  UnsavedChanges(const store::Directory& run, const store::CheckpointSearch& newest)
      : step_(newest.found ? newest.found->step : 0),
        changes_(store::read_provenance(run).value("changes", nlohmann::json::array())) {}
  bool has(const ConfigChange& change) const {
    const nlohmann::json record = record_of(step_, change);
    return std::find(changes_.begin(), changes_.end(), record) != changes_.end();
  }

 private:
  std::int64_t step_;
  nlohmann::json changes_;
};

/// The configuration of the checkpoint, taken from its manifest: run.toml may have been edited.
config::Config configuration_of(const store::CheckpointSearch& newest,
                                const std::filesystem::path& file) {
  if (!newest.found)
    return config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
  return config::read_back(config_text_of(*newest.found),
                           (newest.found->folder.path() / "MANIFEST.json").string());
}

/// Keeps what the run has chosen for keys that the command sets to "auto", as its first one did.
void keep_chosen(config::Config& config, const config::Config& before,
                 const std::vector<std::string>& overrides) {
  const auto is_free = [&](const char* key) { return config::is_named(key, overrides); };
  auto& shards = config.train.gradient_shards;
  if (shards == 0 && !is_free("train.gradient_shards")) shards = before.train.gradient_shards;
  auto& steps = config.schedule.steps;
  if (steps == 0 && !is_free("schedule.steps")) steps = before.schedule.steps;
}

/// True if schedule.steps was "auto" until the run was extended.
bool is_schedule_kept(const store::Directory& run) {
  const auto changes = store::run_changes(store::read_provenance(run));
  const auto last = std::find_if(changes.rbegin(), changes.rend(),
                                 [](const auto& each) { return each.key == "schedule.steps"; });
  return last != changes.rend() && last->before == "\"auto\"";
}

/// Refuses a --preset that is not the run's: the run has a value of every key of a preset.
void check_preset(const std::filesystem::path& run, const std::string& named,
                  const std::string& preset) {
  if (named == preset) return;
  throw Error(Exit::usage,
              text("--preset ", named, ": ", run.string(), " was started with the preset ", preset,
                   "; leave --preset out, or start another run"));
}

/// The configuration of the command on top of run.toml. The run keeps the name of its preset.
config::Config configuration_on_resume(const Request& request, const std::filesystem::path& run,
                                       const config::Config& before) {
  auto sources = request.sources;
  check_preset(run, sources.preset.value_or(before.preset), before.preset);
  sources.preset.reset();
  sources.files.insert(sources.files.begin(), run / kConfigName);
  auto config = config::resolve(sources);
  config.preset = before.preset;
  keep_chosen(config, before, request.overrides);
  return config;
}

/// The steps of a resumed run with the length of another configuration.
std::int64_t steps_with_length(const OpenRun& run, const config::Config& other) {
  auto config = run.config;
  config.train.steps = other.train.steps;
  config.train.tokens = other.train.tokens;
  return plan::steps_of(config, run.done);
}

/// The configuration in run.toml: with the changes since the checkpoint.
config::Config saved_configuration(const OpenRun& run) {
  return config::resolve(
      {.preset = {}, .files = {run.folder / kConfigName}, .scheme = {}, .sets = {}});
}

/// The least steps that need no --override: those of the checkpoint, or of run.toml if an earlier
/// --override allowed a shorter run and no checkpoint has been saved since.
std::int64_t shortest_without_override(const OpenRun& run, const config::Config& before,
                                       const UnsavedChanges& unsaved) {
  const auto saved = saved_configuration(run);
  const auto planned = steps_with_length(run, before);
  for (const auto& [key, was, is] : config::differences(before, saved)) {
    if (store::is_run_length(key) && !unsaved.has({key, was, is})) return planned;
  }
  return std::min(planned, steps_with_length(run, saved));
}

/// What the run has done at its newest checkpoint. Trainer::restore() checks the file.
/// \param before  its configuration
plan::Done done_of(const store::CheckpointSearch& newest, const config::Config& before) {
  if (!newest.found) return {};
  const auto step = newest.found->step;
  const auto& state = newest.found->state;
  const auto tokens =
      state.is_object() ? state.value("tokens", nlohmann::json()) : nlohmann::json();
  return {.step = step,
          .tokens = tokens.is_number_integer() ? tokens.get<std::int64_t>()
                                               : step * before.train.batch * before.model.context};
}

/// The differences from a checkpoint that a command without options has: changes of the run after
/// the step to which it goes back.
std::vector<ConfigChange> later_changes(const OpenRun& run, const config::Config& before) {
  std::vector<ConfigChange> changes;
  for (const auto& [key, was, is] : config::differences(before, saved_configuration(run))) {
    changes.push_back({key, was, is});
  }
  return changes;
}

/// Appends the differences between checkpoint and command to the changes of the run.
/// \throws Error (differs) for one that is not permitted or has no effect, and for fewer steps than
///         the run has
void add_changes(OpenRun& run, const config::Config& before, const Request& request) {
  const auto& overrides = request.overrides;
  const auto later = request.checkpoint ? later_changes(run, before) : std::vector<ConfigChange>();
  const UnsavedChanges unsaved(run.lock->directory(), run.newest);
  const auto shortest = shortest_without_override(run, before, unsaved);
  const bool is_longer = plan::steps_of(run.config, run.done) >= shortest;
  const bool is_finished =
      run.newest.found && run.done.step >= plan::steps_of(run.config, run.done);
  const bool frees_length =
      config::is_named("train.steps", overrides) || config::is_named("train.tokens", overrides);
  std::vector<ConfigChange> without_effect;
  for (const auto& difference : config::differences(before, run.config)) {
    const ConfigChange change = {difference.key, difference.before, difference.after};
    const bool is_free = store::is_run_length(change.key)
                             ? is_longer || frees_length
                             : config::is_named(change.key, store::free_keys());
    const bool was_made = std::any_of(later.begin(), later.end(), [&](const auto& made) {
      return made.key == change.key && made.after == change.after;
    });
    const bool is_named = config::is_named(change.key, overrides);
    const bool allowed = was_made || is_named || unsaved.has(change);
    if (!is_free && !allowed) refuse_without_override(run.folder, difference, before, run.config);
    if (is_finished && !is_free && is_named && !was_made) without_effect.push_back(change);
    run.changes.push_back(change);
  }
  // Only now: a length that is not permitted says nothing about the end of the run.
  check_length(run, before);
  if (without_effect.empty()) return;
  refuse_without_effect(run, without_effect.front(), steps_with_length(run, before));
}

/// Sets schedule.steps = "auto" to the steps of a run whose batches had other sizes before: those
/// follow from no configuration.
void fix_length_of_schedule(OpenRun& run) {
  const auto steps = plan::steps_of(run.config, run.done);
  if (run.config.schedule.steps == 0 && steps != plan::steps_of(run.config)) {
    run.config.schedule.steps = steps;
  }
}

void resume_run(OpenRun& run, const Request& request) {
  run.is_resumed = true;
  run.lock->directory().check_file(kConfigName);
  check_is_no_import(run);  // before any setting is compared and any text is read
  const auto before = configuration_of(run.newest, run.folder / kConfigName);
  run.done = done_of(run.newest, before);
  run.config = configuration_on_resume(request, run.folder, before);
  const bool fits_schedule = config::is_named("schedule", request.overrides);
  if (fits_schedule && run.config.schedule.steps == before.schedule.steps &&
      is_schedule_kept(run.lock->directory())) {
    run.config.schedule.steps = 0;
  }
  if (config::is_named("schedule.steps", request.overrides)) fix_length_of_schedule(run);
  add_changes(run, before, request);
  if (fits_schedule || run.config.schedule.steps != before.schedule.steps) return;
  const auto planned = plan::planned_steps(before);
  if (plan::planned_steps(run.config) == planned) return;
  run.config.schedule.steps = planned;
  for (const auto& [key, was, is] : config::differences(before, run.config)) {
    if (key == "schedule.steps") run.changes.push_back({key, was, is});
  }
}

/// Writes run.toml anew from the newest checkpoint where it is missing, as in a copy of the
/// checkpoints alone. A new run in their place would delete them.
void restore_config(OpenRun& run) {
  const auto& folder = run.lock->directory();
  if (folder.has(kConfigName) || !run.newest.found) return;
  folder.write(kConfigName, config_text_of(*run.newest.found));
  run.is_restored = true;
}

void check_folder(const std::filesystem::path& folder) {
  std::error_code none;
  if (folder.empty() || (exists(folder, none) && !is_directory(folder, none))) {
    throw Error(Exit::usage, text("--run must name a folder, but \"", folder.string(), "\" is ",
                                  folder.empty() ? "no name" : "a file"));
  }
}

/// \throws Error (usage) for a folder of other files
void check_is_run_folder(const std::filesystem::path& folder) {
  if (!store::is_foreign_folder(folder)) return;
  throw Error(Exit::usage, text(folder.string(),
                                ": must be a run folder, or empty, but has other files; name "
                                "another folder",
                                store::import_hint(folder)));
}

/// Locks the folder of a run, removes what dead processes left there, and finds its checkpoint.
void lock(OpenRun& run) {
  run.lock = std::make_shared<store::Lock>(run.folder);
  store::remove_dead_temporaries(run.lock->directory());
  run.newest = store::newest_checkpoint(run.lock->directory());
}

/// Creates the folder of a run, unless it exists, and locks it. Another process that gives up its
/// start may remove a new folder between the two.
void make_and_lock(OpenRun& run) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    store::make_run_folder(run.folder);
    try {
      return lock(run);
    } catch (const Error& error) {
      const bool is_gone = error.exit() == Exit::io && !std::filesystem::exists(run.folder);
      if (!is_gone || attempt == kAttempts) throw;
    }
  }
}

/// Takes the checkpoint of --checkpoint in place of the newest one.
/// \throws Error (no_checkpoint)
void go_back(OpenRun& run, const Request& request) {
  if (!request.checkpoint) return;
  run.newest = store::checkpoint_of_step(run.folder, *request.checkpoint);
  if (run.newest.found) return;
  throw Error(Exit::no_checkpoint, text(run.folder.string(), ": ", run.newest.skipped.front()));
}

}  // namespace

nlohmann::ordered_json record_of(std::int64_t step, const ConfigChange& change) {
  return {{"step", step}, {"what", change.key}, {"before", change.before}, {"after", change.after}};
}

OpenRun open_run(const Request& request) {
  OpenRun run;
  if (request.run) {
    check_folder(*request.run);
    run.folder = *request.run;
    run.is_new = !std::filesystem::exists(run.folder);
    if (!run.is_new) {
      check_is_run_folder(run.folder);
      lock(run);
    }
    go_back(run, request);
    if (!run.is_new) restore_config(run);
    if (run.lock && run.lock->directory().has(kConfigName)) {
      resume_run(run, request);
      return run;
    }
  }
  run.config = config::resolve(request.sources);
  if (!request.run) {
    run.is_new = true;
    run.folder = store::new_run_folder("runs", run.config.scheme.name + "-" + run.config.preset);
  }
  if (!run.lock) make_and_lock(run);
  if (run.lock->directory().has(kConfigName)) {  // another process was faster
    run.is_new = false;
    resume_run(run, request);
  }
  return run;
}

bool is_saved_configuration(const OpenRun& run) {
  return config::differences(saved_configuration(run), run.config).empty();
}

}  // namespace evenkeel::train
