// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "evenkeel/convert/export.h"
#include "evenkeel/convert/run_source.h"

namespace evenkeel::convert {

/// README.md of an exported model: a YAML head, scheme, sizes, data, loss, command, and how to load
/// it.
std::string model_card(const RunSource& source, const ExportRequest& request,
                       const ExportResult& result);

}  // namespace evenkeel::convert
