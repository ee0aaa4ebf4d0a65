// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/train.h"

#include "evenkeel/base/file.h"
#include "evenkeel/train/console.h"
#include "evenkeel/train/run.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::train {

Result train(const Request& request) {
  catch_signals();
  Console console(request.quiet);
  Run run(request, open_run(request), console);
  run.begin();
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
