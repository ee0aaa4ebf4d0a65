// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/expression.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/norm/scheme.h"
#include "evenkeel/norm/scheme_error.h"

namespace evenkeel::norm {
namespace {

const Shape kShape{.layers = 12, .width = 768, .heads = 12, .kv_heads = 4, .inner = 2048};

double value(std::string_view formula) {
  return Expression::parse(formula).value(kShape.variables_of_block(3, Steps{1500, 10000}));
}

std::string refusal(std::string_view formula) {
  try {
    value(formula);
  } catch (const SchemeError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Expression, PowersAreRightAssociativeAndStrongerThanALeadingMinus) {
  EXPECT_EQ(value("2^3^2"), 512);
  EXPECT_EQ(value("-2^2"), -4);
  EXPECT_EQ(value("2^-1"), 0.5);
  EXPECT_EQ(value("--2"), 2);
}

TEST(Expression, SumsAndProductsAreLeftAssociative) {
  EXPECT_EQ(value("1 - 2 - 3"), -4);
  EXPECT_EQ(value("8*N/4/2"), 12);
  EXPECT_EQ(value("1 + 2*3"), 7);
  EXPECT_EQ(value("(1 + 2)*3"), 9);
}

TEST(Expression, KnowsTheSizesOfTheModel) {
  EXPECT_EQ(value("N"), 12);
  EXPECT_EQ(value("S"), 24);
  EXPECT_EQ(value("d/h - dk"), 0);
  EXPECT_EQ(value("sqrt(d/h)"), 8);
  EXPECT_EQ(value("kv*f + l"), 4 * 2048 + 3);
  EXPECT_EQ(value("min(t/(1000*l), 1)"), 0.5);
  EXPECT_EQ(value("T/t"), 10000.0 / 1500.0);
}

TEST(Expression, ReadsEveryFormOfANumber) {
  EXPECT_EQ(value("1e-3*1000"), 1);
  EXPECT_EQ(value(".5 + 2."), 2.5);
  EXPECT_EQ(value("2.5E+2"), 250);
}

TEST(Expression, HasSevenFunctions) {
  EXPECT_DOUBLE_EQ(value("log2(8) + ln(exp(2))"), 5);
  EXPECT_EQ(value("floor(-1.5)"), -2);
  EXPECT_EQ(value("max(1, 2, l)"), 3);
  EXPECT_EQ(value("min(4)"), 4);
  EXPECT_DOUBLE_EQ(value("(2*N)^(1/4)"), std::pow(24, 0.25));
}

TEST(Expression, KeepsTheFormulaAndNamesItsVariables) {
  const auto factor = Expression::parse("1/sqrt(2*N*l)");
  EXPECT_EQ(factor.formula(), "1/sqrt(2*N*l)");
  EXPECT_EQ(factor.names(), (std::set<std::string>{"N", "l"}));
  EXPECT_EQ(Expression(0.1).formula(), "0.1");
  EXPECT_EQ(Expression(50).formula(), "50");
}

TEST(Expression, SaysWhatIsWrongWithAFormula) {
  EXPECT_EQ(refusal("1/(2*N"), "bad_expression: wanted \")\" in \"1/(2*N\", but found its end");
  EXPECT_EQ(refusal("2N"), "bad_expression: wanted an operator in \"2N\", but found \"N\"");
  EXPECT_EQ(refusal("1 + "),
            "bad_expression: wanted a number, a name or a parenthesis in "
            "\"1 + \", but found its end");
  EXPECT_EQ(refusal("2 $ 3"), "bad_expression: wanted an operator in \"2 $ 3\", but found \"$ 3\"");
  EXPECT_EQ(refusal("."), "bad_expression: wanted a number in \".\", but found \".\"");
  EXPECT_EQ(refusal("sqrt(1, 2)"),
            "bad_expression: \"sqrt\" takes one argument, but has 2 in \"sqrt(1, 2)\"");
}

TEST(Expression, KnowsNoOtherFunction) {
  EXPECT_EQ(refusal("tanh(l)"),
            "unknown_function: there is no function \"tanh\" (in \"tanh(l)\"); "
            "known: exp, floor, ln, log2, max, min, sqrt");
  EXPECT_EQ(refusal("log(l)"),
            "unknown_function: there is no function \"log\" (in \"log(l)\"); did "
            "you mean \"log2\"? known: exp, floor, ln, log2, max, min, sqrt");
}

TEST(Expression, KnowsNoOtherVariable) {
  EXPECT_EQ(refusal("sqrt(layers)"),
            "unknown_variable: there is no variable \"layers\" (in \"sqrt(layers)\"); known: N, S, "
            "T, context, d, dk, f, h, kv, l, t, vocab, width");
}

TEST(Expression, RefusesAVariableWithoutAValue) {
  EXPECT_EQ(refusal("1/width"),
            "unknown_variable: \"width\" has no value at this place in \"1/width\"");
}

TEST(Expression, RefusesStepsThatAreNotFinite) {
  EXPECT_EQ(refusal("1/(l - 3)"), "bad_expression: \"1/(l - 3)\" has no finite value at l = 3");
  EXPECT_EQ(refusal("min(1, 1/0)"), "bad_expression: \"min(1, 1/0)\" has no finite value");
  EXPECT_EQ(refusal("sqrt(-N)"), "bad_expression: \"sqrt(-N)\" has no finite value at N = 12");
}

TEST(Expression, IsShortEnoughToBeReadWithoutDanger) {
  const std::string open(400, '('), close(400, ')');
  EXPECT_EQ(value(text(open, 1, close)), 1);
  EXPECT_EQ(refusal(std::string(5000, '(')),
            "bad_expression: an expression may have 1000 characters, but this one has 5000");
}

}  // namespace
}  // namespace evenkeel::norm
