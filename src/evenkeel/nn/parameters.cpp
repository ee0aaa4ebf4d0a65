// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "evenkeel/base/error.h"
#include "evenkeel/memory/release_pages.h"

namespace evenkeel::nn {

at::ScalarType compute_dtype(Precision precision) {
  switch (precision) {
    case Precision::bfloat16:
      return at::kBFloat16;
    case Precision::float64:
      return at::kDouble;
    case Precision::float32:
      break;
  }
  return at::kFloat;
}

at::ScalarType master_dtype(Precision precision) {
  return precision == Precision::float64 ? at::kDouble : at::kFloat;
}

at::Tensor Parameter::slice_of(const at::Tensor& flat) const {
  std::int64_t size = 1;
  for (const auto each : shape) size *= each;
  return flat.narrow(0, begin, size).view(shape).detach();
}

namespace {

/// Makes the tensors of a parameter views of those of its group.
void set_views(Parameter& parameter, const ParameterGroup& group) {
  if (group.master.defined()) parameter.master = parameter.slice_of(group.master);
  parameter.value = parameter.slice_of(group.value);
  if (!group.gradient.defined()) return;
  parameter.value.set_requires_grad(true);
  parameter.gradient_buffer = ops::GradientBuffer(parameter.slice_of(group.gradient));
}

}  // namespace

Parameters::Parameters(const std::vector<ParameterSpec>& specs, Precision precision,
                       at::Device device, ParameterUse use)
    : precision_(precision), device_(device) {
  const at::NoGradGuard no_grad;
  const bool trains = use == ParameterUse::training;
  const auto masters = master_dtype(precision);
  const auto zeros = [&](at::IntArrayRef sizes, at::ScalarType dtype) {
    return at::zeros(sizes, at::TensorOptions(device_).dtype(dtype));
  };
  const auto uninitialized = [&](std::int64_t size, at::ScalarType dtype) {
    return at::empty({size}, at::TensorOptions(device_).dtype(dtype));
  };
  for (const auto role : {ParameterRole::embedding, ParameterRole::matrix, ParameterRole::router,
                          ParameterRole::gain, ParameterRole::scale}) {
    std::int64_t size = 0;
    for (const auto& each : specs) size += each.role == role ? each.numel() : 0;
    if (size == 0) continue;
    const bool small = role != ParameterRole::embedding && role != ParameterRole::matrix;
    const auto values = small ? masters : compute_dtype(precision);
    ParameterGroup group{role, {}, uninitialized(size, values), {}};
    if (values == masters) group.master = group.value;
    if (trains && values != masters) group.master = uninitialized(size, masters);
    if (trains) group.gradient = zeros({size}, masters);
    groups_.push_back(group);
  }
  std::vector<std::int64_t> filled(groups_.size());
  for (const auto& each : specs) {
    if (each.role == ParameterRole::state) {
      states_[each.name] = zeros(each.shape, masters);
      continue;
    }
    std::size_t group = 0;
    while (groups_[group].role != each.role) ++group;
    Parameter parameter{each.name, each.shape, group, filled[group], {}, {}, {}};
    filled[group] += each.numel();
    set_views(parameter, groups_[group]);
    index_[each.name] = all_.size();
    all_.push_back(std::move(parameter));
  }
}

at::Tensor Parameters::find(const std::string& name) const {
  const auto place = index_.find(name);
  return place == index_.end() ? at::Tensor() : all_[place->second].value;
}

at::Tensor Parameters::find_state(const std::string& name) const {
  const auto place = states_.find(name);
  return place == states_.end() ? at::Tensor() : place->second;
}

const Parameter& Parameters::at(const std::string& name) const {
  const auto place = index_.find(name);
  EK_ASSERT(place != index_.end());
  return all_[place->second];
}

Parameters Parameters::empty_on(at::Device device) const {
  std::vector<ParameterSpec> specs;
  specs.reserve(all_.size() + states_.size());
  for (const auto& each : all_) specs.push_back({each.name, each.shape, groups_[each.group].role});
  for (const auto& [name, state] : states_) {
    specs.push_back({name, state.sizes().vec(), ParameterRole::state});
  }
  return {specs, precision_, device};
}

void Parameters::copy_from(const Parameters& other) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].master.copy_(other.groups_.at(i).master);
  }
  for (const auto& [name, state] : states_) state.copy_(other.states_.at(name));
  copy_masters_to_values();
}

void Parameters::release(ParameterRole role) {
  for (auto& parameter : all_) {
    if (groups_[parameter.group].role != role) continue;
    parameter.master.reset();
    parameter.value.reset();
    parameter.gradient_buffer = {};
  }
  for (auto& group : groups_) {
    if (group.role != role) continue;
    for (const auto& each : {group.master, group.value, group.gradient}) {
      if (each.defined()) memory::release_pages(each);  // the allocator keeps freed blocks
    }
    group = ParameterGroup{role, {}, {}, {}};
  }
}

void Parameters::copy_masters_to_values() {
  const at::NoGradGuard no_grad;
  for (auto& group : groups_) {
    const bool is_copy = group.master.defined() && !group.value.is_same(group.master);
    if (is_copy) group.value.copy_(group.master);
  }
}

void Parameters::zero_gradients() {
  for (auto& parameter : all_) {
    parameter.gradient_buffer.reset();
    parameter.value.mutable_grad().reset();
  }
}

void Parameters::accumulate_gradients() {
  for (auto& parameter : all_) {
    auto& own = parameter.value.mutable_grad();
    if (!own.defined()) continue;
    parameter.gradient_buffer.accumulate(own);
    own.reset();
  }
}

void Parameters::mark_gradients_written() {
  for (const auto& parameter : all_) parameter.gradient_buffer.target();
}

std::vector<at::Tensor> Parameters::gradients() {
  accumulate_gradients();
  for (const auto& parameter : all_) parameter.gradient_buffer.value();
  std::vector<at::Tensor> all;
  all.reserve(groups_.size());
  for (const auto& group : groups_) all.push_back(group.gradient);
  return all;
}

}  // namespace evenkeel::nn
