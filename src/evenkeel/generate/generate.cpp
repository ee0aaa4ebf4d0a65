// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generate.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/norm/leakage.h"

namespace evenkeel::generate {

namespace {

using Text = std::vector<std::int64_t>;

/// The positions of a cache: the context, or all of a shorter text.
std::int64_t cache_capacity(const nn::Model& model, const GenerationOptions& options) {
  const auto context = model.scheme().shape.context;
  const auto fresh =
      std::min(options.max_new_tokens, context);  // so that the sum does not overflow
  return std::min(context, static_cast<std::int64_t>(options.prompt.size()) + fresh);
}

/// A model with the key-value caches of texts of equal length, and the window of the texts that
/// the caches cover.
class CachedDecoder {
 public:
  CachedDecoder(const nn::Model& model, std::int64_t capacity, bool use_cache)
      : model_(model),
        context_(model.scheme().shape.context),
        capacity_(capacity),
        use_cache_(use_cache && norm::causal_in_evaluation(model.scheme())) {}

  /// The logits for the token after each text, [B][V]. Only tokens that are not in the cache go
  /// through the model.
  std::vector<std::vector<double>> logits_after(const std::vector<Text>& texts) {
    const auto size = static_cast<std::int64_t>(texts.front().size());
    const auto batch = static_cast<std::int64_t>(texts.size());
    const bool full = size - window_start_ > context_;
    // The first window is as long as possible; later ones leave room, so that few are needed.
    const auto kept = is_first_ ? context_ : std::max<std::int64_t>(1, context_ / 2);
    if (full) window_start_ = size - kept;
    is_first_ = false;
    if (full || cache_.empty()) {
      cache_.clear();  // before the next one takes as much memory
      if (use_cache_) cache_ = model_.empty_cache(batch, capacity_);
      cached_tokens_ = window_start_;
    }
    const auto fresh = tokens_from(texts, cached_tokens_);
    cached_tokens_ = size;
    const auto x = model_.hidden(fresh, {.cache = use_cache_ ? &cache_ : nullptr});
    const auto last =
        model_.logits(x.select(1, x.size(1) - 1)).to(at::kCPU, at::kDouble).contiguous();
    const auto* const values = last.const_data_ptr<double>();
    std::vector<std::vector<double>> rows;
    rows.reserve(texts.size());
    for (std::int64_t i = 0; i < batch; ++i)
      rows.emplace_back(values + i * last.size(1), values + (i + 1) * last.size(1));
    return rows;
  }

  /// Keeps the texts of these indices, in this order.
  void keep(const std::vector<std::int64_t>& indices) {
    const auto kept = at::tensor(indices, at::kLong);
    for (auto& each : cache_) {
      const auto on_device = kept.to(each.keys.device());
      each.keys = each.keys.index_select(0, on_device);
      each.values = each.values.index_select(0, on_device);
      if (each.document_start.defined())
        each.document_start =
            each.document_start.index_select(0, kept.to(each.document_start.device()));
    }
  }

 private:
  /// The tokens of each text from `first` on. [B, T], int64
  static at::Tensor tokens_from(const std::vector<Text>& texts, std::int64_t first) {
    Text parts;
    for (const auto& text : texts) parts.insert(parts.end(), text.begin() + first, text.end());
    return nn::batch_tensors(parts, parts, static_cast<std::int64_t>(texts.size())).first;
  }

  const nn::Model& model_;
  std::int64_t context_, capacity_;
  bool use_cache_, is_first_ = true;
  nn::ModelCache cache_;
  std::int64_t window_start_ = 0;   // index in the texts: first token in the cache
  std::int64_t cached_tokens_ = 0;  // index in the texts: first token that is not in the cache
};

/// Callbacks of generate_texts(). Each gets the number of the text first.
struct TokenHandlers {
  /// Gets the token and its logits; false ends the text before the token.
  std::function<bool(std::int64_t, std::int64_t, const std::vector<double>&)> on_sampled;
  std::function<bool(std::int64_t, std::int64_t)> on_token;  // false ends the text after the token
  std::function<void(std::int64_t)> on_end;
};

/// Keeps the elements of these indices, which ascend.
template <typename T>
void keep(const std::vector<std::int64_t>& indices, std::vector<T>& elements) {
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto from = static_cast<std::size_t>(indices[i]);
    if (from != i) elements[i] = std::move(elements[from]);
  }
  elements.resize(indices.size());
}

/// A sampled token, or what sample_token() threw.
struct SampledToken {
  std::int64_t token = 0;
  std::exception_ptr error;

