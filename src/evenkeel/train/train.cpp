// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/train.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "evenkeel/base/file.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/run.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

namespace {

/// At the end of its life removes what open_run() made, if no run began there.
class Leftover {
 public:
  explicit Leftover(const OpenRun& run) : folder_(run.folder), made_here_(run.made_here) {}
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  ~Leftover() {
    std::error_code none;
    if (exists(folder_ / "run.toml", none)) return;
    remove(folder_ / "lock", none);
    if (!made_here_) return;
    remove(folder_, none);  // stays if anything else lies there
  }

 private:
  std::filesystem::path folder_;
  bool made_here_;
};

}  // namespace

Result train(const Request& request) {
  catch_signals();
  Console console(request.quiet);
  auto open = open_run(request);
  const Leftover leftover(open);
  Run run(request, std::move(open), console);
  run.begin();
  if (run.finished()) {
    console.info(text("finished already at step ", run.progress().step,
                     "; extend it with --set train.steps=", 2 * run.progress().step));
    run.close("finished");
    return {Exit::done, run.folder()};
  }
  while (!run.finished() && !stop_wanted()) run.step();
  run.save(/*must=*/true);
  if (!run.finished()) {
    run.close("stopped");
    console.info(text("saved at step ", run.progress().step, "; go on with: evenkeel train --run ",
                     run.folder().string()));
    return {Exit::done, run.folder()};
  }
  run.close("finished");
  return {Exit::done, run.folder()};
}

std::string closing_words(const Result& result) {
  const std::string rule(72, '-');
  return text(rule, "\n", read_file(result.folder / "sample.txt"), "\n", rule, "\n",
              "report: ", (result.folder / "report.html").string(), "\n");
}

}  // namespace evenkeel::train
