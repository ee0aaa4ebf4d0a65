// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/completion.h"

#include <algorithm>
#include <deque>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/utf8.h"
#include "evenkeel/data/display_text.h"
#include "evenkeel/generate/generate.h"
#include "evenkeel/generate/generated_text.h"
#include "evenkeel/serve/token_logprobs.h"

namespace evenkeel::serve {

namespace {

/// The least log-probability of a result: JSON has no -inf. OpenAI's API has the same limit.
constexpr double kLeastLogprob = -9999;

std::int64_t characters_in(const std::string& utf8) {
  return static_cast<std::int64_t>(utf8.size()) -
         std::count_if(utf8.begin(), utf8.end(), is_utf8_continuation);
}

/// The text of one choice while it grows, and the pieces that it gives.
class Choice {
 public:
  Choice(const ServedModel& served, const CompletionRequest& request, std::size_t index)
      : served_(served),
        index_(index),
        text_(request.stops, /*raw=*/true,
              [this](std::string_view bytes) { ready_ += shown_.add(bytes); }) {}

  /// The echo of a prompt.
  CompletionPiece prompt(const EncodedPrompt& prompt, const TokenLogprobs* logprobs) {
    CompletionPiece piece{.index = index_, .text = shown_.add(prompt.bytes)};
    if (logprobs != nullptr) {
      for (std::size_t i = prompt.has_begin ? 1 : 0; i < logprobs->tokens.size(); ++i) {
        piece.tokens.push_back(entry(logprobs->tokens[i]));
        count(logprobs->tokens[i].token);
      }
    }
    characters_ = characters_in(piece.text);
    return piece;
  }

  /// A generated token that is a part of the text.
  /// \param logprob  nullptr: not wanted
  CompletionPiece token(std::int64_t id, const TokenLogprob* logprob) {
    CompletionPiece piece{.index = index_, .generated = 1};
    if (logprob != nullptr) piece.tokens.push_back(entry(*logprob));
    has_stopped_ = !text_.add(token_bytes(served_, id));
    count(id);
    piece.text = std::exchange(ready_, "");
    return piece;
  }

  /// The end-of-text token, which is no part of the text.
  CompletionPiece end(const TokenLogprob* logprob) {
    has_stopped_ = true;
    CompletionPiece piece{.index = index_, .generated = 1};
    if (logprob != nullptr) piece.tokens.push_back(entry(*logprob));
    return piece;
  }

  /// The rest of the text.
  CompletionPiece finish() {
    text_.finish();
    auto rest = std::exchange(ready_, "") + shown_.finish();
    return {.index = index_, .text = rest, .finish_reason = has_stopped_ ? "stop" : "length"};
  }

  std::size_t index() const { return index_; }
  bool has_stopped() const { return has_stopped_; }

 private:
  /// Counts the characters that a token completes.
  void count(std::int64_t id) {
    characters_ += characters_in(counted_.add(token_bytes(served_, id)));
  }

  CompletionToken entry(const TokenLogprob& logprob) const {
    CompletionToken out{.text = token_text(served_, logprob.token), .offset = characters_};
    if (logprob.logprob) out.logprob = std::max(*logprob.logprob, kLeastLogprob);
    std::set<std::string> texts;
    for (const auto& each : logprob.top) {
      auto name = token_text(served_, each.token);
      if (!texts.insert(name).second) name = text("token_id:", each.token);
      out.top.emplace_back(std::move(name), std::max(each.logprob, kLeastLogprob));
    }
    return out;
  }

  const ServedModel& served_;
  std::size_t index_;
  std::string ready_;  // text that no piece has yet
  data::DisplayStream shown_{data::Controls::kept};
  data::DisplayStream counted_{data::Controls::kept};  // of all tokens, stop strings included
  std::int64_t characters_ = 0;
  bool has_stopped_ = false;
  generate::GeneratedText text_;
};

/// The options of generate_batch() for a prompt.
generate::GenerationOptions options_of(const ServedModel& served, const CompletionRequest& request,
                                       const EncodedPrompt& prompt) {
  generate::GenerationOptions options;
  options.prompt = prompt.ids;
  options.max_new_tokens = request.max_tokens;
  options.stop_token = served.end_of_text();
  options.sampling = {.temperature = request.temperature,
                      .top_k = request.top_k,
                      .top_p = request.top_p,
                      .seed = request.seed};
  return options;
}

/// Runs the prompts of one request.
class Completion {
 public:
  Completion(const ServedModel& served, const CompletionRequest& request,
             const std::function<bool(CompletionPiece)>& on_piece,
             const std::function<bool()>& interrupted)
      : served_(served), request_(request), on_piece_(on_piece), interrupted_(interrupted) {}

