// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/training_batches.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

WindowOrder order_named(const std::string& name) {
  if (name == "olmo") return WindowOrder::olmo;
  return name == "file" ? WindowOrder::file : WindowOrder::shuffled;
}

}  // namespace

TrainingBatches::TrainingBatches(const std::vector<Source>& sources, std::int64_t context,
                                 std::uint64_t seed, const std::string& order) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    shares_.push_back(sources[i].share);
    const auto stream = sources.size() == 1 ? std::string("data") : text("data/", i);
    windows_.push_back(std::make_unique<TrainingWindows>(sources[i].corpus, context, seed,
                                                         order_named(order), stream));
  }
}

// Source 0 takes its rounded share of n windows, source 1 its share of the rest, and so on. Each
// count and each rest grows by 0 or 1 from n to n + 1, so that exactly one source grows.
std::vector<std::int64_t> TrainingBatches::counts(std::int64_t windows) const {
  std::vector<std::int64_t> counts;
  double rest_share = 1;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const bool is_last = i + 1 == shares_.size();
    const double share = is_last ? 1 : std::min(1.0, shares_[i] / rest_share);
    const auto count =
        static_cast<std::int64_t>(std::floor(static_cast<double>(windows) * share + 0.5));
    counts.push_back(is_last ? windows : std::min(windows, count));
    windows -= counts.back();
    rest_share -= shares_[i];
  }
  return counts;
}

Batch TrainingBatches::batch(std::int64_t first, std::int64_t rows) const {
  if (windows_.size() == 1) return windows_.front()->batch(first, rows);
  Batch batch;
  auto before = counts(first);
  for (std::int64_t i = first; i < first + rows; ++i) {
    const auto after = counts(i + 1);
    std::size_t source = 0;
    while (after[source] == before[source]) ++source;
    EK_ASSERT(after[source] == before[source] + 1);
    windows_[source]->add(batch, before[source]);
    before = after;
  }
  return batch;
}

}  // namespace evenkeel::data
