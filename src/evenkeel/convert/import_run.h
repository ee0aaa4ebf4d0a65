// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/convert/tensor_map.h"
#include "evenkeel/convert/weights.h"
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/norm/parameter_specs.h"
#include "evenkeel/norm/scheme.h"
#include "evenkeel/store/directory.h"

namespace evenkeel::convert {

/// The model of an imported run.
struct ImportedModel {
  const config::Config* config = nullptr;
  const norm::Scheme* scheme = nullptr;  // bound
  std::vector<norm::ParameterSpec> specs;
  std::optional<data::TrainedOn> trained_on;     // nullopt: not known
  const data::TextEncoding* encoding = nullptr;  // of the run's tokenizer
};

/// Writes run.toml, scheme.txt, status.json and a checkpoint of step 0 with float32 weights and no
/// moments. Tensors move in parts. Rows of the embedding that the weights do not have are zeros.
/// \param map  the tensors of the imported model; factors are 1 and offsets 0
/// \param check_stop  called for each part; throws to stop
/// \throws Error (io, exit code 74), and what `check_stop` throws
void write_imported_run(const store::Directory& run, const ImportedModel& model,
                        const std::vector<MappedTensor>& map, const Weights& weights,
                        const std::function<void()>& check_stop);

}  // namespace evenkeel::convert
