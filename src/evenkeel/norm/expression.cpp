// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "evenkeel/base/nearest.h"
#include "evenkeel/base/number.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {

namespace {

using Arguments = std::vector<double>;

struct Function {
  const char* name;
  std::size_t most;  // maximum number of arguments; the minimum is one
  double (*value)(const Arguments&);
};

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::array<Function, 7> kFunctions = {{
    {"sqrt", 1, [](const Arguments& x) { return std::sqrt(x[0]); }},
    {"log2", 1, [](const Arguments& x) { return std::log2(x[0]); }},
    {"ln", 1, [](const Arguments& x) { return std::log(x[0]); }},
    {"exp", 1, [](const Arguments& x) { return std::exp(x[0]); }},
    {"floor", 1, [](const Arguments& x) { return std::floor(x[0]); }},
    {"min", kAny, [](const Arguments& x) { return *std::min_element(x.begin(), x.end()); }},
    {"max", kAny, [](const Arguments& x) { return *std::max_element(x.begin(), x.end()); }},
}};

const std::vector<std::string> kVariables = {"l",  "N",     "S",       "d", "dk", "f",    "h",
                                             "kv", "vocab", "context", "t", "T",  "width"};

// Bounds the recursion depth below. The longest expression of the catalogue has 40 characters.
constexpr std::size_t kLongest = 1000;

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  names.reserve(kFunctions.size());
  for (const auto& function : kFunctions) names.emplace_back(function.name);
  return names;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

struct Expression::Node {
  enum class Kind { number, variable, negate, add, subtract, multiply, divide, power, call };
  using Parts = std::vector<std::shared_ptr<const Node>>;

  Kind kind = Kind::number;
  double number = 0;
  std::string name = {};  // name of a variable
  const Function* function = nullptr;
  Parts parts = {};

  /// Not finite if any intermediate value is not finite: min(1, 1/0) has no value.
  double value(const Variables& variables, const std::string& formula) const {
    if (kind == Kind::number) return number;
    if (kind == Kind::variable) {
      const auto found = variables.find(name);
      if (found != variables.end()) return found->second;
      throw SchemeError("unknown_variable", "",
                        text("\"", name, "\" has no value at this place in \"", formula, "\""));
    }
    Arguments values;
    for (const auto& part : parts) values.push_back(part->value(variables, formula));
    for (const double each : values) {
      if (!std::isfinite(each)) return std::numeric_limits<double>::quiet_NaN();
    }
    return combined(values);
  }

 private:
  double combined(const Arguments& values) const {
    switch (kind) {
      case Kind::negate:
        return -values[0];
      case Kind::add:
        return values[0] + values[1];
      case Kind::subtract:
        return values[0] - values[1];
      case Kind::multiply:
        return values[0] * values[1];
      case Kind::divide:
        return values[0] / values[1];
      case Kind::power:
        return std::pow(values[0], values[1]);
      default:
        return function->value(values);
    }
  }
};

/// A recursive-descent parser of the grammar in the header: one function per rule.
class Expression::Parser {
 public:
  explicit Parser(std::string_view formula) : formula_(formula) {}

  using Tree = std::shared_ptr<const Node>;

  Tree parse() {
    if (formula_.size() > kLongest) {
      throw SchemeError("bad_expression", "",
                        text("an expression may have ", kLongest, " characters, but this one has ",
                             formula_.size()));
    }
    auto tree = sum();
    if (next() != '\0') fail("wanted an operator");
    return tree;
  }

  std::set<std::string> names() && { return std::move(names_); }

 private:
  Tree sum() {
    auto left = product();
    for (;;) {
      if (take('+')) {
        left = pair(Node::Kind::add, left, product());
      } else if (take('-')) {
        left = pair(Node::Kind::subtract, left, product());
      } else {
        return left;
      }
    }
  }

  Tree product() {
    auto left = unary();
    for (;;) {
      if (take('*')) {
        left = pair(Node::Kind::multiply, left, unary());
      } else if (take('/')) {
        left = pair(Node::Kind::divide, left, unary());
      } else {
        return left;
      }
    }
  }

  Tree unary() {
    if (!take('-')) return power();
    return std::make_shared<const Node>(Node{.kind = Node::Kind::negate, .parts = {unary()}});
  }

