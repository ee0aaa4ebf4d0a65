// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"

namespace evenkeel::study {

/// The words of study files for the values of an enumeration.
template <typename Enum>
using EnumNames = std::vector<std::pair<std::string, Enum>>;

template <typename Enum>
std::vector<std::string> enum_names(const EnumNames<Enum>& table) {
  std::vector<std::string> names;
  for (const auto& [name, value] : table) names.push_back(name);
  return names;
}

template <typename Enum>
Enum enum_value(const EnumNames<Enum>& names, const std::string& name) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& each) { return each.first == name; });
  EK_ASSERT(found != names.end());
  return found->second;
}

template <typename Enum>
std::string enum_name(const EnumNames<Enum>& names, Enum value) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& each) { return each.second == value; });
  EK_ASSERT(found != names.end());
  return found->first;
}

}  // namespace evenkeel::study
