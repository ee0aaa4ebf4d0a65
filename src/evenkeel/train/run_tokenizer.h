// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/data/text_encoding.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/tokenizer_copy.h"
#include "evenkeel/train/console.h"

namespace evenkeel::train {

/// Keeps the copy of the tokenizer in a run folder that of the newest checkpoint. A resume with
/// another tokenizer replaces it after the first checkpoint: until then, the checkpoints of the run
/// need the copy, which may be the only one. The replaced copy is renamed, because an earlier
/// checkpoint may need it. No effect for the tokenizer "bytes".
class RunTokenizer {
 public:
  /// Reads the file of the tokenizer. Copies it at once if the newest checkpoint was trained with
  /// this file, or if there is no checkpoint or no copy.
  /// \param newest  the checkpoint that the run resumes from
  /// \throws Error (io, exit code 74); (differs, 78) if the file changed after `encoding` read it
  void start(const data::TextEncoding& encoding, const store::CheckpointSearch& newest,
             const store::Directory& run);

  /// Replaces the copy after a checkpoint. A failure is a warning: the next checkpoint, or the next
  /// start, replaces it.
  void replace_after_save(const store::Directory& run, Console& console);

 private:
  std::optional<store::TokenizerCopy> unsaved_;  // no checkpoint is of this file yet
  std::string earlier_digest_;                   // of the tokenizer that it replaces; "": unknown
};

}  // namespace evenkeel::train
