// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/update_probe.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace evenkeel::probe {

UpdateProbe::UpdateProbe(const nn::Model& model, const nn::Parameters& parameters,
                         const data::Batch& batch, const std::set<std::string>& measures,
                         std::int64_t micro_batch_size)
    : model_(model), parameters_(parameters) {
  if (measures.contains("update_ratio")) weights_.emplace(parameters);
  if (measures.contains("stream_shift"))
    streams_.emplace(model, parameters, batch, micro_batch_size);
}

std::vector<LayerProfile> UpdateProbe::profiles() const {
  std::vector<LayerProfile> all;
  if (weights_) all = weights_->update_ratios(parameters_, model_.scheme());
  if (streams_) {
    auto shifts = streams_->shifts(model_);
    std::move(shifts.begin(), shifts.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace evenkeel::probe
