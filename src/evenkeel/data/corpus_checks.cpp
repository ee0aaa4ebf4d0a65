// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/corpus_checks.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/base/print.h"

namespace evenkeel::data {

namespace {

bool is_split_from_training(const config::Data& data) {
  return data.validation == std::vector<std::string>{"auto"};
}

/// The path that all names of a file have in common.
std::string resolved_path(const std::string& path) {
  std::error_code error;
  const auto resolved = std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

/// The training files that are read a second time.
std::vector<std::string> repeated_files(const Corpora& corpora) {
  std::set<std::string> seen;
  std::vector<std::string> repeated;
  for (const auto& source : corpora.train) {
    for (const auto& file : source.corpus.files) {
      if (!seen.insert(resolved_path(file.path)).second) repeated.push_back(file.path);
    }
  }
  return repeated;
}

/// The validation files with the content of a training file. Empty files have no text.
struct SharedFiles {
  std::vector<std::string> names;
  std::size_t all = 0;  // validation files, also those of their own
};

SharedFiles files_of_training(const Corpora& corpora) {
  std::set<std::string> trained;
  for (const auto& source : corpora.train) {
    for (const auto& file : source.corpus.files) trained.insert(file.digest);
  }
  const auto empty = evenkeel::digest("", 0);
  SharedFiles shared;
  for (const auto& source : corpora.validation) {
    for (const auto& file : source.corpus.files) {
      if (file.digest == empty) continue;
      ++shared.all;
      if (trained.contains(file.digest)) shared.names.push_back(file.path);
    }
  }
  return shared;
}

/// "a.txt is", "a.txt and 2 more are"
std::string files_are(const std::vector<std::string>& files) {
  return files.size() == 1 ? files.front() + " is"
                           : text(files.front(), " and ", files.size() - 1, " more are");
}

/// A license in two folders of source code is no reason to distrust the validation loss.
std::string shared_files_warning(const SharedFiles& shared) {
  constexpr std::size_t kManyFiles = 10;  // one of so many is a share that matters
  const auto count = shared.names.size();
  const auto share = text(with_commas(static_cast<std::int64_t>(count)), " of ",
                          with_commas(static_cast<std::int64_t>(shared.all)),
                          shared.all == 1 ? " file" : " files");
  const auto* const advice = kManyFiles * count < shared.all
                                 ? "; leave equal files out of one of the texts"
                                 : ", so that the validation loss is no measure of new text; name "
                                   "other files, or \"auto\"";
  return text("data.validation: ", files_are(shared.names), " read for training, too (", share, ")",
              advice);
}

}  // namespace

void check_training(const Source& source, const config::Data& data, std::int64_t context) {
  const auto& corpus = source.corpus;
  const auto tokens = corpus.tokens.size();
  if (tokens < context + 1) {
    throw Error(Exit::data, text("data.train: one window needs ", context + 1, " tokens, but ",
                                 data.weights.empty() ? "the text" : source.name, " has ", tokens,
                                 "; add text or lower model.context"));
  }
  const auto parts = corpus.tokens.part_sizes();
  const auto longest = *std::max_element(parts.begin(), parts.end());
  if (data.order == "olmo" && longest < context) {
    throw Error(Exit::data,
                text("data.train: a file must have a chunk of model.context = ", context,
                     " tokens with data.order = \"olmo\", but the longest has ", longest,
                     "; lower model.context or set another order"));
  }
  if (data.mask_documents && !corpus.end_of_text) {
    throw Error(Exit::data,
                "data.mask_documents needs the end-of-text token of the token files; set "
                "data.end_of_text");
  }
}

void check_evaluation(const Corpus& corpus, const std::string& key, const config::Data& data,
                      std::int64_t context) {
  if (corpus.tokens.size() < 2) {
    throw Error(Exit::data,
                text(key, ": must hold text, but ",
                     key == "data.validation" && is_split_from_training(data)
                         ? "\"auto\" leaves none; raise data.validation_fraction or name files"
                         : "has none; name other files"));
  }
  if (!corpus.answer_start_token) return;
  // A truncated question has no scored answer.
  std::int64_t longest = 0;
  for (const auto& each : corpus.documents) longest = std::max(longest, each.end - each.begin + 1);
  if (longest <= context) return;
  throw Error(Exit::data, text(key, ": model.context must be at least ", longest,
                               ", for the longest question with its answer, but is ", context));
}

std::vector<std::string> corpora_warnings(const Corpora& corpora, const config::Data& data,
                                          std::int64_t context) {
  std::vector<std::string> warnings;
  const auto repeated = repeated_files(corpora);
  if (data.weights.empty() && !repeated.empty()) {  // weights repeat a text on purpose
    warnings.push_back(
        text("data.train: ", files_are(repeated), " read twice; name each file once"));
  }
  if (!is_split_from_training(data)) {
    const auto shared = files_of_training(corpora);
    if (!shared.names.empty()) warnings.push_back(shared_files_warning(shared));
    return warnings;
  }
  for (const auto& source : corpora.validation) {
    const auto tokens = source.corpus.tokens.size();
    if (source.corpus.has_known_entropy || tokens > context) continue;  // builtin, or long enough
    warnings.push_back(text("data.validation: the part of ", source.name, " has ",
                            with_commas(tokens),
                            " tokens, at most one window of model.context = ", context,
                            ", so that its loss depends on chance; raise "
                            "data.validation_fraction or name files"));
  }
  return warnings;
}

void print_warnings_once(const std::vector<std::string>& warnings) {
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::lock_guard lock(mutex);
  for (const auto& warning : warnings) {
    if (printed.insert(warning).second) print_message("warning: " + warning);
  }
}

}  // namespace evenkeel::data
