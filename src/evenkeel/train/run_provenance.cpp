// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_provenance.h"

#include "evenkeel/base/error.h"
#include "evenkeel/base/file.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/norm/warnings.h"

namespace evenkeel::train {

nlohmann::ordered_json RunProvenance::json() const {
  const auto& [machine, text, plan] = setup_;
  const auto& scheme = plan.scheme;
  auto provenance = provenance_of(machine);
  provenance["scheme"] = config_.scheme.name;
  provenance["preset"] = config_.preset;
  provenance["parameters"] = plan.counts.total;
  provenance["data"] = {{"train", text.train.description},
                        {"train_digest", text.train.digest},
                        {"validation", text.validation.description},
                        {"validation_digest", text.validation.digest}};
  if (text.ood) {
    provenance["data"]["ood"] = text.ood->description;
    provenance["data"]["ood_digest"] = text.ood->digest;
  }
  for (const auto& warning : norm::unexpected_warnings(scheme)) {
    provenance["warnings"].push_back(warning.code);
  }
  for (const auto& leak : norm::leaks_of(scheme)) provenance["leaks"].push_back(leak);
  if (!changes_.empty()) provenance["changes"] = changes_;
  return provenance;
}

nlohmann::ordered_json RunProvenance::manifest(std::int64_t cursor) const {
  auto manifest = json();
  manifest["config"] = config::to_toml(config_);
  manifest["random"] = {{"generator", "philox4x32-10"}, {"key", config_.seed}};
  manifest["cursor"] = cursor;
  return manifest;
}

void RunProvenance::resume(const store::VerifiedCheckpoint& checkpoint,
                           const std::vector<ConfigChange>& changes,
                           const std::vector<std::string>& overrides,
                           const std::filesystem::path& folder) {
  const auto& before = checkpoint.manifest;
  if (before.contains("changes")) changes_ = before.at("changes");
  for (const auto& change : changes) changes_.push_back(record_of(checkpoint.step, change));
  const auto now = json();
  const auto compare = [&](const char* what, const nlohmann::json& was, const nlohmann::json& is,
                           const char* key) {
    if (was == is) return;
    if (config::is_named(key, overrides)) {
      changes_.push_back(record_of(checkpoint.step, {what, was.dump(), is.dump()}));
      return;
    }
    throw Error(Exit::differs, text(folder.string(), ": ", what, " was ", was.dump(),
                                    " when the checkpoint was written, but is ", is.dump(),
                                    " now; allow it with --override ", key));
  };
  if (!before.contains("data") || !before.contains("isa")) {
    throw Error(Exit::no_checkpoint, text(checkpoint.folder.string(),
                                          ": its manifest does not say what it was made from"));
  }
  compare("the digest of the training text", before.at("data").at("train_digest"),
          now.at("data").at("train_digest"), "data");
  for (const char* const key : {"isa", "libtorch", "libtorch_isa"}) {
    compare(key, before.at(key), now.at(key), "numerics");
  }
  compare("precision", before.at("precision"), now.at("precision"), "train.precision");
}

void RunProvenance::write(const std::filesystem::path& folder) const {
  write_file(folder / "run.toml", config::to_toml(config_));
  write_file(folder / "provenance.json", json().dump(2) + "\n");
  write_file(folder / "scheme.txt", norm::diagram(setup_.plan.scheme));
}

}  // namespace evenkeel::train
