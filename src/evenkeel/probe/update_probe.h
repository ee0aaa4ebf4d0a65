// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "evenkeel/probe/gradients.h"
#include "evenkeel/probe/stream_shift.h"

namespace evenkeel::probe {

/// The measures of an optimizer step: weights and residual streams before it are compared with
/// those after it.
class UpdateProbe {
 public:
  /// \param measures  names of measures; those that need no optimizer step are ignored
  UpdateProbe(const nn::Model& model, const nn::Parameters& parameters, const data::Batch& batch,
              const std::set<std::string>& measures, std::int64_t micro_batch_size);

  /// False if no measure needs an optimizer step.
  bool is_needed() const { return weights_ || streams_; }

  /// The measures of the step since the construction.
  std::vector<LayerProfile> profiles() const;

 private:
  const nn::Model& model_;
  const nn::Parameters& parameters_;
  std::optional<ParameterSnapshot> weights_;
  std::optional<StreamSnapshot> streams_;
};

}  // namespace evenkeel::probe
