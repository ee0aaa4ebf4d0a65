// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/change_refusal.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/store/run_changes.h"

namespace evenkeel::train {

namespace {

/// The length of a run as the key that sets it: "train.tokens = 10000".
std::string length_text(const config::Config& config) {
  const auto& train = config.train;
  return train.steps > 0 ? text("train.steps = ", train.steps)
                         : text("train.tokens = ", train.tokens);
}

/// The second advice about a change without effect. A longer run is no help for a key that may
/// change the tensors.
std::string advice_without_effect(const std::string& key, std::int64_t done, std::int64_t planned) {
  if (config::is_named(key, {"model", "scheme"})) return "start another run";
  if (done < planned) return text("train more than ", done, " steps");
  return text("extend the run with --set train.steps=", 2 * done);
}

/// Refuses a length of `wanted` steps or tokens, of which the run has `done`.
/// \param key  "train.steps", "train.tokens"
[[noreturn]] void refuse_length(const OpenRun& run, const char* key, std::int64_t wanted,
                                const char* unit, std::int64_t done) {
  throw Error(Exit::differs,
              text(run.folder.string(), ": the run has ", done, " ", unit, ", more than the ",
                   wanted, " of ", key, "; name ", done, " or more: --set ", key, "=", done,
                   " --override ", key, " ends the run at its step ", run.done.step));
}

}  // namespace

void refuse_without_override(const std::filesystem::path& run,
                             const config::KeyDifference& difference, const config::Config& before,
                             const config::Config& after) {
  auto key = difference.key;
  auto what = text(key, " = ", difference.before, ", not ", difference.after);
  const bool changes_key = (before.train.steps > 0) != (after.train.steps > 0);
  if (store::is_run_length(key) && changes_key) {
    key = before.train.steps > 0 ? "train.steps" : "train.tokens";
    what = text(length_text(before), ", not ", length_text(after));
  }
  throw Error(Exit::differs,
              text(run.string(), ": the run was started with ", what,
                   "; leave it out, start another run, or allow it with --override ", key));
}

void refuse_without_effect(const OpenRun& run, const ConfigChange& change, std::int64_t planned) {
  const auto done = run.done.step;
  throw Error(Exit::differs,
              text(run.folder.string(), ": the run ", done < planned ? "ends" : "ended",
                   " at step ", done, " with ", change.key, " = ", change.before, ", so that ",
                   change.after, " has no effect: nothing is left to train; leave it out, or ",
                   advice_without_effect(change.key, done, planned)));
}

void check_length(const OpenRun& run, const config::Config& before) {
  const auto steps = run.config.train.steps, tokens = run.config.train.tokens;
  const auto& done = run.done;
  if (steps > 0 && done.step > steps) {
    refuse_length(run, "train.steps", steps, "steps", done.step);
  }
  if (steps > 0 || tokens == before.train.tokens) return;
  // The last step may go beyond train.tokens.
  const auto before_last_step = done.tokens - before.train.batch * before.model.context;
  if (before_last_step >= tokens) refuse_length(run, "train.tokens", tokens, "tokens", done.tokens);
}

void check_is_no_import(const OpenRun& run) {
  if (!run.newest.found || !run.newest.found->manifest.value("imported", false)) return;
  throw Error(Exit::no_checkpoint, text(run.folder.string(),
                                        ": was imported, and has no optimizer state to resume; "
                                        "start another run from it with --set train.from=",
                                        run.folder.string()));
}

void restore_with_advice(const std::vector<ConfigChange>& changes,
                         const std::function<void()>& restore) {
  const auto changed = std::find_if(changes.begin(), changes.end(), [](const auto& change) {
    return config::is_named(change.key, {"model", "scheme", "train.precision"});
  });
  try {
    restore();
  } catch (const Error& error) {
    if (error.exit() != Exit::no_checkpoint || changed == changes.end()) throw;
    throw Error(error.exit(),
                text(error.what(), "; --override cannot change the tensors of a run: go back to ",
                     changed->key, " = ", changed->before, ", or start a new run with --run"));
  }
}

}  // namespace evenkeel::train
