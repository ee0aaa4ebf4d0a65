// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {

std::string_view name_of(Kind kind) {
  return row_of(kind).name;
}

std::string_view name_of(EpsilonAt at) {
  if (at == EpsilonAt::inside) return "inside";
  return at == EpsilonAt::outside ? "outside" : "clamp";
}

std::string_view name_of(Detach detach) {
  constexpr std::array<std::string_view, 3> kNames = {"mean", "variance", "both"};
  return kNames.at(static_cast<std::size_t>(detach));
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
  for (const auto& row : kinds()) {
    if (row.name == name) return row.kind;
  }
  throw SchemeError("unknown_kind", "",
                    text("no norm kind is named \"", name, "\"", did_you_mean(name, kind_names())));
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto& row : kinds()) names.emplace_back(row.name);
  return names;
}

}  // namespace evenkeel::norm
