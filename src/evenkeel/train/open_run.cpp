// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/open_run.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

namespace {

/// What may change freely when a run goes on: it decides when things are written, not what.
bool is_free(const std::string& key) {
  constexpr std::array<std::string_view, 4> kTables = {"evaluate.", "checkpoint.", "log.",
                                                       "health."};
  const bool in_table = std::any_of(kTables.begin(), kTables.end(),
                                    [&](std::string_view table) { return key.starts_with(table); });
  return in_table || key == "train.threads" || key == "preset";
}

bool is_length(const std::string& key) {
  return key == "train.steps" || key == "train.tokens";
}

[[noreturn]] void refuse(const std::filesystem::path& run, const config::Difference& difference) {
  throw Error(Exit::differs,
              text(run.string(), ": the run was started with ", difference.key, " = ",
                   difference.before, ", but ", difference.after,
                   " is asked for; leave it out, start another run, or allow it with --override ",
                   difference.key));
}

OpenRun continued(const Request& request, const std::filesystem::path& folder) {
  const auto file = folder / "run.toml";
  const auto before = config::resolve({.preset = {}, .files = {file}, .scheme = {}, .sets = {}});
  auto sources = request.sources;
  if (!sources.preset) sources.files.insert(sources.files.begin(), file);
  OpenRun run{folder, config::resolve(sources), /*continues=*/true, {}};

  for (const auto& difference : config::differences(before, run.config)) {
    if (is_length(difference.key)) {
      if (steps_of(run.config) < steps_of(before) &&
          !overridden(request.overrides, difference.key)) {
        refuse(folder, difference);
      }
    } else if (!is_free(difference.key) && !overridden(request.overrides, difference.key)) {
      refuse(folder, difference);
    }
    run.changed.push_back({difference.key, difference.before, difference.after});
  }
  return run;
}

}  // namespace

OpenRun open_run(const Request& request) {
  if (request.run && std::filesystem::exists(*request.run / "run.toml")) {
    return continued(request, *request.run);
  }
  OpenRun run;
  run.config = config::resolve(request.sources);
  if (request.run) {
    run.folder = *request.run;
    store::make_run_folder(run.folder);
  } else {
    run.folder = store::new_run_folder("runs", run.config.scheme.name + "-" + run.config.preset);
  }
  return run;
}

bool overridden(const std::vector<std::string>& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& each) {
    return key == each || key.starts_with(each + ".");
  });
}

}  // namespace evenkeel::train
