// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/health_event.h"

#include "evenkeel/base/error.h"

namespace evenkeel::train {

std::string line_of(const HealthEvent& event) {
  auto line = event.observation;
  if (event.layer > 0) line += text("; block ", event.layer);
  if (!event.tensor.empty()) line += text(event.layer > 0 ? ", " : "; ", event.tensor);
  return line + ": " + event.explanation + "; try: " + event.remedy;
}

}  // namespace evenkeel::train
