// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/nearest.h"

#include <algorithm>
#include <cstddef>

#include "evenkeel/base/error.h"

namespace evenkeel {

namespace {

/// Optimal string alignment distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// The shortest name that begins with the word, the first of several; "" for a short word.
std::string first_that_begins_with(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kShortest = 3;
  std::string best;
  if (word.size() < kShortest) return best;
  for (const auto& each : known) {
    if (!each.starts_with(word)) continue;
    if (best.empty() || each.size() < best.size()) best = each;
  }
  return best;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 200;  // longer than every known name
  std::string best;
  std::size_t fewest = 0;
  if (word.size() > kLongest) return best;
  for (const auto& each : known) {
    const auto distance = edits(word, each);
    if (distance > (std::max(word.size(), each.size()) + 2) / 3) continue;
    if (best.empty() || distance < fewest) {
      best = each;
      fewest = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  auto sorted = known;
  std::sort(sorted.begin(), sorted.end());
  std::string list;
  for (const auto& each : sorted) list += (list.empty() ? "" : ", ") + each;
  return did_you_mean(word, known, "known: " + list);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         std::string_view where) {
  auto near = nearest(word, known);
  if (near.empty()) near = first_that_begins_with(word, known);
  return near.empty() ? text("; ", where) : text("; did you mean \"", near, "\"? ", where);
}

}  // namespace evenkeel
