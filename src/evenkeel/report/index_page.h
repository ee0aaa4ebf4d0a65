// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// The page of a folder of runs: a row per run with its state, losses, a small curve of the
/// training loss, and a link.
/// \param title   plain text
/// \param link    the address of a run's own page
/// \param more    HTML below the table; may be empty
/// \param events  as in page()
std::string index_page(const std::string& title, const std::vector<Run>& runs,
                       const std::function<std::string(const Run&)>& link,
                       const std::string& more = "", const std::string& events = "");

/// A name as a part of an address: all bytes but letters, digits, "-", "." and "_" become %XX.
std::string url_part(const std::string& name);

}  // namespace evenkeel::report
