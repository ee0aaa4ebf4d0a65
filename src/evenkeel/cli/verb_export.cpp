// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/convert/export.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kExportExamples = R"(Examples:
  evenkeel export --run runs/pre_norm-tiny-1 --output model            for transformers, vLLM
  evenkeel export --run RUN --output model --dtype bfloat16 --shard 5G
  evenkeel export --run RUN --output model --average 3     mean of the last 3 checkpoints
  evenkeel export --run RUN --output model --as gguf --dtype float16         for llama.cpp
Then: transformers.AutoModelForCausalLM.from_pretrained("model"); docs/models.md has more)";

struct ExportOptions {
  CommonOptions common;
  convert::ExportRequest request;
  std::optional<std::string> output, shard;
  std::int64_t average = 1;
};

/// Shows the progress on a terminal, at most five times a second.
class ExportProgress {
 public:
  explicit ExportProgress(bool quiet) : is_shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ExportProgress(const ExportProgress&) = delete;
  ExportProgress& operator=(const ExportProgress&) = delete;
  ~ExportProgress() {
    if (is_shown_) erase_progress();
  }

  void report(std::uint64_t done, std::uint64_t all) {
    constexpr std::chrono::milliseconds kPause(200);
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now - shown_ < kPause) return;
    shown_ = now;
    print_progress(text("\r", bytes_text(static_cast<double>(done)), " of ",
                        bytes_text(static_cast<double>(all))));
  }

 private:
  bool is_shown_;
  std::chrono::steady_clock::time_point shown_;
};

/// The options of the command line as one line, for the model card.
std::string command_line(const ExportOptions& options) {
  const auto& request = options.request;
  auto out =
      text("evenkeel export --run ", request.run.string(), " --output ", request.output.string());
  if (request.checkpoint) out += " --checkpoint " + *request.checkpoint;
  if (request.as != "auto") out += " --as " + request.as;
  if (request.dtype != "float32") out += " --dtype " + request.dtype;
  if (options.shard) out += " --shard " + *options.shard;
  if (request.average > 1) out += text(" --average ", request.average);
  return request.padded ? out + " --padded" : out;
}

nlohmann::ordered_json export_as_json(const ExportOptions& options,
                                      const convert::ExportResult& result) {
  return {{"output", options.request.output.string()},
          {"class", result.architecture},
          {"reason", result.reason},
          {"dtype", options.request.dtype},
          {"step", result.step},
          {"averaged", result.averaged},
          {"tensors", result.tensors},
          {"bytes", result.bytes},
          {"files", result.files},
          {"warnings", result.warnings}};
}

/// \throws Error (usage) without --output, and for the path of a GGUF file in place of its folder
void check_export_output(const ExportOptions& options) {
  if (!options.output) throw Error(Exit::usage, "--output is wanted: the folder of the new model");
  const std::filesystem::path output = *options.output;
  if (options.request.as != "gguf" || output.extension() != ".gguf") return;
  throw Error(Exit::usage, text("--output is a folder; the file in it is model.gguf; wanted a name "
                                "without .gguf, but found ",
                                output.string()));
}

/// The bytes of --shard, which may have a small k, too.
/// \throws Error (usage) for a word that is no size
std::uint64_t shard_bytes(std::string word) {
  if (word.ends_with('k')) word.back() = 'K';
  return convert::parse_size(word);
}

/// What was written: the folder, or with --as gguf the file in it.
std::filesystem::path written_path(const convert::ExportRequest& request) {
  return request.as == "gguf" ? request.output / "model.gguf" : request.output;
}

Exit run_export(ExportOptions& options) {
  auto& request = options.request;
  if (!options.common.run) {
    throw Error(Exit::usage,
                "--run is wanted: the folder of a trained model; `evenkeel runs` lists them");
  }
  check_export_output(options);
  if (options.average < 1) {
    throw Error(Exit::usage, text("--average must be at least 1, but is ", options.average));
  }
  request.run = *options.common.run;
  request.output = *options.output;
  request.average = options.average;
  if (options.shard) request.shard_bytes = shard_bytes(*options.shard);
  request.command = command_line(options);
  train::catch_signals(/*announces=*/false);
  request.stop_wanted = train::stop_wanted;
  convert::ExportResult result;
  {
    ExportProgress progress(options.common.quiet || options.common.json);
    request.progress = [&](std::uint64_t done, std::uint64_t all) { progress.report(done, all); };
    result = convert::export_model(request);
  }
  for (const auto& warning : result.warnings) print_message(text("warning: ", warning));
  if (options.common.json) {
    print_json(export_as_json(options, result));
    return Exit::success;
  }
  print("exported as %s: %s\n", result.architecture.c_str(), result.reason.c_str());
  print("%s: %s tensors, %s, %s, step %s\n", written_path(request).c_str(),
        with_commas(result.tensors).c_str(), bytes_text(static_cast<double>(result.bytes)).c_str(),
        request.dtype.c_str(), with_commas(result.step).c_str());
  return Exit::success;
}

}  // namespace

/// `export` writes a checkpoint of --run as a Hugging Face model or a GGUF file into a new folder.
/// Tensors are read and written in parts. Exit codes: 64 the model does not fit --as, or the output
/// exists; 65 a checkpoint or a tokenizer is damaged; 77 no valid checkpoint.
Verb add_export(const Command& program) {
  const auto options = std::make_shared<ExportOptions>();
  const auto command = program.add_subcommand("export", verb_summary("export"));
  add_run(command, options->common, "run folder of the trained model");
  add_json(command, options->common);
  add_quiet(command, options->common);
  auto& request = options->request;
  command.add_option("--output", options->output, "folder to write, required").type_name("FOLDER");
  command
      .add_option("--checkpoint", request.checkpoint,
                  "a step, as 400; best: the lowest validation loss; default: the newest")
      .type_name("STEP");
  command.add_option("--as", request.as, "class of the model; auto: the first that fits")
      .type_name("CLASS")
      .show_default()
      .one_of(convert::export_formats());
  command.add_option("--dtype", request.dtype, "dtype of the tensors; float16 only with --as gguf")
      .show_default()
      .one_of({"float32", "bfloat16", "float16"});
  command
      .add_option("--shard", options->shard,
                  "the most bytes of a file, as 5G or 300k; default: one file")
      .type_name("SIZE");
  command
      .add_option("--average", options->average,
                  "number of checkpoints, up to --checkpoint, whose mean is exported")
      .show_default();
  command.add_flag("--padded", request.padded, "keep the padding rows of the embedding");
  command.add_flag("--overwrite", request.overwrite, "replace an older export");
  command.footer(kExportExamples);
  return {.command = command,
          .body = [options] { return run_export(*options); },
          .catches_signals = true};
}

}  // namespace evenkeel::cli
