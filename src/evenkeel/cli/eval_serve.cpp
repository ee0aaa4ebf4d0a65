// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/eval_serve.h"

#include <chrono>
#include <filesystem>

#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"
#include "evenkeel/serve/server.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

/// The name of a run folder: its last part, also of "runs/x-1/" and of ".".
std::string run_name(const std::filesystem::path& run) {
  auto path = std::filesystem::absolute(run).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

/// "POST /v1/completions 200, 37 tokens, 12.3 ms"
void print_log(const serve::HttpLogEntry& entry) {
  const auto tokens =
      entry.tokens > 0 ? text(", ", with_commas(entry.tokens), " tokens") : std::string();
  print_message(text(entry.method, " ", entry.path, " ", entry.status, tokens, ", ",
                     with_decimals(entry.milliseconds, 1), " ms"));
}

}  // namespace

Exit eval_serve(const train::TrainedModel& loaded, const CommonOptions& common, int port) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const serve::ServedModel served = {
      .model = loaded.model.get(),
      .encoding = loaded.encoding,
      .id = serve::model_id(run_name(*common.run), loaded.step),
      .has_tokenizer = train::has_tokenizer(loaded),
      .created = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
  train::catch_signals();
  const bool quiet = common.quiet;
  serve::Server server(served, port, [quiet](const serve::HttpLogEntry& entry) {
    if (!quiet) print_log(entry);
  });
  print("model        %s\n", served.id.c_str());
  print("listening on http://127.0.0.1:%d/v1\n", server.port());
  flush_output();
  server.run(train::stop_wanted);
  return Exit::success;
}

}  // namespace evenkeel::cli
