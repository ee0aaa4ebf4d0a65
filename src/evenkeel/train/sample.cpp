// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/sample.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/data/detokenize.h"
#include "evenkeel/generate/generate.h"

namespace evenkeel::train {

bool write_sample(const nn::Model& model, const store::Directory& run) {
  constexpr std::int64_t kTokens = 400;
  generate::GenerationOptions options;
  options.prompt = {data::kEndOfText};
  options.max_new_tokens = std::min(kTokens, 2 * model.scheme().shape.context);
  options.sampling = {.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1};
  std::vector<std::int64_t> tokens;
  try {
    tokens = generate::generate(model, options);
  } catch (const Error& error) {
    if (error.exit() == Exit::diverged) return false;
    throw;
  }
  std::replace(tokens.begin(), tokens.end(), std::int64_t{data::kEndOfText}, std::int64_t{'\n'});
  run.write("sample.txt", data::detokenize(tokens));
  return true;
}

}  // namespace evenkeel::train
