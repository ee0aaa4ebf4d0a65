// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/train.h"

#include <cstdio>
#include <memory>

#include "evenkeel/base/file.h"
#include "evenkeel/cli/verb.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  evenkeel train                                           the built-in corpus, about a minute
  evenkeel train --set data.train=book.txt                 your own text
  evenkeel train --scheme pre_norm --set seed=2            another scheme, another seed
  evenkeel train --run runs/hybrid_norm_star-tiny-1        go on with a run
Ctrl-C finishes the step, saves, and says how to go on. Keys: docs/configuration.md)";

Exit body(const Common& common, const std::vector<std::string>& overrides) {
  check_device(common);
  const auto result = train::train({.sources = common.sources(),
                                    .run = common.run,
                                    .overrides = overrides,
                                    .quiet = common.quiet});
  if (common.json) {
    std::printf("%s\n", read_file(result.folder / "status.json").c_str());
  } else {
    std::printf("%s", train::closing_words(result).c_str());
  }
  return result.exit;
}

}  // namespace

Verb add_train(CLI::App& program) {
  struct Options {
    Common common;
    std::vector<std::string> overrides;
  };
  const auto options = std::make_shared<Options>();
  auto* const app = program.add_subcommand("train", "train a model, or go on with a run");
  add_common(*app, options->common);
  app->add_option("--override", options->overrides,
                  "when going on: let this key differ from what the run was started with")
      ->type_name("KEY");
  app->footer(kExamples);
  return {app, [options] { return body(options->common, options->overrides); }};
}

}  // namespace evenkeel::cli
