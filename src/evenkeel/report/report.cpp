// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/report.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/report/comparison_page.h"
#include "evenkeel/report/run.h"
#include "evenkeel/report/run_page.h"

namespace evenkeel::report {

void write_report(const std::vector<std::filesystem::path>& runs,
                  const std::filesystem::path& page) {
  EK_ASSERT(!runs.empty());
  std::vector<Run> read;
  for (const auto& folder : runs) read.push_back(read_run(folder));
  write_file(page, read.size() == 1 ? run_page(read.front()) : comparison_page(std::move(read)));
}

}  // namespace evenkeel::report
