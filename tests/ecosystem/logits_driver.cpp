// SPDX-License-Identifier: Apache-2.0
// The logits of a run's newest checkpoint in float64, for tests/ecosystem/remote_code_check.py.
//
//   logits_driver RUN < IDS        IDS: a line of token ids a sequence, all of one length, as JSON.
//                                  Prints a line of logits for each token, sequence by sequence.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "evenkeel/base/json_parser.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/train/load_run.h"

namespace evenkeel::train {
namespace {

at::Tensor ids_of_input() {
  std::vector<at::Tensor> rows;
  for (std::string line; std::getline(std::cin, line);) {
    rows.push_back(at::tensor(parse_json(line).get<std::vector<std::int64_t>>(), at::kLong));
  }
  return at::stack(rows);
}

void print_logits(const std::string& run) {
  const at::NoGradGuard no_grad;
  config::Sources sources;
  sources.sets = {"train.precision=float64"};
  const auto loaded = load_run(run, sources);
  const auto logits = loaded.model->logits(loaded.model->hidden(ids_of_input())).flatten(0, 1);
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    const auto* const values = logits[row].contiguous().const_data_ptr<double>();
    std::puts(nlohmann::json(std::vector<double>(values, values + logits.size(1))).dump().c_str());
  }
}

int run(int count, const char* const* words) {
  if (count != 2) {
    std::fputs("usage: logits_driver RUN < IDS\n", stderr);
    return 64;
  }
  try {
    print_logits(words[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 65;
  }
}

}  // namespace
}  // namespace evenkeel::train

int main(int count, char** words) {
  return evenkeel::train::run(count, words);
}
