// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/leakage.h"

#include <algorithm>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/kinds.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::norm {

namespace {

/// The places of all norms of that kind, without duplicates: "attention.input, feed_forward.input,
/// final".
std::string places_of(const Scheme& scheme, Kind kind) {
  std::vector<std::string> places;
  for (const auto& slot : slots_of(scheme)) {
    const bool known = std::find(places.begin(), places.end(), slot.place) != places.end();
    if (slot.norm->kind == kind && !known) places.push_back(slot.place);
  }
  std::string list;
  for (const auto& place : places) list += (list.empty() ? "" : ", ") + place;
  return list;
}

}  // namespace

std::vector<std::string> leaks_of(const Scheme& scheme) {
  std::vector<std::string> leaks;
  for (const auto& row : kinds()) {
    if (!mixes_tokens(row.kind)) continue;
    const auto places = places_of(scheme, row.kind);
    if (places.empty()) continue;
    leaks.push_back(
        text(row.name, " in ", places,
             mixes_tokens_in_evaluation(row.kind)
                 ? ": in training and in evaluation a token depends on later tokens, so no "
                   "loss here is that of a causal model"
                 : ": in training a token depends on other tokens, also later ones; evaluation "
                   "uses running values and is causal"));
  }
  return leaks;
}

bool causal_in_evaluation(const Scheme& scheme) {
  const auto slots = slots_of(scheme);
  return std::none_of(slots.begin(), slots.end(),
                      [](const Slot& slot) { return mixes_tokens_in_evaluation(slot.norm->kind); });
}

}  // namespace evenkeel::norm
