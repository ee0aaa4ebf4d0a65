// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace evenkeel::report {

/// The page of what benches appended to a file (`bench ... --out FILE.jsonl`): a section for each
/// bench that was run, with its machine, its table and its ratios as a figure.
/// \param name  of the file
/// \throws Error (data) if none of the records is a bench's
std::string bench_page(const std::string& name, const std::vector<nlohmann::json>& records);

}  // namespace evenkeel::report
