// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace evenkeel {

/// The shortest decimal that reads back as the same double: 0.1, 3e-05, 1.0 stays "1.0".
std::string shortest(double value);

/// At most so many significant digits: 0.123456 -> "0.123"; "nan", "inf".
std::string with_digits(double value, int digits);

/// So many digits after the point: 1.25 -> "1.2500"; "nan", "inf".
std::string with_decimals(double value, int decimals);

/// A share with at most three significant digits: 0.125 -> "12.5 %".
std::string percent(double share);

/// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t value);

/// 151346432 -> "151.3M"; 1000 and more get a letter (k, M, G, T), three to four digits.
std::string with_unit(double value);

/// 1536 -> "1.5 KiB", in powers of 1024.
std::string bytes_text(double bytes);

/// 75.2 -> "1:15"; 3700 -> "1:01:40".
std::string duration_text(double seconds);

}  // namespace evenkeel
