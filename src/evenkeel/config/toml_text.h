// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>

#include "evenkeel/config/quote.h"

/// TOML values as one line of text, for run.toml and for messages. This header includes toml++.
namespace evenkeel::config {

/// The value of a node in one line. Numbers have their shortest round-trip form; tables and lists
/// are inline.
std::string toml_text(const toml::node& node);

}  // namespace evenkeel::config
