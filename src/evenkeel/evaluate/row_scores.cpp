// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/evaluate/row_scores.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/evaluate/prefix_packs.h"
#include "evenkeel/norm/leakage.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::evaluate {

namespace {

/// A target after the input with index `place` of a pack.
struct Target {
  std::int64_t place = 0;
  std::size_t row = 0;
  std::int64_t token = 0;
};

/// The log-softmax of one row of logits.
class LogSoftmax {
 public:
  /// \param logits  [V], float32 or float64
  LogSoftmax(const at::Tensor& logits, bool in_bfloat16) {
    if (in_bfloat16) {
      values_ = at::log_softmax(logits.to(at::kBFloat16), 0).to(at::kDouble);
      largest_ = values_.max().item<double>();
      return;
    }
    values_ = logits.to(at::kDouble);
    largest_ = values_.max().item<double>();
    log_sum_ = at::logsumexp(values_, 0).item<double>();
  }
  double operator[](std::int64_t token) const { return value(token) - log_sum_; }
  bool is_largest(std::int64_t token) const { return value(token) == largest_; }

 private:
  double value(std::int64_t token) const { return values_.const_data_ptr<double>()[token]; }

  at::Tensor values_;  // [V], float64
  double largest_ = 0, log_sum_ = 0;
};

/// The targets of a pack, sorted by place.
std::vector<Target> targets_of(const PrefixPack& pack, const std::vector<tasks::TokenRow>& rows) {
  std::vector<Target> targets;
  for (const auto& [row, places] : pack.rows) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      targets.push_back({places[i], row, rows[row].targets[i]});
    }
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](const Target& a, const Target& b) { return a.place < b.place; });
  return targets;
}

/// Adds up the scores of rows, pack by pack.
class RowScorer {
 public:
  RowScorer(const nn::Model& model, const std::vector<tasks::TokenRow>& rows,
            const RowScoreOptions& options)
      : model_(model), rows_(rows), options_(options), scores_(rows.size(), {0, true}) {}

  std::vector<tasks::RowScore> score_all() {
    const bool is_packed = norm::causal_in_evaluation(model_.scheme());
    const auto packs =
        is_packed ? prefix_packs(rows_, {pack_size(), options_.shares_prefixes}) : single_rows();
    const auto ranks = static_cast<std::size_t>(options_.share.ranks);
    std::int64_t done = 0;
    for (std::size_t first = 0; first < packs.size(); first += ranks) {
      const auto mine = first + static_cast<std::size_t>(options_.share.rank);
      if (mine < packs.size()) score(packs[mine], is_packed);
      for (auto i = first; i < std::min(packs.size(), first + ranks); ++i) {
        done += static_cast<std::int64_t>(packs[i].rows.size());
      }
      if (!goes_on(done)) return {};
    }
    if (ranks > 1 && !packs.empty()) gather_scores(packs);
    return std::move(scores_);
  }

 private:
  /// Calls on_progress(). All processes call it together, and get the same answer.
  bool goes_on(std::int64_t done) const {
    const bool is_wanted = !options_.on_progress || options_.on_progress(done);
    if (options_.share.ranks == 1) return is_wanted;
    const auto all = options_.share.gather({is_wanted ? 1.0 : 0.0});
    return std::all_of(all.begin(), all.end(), [](double each) { return each > 0; });
  }

