// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tasks/task_score.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/tasks/metric.h"

namespace evenkeel::tasks {

namespace {

using Values = std::vector<double>;

/// The nearest bfloat16, ties to even.
double rounded_to_bfloat16(double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  bits = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) & 0xFFFF0000U;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return std::isnan(single) ? value : static_cast<double>(result);
}

/// The lengths that divide the log-probability of a continuation.
struct Length {
  double characters = 0, bytes = 0;
};

/// The first character, a space in most tasks, does not count for the rule "olmo"; for "lm_eval" a
/// space does not.
Length length_of(const std::string& continuation, Rule rule) {
  const bool counts_first =
      rule == Rule::olmo_v2 || (rule == Rule::lm_eval && !continuation.starts_with(' '));
  const auto characters = std::count_if(continuation.begin(), continuation.end(),
                                        [](char byte) { return !is_utf8_continuation(byte); });
  const auto first = counts_first || continuation.empty() ? 0 : utf8_character_length(continuation);
  return {static_cast<double>(characters - (counts_first ? 0 : 1)),
          static_cast<double>(continuation.size() - first)};
}

/// The index of the first of the largest values.
std::size_t argmax(const Values& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

Values softmax(const Values& values) {
  const double largest = *std::max_element(values.begin(), values.end());
  Values result;
  double sum = 0;
  for (const auto value : values) sum += result.emplace_back(std::exp(value - largest));
  for (auto& each : result) each /= sum;
  return result;
}

/// ln softmax(values)[index].
double log_softmax(const Values& values, std::size_t index) {
  const double largest = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const auto value : values) sum += std::exp(value - largest);
  return values[index] - largest - std::log(sum);
}

/// sum_i (softmax(values)_i - [i = gold])^2
double brier(const Values& values, std::size_t gold) {
  const auto probabilities = softmax(values);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = probabilities[i] - (i == gold ? 1 : 0);
    sum += error * error;
  }
  return sum;
}

/// The log-probabilities of the choices of a document, and their quotients.
struct ChoiceValues {
  Values sums, per_character, per_byte;
};

/// The metrics of documents, one at a time.
class DocumentScorer {
 public:
  DocumentScorer(const Task& task, const ScoreOptions& options) : task_(task), options_(options) {
    if (scores_gold_alone(task.metric)) {
      names_ = task.metric == Metric::bpb ? Names{"bpb", "ce_loss"} : Names{"ce_loss", "bpb"};
    } else if (options.rule == Rule::lm_eval) {
      names_ = {"acc", "acc_norm", "acc_bytes", "brier", "bpb"};
      if (task.metric == Metric::len_norm) std::swap(names_[0], names_[1]);
    } else {
      names_ = {"acc", "len_norm", "ce_loss", "bpb", "soft", "soft_log"};
      if (task.metric == Metric::len_norm) std::swap(names_[0], names_[1]);
    }
  }

  const std::vector<std::string>& names() const { return names_; }

  /// \param rows  the scores of the document's choices
  DocumentScore score(const Document& document, const RowScore* rows) const {
    const auto values = values_of(document, rows);
    const auto& selecting = task_.metric == Metric::len_norm ? values.per_character : values.sums;
    DocumentScore result;
    result.id = document.id;
    result.choice = argmax(selecting);
    result.is_correct = result.choice == document.gold;
    result.is_tie = std::count(selecting.begin(), selecting.end(), selecting[result.choice]) > 1;
    for (const auto& name : names_) {
      result.values.push_back(value_of(name, values, selecting, document.gold));
    }
    return result;
  }

 private:
  using Names = std::vector<std::string>;

  double rounded(double value) const {
    return options_.rounds_to_bfloat16 ? rounded_to_bfloat16(value) : value;
  }

  ChoiceValues values_of(const Document& document, const RowScore* rows) const {
    ChoiceValues values;
    for (std::size_t i = 0; i < document.rows.size(); ++i) {
      const double sum = rows[i].log_probability;
      if (std::isnan(sum)) {
        throw Error(Exit::diverged,
                    text(task_.label, ": the score of document ", document.id, ", choice ", i,
                         ", is not a number: the weights have diverged; take an earlier "
                         "checkpoint"));
      }
      const auto length = length_of(document.rows[i].continuation, options_.rule);
      EK_ASSERT(length.characters >= 1);  // encode() has refused it
      values.sums.push_back(sum);
      values.per_character.push_back(rounded(sum / length.characters));
      values.per_byte.push_back(rounded(sum / length.bytes));
    }
    return values;
  }

