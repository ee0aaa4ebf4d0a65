// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace evenkeel::report {

/// The page of a file of `bench ... --output FILE.jsonl`: one section per benchmark run, with its
/// machine, table, and a figure of the ratios.
/// \param name  name of the file
/// \param records  lines of the file; lines that are no benchmark records are skipped
/// \throws Error (data) if no record is a benchmark record
std::string bench_page(const std::string& name, const std::vector<nlohmann::json>& records);

}  // namespace evenkeel::report