  /// Takes over the scores of the rows whose packs other processes scored.
  void gather_scores(const std::vector<PrefixPack>& packs) {
    constexpr std::size_t kFields = 2;  // of a score
    const auto ranks = static_cast<std::size_t>(options_.share.ranks);
    std::vector<std::vector<std::size_t>> rows(ranks);  // of each process, in the order of packs
    for (std::size_t i = 0; i < packs.size(); ++i) {
      for (const auto& each : packs[i].rows) rows[i % ranks].push_back(each.row);
    }
    std::size_t longest = 0;
    for (const auto& each : rows) longest = std::max(longest, each.size());
    std::vector<double> mine;
    for (const auto row : rows[static_cast<std::size_t>(options_.share.rank)]) {
      mine.push_back(scores_[row].log_probability);
      mine.push_back(scores_[row].is_greedy ? 1 : 0);
    }
    mine.resize(kFields * longest);
    const auto all = options_.share.gather(mine);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto* from = all.data() + rank * mine.size();
      for (const auto row : rows[rank]) {
        scores_[row] = {from[0], from[1] > 0};
        from += kFields;
      }
    }
  }

  /// Tokens of a pack, the same for all rows of a model: the bits of a matrix product may depend on
  /// its number of rows.
  std::int64_t pack_size() const {
    constexpr std::int64_t kLeast = 1024, kMultiple = 256;
    const auto blocks = (options_.max_context + kMultiple - 1) / kMultiple;
    return std::max(kLeast, blocks * kMultiple);
  }

  /// Packs of one row each.
  std::vector<PrefixPack> single_rows() const {
    std::vector<PrefixPack> packs(rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto size = static_cast<std::int64_t>(rows_[row].inputs.size());
      packs[row].ids = rows_[row].inputs;
      packs[row].rows = {{row, {}}};
      const auto targets = static_cast<std::int64_t>(rows_[row].targets.size());
      for (auto i = size - targets; i < size; ++i) packs[row].rows[0].before_target.push_back(i);
    }
    return packs;
  }

  /// \param is_packed  false: the pack is one sequence, without padding
  void score(const PrefixPack& pack, bool is_packed) {
    const auto size = static_cast<std::int64_t>(pack.ids.size());
    auto ids = at::zeros({1, is_packed ? pack_size() : size}, at::kLong);
    std::copy(pack.ids.begin(), pack.ids.end(), ids.mutable_data_ptr<std::int64_t>());
    const auto x = model_.hidden(ids, {.packing = is_packed ? &pack.packing : nullptr})[0];
    const auto targets = targets_of(pack, rows_);
    std::vector<std::int64_t> places;
    for (const auto& target : targets) {
      if (places.empty() || places.back() != target.place) places.push_back(target.place);
    }
    std::size_t next = 0;
    for (std::size_t first = 0; first < places.size(); first += kLogitsRows) {
      const auto last = std::min(places.size(), first + kLogitsRows);
      const std::vector<std::int64_t> block(places.begin() + static_cast<std::ptrdiff_t>(first),
                                            places.begin() + static_cast<std::ptrdiff_t>(last));
      next = add_block(x, block, targets, next);
    }
    EK_ASSERT(next == targets.size());
  }

  /// Adds the log-probabilities of the targets from index `next` on that follow the inputs
  /// `places`.
  /// \param x  hidden states of the pack, [T, D]
  /// \return the index of the first target after them
  std::size_t add_block(const at::Tensor& x, const std::vector<std::int64_t>& places,
                        const std::vector<Target>& targets, std::size_t next) {
    auto rows = at::zeros({kLogitsRows, x.size(1)}, x.options());
    const auto count = static_cast<std::int64_t>(places.size());
    rows.narrow(0, 0, count)
        .copy_(x.index_select(0, at::tensor(places, x.options().dtype(at::kLong))));
    const auto logits = model_.logits(rows).cpu();
    std::vector<std::size_t> bounds;  // of the targets of each place
    auto end = next;
    for (const auto place : places) {
      bounds.push_back(end);
      while (end < targets.size() && targets[end].place == place) ++end;
    }
    bounds.push_back(end);
    std::vector<tasks::RowScore> scored(end - next);
    ops::cpu::parallel_for(0, count, /*grain=*/1, [&](std::int64_t first, std::int64_t last) {
      const at::NoGradGuard no_grad;  // of this thread
      for (auto i = first; i < last; ++i) {
        const LogSoftmax log_softmax(logits[i], options_.scores_in_bfloat16);
        const auto at = static_cast<std::size_t>(i);
        for (auto t = bounds[at]; t < bounds[at + 1]; ++t) {
          scored[t - next] = {log_softmax[targets[t].token],
                              log_softmax.is_largest(targets[t].token)};
        }
      }
    });
    for (auto t = next; t < end; ++t) add(scores_[targets[t].row], scored[t - next]);
    return end;
  }

  static void add(tasks::RowScore& sum, const tasks::RowScore& part) {
    sum.log_probability += part.log_probability;
    sum.is_greedy = sum.is_greedy && part.is_greedy;
  }

  static constexpr std::int64_t kLogitsRows = 128;  // of one product with the head

  const nn::Model& model_;
  const std::vector<tasks::TokenRow>& rows_;
  const RowScoreOptions& options_;
  std::vector<tasks::RowScore> scores_;
};

/// The sums in bfloat16: LibTorch sums bfloat16 in float32 and rounds once.
void round_to_bfloat16(std::vector<tasks::RowScore>& scores) {
  for (auto& each : scores) {
    each.log_probability =
        static_cast<double>(static_cast<c10::BFloat16>(static_cast<float>(each.log_probability)));
  }
}

}  // namespace

std::vector<tasks::RowScore> score_rows(const nn::Model& model,
                                        const std::vector<tasks::TokenRow>& rows,
                                        const RowScoreOptions& options) {
  const at::NoGradGuard no_grad;
  auto scores = RowScorer(model, rows, options).score_all();
  if (options.scores_in_bfloat16) round_to_bfloat16(scores);
  return scores;
}

}  // namespace evenkeel::evaluate
