// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_dump.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/store/checkpoint_pieces.h"
#include "evenkeel/train/health/health_monitor.h"
#include "evenkeel/train/tensor_file.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

namespace {

std::string state_file(const store::VerifiedCheckpoint& checkpoint) {
  return (checkpoint.folder.path() / "state.json").string();
}

/// A counter of state.json.
/// \throws Error (no_checkpoint) unless it is an integer from `low` to `high`
std::int64_t counter(const store::VerifiedCheckpoint& checkpoint, const char* key, std::int64_t low,
                     std::int64_t high) {
  const auto& state = checkpoint.state;
  const auto value = state.is_object() ? state.value(key, nlohmann::json()) : nlohmann::json();
  if (value.is_number_integer()) {
    const auto count = value.get<std::int64_t>();
    if (count >= low && count <= high) return count;
  }
  throw Error(Exit::no_checkpoint,
              text(state_file(checkpoint), ": ", key, " must be an integer from ", low, " to ",
                   high, ", but is ", json_dump(value, -1, /*ensure_ascii=*/true),
                   "; restore the run from a copy"));
}

/// The values of a parameter that lie in a range of the flat tensor of its group.
struct ParameterPart {
  const nn::Parameter* parameter = nullptr;
  nn::FlatRange range;  // in the flat tensor

  bool is_whole() const { return range.size() == parameter->value.numel(); }
  /// The range in the parameter.
  nn::FlatRange own() const {
    return {range.begin - parameter->begin, range.end - parameter->begin};
  }
};

/// The parts of all parameters of a group that lie in a range. Empty parameters are in no range.
std::vector<ParameterPart> parts_in(const nn::Parameters& parameters, std::size_t group,
                                    const nn::FlatRange& range) {
  std::vector<ParameterPart> parts;
  for (const auto& parameter : parameters.all()) {
    if (parameter.group != group) continue;
    const auto end = parameter.begin + parameter.value.numel();
    const nn::FlatRange common{std::max(range.begin, parameter.begin), std::min(range.end, end)};
    if (common.size() > 0) parts.push_back({&parameter, common});
  }
  return parts;
}

/// Adds a part of a parameter to a file.
/// \param flat   a flat tensor that begins with value `first` of the group
void add_part(store::TensorFile& file, const std::string& name, const ParameterPart& part,
              const at::Tensor& flat, std::int64_t first) {
  const auto slice = flat.narrow(0, part.range.begin - first, part.range.size());
  const auto& shape = part.parameter->shape;
  file.tensors.push_back(view_of(name, slice));
  if (part.is_whole()) {
    file.tensors.back().shape = shape;
    return;
  }
  const auto own = part.own();
  file.metadata[name] = store::range_text({.begin = own.begin, .end = own.end, .shape = shape});
}

}  // namespace

/// Adds the files of one shard.
void Trainer::add_pieces(std::int64_t shard, store::CheckpointContent& content) const {
  const auto& layout = learner_->reducer().layout();
  const auto& optimizer = learner_->optimizer();
  const auto name = [&](std::string_view stem) {
    return layout.shards() == 1 ? text(stem, ".safetensors")
                                : store::piece_name(stem, shard, layout.shards());
  };
  store::TensorFile model{.name = name(store::kModelStem), .tensors = {}, .metadata = {}};
  store::TensorFile moments{.name = name(store::kOptimizerStem), .tensors = {}, .metadata = {}};
  for (std::size_t group = 0; group < layout.groups(); ++group) {
    const auto first = optimizer.owned()[group].begin;
    for (const auto& part : parts_in(parameters_, group, layout.piece(group, shard))) {
      const auto& of = part.parameter->name;
      add_part(model, of, part, parameters_.groups()[group].master, 0);
      add_part(moments, "first." + of, part, optimizer.first_moments()[group], first);
      add_part(moments, "second." + of, part, optimizer.second_moments()[group], first);
    }
  }
  if (shard == 0) {
    for (const auto& [of, state] : parameters_.states()) {
      model.tensors.push_back(view_of(of, state));
    }
  }
  content.pieces.push_back(std::move(model));
  content.pieces.push_back(std::move(moments));
}

