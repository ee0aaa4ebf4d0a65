// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {

namespace {

constexpr std::array<std::pair<Kind, const char*>, 12> kKinds = {{
    {Kind::layer_norm, "layer_norm"},
    {Kind::rms_norm, "rms_norm"},
    {Kind::l2, "l2"},
    {Kind::scale_norm, "scale_norm"},
    {Kind::group_norm, "group_norm"},
    {Kind::dyt, "dyt"},
    {Kind::derf, "derf"},
    {Kind::seed_norm, "seed_norm"},
    {Kind::scale, "scale"},
    {Kind::batch_norm, "batch_norm"},
    {Kind::batch_renorm, "batch_renorm"},
    {Kind::instance_norm, "instance_norm"},
}};

}  // namespace

std::string_view name_of(Kind kind) {
  for (const auto& [each, name] : kKinds) {
    if (each == kind) return name;
  }
  EK_ASSERT(false && "every kind has a name");
}

std::string_view name_of(EpsilonAt at) {
  if (at == EpsilonAt::inside) return "inside";
  return at == EpsilonAt::outside ? "outside" : "clamp";
}

std::string_view name_of(Update update) {
  if (update == Update::add) return "add";
  return update == Update::sphere ? "sphere" : "geodesic";
}

std::string_view name_of(Tap tap) {
  if (tap == Tap::stream) return "stream";
  return tap == Tap::normed ? "normed" : "block_input";
}

std::string_view name_of(Learned::Size size) {
  if (size == Learned::Size::scalar) return "scalar";
  return size == Learned::Size::vector ? "vector" : "per_head";
}

std::string_view name_of(Learned::Transform transform) {
  switch (transform) {
    case Learned::Transform::identity:
      return "identity";
    case Learned::Transform::exp:
      return "exp";
    case Learned::Transform::abs:
      return "abs";
    case Learned::Transform::silu:
      return "silu";
  }
  EK_ASSERT(false && "every function has a name");
}

Kind kind_named(std::string_view name) {
  for (const auto& [kind, each] : kKinds) {
    if (each == name) return kind;
  }
  throw SchemeError("unknown_kind", "",
                    text("no norm kind is named \"", name, "\"", did_you_mean(name, kind_names())));
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : kKinds) names.emplace_back(name);
  return names;
}

}  // namespace evenkeel::norm
