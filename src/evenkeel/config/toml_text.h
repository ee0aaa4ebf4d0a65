// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/quote.h"

/// TOML as text in one line: for run.toml, and for messages that show the value found. This header
/// includes toml++.
namespace evenkeel::config {

/// The value of a node in one line: numbers in their shortest exact form, tables and lists inline.
std::string toml_text(const toml::node& node);

}  // namespace evenkeel::config
