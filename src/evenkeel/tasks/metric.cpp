// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/metric.h"

#include <array>

#include "evenkeel/base/error.h"

namespace evenkeel::tasks {

namespace {

struct MetricName {
  Metric metric;
  const char* ours;
  const char* of_olmes;  // empty: OLMES has no such metric
};

constexpr std::array<MetricName, 5> kMetricNames = {{{Metric::acc, "acc", "acc_raw"},
                                                     {Metric::len_norm, "len_norm", "acc_per_char"},
                                                     {Metric::ce_loss, "ce_loss", ""},
                                                     {Metric::bpb, "bpb", "logits_per_byte"},
                                                     {Metric::f1, "f1", ""}}};

}  // namespace

const char* name_of(Metric metric) {
  for (const auto& each : kMetricNames) {
    if (each.metric == metric) return each.ours;
  }
  EK_ASSERT(false);
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  names.reserve(kMetricNames.size());
  for (const auto& each : kMetricNames) names.emplace_back(each.ours);
  return names;
}

std::optional<Metric> find_metric(std::string_view name) {
  for (const auto& each : kMetricNames) {
    const bool is_olmes = !name.empty() && name == each.of_olmes;
    if (name == each.ours || is_olmes) return each.metric;
  }
  return std::nullopt;
}

bool scores_gold_alone(Metric metric) {
  return metric == Metric::ce_loss || metric == Metric::bpb;
}

}  // namespace evenkeel::tasks
