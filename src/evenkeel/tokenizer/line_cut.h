// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace evenkeel::tokenizer {

/// Where a text may be divided so that the ids of the parts are those of the whole: at a line feed
/// that neither white space nor a slash follows.
enum class LineCut {
  unknown,  // the text may have no such place
  before,   // before the line feed: it is a word alone (GPT-2's patterns)
  after,    // after the line feed: it ends a word (GPT-4's patterns)
};

}  // namespace evenkeel::tokenizer
