// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/token_logprobs.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/norm/leakage.h"

namespace evenkeel::serve {

namespace {

using Prompts = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kBatchTokens = 2048;              // of one forward pass, padding included
constexpr std::int64_t kLogits = std::int64_t{4} << 20;  // that exist at a time

/// The order of RankedToken lists.
bool ranks_before(const RankedToken& a, const RankedToken& b) {
  return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
}

/// The `count` largest logits, sorted.
template <typename T>
std::vector<RankedToken> largest(const T* logits, std::int64_t vocabulary, std::int64_t count) {
  std::vector<RankedToken> best;  // a heap whose front ranks last
  for (std::int64_t token = 0; token < vocabulary; ++token) {
    const RankedToken each = {token, static_cast<double>(logits[token])};
    if (static_cast<std::int64_t>(best.size()) < count) {
      best.push_back(each);
      std::push_heap(best.begin(), best.end(), ranks_before);
    } else if (count > 0 && ranks_before(each, best.front())) {
      std::pop_heap(best.begin(), best.end(), ranks_before);
      best.back() = each;
      std::push_heap(best.begin(), best.end(), ranks_before);
    }
  }
  std::sort_heap(best.begin(), best.end(), ranks_before);
  return best;
}

/// ln sum_v e^logits[v], in float64.
/// \throws Error (diverged) for a logit that is NaN or +inf, or if all are -inf
template <typename T>
double log_sum_exp(const T* logits, std::int64_t vocabulary) {
  double most = -std::numeric_limits<double>::infinity();
  bool is_number = true;
  for (std::int64_t v = 0; v < vocabulary; ++v) {
    is_number = is_number && !std::isnan(logits[v]);
    most = std::max(most, static_cast<double>(logits[v]));
  }
  if (!is_number || !std::isfinite(most)) {
    throw Error(Exit::diverged,
                "wanted finite logits, but some are not; the model has diverged: train with a "
                "lower schedule.peak");
  }
  double sum = 0;
  for (std::int64_t v = 0; v < vocabulary; ++v) sum += std::exp(logits[v] - most);
  return most + std::log(sum);
}

template <typename T>
TokenLogprob logprob_of(const T* logits, std::int64_t vocabulary, std::int64_t token,
                        std::int64_t top) {
  const double total = log_sum_exp(logits, vocabulary);
  TokenLogprob result = {token, static_cast<double>(logits[token]) - total,
                         largest(logits, vocabulary, top)};
  bool is_listed = false;
  for (auto& each : result.top) {
    each.logprob -= total;
    is_listed = is_listed || each.token == token;
  }
  if (!is_listed) result.top.push_back({token, *result.logprob});
  return result;
}

/// The prompts of one forward pass, as indices.
using Batch = std::vector<std::size_t>;

/// Prompts in the order of their lengths, in batches of at most kBatchTokens.
std::vector<Batch> batches_of(const Prompts& prompts, bool is_causal) {
  Batch order(prompts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return prompts[a].size() > prompts[b].size();
  });
  std::vector<Batch> batches;
  for (const auto index : order) {
    const auto longest = batches.empty() ? 0 : prompts[batches.back().front()].size();
    const bool is_full =
        batches.empty() || !is_causal ||
        longest * (batches.back().size() + 1) > static_cast<std::size_t>(kBatchTokens);
    if (is_full) batches.emplace_back();
    batches.back().push_back(index);
  }
  return batches;
}

/// The inputs of the head for the prompts of a batch. [B, T, D]
at::Tensor hidden_of(const nn::Model& model, const Prompts& prompts, const Batch& batch) {
  const auto length = prompts[batch.front()].size();
  std::vector<std::int64_t> ids;
  for (const auto index : batch) {
    const auto& prompt = prompts[index];
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    ids.resize(ids.size() + length - prompt.size(), 0);
  }
  return model.hidden(nn::batch_tensors(ids, ids, static_cast<std::int64_t>(batch.size())).first);
}

/// Fills in the log-probabilities of prompt[first + 1] and of the tokens after it, one per row.
/// \param logits  [rows, V], T
template <typename T>
void add_rows(TokenLogprobs& result, const at::Tensor& logits, std::int64_t first,
              std::int64_t top) {
  const auto vocabulary = logits.size(1);
  const auto* const values = logits.const_data_ptr<T>();
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) {
      auto& each = result.tokens[static_cast<std::size_t>(first + row + 1)];
      each = logprob_of(values + row * vocabulary, vocabulary, each.token, top);
    }
  });
}

/// The log-probabilities of the tokens of `prompt`.
/// \param x  inputs of the head, [T, D]
TokenLogprobs logprobs_of_prompt(const nn::Model& model, const at::Tensor& x,
                                 const std::vector<std::int64_t>& prompt, std::int64_t top) {
  TokenLogprobs result;
  for (const auto token : prompt) result.tokens.push_back({token, {}, {}});
  const auto length = static_cast<std::int64_t>(prompt.size());
  const auto last = model.logits(x.narrow(0, length - 1, 1)).to(at::kCPU, at::kDouble).contiguous();
  const auto* const next = last.const_data_ptr<double>();
  result.next_logits.assign(next, next + last.numel());
  const auto rows_at_once = std::max<std::int64_t>(1, kLogits / last.numel());
  for (std::int64_t first = 0; first < length - 1; first += rows_at_once) {
    const auto rows = std::min(rows_at_once, length - 1 - first);
    const auto logits = model.logits(x.narrow(0, first, rows)).cpu().contiguous();
    if (logits.scalar_type() == at::kDouble) {
      add_rows<double>(result, logits, first, top);
    } else {
      add_rows<float>(result, logits, first, top);
    }
  }
  return result;
}

}  // namespace

TokenLogprob token_logprob(const std::vector<double>& logits, std::int64_t token,
                           std::int64_t top) {
  return logprob_of(logits.data(), static_cast<std::int64_t>(logits.size()), token, top);
}

std::vector<TokenLogprobs> prompt_logprobs(const nn::Model& model, const Prompts& prompts,
                                           std::int64_t top,
                                           const std::function<bool()>& interrupted) {
  const at::NoGradGuard no_grad;
  std::vector<TokenLogprobs> results(prompts.size());
  for (const auto& batch : batches_of(prompts, norm::causal_in_evaluation(model.scheme()))) {
    if (interrupted()) return {};
    const auto x = hidden_of(model, prompts, batch);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      if (interrupted()) return {};
      results[batch[row]] =
          logprobs_of_prompt(model, x[static_cast<std::int64_t>(row)], prompts[batch[row]], top);
    }
  }
  return results;
}

}  // namespace evenkeel::serve
