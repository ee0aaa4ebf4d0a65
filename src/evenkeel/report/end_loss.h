// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include "evenkeel/report/run.h"

/// Losses at the end of a run. An old loss of a run that diverged since is none of them.
namespace evenkeel::report {

/// Why a run has no loss at its end: "not finite", "since step 1,200"; or "diverged", "at step 40".
struct Failure {
  std::string what, when;
};

/// A loss at the end of a run, in nats per token. NaN with a failure, and before the first record.
struct EndLoss {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::optional<Failure> failure{};
};

/// The last validation loss. It has failed if its last record is null, if the state of the run is
/// `diverged`, or if the training loss is null at the end, after the last validation.
EndLoss end_validation(const Run& run);

/// The mean training loss of the last end_training_count() logged steps. It has failed if the last
/// logged loss is null, or if the run diverged.
EndLoss end_training(const Run& run);

/// The number of logged steps in end_training(): the last 5 %, from 1 to 20. In a short run more of
/// them would count the losses of its start.
std::size_t end_training_count(const Run& run);

/// "not finite since step 1,200".
std::string failure_text(const Failure& failure);

/// The loss as in loss_text(), or failure_text().
std::string end_loss_text(const EndLoss& loss);

}  // namespace evenkeel::report
