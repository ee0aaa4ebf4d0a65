// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/trained_texts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

#include "evenkeel/base/print.h"
#include "evenkeel/config/setting.h"
#include "evenkeel/data/input_paths.h"
#include "evenkeel/store/directory.h"
#include "evenkeel/store/run_folder.h"
#include "evenkeel/train/evaluator.h"
#include "evenkeel/train/run_provenance.h"

namespace evenkeel::cli {

namespace {

constexpr const char* kOod = "data.ood";

/// The keys of [data] that the command sets: with --set, or to another value with --config.
std::vector<std::string> data_keys_of(const CommonOptions& common) {
  std::vector<std::string> keys;
  keys.reserve(common.sets.size());
  for (const auto& set : common.sets) keys.emplace_back(config::key_of_setting(set));
  if (!common.files.empty()) {
    const auto saved = config::resolve({.files = {*common.run / "run.toml"}});
    for (const auto& each :
         config::differences(saved, config::resolve(common.sources_with_run()))) {
      keys.push_back(each.key);
    }
  }
  std::erase_if(keys,
                [](const std::string& key) { return key != "data" && !key.starts_with("data."); });
  return keys;
}

/// A string of provenance.json; "" if it has none.
std::string string_of(const nlohmann::json& data, const std::string& name) {
  const auto found = data.find(name);
  return found != data.end() && found->is_string() ? found->get<std::string>() : "";
}

/// \param name  of the text in provenance.json
/// \param key   of [data] that names another text
void compare(const std::string& run, const nlohmann::json& trained, const std::string& name,
             const std::string& digest, const std::string& description, const std::string& key) {
  const auto was = string_of(trained, name + "_digest");
  if (was.empty() || was == digest) return;
  throw Error(Exit::differs,
              text(run, ": the digest of the text of ", key, " was \"", was,
                   "\" when the model was trained (", string_of(trained, name), "), but is \"",
                   digest, "\" now (", description, "); restore the text, or name the one to ",
                   "take with --set ", key, "=FILE"));
}

}  // namespace

bool is_set(const CommonOptions& common, const std::string& key) {
  return std::any_of(common.sets.begin(), common.sets.end(), [&](const std::string& set) {
    return config::is_named(std::string(config::key_of_setting(set)), {key});
  });
}

data::Corpora corpora_of_run(const train::TrainedModel& loaded) {
  const auto& config = loaded.config;
  try {
    return data::load_evaluation_corpora(config.data, loaded.encoding, config.model.context,
                                         config.model.vocabulary);
  } catch (const Error& error) {
    if (!std::string_view(error.what()).ends_with(data::relative_paths_advice())) throw;
    throw Error(error.exit(), text(error.what(),
                                   "; name a text of the run with --set data.validation=PATH or "
                                   "--set data.train=PATH"));
  }
}

void check_trained_texts(const CommonOptions& common, const train::TrainedModel& loaded,
                         const data::Corpora& corpora) {
  const auto provenance = store::read_provenance(store::Directory(*common.run));
  const auto trained = provenance.find("data");
  if (trained == provenance.end() || !trained->is_object()) return;
  const auto keys = data_keys_of(common);
  const auto run = common.run->string();
  const bool is_own =
      std::all_of(keys.begin(), keys.end(), [](const std::string& key) { return key == kOod; });
  const auto digest = data::digest(corpora.validation);
  const auto& of_checkpoint = loaded.data_record;
  const bool is_of_checkpoint =
      of_checkpoint.is_object() && string_of(of_checkpoint, "validation_digest") == digest;
  if (is_own && !is_of_checkpoint) {
    compare(run, *trained, "validation", digest, data::description(corpora.validation),
            "data.validation");
  }
  if (corpora.ood && keys.empty()) {
    compare(run, *trained, "ood", corpora.ood->digest, corpora.ood->description, kOod);
  }
}

void warn_of_changed_evaluation(const CommonOptions& common, const evaluate::TaskSuite& suite,
                                const std::vector<config::NamedText>& named,
                                const std::vector<data::Source>& texts) {
  auto now = train::provenance_of_texts(named, texts);
  now.update(suite.provenance());
  const auto provenance = store::read_provenance(store::Directory(*common.run));
  const auto recorded = provenance.value("data", nlohmann::json());
  for (const auto& change : train::changed_evaluation(recorded, now)) {
    print_message(text("warning: ", common.run->string(), ": the digest of ", change.key, " was ",
                       change.before, " when provenance.json was written, but is ", change.after,
                       " now; the results do not compare with those of the run"));
  }
}

}  // namespace evenkeel::cli