  /// Runs prompt number `index`. False: it was ended.
  bool run(const EncodedPrompt& prompt, std::size_t index, const TokenLogprobs* logprobs) {
    constexpr std::int64_t kTexts = 32;
    constexpr double kCacheBytes = 1 << 30;
    auto options = options_of(served_, request_, prompt);
    const auto most =
        std::min(kTexts, generate::largest_batch(*served_.model, options, kCacheBytes));
    for (std::int64_t first = 0; first < request_.n && !is_ended_; first += most) {
      const auto count = std::min(most, request_.n - first);
      options.sequence =
          index * static_cast<std::size_t>(request_.n) + static_cast<std::size_t>(first);
      run_batch(prompt, options, count, logprobs);
    }
    return !is_ended_;
  }

  std::int64_t generated() const { return generated_; }

 private:
  /// Runs `count` choices, numbered from options.sequence.
  void run_batch(const EncodedPrompt& prompt, const generate::GenerationOptions& options,
                 std::int64_t count, const TokenLogprobs* logprobs) {
    std::deque<Choice> choices;  // a choice cannot be moved
    for (std::int64_t i = 0; i < count; ++i) {
      choices.emplace_back(served_, request_, options.sequence + static_cast<std::size_t>(i));
      if (request_.echo) give(choices.back().prompt(prompt, logprobs));
    }
    const bool is_known = request_.max_tokens == 1 && logprobs != nullptr;
    if (is_known) {
      for (auto& choice : choices) sample_known(choice, options, logprobs->next_logits);
    } else if (!is_ended_) {
      generate_into(choices, options);
    }
  }

  void give(CompletionPiece piece) {
    generated_ += piece.generated;
    if (!is_ended_) is_ended_ = !on_piece_(std::move(piece));
  }

  void finish(Choice& choice) {
    auto last = choice.finish();
    if (request_.max_tokens == 0) last.finish_reason = "length";
    give(std::move(last));
  }

  /// Remembers the log-probability of a sampled token; ends the choice at end-of-text.
  void on_logits(Choice& choice, std::int64_t token, const std::vector<double>& logits) {
    if (request_.logprobs) sampled_ = token_logprob(logits, token, *request_.logprobs);
    if (token == served_.end_of_text()) give(choice.end(wanted()));
  }

  /// False ends the text.
  bool on_token(Choice& choice, std::int64_t token) {
    give(choice.token(token, wanted()));
    is_ended_ = is_ended_ || interrupted_();
    return !is_ended_ && !choice.has_stopped();
  }

  /// Samples the only token of a choice.
  void sample_known(Choice& choice, const generate::GenerationOptions& options,
                    const std::vector<double>& logits) {
    const auto token =
        generate::sample_token(logits, options.sampling, options.prompt.size(), choice.index());
    on_logits(choice, token, logits);
    if (token != options.stop_token) on_token(choice, token);
    finish(choice);
  }

  void generate_into(std::deque<Choice>& choices, const generate::GenerationOptions& options) {
    const auto at = [&](std::int64_t number) -> Choice& {
      return choices[static_cast<std::size_t>(number)];
    };
    generate::generate_batch(
        *served_.model, options, static_cast<std::int64_t>(choices.size()),
        [&](std::int64_t number, std::int64_t token) { return on_token(at(number), token); },
        [&](std::int64_t number) { finish(at(number)); },
        [&](std::int64_t number, std::int64_t token, const std::vector<double>& logits) {
          on_logits(at(number), token, logits);
        });
  }

  const TokenLogprob* wanted() const { return request_.logprobs ? &sampled_ : nullptr; }

  const ServedModel& served_;
  const CompletionRequest& request_;
  const std::function<bool(CompletionPiece)>& on_piece_;
  const std::function<bool()>& interrupted_;
  TokenLogprob sampled_;
  std::int64_t generated_ = 0;
  bool is_ended_ = false;
};

}  // namespace

std::optional<Usage> complete(const ServedModel& served, const CompletionRequest& request,
                              const std::vector<EncodedPrompt>& prompts,
                              const std::function<bool(CompletionPiece)>& on_piece,
                              const std::function<bool()>& interrupted) {
  std::vector<TokenLogprobs> logprobs;
  if (request.echo && request.logprobs) {
    std::vector<std::vector<std::int64_t>> ids;
    ids.reserve(prompts.size());
    for (const auto& prompt : prompts) ids.push_back(prompt.ids);
    logprobs = prompt_logprobs(*served.model, ids, *request.logprobs, interrupted);
    if (logprobs.empty()) return std::nullopt;
  }
  Completion completion(served, request, on_piece, interrupted);
  Usage usage;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const bool is_complete =
        !interrupted() && completion.run(prompts[i], i, logprobs.empty() ? nullptr : &logprobs[i]);
    if (!is_complete) return std::nullopt;
    usage.prompt_tokens += static_cast<std::int64_t>(prompts[i].ids.size());
  }
  usage.completion_tokens = completion.generated();
  return usage;
}

}  // namespace evenkeel::serve
