// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/report/run.h"

namespace evenkeel::report {

/// A run in the table of a folder of runs.
struct IndexRow {
  const Run* run = nullptr;  // must outlive the row
  std::string name;          // shown; differs from the names of other rows
  std::string address;       // of the run's own page; "": it has none
};

/// The page of a folder of runs: a row per run with its state, losses, a small curve of the
/// training loss, and a link.
/// \param title   plain text
/// \param more    HTML below the table; may be empty
/// \param events  as in page()
std::string index_page(const std::string& title, const std::vector<IndexRow>& runs,
                       const std::string& more = "", const std::string& events = "");

/// A name as a part of an address: all bytes but letters, digits, "-", "." and "_" become %XX.
std::string url_part(const std::string& name);

}  // namespace evenkeel::report
