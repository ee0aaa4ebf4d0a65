// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/categorical.h"

#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "evenkeel/base/error.h"

namespace evenkeel::data {

namespace {

constexpr double kDraws = 0x1p32;    // number of values of a 32-bit word
constexpr int kCandidateShift = 24;  // leaves the top 8 bits of a 32-bit word

}  // namespace

Categorical::Categorical(std::vector<std::string> texts, const std::vector<double>& weights)
    : texts_(std::move(texts)) {
  EK_ASSERT(!texts_.empty() && texts_.size() == weights.size());
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  for (const double weight : weights) {
    sum += weight;
    const auto below = cumulative_.empty() ? 0 : cumulative_.back();
    const bool last = cumulative_.size() + 1 == weights.size();
    cumulative_.push_back(static_cast<std::uint64_t>(last ? kDraws : sum / total * kDraws));
    EK_ASSERT(cumulative_.back() > below);
    nats_.push_back(-std::log(static_cast<double>(cumulative_.back() - below) / kDraws));
  }
  std::uint16_t first = 0;
  for (std::uint64_t top = 0; top < 256; ++top) {
    while (cumulative_[first] <= top << kCandidateShift) ++first;
    first_candidate_.push_back(first);
  }
}

std::size_t Categorical::sample(std::uint32_t draw) const {
  std::size_t index = first_candidate_[draw >> kCandidateShift];
  while (cumulative_[index] <= draw) ++index;
  return index;
}

std::vector<std::string> split_words(std::string_view list) {
  std::istringstream in{std::string(list)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<double> zipf(std::size_t size, double offset, double total) {
  std::vector<double> weights;
  for (std::size_t rank = 1; rank <= size; ++rank) {
    weights.push_back(1 / (static_cast<double>(rank) + offset));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight *= total / sum;
  return weights;
}

}  // namespace evenkeel::data
