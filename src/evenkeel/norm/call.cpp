// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/call.h"

namespace evenkeel::norm {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::optional<Call> parse_call(std::string_view text) {
  text = trimmed(text);
  const auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  Call call{std::string(trimmed(text.substr(0, open))), {}};
  const auto inside = text.substr(open + 1, text.size() - open - 2);
  // A comma inside inner parentheses belongs to the argument: first(max(1, N/8)).
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= inside.size(); ++at) {
    if (at == inside.size() || (inside[at] == ',' && depth == 0)) {
      call.arguments.push_back(Expression::parse(trimmed(inside.substr(begin, at - begin))));
      begin = at + 1;
    } else if (inside[at] == '(') {
      ++depth;
    } else if (inside[at] == ')') {
      --depth;
    }
  }
  return call;
}

}  // namespace evenkeel::norm
