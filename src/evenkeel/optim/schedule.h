// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/config/learning_rate.h"

namespace evenkeel::optim {

/// The learning rate of each optimizer step.
using Schedule = config::LearningRate;

}  // namespace evenkeel::optim
