// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_merge.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace evenkeel::config {

namespace {

// Keys with a norm as value: a table there is a norm, even without `kind`.
constexpr std::array<std::string_view, 10> kNorms = {
    "norm", "final", "input", "q", "k", "v", "context", "hidden", "output", "residual"};

bool is_replaced_whole(std::string_view key, const toml::node& value) {
  const auto* const table = value.as_table();
  return table == nullptr || table->contains("kind") || table->contains("learned") ||
         std::find(kNorms.begin(), kNorms.end(), key) != kNorms.end();
}

}  // namespace

toml::table merge(toml::table parent, toml::table child) {
  for (auto&& [key, value] : child) {
    auto* const old = parent.get_as<toml::table>(key.str());
    if (old != nullptr && !is_replaced_whole(key.str(), value)) {
      *old = merge(std::move(*old), std::move(*value.as_table()));
    } else {
      parent.insert_or_assign(key.str(), std::move(value));
    }
  }
  return parent;
}

}  // namespace evenkeel::config
