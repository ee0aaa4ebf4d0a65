// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace evenkeel::norm {

/// The values of the variables of an expression: l, N, S, d, dk, f, h, kv, vocab, context, t, T,
/// width. docs/schemes.md states where each variable is defined.
using Variables = std::map<std::string, double, std::less<>>;

/// An arithmetic expression of numbers and variables: "1/sqrt(2*l)". Parsed once, evaluated often.
///
///   sum := product (('+'|'-') product)*      product := unary (('*'|'/') unary)*
///   unary := '-' unary | power               power := atom ('^' unary)?
///   atom := number | variable | function '(' sum (',' sum)* ')' | '(' sum ')'
///
/// Functions: sqrt log2 ln exp floor min max. Unary minus has lower precedence than '^': -2^2 = -4.
class Expression {
 public:
  Expression(double value);  // NOLINT(google-explicit-constructor): a number is an expression

  /// Parses an expression of at most 1000 characters.
  /// \throws SchemeError bad_expression, unknown_function or unknown_variable
  static Expression parse(std::string_view formula);

  /// The value of the expression.
  /// \throws SchemeError unknown_variable if a variable is not in `variables`; bad_expression if an
  ///         intermediate value is not finite (1/0, ln(0), sqrt(-1))
  double value(const Variables& variables) const;

  /// The names of the variables in the expression.
  const std::set<std::string>& names() const { return names_; }

  /// The text as written. A plain number has its shortest form, without a trailing ".0".
  const std::string& formula() const { return formula_; }

  bool operator==(const Expression& other) const { return formula_ == other.formula_; }

 private:
  struct Node;
  class Parser;
  Expression() = default;

  std::string formula_;
  std::set<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace evenkeel::norm