  std::int64_t value() const {
    if (error) std::rethrow_exception(error);
    return token;
  }
};

/// sample_token() for the texts of these numbers, which have `position` tokens each, on all
/// threads. A token depends on its own text alone, so the bits are those of one thread.
std::vector<SampledToken> sample_tokens(const std::vector<std::vector<double>>& logits,
                                        const GenerationOptions& options, std::size_t position,
                                        const Text& numbers) {
  constexpr std::int64_t kLogitsOfAThread = 1 << 15;  // for fewer, a thread takes longer to start
  const auto vocabulary = std::max<std::int64_t>(1, std::ssize(logits.front()));
  const auto grain = std::max<std::int64_t>(1, kLogitsOfAThread / vocabulary);
  std::vector<SampledToken> all(numbers.size());
  at::parallel_for(0, std::ssize(numbers), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto sequence = options.sequence + static_cast<std::uint64_t>(numbers[i]);
      try {
        all[i].token = sample_token(logits[i], options.sampling, position, sequence);
      } catch (...) {  // the first text in order reports it, not the first thread
        all[i].error = std::current_exception();
      }
    }
  });
  return all;
}

/// Samples tokens for `count` texts until each has ended. The prompt goes through the model once.
void generate_texts(const nn::Model& model, const GenerationOptions& options, std::int64_t count,
                    const TokenHandlers& handlers) {
  EK_ASSERT(!options.prompt.empty() && count >= 1);
  if (options.max_new_tokens < 1) {
    for (std::int64_t i = 0; i < count; ++i) handlers.on_end(i);
    return;
  }
  const at::NoGradGuard no_grad;
  CachedDecoder decoder(model, cache_capacity(model, options), options.use_cache);
  auto logits = decoder.logits_after({options.prompt});
  if (count > 1) decoder.keep(Text(static_cast<std::size_t>(count), 0));
  logits.resize(static_cast<std::size_t>(count), logits.front());
  std::vector<Text> texts(logits.size(), options.prompt);
  Text numbers(texts.size());  // of the texts that have not ended
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::int64_t step = 0; !texts.empty(); ++step) {
    if (step > 0) logits = decoder.logits_after(texts);
    const auto sampled = sample_tokens(logits, options, texts.front().size(), numbers);
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto token = sampled[i].value();
      bool goes_on = handlers.on_sampled(numbers[i], token, logits[i]);
      if (goes_on) {
        texts[i].push_back(token);
        goes_on = handlers.on_token(numbers[i], token) && step + 1 < options.max_new_tokens;
      }
      if (goes_on) {
        kept.push_back(static_cast<std::int64_t>(i));
      } else {
        handlers.on_end(numbers[i]);
      }
    }
    if (kept.size() == texts.size()) continue;
    decoder.keep(kept);
    keep(kept, texts);
    keep(kept, numbers);
  }
}

bool is_end(const GenerationOptions& options, std::int64_t token) {
  return options.stop_token && token == *options.stop_token;
}

}  // namespace

std::vector<std::int64_t> generate(const nn::Model& model, const GenerationOptions& options) {
  Text added;
  generate_texts(model, options, 1,
                 {.on_sampled =
                      [&](std::int64_t, std::int64_t token, const std::vector<double>& logits) {
                        if (options.on_logits) options.on_logits(token, logits);
                        return !is_end(options, token);
                      },
                  .on_token =
                      [&](std::int64_t, std::int64_t token) {
                        added.push_back(token);
                        return !options.on_token || options.on_token(token);
                      },
                  .on_end = [](std::int64_t) {}});
  return added;
}

void generate_batch(const nn::Model& model, const GenerationOptions& options, std::int64_t count,
                    const std::function<bool(std::int64_t, std::int64_t)>& on_token,
                    const std::function<void(std::int64_t)>& on_end,
                    const SampledHandler& on_sampled) {
  generate_texts(
      model, options, count,
      {.on_sampled =
           [&](std::int64_t number, std::int64_t token, const std::vector<double>& logits) {
             if (on_sampled) on_sampled(number, token, logits);
             return !is_end(options, token);
           },
       .on_token = on_token,
       .on_end = on_end});
}

std::int64_t largest_batch(const nn::Model& model, const GenerationOptions& options, double bytes) {
  const auto one = model.empty_cache(1, 1);
  double of_position = 0;  // bytes of one text
  for (const auto& each : one)
    of_position += static_cast<double>(each.keys.nbytes() + each.values.nbytes());
  const double fitting =
      bytes / (of_position * static_cast<double>(cache_capacity(model, options)));
  constexpr double kMost = 1 << 20;
  return static_cast<std::int64_t>(std::clamp(fitting, 1.0, kMost));
}

}  // namespace evenkeel::generate
