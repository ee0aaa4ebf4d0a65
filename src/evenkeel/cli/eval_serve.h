// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/base/error.h"
#include "evenkeel/cli/verb.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::cli {

/// `eval --serve PORT`: answers requests for completions on 127.0.0.1 until SIGINT, SIGTERM or
/// SIGHUP (docs/serving.md). Prints the address on standard output, and a line per request on
/// standard error, unless `common.quiet`.
/// \param port  0: a free one
/// \throws Error (busy, exit code 75) if the port is in use, (io, 74) if it cannot be used
Exit eval_serve(const train::TrainedModel& loaded, const CommonOptions& common, int port);

}  // namespace evenkeel::cli
