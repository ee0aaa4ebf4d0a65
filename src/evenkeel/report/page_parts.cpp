// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/page_parts.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/axis.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

const Quantity kLoss = {"Training loss", "nats per token", "loss", &Run::loss};
const Quantity kLearningRate = {"Learning rate", "", "lr", &Run::learning_rate};
const Quantity kGradientNorm = {"Gradient norm", "before clipping, logarithmic", "grad_norm",
                                &Run::gradient_norm};
const Quantity kThroughput = {"Throughput", "tokens per second", "tokens_per_s",
                              &Run::tokens_per_second};
const Quantity kLoad = {"Busiest expert", "its choices over the mean, of the worst block",
                        "load_max", &Run::load};
const Quantity kBalance = {"Load balancing loss", "before its weight; 1 is even", "balance_loss",
                           &Run::balance_loss};
const Quantity kValidation = {"Validation loss", "nats per token", "val_loss",
                              &Run::validation_loss};
const Quantity kBits = {"Validation loss", "bits per byte", "val_bits_per_byte",
                        &Run::bits_per_byte};
const Quantity kGap = {"Gap to the entropy floor", "nats per byte, logarithmic", "val_gap",
                       &Run::gap};
const Quantity kExactMatch = {"Answers right", "share of the validation text's", "val_exact",
                              &Run::exact_match};
const Quantity kOodLoss = {"Loss out of distribution", "nats per token", "ood_loss",
                           &Run::ood_loss};
const Quantity kOodExactMatch = {"Answers right out of distribution", "share", "ood_exact",
                                 &Run::ood_exact_match};

std::string section(std::string_view heading, std::string_view content) {
  return text("<section>\n<h2>", heading, "</h2>\n", content, "\n</section>\n");
}

std::string state_text(const Run& run) {
  if (run.state == "training") return element("span", "in training", "state training");
  for (const char* state : {"finished", "stopped", "interrupted", "diverged"}) {
    if (run.state == state) return element("span", state, text("state ", state));
  }
  return element("span", "state unknown", "state");
}

std::string steps_text(const Run& run) {
  const auto done = with_commas(std::llround(run.step));
  if (!(run.step < run.steps)) return done + (run.step == 1 ? " step" : " steps");
  return text(done, " of ", with_commas(std::llround(run.steps)), " steps");
}

std::string missing_text(const Run& run, const std::string& file, std::string_view otherwise) {
  const auto why = run.missing.find(file);
  return element("p", escaped(why == run.missing.end() ? otherwise : why->second), "missing");
}

std::string key_value_table(const KeyValues& entries) {
  std::string rows;
  for (const auto& [key, value] : entries) {
    rows += element("tr", element("td", escaped(key), "key-name") +
                              element("td", escaped(value), "text")) +
            "\n";
  }
  return element("div", element("table", rows), "scroll");
}

std::string differences_table(const std::vector<Run>& runs, const std::vector<Difference>& rows) {
  std::string head = element("th", "key");
  for (const auto& run : runs) head += element("th", escaped(run.name));
  std::string body = element("tr", head) + "\n";
  for (const auto& row : rows) {
    std::string cells = element("td", escaped(row.key), "key-name");
    for (const auto& value : row.values) cells += element("td", escaped(value), "text");
    body += element("tr", cells) + "\n";
  }
  return element("div", element("table", body), "scroll");
}

std::string loss_text(double value) {
  constexpr int kDecimals = 4;
  return decimal_text(value, kDecimals);
}

std::string decimal_text(double value, int decimals) {
  constexpr double kLargestPlain = 1e5;
  if (!(std::abs(value) >= kLargestPlain) || !std::isfinite(value)) return fixed(value, decimals);
  return short_number(value);
}

std::size_t half_window(std::size_t points) {
  constexpr std::size_t kWindowsInARun = 60;
  return std::max<std::size_t>(1, points / (2 * kWindowsInARun));
}

std::string no_data(const std::vector<const Run*>& runs, const Quantity& quantity) {
  for (const auto* run : runs) {
    const auto why = run->missing.find("metrics.jsonl");
    if (why == run->missing.end()) return text("No data: metrics.jsonl has no ", quantity.key);
  }
  return "No data: " + runs.front()->missing.at("metrics.jsonl");
}

std::vector<LineStyle> line_styles(const std::vector<Run>& runs) {
  std::map<std::string, int> schemes, members;
  std::vector<LineStyle> styles;
  for (const auto& run : runs) {
    const int scheme =
        schemes.try_emplace(run.scheme, static_cast<int>(schemes.size())).first->second;
    const int member = members[run.scheme]++;
    styles.push_back({scheme % kColours, (scheme + member) % kDashes});
  }
  return styles;
}

}  // namespace evenkeel::report
