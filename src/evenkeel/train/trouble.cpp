// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/trouble.h"

#include "evenkeel/base/error.h"

namespace evenkeel::train {

std::string line_of(const Trouble& trouble) {
  auto line = trouble.seen;
  if (trouble.layer > 0) line += text("; block ", trouble.layer);
  if (!trouble.tensor.empty()) line += text(trouble.layer > 0 ? ", " : "; ", trouble.tensor);
  return line + ": " + trouble.meaning + "; try: " + trouble.remedy;
}

}  // namespace evenkeel::train
