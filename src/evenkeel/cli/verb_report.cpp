// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "evenkeel/base/print.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/report/report.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kReportExamples = R"(Examples:
  evenkeel report runs/pre_norm-tiny-1                                one run
  evenkeel report runs/pre_norm-tiny-1 runs/hybrid_norm_star-tiny-1   side by side
  evenkeel report runs/*-tiny-* --output comparison.html
  evenkeel report runs                                                table of all runs, with links
  evenkeel report bench.jsonl                                         results of `bench --output`)";

/// What a refusal adds if the page was to be written into a folder that this process may not write.
std::string output_hint(const std::filesystem::path& page) {
  const auto folder = page.has_parent_path() ? page.parent_path() : std::filesystem::path(".");
  const bool is_read_only =
      ::access(folder.c_str(), W_OK) != 0 && (errno == EACCES || errno == EROFS);
  return is_read_only ? "; --output FILE writes the page elsewhere" : "";
}

/// Writes the page and prints its path.
/// \param page  output file. Empty: for one run, also if it is named twice, report.html in its
///              folder; for several runs report.html in the current folder; for a bench file its
///              name with .html
/// \throws Error (usage) if no run is named; (data) for a folder or file without data; (io)
Exit run_report(const CommonOptions& common, const std::vector<std::filesystem::path>& runs,
                std::filesystem::path page) {
  if (runs.empty()) {
    throw Error(Exit::usage, "report: name one or more run folders; `evenkeel runs` lists them");
  }
  const bool is_named = !page.empty();
  if (page.empty() && report::is_bench_file(runs.front())) {
    page = std::filesystem::path(runs.front()).replace_extension(".html");
  }
  if (page.empty() && report::distinct_folders(runs).size() > 1) page = "report.html";
  const auto typed = page.empty() ? std::nullopt : std::optional(page);
  if (page.empty()) page = runs.front() / "report.html";
  try {
    for (const auto& each : report::write_report(runs, typed)) print_message(each);
  } catch (const Error& error) {
    const auto hint = is_named || error.exit() != Exit::io ? std::string() : output_hint(page);
    if (hint.empty()) throw;
    throw Error(Exit::io, error.what() + hint);
  }
  if (common.json) {
    print_json({{"report", page.string()}});
    return Exit::success;
  }
  print_path(page);
  return Exit::success;
}

}  // namespace

/// `report` writes one HTML page without external files: of a run, of several runs side by side, or
/// of a file of `bench --output`. It prints the path of the page.
/// Exit codes: 64 no run is named; 65 a folder or file without data; 74 the page cannot be written.
Verb add_report(const Command& program) {
  struct Options {
    CommonOptions common;
    std::vector<std::filesystem::path> runs;
    std::filesystem::path page;
  };
  const auto options = std::make_shared<Options>();
  const auto command = program.add_subcommand("report", verb_summary("report"));
  command
      .add_option("runs", options->runs,
                  "run folders; a folder of runs; or a file of `bench --output`")
      .type_name("RUN")
      .not_empty();
  command
      .add_option("--output", options->page,
                  "HTML file; default: report.html in the run, or NAME.html")
      .type_name("FILE")
      .not_empty();
  add_json(command, options->common);
  command.footer(kReportExamples);
  return {command, [options] { return run_report(options->common, options->runs, options->page); }};
}

}  // namespace evenkeel::cli