  double value_of(std::string_view name, const ChoiceValues& values, const Values& selecting,
                  std::size_t gold) const {
    const auto hit = [gold](const Values& each) { return argmax(each) == gold ? 1.0 : 0.0; };
    if (name == "acc") return hit(values.sums);
    if (name == "len_norm" || name == "acc_norm") return hit(values.per_character);
    if (name == "acc_bytes") return hit(values.per_byte);
    if (name == "ce_loss") return -values.per_character[gold];
    if (name == "bpb") return rounded(-values.per_byte[gold] / std::numbers::ln2);
    if (name == "soft") return softmax(selecting)[gold];
    if (name == "soft_log") return log_softmax(selecting, gold);
    EK_ASSERT(name == "brier");
    return brier(values.sums, gold);
  }

  const Task& task_;
  const ScoreOptions& options_;
  Names names_;
};

/// Mean and standard error of the mean over documents. For shares p of n documents that is
/// sqrt(p (1 - p) / (n - 1)).
MetricValue mean_of(const std::string& name, const std::vector<DocumentScore>& documents,
                    std::size_t index) {
  const auto n = static_cast<double>(documents.size());
  double sum = 0;
  for (const auto& document : documents) sum += document.values[index];
  MetricValue metric;
  metric.name = name;
  metric.value = sum / n;
  double squares = 0;
  for (const auto& document : documents) {
    const double difference = document.values[index] - metric.value;
    squares += difference * difference;
  }
  // 0 / 0 is NaN for one document.
  metric.standard_error = std::sqrt(squares / (n - 1) / n);
  metric.is_larger_better = name != "ce_loss" && name != "bpb" && name != "brier";
  return metric;
}

/// F1 of choice 0 as the positive class; its standard error by the jackknife.
MetricValue f1_of(const Task& task, const std::vector<DocumentScore>& documents) {
  double hits = 0, selected = 0, gold = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool is_selected = documents[i].choice == 0, is_gold = task.documents[i].gold == 0;
    hits += is_selected && is_gold ? 1 : 0;
    selected += is_selected ? 1 : 0;
    gold += is_gold ? 1 : 0;
  }
  const auto f1 = [](double tp, double all) { return all == 0 ? 0 : 2 * tp / all; };
  const auto n = static_cast<double>(documents.size());
  double squares = 0;
  const double value = f1(hits, selected + gold);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const double is_selected = documents[i].choice == 0 ? 1 : 0;
    const double is_gold = task.documents[i].gold == 0 ? 1 : 0;
    const double without =
        f1(hits - is_selected * is_gold, selected + gold - is_selected - is_gold);
    squares += (without - value) * (without - value);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {"f1", value, n > 1 ? std::sqrt(squares * (n - 1) / n) : nan};
}

/// The mean over documents of 1 / choices.
std::optional<double> chance_of(const Task& task) {
  if (scores_gold_alone(task.metric) || task.metric == Metric::f1) return std::nullopt;
  double sum = 0;
  for (const auto& document : task.documents) sum += 1 / static_cast<double>(document.rows.size());
  return sum / static_cast<double>(task.documents.size());
}

/// Means of the headline metric, the first of `values`, by tag.
std::vector<TagScore> tag_scores(const Task& task, const std::vector<DocumentScore>& documents) {
  std::vector<TagScore> scores;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto& tag = task.documents[i].tag;
    if (tag.empty()) continue;
    auto found = std::find_if(scores.begin(), scores.end(),
                              [&](const TagScore& each) { return each.tag == tag; });
    if (found == scores.end()) found = scores.insert(scores.end(), {tag});
    ++found->documents;
    found->value += documents[i].values.front();
  }
  for (auto& each : scores) each.value /= static_cast<double>(each.documents);
  return scores;
}

}  // namespace

TaskScore score(const Task& task, const std::vector<RowScore>& rows, const ScoreOptions& options) {
  EK_ASSERT(!task.documents.empty());
  const DocumentScorer scorer(task, options);
  TaskScore result;
  const auto* row = rows.data();
  for (const auto& document : task.documents) {
    result.documents.push_back(scorer.score(document, row));
    result.ties += result.documents.back().is_tie ? 1 : 0;
    row += document.rows.size();
  }
  EK_ASSERT(row == rows.data() + rows.size());
  if (task.metric == Metric::f1) result.metrics.push_back(f1_of(task, result.documents));
  for (std::size_t i = 0; i < scorer.names().size(); ++i) {
    result.metrics.push_back(mean_of(scorer.names()[i], result.documents, i));
  }
  result.chance = chance_of(task);
  result.tags = tag_scores(task, result.documents);
  return result;
}

}  // namespace evenkeel::tasks
