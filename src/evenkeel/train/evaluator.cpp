// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/plan/batch_size.h"
#include "evenkeel/train/gather_numbers.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

namespace {

/// The number of windows of a source: its share of all, at least one; 0: all windows.
std::int64_t sequences_of(double share, std::int64_t all) {
  if (all == 0 || share == 1) return all;
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(all)));
}

/// A text of evaluate.texts, or data.ood, in provenance.json.
nlohmann::ordered_json text_record(const config::NamedText& named, const data::Corpus& corpus) {
  auto files = nlohmann::ordered_json::array();
  for (const auto& file : corpus.files) {
    files.push_back({{"path", file.path}, {"digest", file.digest}});
  }
  return {{"name", named.name},
          {"inputs", named.inputs},
          {"digest", corpus.digest},
          {"files", std::move(files)}};
}

/// "a.txt, b.txt"
std::string joined_inputs(const std::vector<std::string>& inputs) {
  std::string out;
  for (const auto& each : inputs) out += (out.empty() ? "" : ", ") + each;
  return out;
}

evaluate::EvaluationShare share_of(comm::Group* group) {
  if (group == nullptr) return {};
  return {.rank = group->rank(), .ranks = group->ranks(), .gather = [group](const auto& numbers) {
            return gather_numbers(*group, numbers);
          }};
}

}  // namespace

nlohmann::ordered_json provenance_of_texts(const std::vector<config::NamedText>& named,
                                           const std::vector<data::Source>& texts) {
  auto out = nlohmann::ordered_json::object();
  if (!texts.empty()) out["evaluate_texts_digest"] = data::digest(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out["evaluate_texts"].push_back(text_record(named[i], texts[i].corpus));
  }
  return out;
}

Evaluator::Evaluator(const config::Config& config, const data::Corpora& text,
                     std::int64_t vocabulary, comm::Group* group)
    : named_texts_(config.evaluate.texts),
      text_sources_(data::load_named_texts(named_texts_, config.data, text.encoding,
                                           config.model.context, vocabulary)),
      tasks_(config, *text.encoding, vocabulary),
      share_(share_of(group)),
      micro_batch_size_(plan::evaluation_batch_size(config, vocabulary)) {
  for (const auto& source : text.validation) {
    validation_.push_back(
        {source.name, source.share,
         data::ValidationWindows(source.corpus, config.model.context,
                                 sequences_of(source.share, config.evaluate.sequences))});
  }
  if (text.ood) {
    ood_.emplace(*text.ood, config.model.context, config.evaluate.sequences);
    const auto& inputs = config.data.ood;
    ood_record_ = text_record({.name = joined_inputs(inputs), .inputs = inputs}, *text.ood);
  }
  for (const auto& each : text_sources_) {
    texts_.push_back(
        {each.name, 1,
         data::ValidationWindows(each.corpus, config.model.context, config.evaluate.sequences)});
  }
}

RunEvaluation Evaluator::evaluate(const nn::Model& model, std::int64_t step) {
  RunEvaluation result{.step = step};
  const auto evaluated = [&](const data::ValidationWindows& windows) {
    return evaluate::evaluate(model, windows, micro_batch_size_, /*on_progress=*/{}, share_);
  };
  std::vector<double> shares;
  std::vector<evaluate::Evaluation> parts;
  for (const auto& source : validation_) {
    parts.push_back(evaluated(source.windows));
    shares.push_back(source.share);
    if (validation_.size() > 1) result.sources.push_back({source.name, parts.back()});
  }
  result.validation = evaluate::weighted_mean(parts, shares);
  last_step_ = step;
  last_ = {.loss = result.validation.nats_per_token, .gap = result.validation.gap};
  if (ood_) result.ood = evaluated(*ood_);
  for (const auto& each : texts_) {
    result.texts.push_back({each.name, evaluated(each.windows)});
  }
  return result;
}

std::optional<RunTaskScores> Evaluator::evaluate_tasks(const nn::Model& model, std::int64_t step,
                                                       const OnRows& on_progress) {
  const auto all = tasks_.row_count();
  const auto on_rows = [&](std::int64_t done) { return on_progress(done, all); };
  RunTaskScores scores{step, tasks_.evaluate(model, on_rows, share_), {}};
  if (scores.results.empty()) return std::nullopt;
  for (const auto& result : scores.results) {
    for (auto& line : tasks_.records(result, step, "train"))
      scores.records.push_back(std::move(line));
  }
  last_task_step_ = step;
  return scores;
}

nlohmann::ordered_json Evaluator::provenance() const {
  auto out = provenance_of_texts(named_texts_, text_sources_);
  if (!ood_record_.is_null()) out["evaluate_ood"].push_back(ood_record_);
  out.update(tasks_.provenance());
  return out;
}

void Evaluator::resume(const std::vector<nlohmann::json>& metrics,
                       const std::vector<nlohmann::json>& evaluations) {
  for (const auto& line : evaluations) {
    if (line.value("command", "") == "train")
      last_task_step_ = line.value("step", std::int64_t{-1});
  }
  for (const auto& line : metrics) {
    if (!line.contains("val_loss")) continue;
    last_step_ = line.at("step").get<std::int64_t>();
    const auto take = [&](const char* field, std::optional<double>& value) {
      const auto at = line.find(field);
      if (at != line.end() && at->is_number()) value = at->get<double>();
    };
    take("val_loss", last_.loss);
    take("val_gap", last_.gap);
  }
}

}  // namespace evenkeel::train
