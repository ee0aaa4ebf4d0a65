// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <string>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/convert/import.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kImportExamples = R"(Examples:
  evenkeel import Qwen3-0.6B --output runs/qwen
  evenkeel eval --run runs/qwen --text book.txt
  evenkeel generate --run runs/qwen --prompt "Once"
  evenkeel train --config runs/qwen/run.toml --set train.from=runs/qwen --run runs/tuned)";

struct ImportOptions {
  CommonOptions common;
  convert::ImportRequest request;
  std::optional<std::string> folder, output;
};

Exit run_import(ImportOptions& options) {
  auto& request = options.request;
  if (!options.folder) {
    throw Error(Exit::usage, "FOLDER is wanted: a model of Hugging Face, with a config.json");
  }
  if (!options.output) throw Error(Exit::usage, "--output is wanted: the folder of the new run");
  request.folder = *options.folder;
  request.output = *options.output;
  const auto result = convert::import_model(request);
  if (options.common.json) {
    print_json({{"run", request.output.string()},
                {"class", result.architecture},
                {"scheme", result.scheme},
                {"tensors", result.tensors},
                {"parameters", result.parameters},
                {"tokenizer", result.tokenizer}});
    return Exit::success;
  }
  print("imported %s as scheme %s: %s parameters, tokenizer %s\n", result.architecture.c_str(),
        result.scheme.c_str(), with_commas(result.parameters).c_str(), result.tokenizer.c_str());
  print("%s: a run with a checkpoint of step 0\n", request.output.c_str());
  return Exit::success;
}

}  // namespace

/// `import` makes a run with one checkpoint, of step 0, from a Hugging Face model. Exit codes: 64
/// the output exists; 65 the model is damaged, or has a part that our models do not have.
Verb add_import(const Command& program) {
  const auto options = std::make_shared<ImportOptions>();
  const auto command = program.add_subcommand("import", verb_summary("import"));
  add_json(command, options->common);
  command.add_option("folder", options->folder, "a model of Hugging Face: config.json and weights")
      .type_name("FOLDER");
  command.add_option("--output", options->output, "folder of the new run").type_name("FOLDER");
  command.add_flag("--overwrite", options->request.overwrite, "replace an older import");
  command.footer(kImportExamples);
  return {command, [options] { return run_import(*options); }};
}

}  // namespace evenkeel::cli
