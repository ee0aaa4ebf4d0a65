// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/train.h"

#include <memory>
#include <system_error>

#include "evenkeel/base/file.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/run.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

/// Removes a folder in which no run began: nothing is in it but a lock that nobody holds.
void remove_unused(const std::filesystem::path& folder) {
  std::error_code none;
  if (exists(folder / "run.toml", none) || store::is_locked(folder)) return;
  remove(folder / "lock", none);
  remove(folder, none);  // stays if anything else lies there
}

std::unique_ptr<Run> begun(const Request& request, Console& console) {
  const auto open = open_run(request);
  try {
    auto run = std::make_unique<Run>(request, open, console);
    run->begin();
    return run;
  } catch (const Error&) {
    remove_unused(open.folder);
    throw;
  }
}

}  // namespace

Result train(const Request& request) {
  catch_signals();
  Console console(request.quiet);
  const auto begun_run = begun(request, console);
  auto& run = *begun_run;
  if (run.finished()) {
    console.say(text("finished already at step ", run.progress().step,
                     "; extend it with --set train.steps=", 2 * run.progress().step));
    run.close("finished");
    return {Exit::done, run.folder()};
  }
  while (!run.finished() && !stop_wanted()) run.step();
  run.save(/*must=*/true);
  if (!run.finished()) {
    run.close("stopped");
    console.say(text("saved at step ", run.progress().step, "; go on with: evenkeel train --run ",
                     run.folder().string()));
    return {Exit::done, run.folder()};
  }
  run.close("finished");
  return {Exit::done, run.folder()};
}

std::string closing_words(const Result& result) {
  const auto rule = std::string(72, '-') + "\n";
  return text(rule, read_file(result.folder / "sample.txt"), "\n", rule,
              "report: ", (result.folder / "report.html").string(), "\n");
}

}  // namespace evenkeel::train
