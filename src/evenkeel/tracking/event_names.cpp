// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tracking/event_names.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "evenkeel/base/error.h"
#include "evenkeel/tracking/event.h"

namespace evenkeel::tracking {

namespace {

using Json = nlohmann::ordered_json;

struct Name {
  std::string_view field, tag;
};

/// Fields of metrics.jsonl.
constexpr std::array kNames = {
    Name{"loss", "train/CE loss"},
    Name{"lr", "optim/LR"},
    Name{"grad_norm", "optim/total grad norm"},
    Name{"clipped", "optim/grad norm clipped"},
    Name{"tokens", "throughput/total tokens"},
    Name{"tokens_per_s", "throughput/device/TPS"},
    Name{"step_s", "throughput/device/seconds per step"},
    Name{"memory_bytes", "system/peak memory (bytes)"},
    Name{"faults", "system/minor page faults"},
    Name{"z_loss", "train/Z loss"},
    Name{"balance_loss", "train/load balancing loss"},
    Name{"router_z_loss", "train/router Z loss"},
    Name{"load_max", "train/load imbalance"},
    Name{"dead_experts", "train/dead experts"},
    Name{"routing_entropy", "train/routing entropy"},
    Name{"router_logit_max", "train/max router logit"},
    Name{"dropped", "train/dropped tokens"},
    Name{"val_loss", "eval/loss"},
    Name{"val_bits_per_byte", "eval/bits per byte"},
    Name{"val_floor", "eval/floor"},
    Name{"val_gap", "eval/gap to the floor"},
    Name{"val_exact", "eval/exact match"},
    Name{"ood_loss", "eval/out of distribution/loss"},
    Name{"ood_bits_per_byte", "eval/out of distribution/bits per byte"},
    Name{"ood_floor", "eval/out of distribution/floor"},
    Name{"ood_gap", "eval/out of distribution/gap to the floor"},
    Name{"ood_exact", "eval/out of distribution/exact match"},
};

double number_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const double number =
      value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  return std::isfinite(number) ? number : std::numeric_limits<double>::quiet_NaN();
}

void add(std::vector<TaggedValue>& out, std::string tag, double value) {
  auto bytes = scalar_value(tag, static_cast<float>(value));
  out.push_back({std::move(tag), std::move(bytes)});
}

/// The tags of a loss and its perplexity: "eval/wiki/CE loss", "eval/wiki/Perplexity".
void add_loss(std::vector<TaggedValue>& out, const std::string& group, const Json& loss) {
  add(out, group + "/CE loss", number_of(loss));
  add(out, group + "/Perplexity", std::exp(number_of(loss)));
}

/// The fields of metrics.jsonl that are objects.
void add_by_name(std::vector<TaggedValue>& out, const std::string& field, const Json& values) {
  for (const auto& [name, value] : values.items()) {
    if (field == "source_tokens") add(out, "data/tokens/" + name, number_of(value));
    if (field == "val_loss_by_source") add_loss(out, "eval/sources/" + name, value);
    if (field != "texts" || !value.is_object()) continue;
    if (value.contains("text_loss")) add_loss(out, "eval/" + name, value["text_loss"]);
    if (!value.contains("text_bits_per_byte")) continue;
    add(out, "eval/" + name + "/bits per byte", number_of(value["text_bits_per_byte"]));
  }
}

/// "embedding", "block 01", "block 12", "output"
std::string layer_text(std::int64_t layer, std::int64_t layers) {
  if (layer == 0) return "embedding";
  if (layer > layers) return "output";
  const auto number = std::to_string(layer);
  const auto digits = std::max<std::size_t>(2, std::to_string(layers).size());
  return "block " + std::string(digits - std::min(digits, number.size()), '0') + number;
}

std::string string_of(const Json& line, const char* field) {
  const auto at = line.find(field);
  return at != line.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

std::vector<TaggedValue> metric_values(const Json& line) {
  std::vector<TaggedValue> out;
  out.reserve(line.size() + 1);
  for (const auto& [field, value] : line.items()) {
    if (value.is_object()) add_by_name(out, field, value);
    for (const auto& name : kNames) {
      if (name.field != field) continue;
      add(out, std::string(name.tag), number_of(value));
      if (field == "loss") add(out, "train/PPL", std::exp(number_of(value)));
    }
  }
  return out;
}

std::vector<TaggedValue> task_values(const Json& line) {
  const auto label = string_of(line, "label"), metric = string_of(line, "metric");
  std::vector<TaggedValue> out;
  if (!line.contains("value")) return out;
  add(out, text("eval/downstream/", label, "_", metric), number_of(line["value"]));
  return out;
}

std::vector<TaggedValue> probe_values(const Json& line, std::int64_t layers) {
  const auto measure = string_of(line, "measure"), part = string_of(line, "part");
  std::vector<TaggedValue> out;
  const auto values = line.find("values");
  const auto first = line.find("first");
  if (values == line.end() || first == line.end() || !first->is_number_integer()) return out;
  const bool is_block = part.empty() || part == "block";
  const bool is_model = part.starts_with("model");  // one value, of the whole model
  const auto group = text("probe/", measure, is_block ? "" : "/", is_block ? "" : part);
  std::vector<double> of_blocks;
  auto layer = first->get<std::int64_t>();
  for (const auto& value : *values) {
    const double number = number_of(value);
    const auto tag = is_model ? group : text(group, "/", layer_text(layer, layers));
    if (!std::isnan(number)) add(out, tag, number);
    if (layer >= 1 && layer <= layers) of_blocks.push_back(number);
    ++layer;
  }
  if (measure != "grad_norm" || part != "block") return out;
  const std::string tag = "probe/grad_norm/over blocks";
  out.push_back({tag, histogram_value(tag, of_blocks)});
  return out;
}

}  // namespace evenkeel::tracking
