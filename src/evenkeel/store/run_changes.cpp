// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/store/run_changes.h"

namespace evenkeel::store {

std::vector<RunChange> run_changes(const nlohmann::json& provenance) {
  std::vector<RunChange> out;
  if (!provenance.is_object() || !provenance.contains("changes")) return out;
  for (const auto& each : provenance["changes"]) {
    try {
      out.push_back({each.at("step").get<std::int64_t>(), each.at("what").get<std::string>(),
                     each.at("before").get<std::string>(), each.at("after").get<std::string>()});
    } catch (const nlohmann::json::exception&) {  // of another program, or damaged
      continue;
    }
  }
  return out;
}

const std::vector<std::string>& free_keys() {
  static const std::vector<std::string> keys = {"evaluate",
                                                "checkpoint",
                                                "probe",
                                                "log",
                                                "train.threads",
                                                "train.cuda_graphs",
                                                "model.recompute",
                                                "distributed.shard",
                                                "distributed.connect_timeout",
                                                "distributed.heartbeat_timeout",
                                                "distributed.collective_timeout",
                                                "distributed.interface",
                                                "distributed.backend"};
  return keys;
}

bool is_run_length(const std::string& key) {
  return key == "train.steps" || key == "train.tokens";
}

}  // namespace evenkeel::store
