// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/serve/server.h"

#include <nlohmann/json.hpp>

#include <new>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/serve/completion.h"
#include "evenkeel/serve/completion_json.h"
#include "evenkeel/serve/request_error.h"

namespace evenkeel::serve {

namespace {

constexpr std::chrono::milliseconds kSlice{50};  // how soon a stop is noticed

constexpr const char* kWelcome = R"(Evenkeel serves one model here, in the shape of OpenAI's API.

  POST /v1/completions     text completion: prompt, max_tokens, echo, logprobs, stream, ...
  GET  /v1/models          the model
  POST /tokenize           {"prompt": TEXT} to token ids
  POST /detokenize         {"tokens": IDS} to a text
  GET  /tokenizer_info     names of special tokens
  GET  /health             {"status": "ok"}

Only programs of this machine can connect. docs/serving.md has examples.
)";

/// The HTTP status of an error while a request is computed.
RequestError request_error_of(const std::exception& error) {
  if (const auto* const known = dynamic_cast<const RequestError*>(&error)) return *known;
  const auto* const ours = dynamic_cast<const Error*>(&error);
  if (ours != nullptr && ours->exit() == Exit::data) return {400, ours->what(), "prompt"};
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {503, "out of memory; send fewer or shorter prompts"};
  }
  return {500, error.what()};
}

RequestError stopping() {
  return {503, "the server is stopping"};
}

/// Gives the pieces of a completion to a job: as events, or all at once at the end.
class PieceWriter {
 public:
  PieceWriter(Job& job, const CompletionRequest& request, CompletionHead head)
      : job_(job), request_(request), head_(std::move(head)) {}

  void add(CompletionPiece piece) {
    if (!request_.stream) return pieces_.push_back(std::move(piece));
    const bool is_empty =
        piece.text.empty() && piece.tokens.empty() && piece.finish_reason == nullptr;
    if (!is_empty) send(piece_json(head_, piece, request_.logprobs.has_value()));
  }

  void finish(const Usage& usage) {
    const auto computed = usage.prompt_tokens + usage.completion_tokens;
    if (!request_.stream) {
      const auto result = completion_json(head_, pieces_, choices_of(request_),
                                          request_.logprobs.has_value(), usage);
      return job_.answer(200, json_text(result), computed);
    }
    if (request_.include_usage) send(usage_json(head_, usage));
    begin();
    job_.add_event("[DONE]");
    job_.end_stream(computed);
  }

  void fail(const RequestError& error) {
    if (!has_begun_) return job_.answer(error.status(), json_text(error.body()));
    job_.add_event(json_text(error.body()));
    job_.end_stream(0);
  }

 private:
  void begin() {
    if (!has_begun_) job_.begin_stream();
    has_begun_ = true;
  }

  void send(const nlohmann::ordered_json& event) {
    begin();
    job_.add_event(json_text(event));
  }

  Job& job_;
  const CompletionRequest& request_;
  CompletionHead head_;
  std::vector<CompletionPiece> pieces_;
  bool has_begun_ = false;
};

nlohmann::ordered_json tokens_json(const ServedModel& served, const std::string& body) {
  const auto ids = tokenize(served, parse_tokenize_request(body));
  return {{"count", ids.size()}, {"max_model_len", served.context()}, {"tokens", ids}};
}

nlohmann::ordered_json text_json(const ServedModel& served, const std::string& body) {
  return {{"prompt", detokenize(served, parse_detokenize_request(body))}};
}

}  // namespace

Server::Server(ServedModel served, int port, std::function<void(const HttpLogEntry&)> log)
    : served_(std::move(served)),
      http_(port, {.page = [this](const std::string& path) { return page(path); },
                   .post = [this](const std::shared_ptr<Job>& job) { queue_.push(job); },
                   .log = std::move(log)}) {}

Server::~Server() {  // NOLINT(bugprone-exception-escape): out of memory ends the program
  queue_.close();
}

HttpPage Server::page(const std::string& path) const {
  if (path == "/") return {.content_type = "text/plain; charset=utf-8", .content = kWelcome};
  if (path == "/health") return {.content = R"({"status":"ok"})"};
  if (path == "/tokenizer_info") return {.content = json_text(tokenizer_json(served_))};
  if (path == "/v1/models") return {.content = json_text(models_json(served_))};
  if (path == "/v1/models/" + served_.id) return {.content = json_text(model_json(served_))};
  throw RequestError(404, text("no model is named ", quoted(path.substr(path.rfind('/') + 1)),
                               "; this server has ", served_.id));
}

void Server::run(const std::function<bool()>& stop_wanted) {
  while (!stop_wanted()) {
    if (!http_.is_listening()) {
      throw Error(Exit::io, text("127.0.0.1:", port(), ": cannot listen any longer; start again"));
    }
    const auto job = queue_.pop(kSlice);
    if (job != nullptr && !job->is_cancelled()) answer(*job, stop_wanted);
  }
  queue_.close();
}

void Server::answer(Job& job, const std::function<bool()>& stop_wanted) {
  try {
    if (job.path() == "/v1/completions") return complete_request(job, stop_wanted);
    const auto result = job.path() == "/tokenize" ? tokens_json(served_, job.body())
                                                  : text_json(served_, job.body());
    job.answer(200, json_text(result));
  } catch (const std::exception& error) {
    const auto refused = request_error_of(error);
    job.answer(refused.status(), json_text(refused.body()));
  }
}

void Server::complete_request(Job& job, const std::function<bool()>& stop_wanted) {
  const auto request = parse_completion_request(job.body());
  const auto prompts = encode_prompts(served_, request);
  PieceWriter writer(job, request,
                     {.id = text("cmpl-", ++completions_),
                      .created = std::chrono::duration_cast<std::chrono::seconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count(),
                      .model = served_.id});
  const auto interrupted = [&] { return job.is_cancelled() || stop_wanted(); };
  try {
    const auto usage = complete(
        served_, request, prompts,
        [&](CompletionPiece piece) {
          writer.add(std::move(piece));
          return !interrupted();
        },
        interrupted);
    usage ? writer.finish(*usage) : writer.fail(stopping());
  } catch (const std::exception& error) {
    writer.fail(request_error_of(error));
  }
}

std::string model_id(const std::string& run, std::int64_t step) {
  return text(run, "-step-", step);
}

}  // namespace evenkeel::serve
