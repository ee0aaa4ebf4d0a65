// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/json_parser.h"
#include "evenkeel/report/json_field.h"
#include "evenkeel/store/json_lines.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/run_folder.h"

namespace evenkeel::report {

namespace {

using nlohmann::json;
using store::Directory;
namespace fs = std::filesystem;

constexpr double kMostTokens = 1e15;  // of a record
constexpr double kRunNone = std::numeric_limits<double>::quiet_NaN();

/// The last component of a path, also of "runs/x/" and ".".
std::string folder_name(const fs::path& folder) {
  const auto path = fs::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Calls `read` if the run has a file of this name. An error becomes the entry of the file in
/// Run::missing.
/// \throws std::bad_alloc; a series may then be half read
void with_file(Run& run, const Directory& folder, const std::string& name,
               const std::function<void()>& read) {
  if (!folder.has(name)) {
    run.missing[name] = name + " is missing";
    return;
  }
  try {
    read();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    run.missing[name] = text(name, " cannot be read: ", error.what());
  }
}

/// Adds the number of a key to a series, if the record has the key.
void run_add(Series& series, const json& record, const char* key, double step, double scale = 1) {
  if (record.contains(key)) series.add(step, scale * number(record, key));
}

/// The entropy lower bound in nats per token: nats per byte * bytes per token. The loss per byte is
/// entropy + gap, so bytes per token = loss per token / (entropy + gap).
std::optional<EntropyFloor> floor_of(const json& record) {
  const double floor = number(record, "val_floor");
  const double loss_per_byte = floor + number(record, "val_gap");
  const double bytes = number(record, "val_loss") / loss_per_byte;
  if (!std::isfinite(bytes)) return std::nullopt;
  return EntropyFloor{floor, floor * bytes};
}

/// Adds the routing fields of a record of a mixture of experts.
/// \throws json::exception if the lists are of other types
void add_routing(Run& run, const json& record, double step) {
  run_add(run.balance_loss, record, "balance_loss", step);
  run_add(run.load, record, "load_max", step);
  run_add(run.dead_experts, record, "dead_experts", step);
  run_add(run.routing_entropy, record, "routing_entropy", step);
  if (!record.contains("tokens_per_expert") || !record.contains("expert_blocks")) return;
  const auto blocks = record["expert_blocks"].get<std::vector<std::int64_t>>();
  const auto counts = record["tokens_per_expert"].get<std::vector<std::vector<double>>>();
  if (blocks.empty() || blocks.size() != counts.size()) return;
  for (const auto& each : counts) {
    const auto all = std::accumulate(each.begin(), each.end(), 0.0);
    const bool is_possible = std::all_of(
        each.begin(), each.end(), [](double count) { return 0 <= count && count <= kMostTokens; });
    // A damaged record is skipped: the last good one stays.
    if (each.size() != counts.front().size() || !is_possible || !(all > 0)) return;
  }
  run.expert_load = {.measure = "expert_load",
                     .part = "",
                     .on = "training",
                     .first = blocks.front(),
                     .values = {}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    double sum = 0;
    for (const auto count : counts[i]) sum += count;
    for (std::size_t e = 0; e < counts[i].size(); ++e) {
      const double load = counts[i][e] * static_cast<double>(counts[i].size()) / sum;
      run.expert_load.values[static_cast<double>(e) + 1].push_back(load);
    }
  }
}

/// Adds the tokens and the validation losses of the sources of a mixture.
void add_sources(Run& run, const json& record, double step) {
  constexpr std::size_t kMostSources = 100;
  const auto each = [&](const char* key, const auto& use) {
    const auto found = record.find(key);
    if (found == record.end() || !found->is_object()) return;
    for (const auto& [name, value] : found->items()) {
      const double amount = number_of(value);
      const bool is_known = run.sources.contains(name) || run.sources.size() < kMostSources;
      if (is_known && amount >= 0) use(run.sources[name], amount);
    }
  };
  constexpr double kMostSourceTokens = 1e18;
  each("source_tokens", [](Run::Source& source, double amount) {
    source.tokens = std::fmax(source.tokens, std::fmin(amount, kMostSourceTokens));
  });
  each("val_loss_by_source",
       [step](Run::Source& source, double amount) { source.loss.add(step, amount); });
}

/// Adds the losses on evaluate.texts.
void add_texts(Run& run, const json& record, double step) {
  constexpr std::size_t kMostTexts = 100;
  const auto found = record.find("texts");
  if (found == record.end() || !found->is_object()) return;
  for (const auto& [name, values] : found->items()) {
    if (!values.is_object() || (!run.texts.contains(name) && run.texts.size() == kMostTexts))
      continue;
    run.texts[name].add(step, number(values, "text_loss"));
  }
}

/// Adds a record of metrics.jsonl to the series. A record without a finite step is skipped.
/// \param timed_until  the last step whose time is counted
void add_step(Run& run, const json& record, double& timed_until) {
  const double step = step_of(record);
  if (!std::isfinite(step)) return;
  run_add(run.loss, record, "loss", step);
  run_add(run.learning_rate, record, "lr", step);
  run_add(run.gradient_norm, record, "grad_norm", step);
  run_add(run.tokens_per_second, record, "tokens_per_s", step);
  run_add(run.validation_loss, record, "val_loss", step);
  run_add(run.bits_per_byte, record, "val_bits_per_byte", step);
  run_add(run.gap, record, "val_gap", step);
  run_add(run.exact_match, record, "val_exact", step);
  run_add(run.ood_loss, record, "ood_loss", step);
  run_add(run.ood_gap, record, "ood_gap", step);
  run_add(run.ood_exact_match, record, "ood_exact", step);
  add_routing(run, record, step);
  add_sources(run, record, step);
  add_texts(run, record, step);
  if (record.contains("clipped") && record["clipped"].is_boolean()) {
    run.clipped.add(step, record["clipped"].get<bool>() ? 1 : 0);
  }
  run.tokens = std::fmax(run.tokens, number(record, "tokens"));
  run.peak_memory = std::fmax(run.peak_memory, number(record, "memory_bytes"));
  if (const double seconds = number(record, "step_s"); std::isfinite(seconds)) {
    const double steps = step - timed_until;
    const auto& logged = run.step_seconds.y;
    const double other = logged.empty() ? seconds : std::fmin(seconds, logged.back());
    if (steps > 0) run.seconds += seconds + other * (steps - 1);
    timed_until = step;
    run.step_seconds.add(step, seconds);
  }
  run_add(run.memory, record, "memory_bytes", step);
  if (const double tokens = number(record, "tokens"); std::isfinite(tokens)) {
    run.tokens_over_steps.add(step, tokens);
    run.seconds_over_steps.add(step, run.seconds);
  }
  if (const auto floor = floor_of(record)) run.floor = floor;
  run.step = std::fmax(run.step, step);
}

/// The records of a file. Damaged lines are counted in Run::damaged.
/// \throws Error (io)
std::vector<json> records_of(Run& run, const Directory& folder, const std::string& name) {
  auto lines = store::read_records(folder, name);
  if (!lines.damaged.empty()) run.damaged[name] = lines.damaged.size();
  return std::move(lines.records);
}

/// All records of metrics.jsonl. Training time is the sum over records of the seconds of the step
/// and of the steps since the previous record, which are not logged: they count as the shorter of
/// both records' steps, because a logged step may contain a probe.
/// \throws Error (data, io), json::exception
void read_metrics(Run& run, const Directory& folder) {
  double timed_until = 0;
  for (const auto& record : records_of(run, folder, "metrics.jsonl")) {
    add_step(run, record, timed_until);
  }
}

/// All events of health.jsonl, in the order of the file.
/// \throws Error (data, io)
void read_health(Run& run, const Directory& folder) {
  for (const auto& record : records_of(run, folder, "health.jsonl")) {
    run.events.push_back({step_of(record), word(record, "event"), word(record, "detail")});
  }
}

/// State, scheme and steps of status.json.
/// \param locked  whether a process has the lock of the run, read before status.json
void read_status(Run& run, const std::string& content, bool locked) {
  const auto status = parse_json(content);
  if (!status.is_object()) throw Error(Exit::data, "wanted a JSON object");
  run.state = store::shown_state(word(status, "state"), locked);
  run.scheme = word(status, "scheme");
  run.preset = word(status, "preset");
  run.started = word(status, "started");
  run.updated = word(status, "updated");
  if (status.contains("host")) run.host = flattened_json(status["host"].dump());
  run.step = std::fmax(run.step, step_of(status));
  run.steps = step_of(status, "steps");
  if (const double share = number(status, "others"); std::isfinite(share))
    run.cpu_contention = share;
}

[[noreturn]] void throw_no_run(const fs::path& folder) {
  throw Error(Exit::no_checkpoint,
              text(folder.string(),
                   ": not a run folder (no run.toml, no metrics.jsonl); name a "
                   "folder under runs/"));
}

}  // namespace

Run read_run(const fs::path& folder) {
  const auto opened = Directory::find(folder);
  if (opened) return read_run(*opened);
  throw_no_run(folder);
}

Run read_run(const Directory& folder) {
  if (!folder.has("run.toml") && !folder.has("metrics.jsonl")) throw_no_run(folder.path());
  Run run;
  run.name = folder_name(folder.path());
  run.folder = folder.path();
  run.steps = kRunNone;
  const auto with = [&](const char* name, const auto& read) {
    with_file(run, folder, name, [&] { read(folder.read(name)); });
  };
  with_file(run, folder, "metrics.jsonl", [&] { read_metrics(run, folder); });
  const bool locked = store::is_locked(folder.path());
  with("status.json", [&](const std::string& content) { read_status(run, content, locked); });
  with_file(run, folder, "health.jsonl", [&] { read_health(run, folder); });
  if (folder.has("probes.jsonl")) {
    with_file(run, folder, "probes.jsonl",
              [&] { run.layer_maps = layer_maps(records_of(run, folder, "probes.jsonl")); });
  }
  if (folder.has("evaluations.jsonl")) {
    with_file(run, folder, "evaluations.jsonl",
              [&] { run.tasks = task_results(records_of(run, folder, "evaluations.jsonl")); });
  }
  with("sample.txt", [&](const std::string& content) { run.sample = content; });
  with("scheme.txt", [&](const std::string& content) { run.diagram = content; });
  with("provenance.json", [&](const std::string& content) {
    run.environment = flattened_json(content);
    run.changes = store::run_changes(parse_json(content));
  });
  with("run.toml", [&](const std::string& content) {
    run.config = content;
    run.settings = flattened_toml(content);
  });
  if (run.scheme.empty()) run.scheme = value_of(run.settings, "scheme");
  return run;
}

std::vector<std::string> record_losses(const Run& run) {
  std::vector<std::string> out;
  for (const auto& event : run.events) {
    if (event.name == "records_missing") out.push_back(event.detail);
  }
  for (const auto& [name, count] : run.damaged) {
    out.push_back(text(name, ": ", count, count == 1 ? " line is" : " lines are", " damaged"));
  }
  return out;
}

double flops_per_token(const Run& run) {
  constexpr double kFlopsPerWeight = 6;
  const auto value = [&](const char* key) {
    return std::strtod(value_of(run.environment, key).c_str(), nullptr);
  };
  const double counted = value("flops_per_token");
  return counted > 0 ? counted : kFlopsPerWeight * value("parameters");
}

double final_loss(const Run& run) {
  constexpr std::size_t kLogged = 20;
  return mean_of_last(run.loss.y, kLogged);
}

}  // namespace evenkeel::report
