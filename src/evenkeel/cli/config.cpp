// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/config.h"

#include <cstdio>
#include <memory>

#include "evenkeel/cli/verb.h"
#include "evenkeel/data/corpus.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  evenkeel config                                  every key with its value
  evenkeel config --preset 151m > mine.toml        a file to start from
  evenkeel config --config mine.toml --check       says what is wrong with it, or nothing)";

Exit body(const Common& common, bool check) {
  auto sources = common.sources();
  if (common.run) sources.files.insert(sources.files.begin(), *common.run / "run.toml");
  const auto config = config::resolve(sources);
  const auto shape = config::shape_of(config, data::kByteVocabulary);
  config::bind(config.scheme, shape);
  if (!check) std::printf("%s", config::to_toml(config).c_str());
  return Exit::done;
}

}  // namespace

Verb add_config(CLI::App& program) {
  struct Options {
    Common common;
    bool check = false;
  };
  const auto options = std::make_shared<Options>();
  auto* const app = program.add_subcommand("config", "print or check the resolved configuration");
  add_common(*app, options->common);
  app->add_flag("--check", options->check, "print nothing; exit 64 with one line if it is wrong");
  app->footer(kExamples);
  return {app, [options] { return body(options->common, options->check); }};
}

}  // namespace evenkeel::cli
