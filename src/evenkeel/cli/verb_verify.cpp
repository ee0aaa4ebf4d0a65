// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "evenkeel/base/print.h"
#include "evenkeel/base/printable.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/verify/verify.h"
#include "evenkeel/verify/verify_text.h"

namespace evenkeel::cli {

namespace {

using nn::AttentionPath;
using nn::Precision;

constexpr const char* kVerifyExamples = R"(Examples:
  evenkeel verify dense_hybrid_norm.safetensors            the table of one file
  evenkeel verify golden/*.safetensors --precision float32 a line a file
  evenkeel verify x.safetensors --formulas --attention explicit
Exit code 0: all held; 1: a file is refuted; else that of the first file that could not be judged.
Layouts and tolerances: tests/golden/README.md)";

const std::map<std::string, Precision> kPrecisions = {{"float32", Precision::float32},
                                                      {"float64", Precision::float64}};
const std::map<std::string, AttentionPath> kPaths = {{"auto", AttentionPath::automatic},
                                                     {"explicit", AttentionPath::explicit_scores},
                                                     {"flash", AttentionPath::flash}};

/// The keys of a map of choices.
std::vector<std::string> names_of(const auto& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const auto& [name, choice] : choices) names.push_back(name);
  return names;
}

/// Options of `verify`. `tolerance` is a factor on the tolerance of the dtype.
struct VerifyOptions {
  CommonOptions common;
  std::vector<std::string> files;
  std::string precision = "float64", attention = "auto";
  double tolerance = 1;
  bool formulas = false, json = false, quiet = false;

  verify::VerifyOptions settings() const {
    return {.precision = kPrecisions.at(precision),
            .tolerance = tolerance,
            .attention = kPaths.at(attention),
            .fused = !formulas};
  }
};

/// Counts of verdicts, and the exit code of the first file that could not be read.
struct Tally {
  int held = 0, refuted = 0, not_judged = 0;
  Exit first_error = Exit::success;

  Exit exit() const { return refuted > 0 ? Exit::check_failed : first_error; }
};

/// The line of a file that could not be verified. The file name is prepended unless the message
/// begins with it, or with the JSON file of the same stem.
std::string verify_complaint(const std::string& file, const std::string& what) {
  const auto stem = std::filesystem::path(file).replace_extension().string();
  return "not judged: " + (what.starts_with(stem) ? what : file + ": " + what);
}

/// Verifies one file and prints its table or JSON.
/// \return Exit::check_failed if a value exceeds its tolerance, else Exit::success
Exit verify_one(const VerifyOptions& options) {
  const auto result =
      verify::verify(verify::read_golden(options.files.front()), options.settings());
  if (options.json) {
    print_json(verify::json_of(result), 2);
  } else if (!options.quiet || !result.passed()) {
    print("%s", verify::table_of(result).c_str());
  }
  return result.passed() ? Exit::success : Exit::check_failed;
}

/// Verifies several files, also after one that cannot be read; prints one line per file.
/// \return Exit::check_failed if a file is refuted, else the code of the first error, or success
Exit verify_all(const VerifyOptions& options) {
  Tally tally;
  auto results = nlohmann::json::array();
  const auto print_line = [&](const std::string& line) {
    if (!options.json) print("%s\n", printable_line(line).c_str());
  };
  for (const auto& file : options.files) {
    try {
      const auto result = verify::verify(verify::read_golden(file), options.settings());
      ++(result.passed() ? tally.held : tally.refuted);
      results.push_back(verify::json_of(result));
      if (!options.quiet || !result.passed()) print_line(verify::line_of(result));
    } catch (const Error& error) {
      ++tally.not_judged;
      if (tally.first_error == Exit::success) tally.first_error = error.exit();
      results.push_back({{"file", file}, {"held", nullptr}, {"error", error.what()}});
      print_line(verify_complaint(file, error.what()));
    }
  }
  if (!options.quiet || tally.exit() != Exit::success) {
    print_line(text(options.files.size(), " files: ", tally.held, " held, ", tally.refuted,
                    " refuted, ", tally.not_judged, " not judged"));
  }
  if (options.json) print_json(results, 2);
  return tally.exit();
}

/// Checks --tolerance, then verifies the files.
/// \throws Error (usage) for a tolerance that is not above 0; for a single file errors of reading
Exit run_verify(const VerifyOptions& options) {
  if (!std::isfinite(options.tolerance) || options.tolerance <= 0) {
    throw Error(Exit::usage, text("--tolerance: must be a number above 0, but is ",
                                  options.tolerance, "; 2 doubles every tolerance"));
  }
  use_device(options.common);
  return options.files.size() == 1 ? verify_one(options) : verify_all(options);
}

}  // namespace

/// `verify` recomputes golden files: logits, loss, gradients, and weights of a trajectory. The
/// tolerance is that of the dtype (tests/golden/README.md) times --tolerance.
/// Exit codes: 0 every value is within its tolerance; 1 a value is not; else the code of the first
/// file that could not be read.
Verb add_verify(const Command& program) {
  const auto options = std::make_shared<VerifyOptions>();
  const auto command = program.add_subcommand("verify", verb_summary("verify"));
  command.add_option("files", options->files, "golden files: one pass, or a trajectory")
      .type_name("FILE.safetensors")
      .required();
  command
      .add_option("--precision", options->precision,
                  "precision of the computation: float64 or float32")
      .one_of(names_of(kPrecisions))
      .show_default();
  command.add_option("--tolerance", options->tolerance, "multiply all tolerances by this")
      .type_name("FACTOR")
      .show_default();
  command
      .add_option("--attention", options->attention, "attention operator: auto, flash or explicit")
      .one_of(names_of(kPaths))
      .show_default();
  add_device(command, options->common);
  command.add_flag("--formulas", options->formulas,
                   "compute plain formulas in place of fused operators");
  command.add_flag("--json", options->json, "every check as JSON on standard output");
  command.add_flag("--quiet", options->quiet,
                   "print nothing of a file whose values are within their tolerances");
  command.footer(kVerifyExamples);
  return {command, [options] { return run_verify(*options); }, /*computes=*/true};
}

}  // namespace evenkeel::cli
