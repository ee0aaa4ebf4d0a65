// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/init.h"

#include <map>

#include "evenkeel/base/error.h"
#include "evenkeel/base/nearest.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::config {

namespace {

constexpr const char* kPaper = "trunc_normal(1/sqrt(2.5*d), 3)";

const std::map<std::string, std::string, std::less<>>& named_distributions() {
  static const std::map<std::string, std::string, std::less<>> named = {{"default", kPaper},
                                                                        {"depth_scaled", kPaper},
                                                                        {"megatron", kPaper},
                                                                        {"normal", kPaper},
                                                                        {"xavier", "xavier(1)"}};
  return named;
}

}  // namespace

norm::Distribution parse_init(const std::string& text, const norm::Variables& shape,
                              std::string_view where) {
  const auto word = named_distributions().find(text);
  if (word == named_distributions().end() && text.find('(') == std::string::npos) {
    throw Error(Exit::usage,
                evenkeel::text(where, ": unknown word \"", text, "\"",
                               did_you_mean(text, {"depth_scaled", "megatron", "normal",
                                                   "normal(std)", "scheme", "trunc_normal(std, k)",
                                                   "uniform(a, b)", "xavier", "xavier(gain)"})));
  }
  try {
    return norm::distribution_of(word == named_distributions().end() ? text : word->second, shape)
        .value();
  } catch (const norm::SchemeError& error) {
    throw Error(Exit::usage, evenkeel::text(where, ": ", error.explanation()));
  }
}

std::vector<norm::InitFactor> init_factors(std::string_view text) {
  const std::vector<std::string> last = {"attention.output", "feed_forward.down"};
  if (text == "megatron") return {{last, norm::Expression::parse("1/sqrt(2*N)")}};
  if (text == "depth_scaled") return {{last, norm::Expression::parse("1/sqrt(2*l)")}};
  return {};
}

}  // namespace evenkeel::config
