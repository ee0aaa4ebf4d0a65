// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/file.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/convert/hf_folder.h"
#include "evenkeel/convert/import.h"
#include "evenkeel/convert/olmo_yaml.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kImportExamples = R"(Examples:
  evenkeel import Qwen3-0.6B --output runs/qwen
  evenkeel eval --run runs/qwen --set data.validation=book.txt
  evenkeel generate --run runs/qwen --prompt "Once"
  evenkeel train --config runs/qwen/run.toml --set train.from=runs/qwen --set model.context=4096
  evenkeel import 1.2B-dense.yaml --output dense.toml
  evenkeel import 1.2B-dense.yaml --output small.toml --argument model.n_layers=4)";

struct ImportOptions {
  CommonOptions common;
  convert::ImportRequest request;
  std::optional<std::string> folder, output;
  std::vector<std::string> arguments;
};

/// A configuration of OLMo: a file whose name says that it is YAML.
bool is_yaml(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

nlohmann::ordered_json keys_json(const std::vector<convert::ImportedKey>& keys) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& key : keys) {
    out.push_back({{"key", key.key},
                   {"line", key.line},
                   {"value", key.value},
                   {"use", convert::name_of(key.use)},
                   {"note", key.note}});
  }
  return out;
}

/// The number of keys of each use, and the keys whose values are not taken.
void print_keys(const std::vector<convert::ImportedKey>& keys) {
  using convert::KeyUse;
  std::map<KeyUse, int> counts;
  for (const auto& key : keys) ++counts[key.use];
  print("%d keys taken, %d as always here, %d without effect, %d that differ, %d unknown\n",
        counts[KeyUse::taken], counts[KeyUse::equal], counts[KeyUse::no_effect],
        counts[KeyUse::differs], counts[KeyUse::unknown]);
  for (const auto& key : keys) {
    if (key.use != KeyUse::differs && key.use != KeyUse::unknown) continue;
    print("  %s: %s = %s%s%s\n", convert::name_of(key.use), key.key.c_str(), key.value.c_str(),
          key.note.empty() ? "" : ": ", key.note.c_str());
  }
}

/// Prints the configuration, or writes it to --output.
Exit import_configuration(const ImportOptions& options) {
  if (!options.output && options.request.overwrite) {
    throw Error(Exit::usage, "--overwrite has no effect without --output; leave it out");
  }
  train::release_signals();
  const auto result =
      convert::import_yaml({.file = *options.folder, .arguments = options.arguments});
  const auto& output = options.output;
  if (output) {
    std::error_code none;
    if (std::filesystem::exists(*output, none) && !options.request.overwrite) {
      throw Error(Exit::usage, text("--output ", *output,
                                    ": exists; name another file, or replace it with --overwrite"));
    }
    write_file(*output, result.toml);
  }
  if (options.common.json) {
    print_json({{"config", output ? nlohmann::ordered_json(*output) : nlohmann::ordered_json()},
                {"scheme", result.scheme},
                {"toml", result.toml},
                {"keys", keys_json(result.keys)}});
  } else if (output) {
    print("%s: a configuration with the scheme %s\n", output->c_str(), result.scheme.c_str());
    print_keys(result.keys);
  } else {
    print_bytes(result.toml);
  }
  return Exit::success;
}

Exit run_import(ImportOptions& options) {
  auto& request = options.request;
  if (!options.folder) {
    throw Error(Exit::usage,
                "FOLDER is wanted: a model of Hugging Face, with a config.json, or a configuration "
                "of OLMo (.yaml)");
  }
  if (is_yaml(*options.folder)) return import_configuration(options);
  if (!options.arguments.empty()) {
    throw Error(Exit::usage, "--argument has no effect without a configuration of OLMo (.yaml)");
  }
  if (!options.output) {
    const convert::HfConfig is_a_model(*options.folder);  // a wrong folder is the first mistake
    throw Error(Exit::usage, "--output is wanted: the folder of the new run");
  }
  train::catch_signals(/*announces=*/false);
  request.stop_wanted = train::stop_wanted;
  request.folder = *options.folder;
  request.output = *options.output;
  const auto result = convert::import_model(request);
  for (const auto& warning : result.warnings) print_message(text("warning: ", warning));
  if (options.common.json) {
    print_json({{"run", request.output.string()},
                {"class", result.architecture},
                {"scheme", result.scheme},
                {"tensors", result.tensors},
                {"parameters", result.parameters},
                {"tokenizer", result.tokenizer},
                {"recipe", result.recipe},
                {"warnings", result.warnings}});
    return Exit::success;
  }
  print("imported %s as scheme %s: %s parameters, tokenizer %s\n", result.architecture.c_str(),
        result.scheme.c_str(), with_commas(result.parameters).c_str(), result.tokenizer.c_str());
  print("%s: a run with a checkpoint of step 0\n", request.output.c_str());
  print("training with train.from: %s\n", result.recipe.c_str());
  return Exit::success;
}

}  // namespace

/// `import` makes a run with one checkpoint, of step 0, from a Hugging Face model, and a
/// configuration from one of OLMo. Exit codes: 64 the output exists; 65 the model is damaged, or
/// has a part that our models do not have.
Verb add_import(const Command& program) {
  const auto options = std::make_shared<ImportOptions>();
  const auto command = program.add_subcommand("import", verb_summary("import"));
  add_json(command, options->common);
  command
      .add_option("folder", options->folder,
                  "a model of Hugging Face, or a .yaml file of OLMo or HybridNorm")
      .type_name("FOLDER|FILE");
  command
      .add_option("--output", options->output,
                  "folder of the new run; with .yaml: TOML file (default: printed)")
      .type_name("FOLDER|FILE");
  command
      .add_option("--argument", options->arguments,
                  "with .yaml: an argument of OLMo's program; may be repeated")
      .type_name("KEY=VALUE");
  command.add_flag("--overwrite", options->request.overwrite, "replace an older --output");
  command.footer(kImportExamples);
  return {.command = command,
          .body = [options] { return run_import(*options); },
          .catches_signals = true};
}

}  // namespace evenkeel::cli
