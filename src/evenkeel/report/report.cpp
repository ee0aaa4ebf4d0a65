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

bool is_bench_file(const std::filesystem::path& path) {
  std::error_code none;
  return path.extension() == ".jsonl" && std::filesystem::is_regular_file(path, none);
}

void write_report(const std::vector<std::filesystem::path>& runs,
                  const std::filesystem::path& page) {
  EK_ASSERT(!runs.empty());
  if (is_bench_file(runs.front())) {
    if (runs.size() > 1) {
      throw Error(Exit::usage,
                  text("report: ", runs.front().string(), ", a file of a bench, stands alone, but ",
                       runs.size() - 1, " more are named"));
    }
    write_file(page, bench_page(runs.front().string(), store::read_json_lines(runs.front())));
    return;
  }
  std::vector<Run> read;
  for (const auto& folder : runs) read.push_back(read_run(folder));
  write_file(page, read.size() == 1 ? run_page(read.front()) : comparison_page(std::move(read)));
}

}  // namespace evenkeel::report
