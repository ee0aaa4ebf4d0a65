// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::data {

/// A categorical distribution over texts. All probabilities are multiples of 2^-32: a uniform
/// 32-bit number samples the distribution exactly, and -ln p has no rounding error of p.
class Categorical {
 public:
  Categorical(std::vector<std::string> texts, const std::vector<double>& weights);

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t index) const { return texts_[index]; }
  /// -ln p of a text, in nats.
  double nats(std::size_t index) const { return nats_[index]; }
  /// The index that the uniform 32-bit number `draw` selects.
  std::size_t sample(std::uint32_t draw) const;

 private:
  std::vector<std::string> texts_;
  std::vector<std::uint64_t> cumulative_;  // index i if cumulative_[i - 1] <= draw < cumulative_[i]
  std::vector<double> nats_;
  std::vector<std::uint16_t> first_candidate_;  // by the top 8 bits of `draw`: first possible index
};

/// Splits a list at its spaces.
std::vector<std::string> split_words(std::string_view list);

/// Weights 1 / (rank + offset), scaled to the sum `total`.
/// \source Zipf-Mandelbrot law with exponent 1
std::vector<double> zipf(std::size_t size, double offset, double total = 1);

/// Concatenates two lists.
template <typename T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace evenkeel::data
