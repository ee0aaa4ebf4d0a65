// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/run_tokenizer.h"

#include <utility>

#include "evenkeel/base/digest.h"
#include "evenkeel/base/error.h"
#include "evenkeel/data/tokenizer_record.h"

namespace evenkeel::train {

void RunTokenizer::start(const data::TextEncoding& encoding, const store::CheckpointSearch& newest,
                         const store::Directory& run) {
  if (encoding.is_bytes()) return;
  const auto& tokenizer = encoding.tokenizer();
  auto copy = store::read_tokenizer(tokenizer.path());
  if (evenkeel::digest(copy.content.data(), copy.content.size()) != tokenizer.digest()) {
    throw Error(Exit::differs, text(tokenizer.path(),
                                    ": must be the tokenizer that the text was read with, but "
                                    "changed while the text was read; start again"));
  }
  if (!newest.found || data::has_digest_of(newest.found->manifest, tokenizer)) {
    store::write_tokenizer(run, copy);
    return;
  }
  store::add_tokenizer(run, copy);
  earlier_digest_ = data::trained_digest(newest.found->manifest);
  unsaved_ = std::move(copy);
}

void RunTokenizer::replace_after_save(const store::Directory& run, Console& console) {
  if (!unsaved_) return;
  try {
    store::replace_tokenizer(run, *unsaved_, earlier_digest_);
    unsaved_.reset();
  } catch (const Error& error) {
    console.warn(
        text("the copy of the tokenizer is not replaced; the next checkpoint, or the next "
             "start, does it: ",
             error.what()));
  }
}

}  // namespace evenkeel::train
