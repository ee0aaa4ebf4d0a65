// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include <memory>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/config/config.h"
#include "evenkeel/config/toml_parser.h"
#include "evenkeel/data/text_encoding.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kConfigExamples = R"(Examples:
  evenkeel config                                  the keys with their values
  evenkeel config --preset 151m > mine.toml        a file to start from
  evenkeel config --config mine.toml --check       prints what is wrong with it, or nothing
  evenkeel config --run runs/x-1 --json            that of a run, for another program)";

/// Converts a TOML tree to JSON. Dates, which no key allows, become null.
nlohmann::json config_as_json(const toml::node& node) {
  nlohmann::json out;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_table<decltype(value)>) {
      out = nlohmann::json::object();
      for (const auto& [key, inner] : value) out[std::string(key.str())] = config_as_json(inner);
    } else if constexpr (toml::is_array<decltype(value)>) {
      out = nlohmann::json::array();
      for (const auto& inner : value) out.push_back(config_as_json(inner));
    } else if constexpr (!toml::is_chronological<decltype(value)>) {  // no key is a date
      out = value.get();
    }
  });
  return out;
}

/// Prints the resolved configuration as TOML or JSON; with `check` only resolves it.
/// \throws Error (usage), SchemeError for an invalid configuration
Exit run_config(const CommonOptions& common, bool check) {
  const auto config = config::resolve(common.sources_with_run());
  const auto shape = config::shape_of(config, data::vocabulary_of(config));
  config::bind(config.scheme, shape);
  if (check) return Exit::success;
  const auto toml = config::to_toml(config);
  if (common.json) {
    print_json(config_as_json(config::parse_toml(toml, "")));
  } else {
    print("%s", toml.c_str());
  }
  return Exit::success;
}

}  // namespace

/// `config` prints the resolved configuration as TOML, which --config reads back to equal values,
/// or as JSON. --check prints nothing and only resolves it. Exit code: 64 with one line that names
/// file, line and key.
Verb add_config(const Command& program) {
  struct Options {
    CommonOptions common;
    bool check = false;
  };
  const auto options = std::make_shared<Options>();
  const auto command = program.add_subcommand("config", verb_summary("config"));
  add_config_options(command, options->common);
  add_run(command, options->common, "run folder whose configuration is taken; default: none");
  add_json(command, options->common);
  command.add_flag("--check", options->check,
                   "print nothing; an invalid configuration is one line and exit code 64");
  command.footer(kConfigExamples);
  return {command, [options] { return run_config(options->common, options->check); }};
}

}  // namespace evenkeel::cli
