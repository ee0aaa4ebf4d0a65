// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/import_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/version.h"
#include "evenkeel/data/token_corpus.h"
#include "evenkeel/data/tokenizer_record.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::convert {

namespace {

/// Our tensors as slices of those of the imported model, by name; zeros where it has none.
std::map<std::string, OutputTensor> own_tensors(const ImportedModel& model,
                                                std::vector<MappedTensor> map) {
  std::sort(map.begin(), map.end(), [](const MappedTensor& one, const MappedTensor& other) {
    return std::tie(one.own, one.first) < std::tie(other.own, other.first);
  });
  std::map<std::string, OutputTensor> tensors;
  for (const auto& spec : model.specs) {
    tensors[spec.name] = {.name = spec.name, .shape = spec.shape, .slices = {}};
  }
  std::map<std::string, std::int64_t> filled;
  const auto fill = [&](const std::string& own, std::int64_t until) {
    const auto missing = until - std::exchange(filled[own], until);
    EK_ASSERT(missing >= 0);
    if (missing > 0) tensors.at(own).slices.push_back({.tensor = "", .first = 0, .count = missing});
  };
  for (const auto& each : map) {
    EK_ASSERT(each.factor == 1 && each.offset == 0);
    fill(each.own, each.first);
    tensors.at(each.own).slices.push_back({each.name, 0, each.numel()});
    filled[each.own] += each.numel();
  }
  for (const auto& spec : model.specs) fill(spec.name, spec.numel());
  return tensors;
}

}  // namespace

void write_imported_run(const store::Directory& run, const ImportedModel& model,
                        const std::vector<MappedTensor>& map, const Weights& weights,
                        const std::function<void()>& check_stop) {
  const auto tensors = own_tensors(model, map);
  store::CheckpointContent content;
  for (const auto& spec : model.specs) {
    content.model.push_back(
        {.name = spec.name, .dtype = store::Dtype::f32, .shape = spec.shape, .data = nullptr});
  }
  content.content = [&](const store::TensorView& tensor, const store::ByteSink& sink) {
    weights.copy(tensors.at(tensor.name), [&](const void* data, std::size_t size) {
      check_stop();
      sink(data, size);
    });
  };
  const auto toml = config::to_toml(*model.config);
  content.state = nlohmann::json::object();
  content.manifest = {
      {"config", toml}, {"evenkeel", kVersion}, {"commit", commit()}, {"imported", true}};
  auto data = data::tokenizer_record(model.encoding->tokenizer());
  if (model.trained_on) data.update(data::record_of(*model.trained_on));
  if (!data.empty()) content.manifest["data"] = data;
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
