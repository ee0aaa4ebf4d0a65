// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/report.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/report/bench_page.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/run.h"
#include "evenkeel/report/run_page.h"
#include "evenkeel/store/json_lines.h"

namespace evenkeel::report {

namespace {

constexpr const char* kPageName = "report.html";

}  // namespace

bool is_bench_file(const std::filesystem::path& path) {
  std::error_code none;
  return path.extension() == ".jsonl" && std::filesystem::is_regular_file(path, none);
}

std::vector<std::string> write_report(const std::vector<std::filesystem::path>& runs,
                                      const std::optional<std::filesystem::path>& page) {
  EK_ASSERT(!runs.empty() && (page || runs.size() == 1));
  if (is_bench_file(runs.front())) {
    if (runs.size() > 1) {
      throw Error(Exit::usage, text("report: ", runs.front().string(),
                                    ", a file of a bench, must be the only argument, but ",
                                    runs.size() - 1, " more are named"));
    }
    EK_ASSERT(page.has_value());
    const auto lines = store::read_json_lines(runs.front());
    write_file(*page, bench_page(runs.front().string(), lines.records));
    return {};
  }
  std::vector<Run> read;
  std::vector<std::string> losses;
  read.reserve(runs.size());
  for (const auto& folder : runs) {
    read.push_back(read_run(folder));
    for (const auto& each : record_losses(read.back())) {
      losses.push_back(text(folder.string(), ": ", each));
    }
  }
  const auto html = read.size() == 1 ? run_page(read.front()) : comparison_page(std::move(read));
  if (page) {
    write_file(*page, html);
  } else {
    store::Directory(runs.front()).write(kPageName, html);
  }
  return losses;
}

void write_run_report(const store::Directory& run) {
  run.write(kPageName, run_page(read_run(run)));
}

}  // namespace evenkeel::report
