// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel {

/// The shortest decimal that parses to the same double: 0.1, 3e-05; 1.0 becomes "1.0".
std::string shortest(double value);

/// At most `digits` significant digits: 0.123456 becomes "0.123"; "nan", "inf".
std::string with_digits(double value, int digits);

/// Exactly `decimals` digits after the point: 1.25 becomes "1.2500"; "nan", "inf".
std::string with_decimals(double value, int decimals);

/// A share as percent with at most three significant digits: 0.125 becomes "12.5 %".
std::string percent(double share);

/// An integer with thousands separators: 1234567 becomes "1,234,567".
std::string with_commas(std::int64_t value);

/// Three to four significant digits, with k, M, G or T from 1000 on: 151346432 becomes "151.3M".
std::string with_unit(double value);

/// A size in powers of 1024: 1536 becomes "1.5 KiB".
std::string bytes_text(double bytes);

/// A duration: 75.2 becomes "1:15", 3700 becomes "1:01:40".
std::string duration_text(double seconds);

}  // namespace evenkeel
