// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/plan/model_parameters.h"

namespace evenkeel::plan {

std::int64_t padded_vocabulary_size(const config::Model& model, std::int64_t vocabulary) {
  const auto pad = model.pad_vocabulary_to;
  return (vocabulary + pad - 1) / pad * pad;
}

std::vector<nn::ParameterSpec> parameter_specs_of(const config::Model& model,
                                                  const norm::Scheme& scheme) {
  return nn::parameter_specs(scheme, padded_vocabulary_size(model, scheme.shape.vocabulary),
                             model.tied);
}

}  // namespace evenkeel::plan
