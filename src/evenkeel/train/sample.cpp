// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/sample.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/data/display_text.h"
#include "evenkeel/generate/generate.h"

namespace evenkeel::train {

namespace {

/// The text of the tokens; end-of-text is a line feed. Without a tokenizer: the ids.
std::string sample_text(const std::vector<std::int64_t>& tokens, const data::TextEncoding& encoding,
                        std::int64_t vocabulary) {
  std::string out;
  if (!encoding.is_of_vocabulary(vocabulary)) {
    for (const auto token : tokens) out += text(out.empty() ? "" : " ", token);
    return out;
  }
  const auto& tokenizer = encoding.tokenizer();
  for (const auto token : tokens) {
    const bool is_end = encoding.end_of_text() && token == std::int64_t{*encoding.end_of_text()};
    out += is_end ? "\n" : tokenizer.decode(std::vector{token});
  }
  return data::display_text(out);
}

}  // namespace

bool write_sample(const nn::Model& model, const data::TextEncoding& encoding,
                  const store::Directory& run) {
  constexpr std::int64_t kTokens = 400;
  const auto& shape = model.scheme().shape;
  generate::GenerationOptions options;
  const auto end = encoding.end_of_text().value_or(0);
  options.prompt = {end < shape.vocabulary ? end : 0};
  options.max_new_tokens = std::min(kTokens, 2 * shape.context);
  options.sampling = {.temperature = 0.8, .top_k = 0, .top_p = 1, .seed = 1};
  try {
    const auto tokens = generate::generate(model, options);
    run.write("sample.txt", sample_text(tokens, encoding, shape.vocabulary));
  } catch (const Error& error) {
    if (error.exit() == Exit::diverged) return false;
    throw;
  }
  return true;
}

}  // namespace evenkeel::train
