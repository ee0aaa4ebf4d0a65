// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/import_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/base/version.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::convert {

namespace {

using Values = std::map<std::string, std::vector<float>>;

/// Copies one tensor of the imported model into its place.
void take_tensor(const MappedTensor& tensor, const Weights& weights, Values& values) {
  constexpr std::int64_t kPart = std::int64_t{1} << 16;
  EK_ASSERT(tensor.factor == 1 && tensor.offset == 0);
  auto& own = values.at(tensor.own);
  std::vector<double> part;
  for (std::int64_t at = 0; at < tensor.numel(); at += kPart) {
    part.resize(static_cast<std::size_t>(std::min(kPart, tensor.numel() - at)));
    weights.read(tensor.name, at, part);
    std::transform(part.begin(), part.end(), own.begin() + tensor.first + at,
                   [](double each) { return static_cast<float>(each); });
  }
}

}  // namespace

void write_imported_run(const store::Directory& run, const ImportedModel& model,
                        const std::vector<MappedTensor>& map, const Weights& weights) {
  Values values;
  for (const auto& spec : model.specs) {
    values[spec.name].assign(static_cast<std::size_t>(spec.numel()), 0.0F);
  }
  for (const auto& each : map) take_tensor(each, weights, values);
  store::CheckpointContent content;
  for (const auto& spec : model.specs) {
    content.model.push_back({.name = spec.name,
                             .dtype = store::Dtype::f32,
                             .shape = spec.shape,
                             .data = values.at(spec.name).data()});
  }
  const auto toml = config::to_toml(*model.config);
  content.state = nlohmann::json::object();
  content.manifest = {{"config", toml}, {"evenkeel", kVersion}, {"imported", true}};
  run.write("run.toml", toml);
  run.write("scheme.txt", norm::diagram(*model.scheme));
  store::write_status(run, {.state = "finished",
                            .step = 0,
                            .steps = 0,
                            .scheme = model.config->scheme.name,
                            .preset = model.config->preset});
  const store::Lock lock(run.path());
  store::save_checkpoint(lock, content, 1);
}

}  // namespace evenkeel::convert