store::CheckpointContent Trainer::checkpoint_content() const {
  store::CheckpointContent content;
  content.step = progress_.step;
  auto& reducer = learner_->reducer();
  const auto shards = reducer.layout().shards();
  const auto rank = reducer.group().rank(), ranks = reducer.group().ranks();
  for (auto shard = rank * shards / ranks; shard < (rank + 1) * shards / ranks; ++shard) {
    add_pieces(shard, content);
  }
  if (shards == 1) {  // one file each, as every checkpoint without shards has it
    content.model = std::move(content.pieces.front().tensors);
    content.optimizer = std::move(content.pieces.back().tensors);
    content.pieces.clear();
  }
  content.state = {{"step", progress_.step},       {"updates", learner_->updates()},
                   {"skipped", progress_.skipped}, {"sequences", progress_.sequences},
                   {"tokens", progress_.tokens},   {"health", monitor_->state()}};
  return content;
}

/// Reads the values of the moments that this rank has.
void Trainer::restore_moments(const store::VerifiedCheckpoint& checkpoint) {
  const auto file = store::open_tensors(checkpoint, store::kOptimizerStem);
  const auto& optimizer = learner_->optimizer();
  const auto read = [&](const std::string& name, const ParameterPart& part, const at::Tensor& flat,
                        std::int64_t first) {
    check_tensor(file, name, flat.scalar_type(), part.parameter->shape);
    const auto to = flat.narrow(0, part.range.begin - first, part.range.size());
    const auto offset = static_cast<std::uint64_t>(part.own().begin) * to.element_size();
    const auto host = to.is_cpu() ? to : at::empty(to.sizes(), to.scalar_type());
    file.read(file.entries().at(name), offset, host.mutable_data_ptr(), host.nbytes());
    if (!host.is_same(to)) to.copy_(host);
  };
  for (std::size_t group = 0; group < optimizer.owned().size(); ++group) {
    const auto& owned = optimizer.owned()[group];
    for (const auto& part : parts_in(parameters_, group, owned)) {
      const auto& of = part.parameter->name;
      read("first." + of, part, optimizer.first_moments()[group], owned.begin);
      read("second." + of, part, optimizer.second_moments()[group], owned.begin);
    }
  }
}

void Trainer::restore(const store::VerifiedCheckpoint& checkpoint) {
  copy_weights(store::open_tensors(checkpoint, store::kModelStem), parameters_, CastDtype::no);
  restore_moments(checkpoint);
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
  progress_.step = counter(checkpoint, "step", checkpoint.step, checkpoint.step);
  progress_.skipped = counter(checkpoint, "skipped", 0, checkpoint.step);
  progress_.sequences = counter(checkpoint, "sequences", 0, kMaxCount);
  progress_.tokens = counter(checkpoint, "tokens", 0, kMaxCount);
  progress_.steps = plan::steps_of(config_, {.step = progress_.step, .tokens = progress_.tokens});
  learner_->set_updates(counter(checkpoint, "updates", 0, checkpoint.step));
  restore_monitor(checkpoint);
  model_->at_step({.done = progress_.step, .planned = progress_.planned});
}

void Trainer::restore_monitor(const store::VerifiedCheckpoint& checkpoint) {
  if (!checkpoint.state.contains("health")) return;
  try {
    monitor_->restore(checkpoint.state.at("health"));
  } catch (const nlohmann::json::exception&) {
    throw Error(Exit::no_checkpoint, text(state_file(checkpoint),
                                          ": health must be the state of the health monitor, but "
                                          "is not; restore the run from a copy"));
  }
}

void Trainer::load_weights(const store::VerifiedCheckpoint& checkpoint) {
  copy_weights(store::open_tensors(checkpoint, store::kModelStem), parameters_, CastDtype::no);
  learner_->after_loading();
}

}  // namespace evenkeel::train
