// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::data {

/// A categorical distribution over texts with exact probabilities: multiples of
/// 2^-32, so that a uniform 32-bit number samples it and -ln p is known without rounding of p.
class Categorical {
 public:
  Categorical(std::vector<std::string> texts, const std::vector<double>& weights);

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t index) const { return texts_[index]; }
  /// -ln p of the text.
  double nats(std::size_t index) const { return nats_[index]; }
  /// The index of the text that the uniform 32-bit number `draw` selects.
  std::size_t sample(std::uint32_t draw) const;

 private:
  std::vector<std::string> texts_;
  std::vector<std::uint64_t>
      cumulative_;  // `draw` < cumulative_[0] picks 0, else < cumulative_[1] picks 1 ...
  std::vector<double> nats_;
  std::vector<std::uint16_t> first_candidate_;  // by the top 8 bits of `draw`: the first candidate
};

/// Splits at blanks.
std::vector<std::string> split_words(std::string_view list);

/// Weights by rank, 1 / (rank + offset), that sum to `total`.
/// \source Mandelbrot's form of Zipf's law
std::vector<double> zipf(std::size_t size, double offset, double total = 1);

/// One list after another.
template <typename T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace evenkeel::data
