// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/cli/encode_shards.h"

#include <algorithm>
#include <string>
#include <thread>

#include "evenkeel/base/error.h"
#include "evenkeel/cli/encoding_progress.h"
#include "evenkeel/data/encode_files.h"
#include "evenkeel/train/signals.h"

namespace evenkeel::cli {

namespace {

int thread_count(const TokenizeOptions& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// \throws Error (data) if no line of the inputs can be used, as with a wrong --text-key
void check_is_not_empty(const data::EncodedText& sum) {
  if (sum.documents > 0 || sum.json.invalid_lines == 0) return;
  throw Error(Exit::data,
              text("no input has a text; the first invalid line: ", sum.json.first_invalid));
}

/// \param left  what a stop leaves
/// \throws Error (stopped) after SIGINT, SIGTERM or SIGHUP
void stop_encoding_on_signal(const std::string& left) {
  if (!train::stop_wanted()) return;
  throw Error(Exit::stopped, text("stopped by a signal while the text was encoded; ", left));
}

/// What a stop leaves of the shards: the complete ones, with their sidecars.
std::string shards_left(const data::TokenWriter& writer, const TokenizeOptions& options) {
  const auto count = writer.complete_shards();
  if (count == 0) return "nothing was saved; run again";
  return text(options.output, " has ", count, " shard", count == 1 ? "" : "s",
              " without manifest.json; remove the files ", options.name, "-* in it and run again");
}

}  // namespace

WrittenShards encode_shards(data::TokenWriter& writer, const TokenizeOptions& options,
                            const std::vector<data::TextFile>& files, const config::Data& data,
                            const data::TextEncoding& encoding) {
  EncodingProgress progress(options.common.quiet);
  train::catch_signals(/*announces=*/false);
  const auto sum = data::encode_files(
      files, data, encoding, thread_count(options),
      [&](const data::EncodedPiece& piece) {
        if (piece.is_end) return writer.append(piece.ids, piece.text_bytes);
        writer.append_part(piece.ids, piece.text_bytes);
      },
      [&](const data::EncodedText& so_far) {
        stop_encoding_on_signal(shards_left(writer, options));
        progress.report(so_far);
      });
  check_is_not_empty(sum);
  return {writer.finish(sum.json), sum.json};
}

}  // namespace evenkeel::cli
