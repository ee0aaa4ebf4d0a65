// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/weights.h"

#include <algorithm>
#include <cstring>

#include "evenkeel/base/error.h"
#include "evenkeel/convert/elements.h"

namespace evenkeel::convert {

namespace {

constexpr std::int64_t kPartElements = std::int64_t{1} << 16;

/// "[2, 3]"
std::string weights_shape_text(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const auto size : shape) out += text(out.empty() ? "" : ", ", size);
  return "[" + out + "]";
}

}  // namespace

std::int64_t OutputTensor::numel() const {
  std::int64_t product = 1;
  for (const auto size : shape) product *= size;
  return product;
}

std::uint64_t OutputTensor::bytes() const {
  return static_cast<std::uint64_t>(numel() * store::bytes_of(dtype));
}

void Weights::add(const store::SafetensorsStream& file) {
  for (const auto& [name, info] : file.entries()) {
    if (!is_floating(info.dtype)) {
      throw Error(Exit::data,
                  text(file.path(), ": tensor \"", name,
                       "\" must be F64, F32, BF16 or F16, but is ", store::name_of(info.dtype)));
    }
    auto& places = places_[name];
    if (!places.empty() && places.front().info.shape != info.shape) {
      throw Error(Exit::data, text(file.path(), ": tensor \"", name, "\" must be ",
                                   weights_shape_text(places.front().info.shape), ", as in ",
                                   files_[places.front().file].path(), ", but is ",
                                   weights_shape_text(info.shape)));
    }
    places.push_back({files_.size(), info});
  }
  files_.push_back(file);
}

std::map<std::string, std::vector<std::int64_t>> Weights::shapes() const {
  std::map<std::string, std::vector<std::int64_t>> all;
  for (const auto& [name, places] : places_) all[name] = places.front().info.shape;
  return all;
}

void Weights::read(const std::string& tensor, std::int64_t first, std::span<double> to) const {
  const auto& places = places_.at(tensor);
  std::vector<double> values(to.size());
  std::vector<char> bytes;
  for (const auto& place : places) {
    const auto size = static_cast<std::uint64_t>(store::bytes_of(place.info.dtype));
    bytes.resize(to.size() * size);
    files_[place.file].read(place.info, static_cast<std::uint64_t>(first) * size, bytes.data(),
                            bytes.size());
    widen(bytes.data(), place.info.dtype, values);
    // The first is no sum, which would make +0 of -0.
    const bool is_first = &place == &places.front();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = is_first ? values[i] : to[i] + values[i];
  }
  if (places.size() == 1) return;
  for (auto& each : to) each /= static_cast<double>(places.size());
}

bool Weights::are_equal(const std::string& one, const std::string& other,
                        const std::function<void()>& check_stop) const {
  const auto& info = places_.at(one).front().info;
  if (info.shape != places_.at(other).front().info.shape) return false;
  const auto all = info.numel();
  std::vector<double> some, others;
  for (std::int64_t at = 0; at < all; at += kPartElements) {
    check_stop();
    some.resize(static_cast<std::size_t>(std::min(kPartElements, all - at)));
    others.resize(some.size());
    read(one, at, some);
    read(other, at, others);
    if (std::memcmp(some.data(), others.data(), some.size() * sizeof(double)) != 0) return false;
  }
  return true;
}

bool Weights::copy_unchanged(const OutputTensor& tensor, const store::ByteSink& sink) const {
  if (tensor.factor != 1 || tensor.offset != 0) return false;
  const auto is_equal = [&](const Slice& slice) {
    if (slice.tensor.empty()) return false;
    const auto& places = places_.at(slice.tensor);
    return places.size() == 1 && places.front().info.dtype == tensor.dtype;
  };
  if (!std::all_of(tensor.slices.begin(), tensor.slices.end(), is_equal)) return false;
  const auto size = static_cast<std::uint64_t>(store::bytes_of(tensor.dtype));
  std::vector<char> bytes;
  for (const auto& slice : tensor.slices) {
    const auto& place = places_.at(slice.tensor).front();
    for (std::int64_t at = 0; at < slice.count; at += kPartElements) {
      const auto count = std::min(kPartElements, slice.count - at);
      bytes.resize(static_cast<std::size_t>(count) * size);
      files_[place.file].read(place.info, static_cast<std::uint64_t>(slice.first + at) * size,
                              bytes.data(), bytes.size());
      sink(bytes.data(), bytes.size());
    }
  }
  return true;
}

void Weights::copy(const OutputTensor& tensor, const store::ByteSink& sink) const {
  if (copy_unchanged(tensor, sink)) return;
  std::vector<double> values;
  std::vector<char> bytes;
  for (const auto& slice : tensor.slices) {
    for (std::int64_t at = 0; at < slice.count; at += kPartElements) {
      const auto count = static_cast<std::size_t>(std::min(kPartElements, slice.count - at));
      values.assign(count, 0.0);
      if (!slice.tensor.empty()) read(slice.tensor, slice.first + at, values);
      const bool changes = tensor.factor != 1 || tensor.offset != 0;
      for (auto& each : values) each = changes ? tensor.factor * each + tensor.offset : each;
      bytes.resize(count * static_cast<std::size_t>(store::bytes_of(tensor.dtype)));
      narrow(values, tensor.dtype, bytes.data());
      sink(bytes.data(), bytes.size());
    }
  }
}

}  // namespace evenkeel::convert
