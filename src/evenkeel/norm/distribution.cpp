// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/distribution.h"

#include <array>

#include "evenkeel/norm/call.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {

namespace {

struct Form {
  const char* name;
  std::size_t numbers;
  Distribution::Kind kind;
};

constexpr std::array<Form, 4> kForms = {{{"normal", 1, Distribution::Kind::normal},
                                         {"trunc_normal", 2, Distribution::Kind::trunc_normal},
                                         {"uniform", 2, Distribution::Kind::uniform},
                                         {"xavier", 1, Distribution::Kind::xavier}}};

/// True if the standard deviation is positive, or the interval of `uniform` is not reversed.
bool has_meaning(const Distribution& drawn) {
  if (drawn.kind == Distribution::Kind::uniform) return drawn.first <= drawn.second;
  if (drawn.kind == Distribution::Kind::trunc_normal && drawn.second <= 0) return false;
  return drawn.first > 0;
}

}  // namespace

std::optional<Distribution> distribution_of(const std::string& text, const Variables& variables) {
  if (text == "default") return std::nullopt;
  if (const auto call = parse_call(text)) {
    for (const auto& form : kForms) {
      if (call->name != form.name || call->arguments.size() != form.numbers) continue;
      Distribution drawn{form.kind, call->arguments[0].value(variables), 0};
      if (form.numbers > 1) drawn.second = call->arguments[1].value(variables);
      if (has_meaning(drawn)) return drawn;
    }
  }
  throw SchemeError("bad_value", "",
                    evenkeel::text("wanted default, normal(std), trunc_normal(std, k), ",
                                   "uniform(a, b) with a <= b or xavier(gain), positive numbers ",
                                   "otherwise, but found \"", text, "\""));
}

}  // namespace evenkeel::norm