  Tree power() {
    auto base = atom();
    return take('^') ? pair(Node::Kind::power, base, unary()) : base;
  }

  Tree atom() {
    const char c = next();
    if (is_digit(c) || c == '.') return number();
    if (starts_word(c)) return named();
    if (!take('(')) fail("wanted a number, a name or a parenthesis");
    auto inner = sum();
    if (!take(')')) fail("wanted \")\"");
    return inner;
  }

  Tree number() {
    double value = 0;
    const char* const begin = formula_.data() + at_;
    const auto [end, error] = std::from_chars(begin, formula_.data() + formula_.size(), value);
    if (error != std::errc{}) fail("wanted a number");
    at_ += static_cast<std::size_t>(end - begin);
    return std::make_shared<const Node>(Node{.number = value});
  }

  Tree named() {
    const auto begin = at_;
    while (at_ < formula_.size() && (starts_word(formula_[at_]) || is_digit(formula_[at_]))) ++at_;
    const std::string name(formula_.substr(begin, at_ - begin));
    if (next() == '(') return call(name);
    if (std::find(kVariables.begin(), kVariables.end(), name) == kVariables.end()) {
      throw SchemeError("unknown_variable", "",
                        text("there is no variable \"", name, "\" (in \"", formula_, "\")",
                             did_you_mean(name, kVariables)));
    }
    names_.insert(name);
    return std::make_shared<const Node>(Node{.kind = Node::Kind::variable, .name = name});
  }

  Tree call(const std::string& name) {
    const auto* const function =
        std::find_if(kFunctions.begin(), kFunctions.end(),
                     [&](const Function& each) { return name == each.name; });
    if (function == kFunctions.end()) {
      throw SchemeError("unknown_function", "",
                        text("there is no function \"", name, "\" (in \"", formula_, "\")",
                             did_you_mean(name, function_names())));
    }
    Node node{.kind = Node::Kind::call, .function = function};
    take('(');
    do {
      node.parts.push_back(sum());
    } while (take(','));
    if (!take(')')) fail("wanted \")\"");
    if (node.parts.size() > function->most) {
      throw SchemeError("bad_expression", "",
                        text("\"", name, "\" takes one argument, but has ", node.parts.size(),
                             " in \"", formula_, "\""));
    }
    return std::make_shared<const Node>(std::move(node));
  }

  static Tree pair(Node::Kind kind, Tree left, Tree right) {
    return std::make_shared<const Node>(
        Node{.kind = kind, .parts = {std::move(left), std::move(right)}});
  }

  /// The next character that is not blank; '\0' at the end.
  char next() {
    while (at_ < formula_.size() && (formula_[at_] == ' ' || formula_[at_] == '\t')) ++at_;
    return at_ < formula_.size() ? formula_[at_] : '\0';
  }

  bool take(char symbol) {
    if (next() != symbol) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(const char* wanted) {
    const char found = next();
    const std::string rest(formula_.substr(at_));
    throw SchemeError("bad_expression", "",
                      text(wanted, " in \"", formula_, "\", but found ",
                           found == '\0' ? std::string("its end") : text("\"", rest, "\"")));
  }

  std::string_view formula_;
  std::size_t at_ = 0;
  std::set<std::string> names_;
};

Expression::Expression(double value)
    : formula_(shortest(value)), root_(std::make_shared<const Node>(Node{.number = value})) {
  if (formula_.ends_with(".0")) formula_.resize(formula_.size() - 2);
}

Expression Expression::parse(std::string_view formula) {
  Expression result;
  Parser parser(formula);
  result.root_ = parser.parse();
  result.names_ = std::move(parser).names();
  result.formula_ = formula;
  return result;
}

double Expression::value(const Variables& variables) const {
  const double result = root_->value(variables, formula_);
  if (std::isfinite(result)) return result;
  std::string values;
  for (const auto& name : names_) {
    const auto number = Expression(variables.find(name)->second).formula();
    values += text(values.empty() ? " at " : ", ", name, " = ", number);
  }
  throw SchemeError("bad_expression", "", text("\"", formula_, "\" has no finite value", values));
}

}  // namespace evenkeel::norm
