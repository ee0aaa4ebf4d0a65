// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/tracker.h"

#include <charconv>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/config/keys.h"

namespace evenkeel::train {

namespace {

/// The value of a key, from its TOML: a number, a flag, or a string without its quotes.
tracking::HParam hparam_of(const std::string& name, const std::string& toml) {
  if (toml == "true" || toml == "false") return {name, toml == "true"};
  double number = 0;
  const auto* const end = toml.data() + toml.size();
  const auto [stop, error] = std::from_chars(toml.data(), end, number);
  if (error == std::errc() && stop == end) return {name, number};
  const bool is_quoted = toml.size() >= 2 && toml.front() == '"' && toml.back() == '"';
  return {name, is_quoted ? toml.substr(1, toml.size() - 2) : toml};
}

/// The keys of run.toml with their dotted names.
std::vector<tracking::HParam> hparams_of(const config::Config& config) {
  std::vector<tracking::HParam> out = {{"preset", config.preset}, {"scheme", config.scheme.name}};
  for (const auto& section : config::sections()) {
    for (const auto& key : section.keys) {
      const auto value = key.write(config);
      if (!value.empty()) out.push_back(hparam_of(full_name(section, key), value));
    }
  }
  return out;
}

/// The columns of metrics.csv: the fields that a run of this configuration may have.
std::vector<tracking::CsvColumn> csv_columns(const config::Config& config,
                                             const std::vector<std::string>& sources) {
  std::vector<tracking::CsvColumn> out;
  const auto add = [&](const std::string& prefix, const std::vector<std::string>& names) {
    for (const auto& name : names) out.push_back({prefix + name});
  };
  const std::vector<std::string> losses = {"loss", "bits_per_byte", "floor", "gap", "exact"};
  add("", {"step", "tokens", "loss", "lr", "grad_norm", "clipped", "tokens_per_s", "step_s",
           "memory_bytes", "faults"});
  if (config.train.z_loss > 0) add("", {"z_loss"});
  if (config.experts.count > 0) {
    add("", {"balance_loss", "router_z_loss", "load_max", "dead_experts", "routing_entropy",
             "router_logit_max", "dropped"});
  }
  add("val_", losses);
  if (!config.data.ood.empty()) add("ood_", losses);
  for (const auto& source : sources) {
    out.push_back({"source_tokens", source});
    out.push_back({"val_loss_by_source", source});
  }
  for (const auto& each : config.evaluate.texts) {
    out.push_back({"texts", each.name, "text_loss"});
    out.push_back({"texts", each.name, "text_bits_per_byte"});
  }
  return out;
}

std::string content_of(const store::Directory& run, const char* name) {
  return run.has_file(name) ? run.read(name) : "";
}

}  // namespace

Tracker::Tracker(store::Directory run, const config::Config& config, OnFailure on_failure)
    : run_(std::move(run)), config_(config), on_failure_(std::move(on_failure)) {}

/// Calls `act` with a file that is written. After an Error it is not written any more.
template <typename File, typename Act>
void Tracker::attempt(std::optional<File>& file, const Act& act) {
  if (!file) return;
  try {
    act(*file);
  } catch (const Error& error) {
    file.reset();
    on_failure_(error.what());
  }
}

void Tracker::start(std::int64_t step, const std::vector<std::string>& sources) {
  if (config_.log.tensorboard) events_.emplace(run_, config_.model.layers);
  if (config_.log.csv) csv_.emplace(run_, csv_columns(config_, sources));
  attempt(events_, [&](tracking::EventLog& events) {
    events.start(step, {.hparams = hparams_of(config_),
                        .texts = {{"run.toml", content_of(run_, "run.toml")},
                                  {"scheme", content_of(run_, "scheme.txt")}}});
  });
  attempt(csv_, [](tracking::CsvFile& csv) { csv.start(); });
}

void Tracker::add_metrics(const nlohmann::ordered_json& line) {
  attempt(events_, [&](tracking::EventLog& events) { events.add_metrics(line); });
  attempt(csv_, [&](tracking::CsvFile& csv) { csv.add(line); });
}

void Tracker::add_task(const nlohmann::ordered_json& line) {
  attempt(events_, [&](tracking::EventLog& events) { events.add_task(line); });
}

void Tracker::add_probe(const nlohmann::ordered_json& line) {
  attempt(events_, [&](tracking::EventLog& events) { events.add_probe(line); });
}

void Tracker::flush_if_due() {
  attempt(events_, [](tracking::EventLog& events) { events.flush_if_due(); });
}

void Tracker::flush() {
  attempt(events_, [](tracking::EventLog& events) { events.flush(); });
}

void Tracker::finish(std::int64_t step) {
  const auto sample = content_of(run_, "sample.txt");
  attempt(events_, [&](tracking::EventLog& events) {
    if (!sample.empty()) events.add_text(step, "sample", sample);
    events.flush();
  });
  attempt(csv_, [](tracking::CsvFile& csv) { csv.finish(); });
}

}  // namespace evenkeel::train
