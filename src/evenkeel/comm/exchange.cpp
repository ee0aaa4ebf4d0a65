// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/comm/exchange.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>

namespace evenkeel::comm {

namespace {

/// count ranks: first, first + step, ...
std::vector<int> ranks_from(int first, int count, int step) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  for (auto& each : ranks) each = first, first += step;
  return ranks;
}

std::vector<at::Tensor> pieces_between(const at::Tensor& whole,
                                       const std::vector<std::int64_t>& bounds) {
  std::vector<at::Tensor> pieces;
  for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank)
    pieces.push_back(whole.narrow(0, bounds[rank], bounds[rank + 1] - bounds[rank]));
  return pieces;
}

}  // namespace

int ranks_per_host(const std::vector<std::string>& hosts) {
  const auto all = hosts.size();
  const auto other = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const std::string& each) { return each != hosts.front(); });
  const auto count = static_cast<std::size_t>(other - hosts.begin());
  if (count == 0 || count == all || all % count != 0 || !std::has_single_bit(count)) return 1;
  std::vector<std::string> machines;
  for (std::size_t first = 0; first < all; first += count) {
    const auto begin = hosts.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                     [&](const std::string& each) { return each == *begin; })) {
      return 1;
    }
    machines.push_back(*begin);
  }
  std::sort(machines.begin(), machines.end());
  const bool are_different = std::adjacent_find(machines.begin(), machines.end()) == machines.end();
  return are_different ? static_cast<int>(count) : 1;
}

Exchange::Exchange(const c10::intrusive_ptr<c10d::Backend>& backend, int per_host,
                   const LevelOptions& options)
    : options_(options),
      per_host_(per_host),
      hosts_(backend->getSize() / per_host),
      host_(backend->getRank() / per_host),
      place_(backend->getRank() % per_host),
      first_(backend,
             per_host == 1 ? ranks_from(0, backend->getSize(), 1)
                           : ranks_from(host_ * per_host, per_host, 1),
             options) {
  if (per_host > 1) second_.emplace(backend, ranks_from(place_, hosts_, per_host), options);
}

Exchange::Pieces Exchange::pieces_of_host(const Pieces& all, int host) const {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(host) * per_host_;
  return {begin, begin + per_host_};
}

Exchange::Pieces Exchange::pieces_of_place(const Pieces& all) const {
  Pieces out;
  for (auto rank = static_cast<std::size_t>(place_); rank < all.size();
       rank += static_cast<std::size_t>(per_host_)) {
    out.push_back(all[rank]);
  }
  return out;
}

void Exchange::reduce_scatter(const at::Tensor& whole, const std::vector<std::int64_t>& bounds,
                              const at::Tensor& part) {
  const auto pieces = pieces_between(whole, bounds);
  if (!second_) return first_.reduce_scatter(pieces, part);
  const auto bytes = 4 * options_.chunk_bytes;  // of the sums of this machine
  std::int64_t longest = 0;
  for (const auto& each : pieces) longest = std::max(longest, each.numel());
  const auto most = std::max<std::int64_t>(1, bytes / whole.element_size() / hosts_);
  const auto columns = std::max<std::int64_t>(1, std::min(most, longest));
  const auto sums = at::empty({hosts_, columns}, whole.options());
  for (std::int64_t begin = 0; begin < longest; begin += columns) {
    Pieces now, of_machine;
    for (const auto& each : pieces) now.push_back(slice_of(each, begin, columns));
    for (int host = 0; host < hosts_; ++host) {
      const auto here = pieces_of_host(now, host);
      of_machine.push_back(sums[host].narrow(0, 0, here[static_cast<std::size_t>(place_)].numel()));
      first_.reduce_scatter(here, of_machine.back());
    }
    second_->reduce_scatter(of_machine, slice_of(part, begin, columns));
  }
}

void Exchange::all_gather(const at::Tensor& whole, const std::vector<std::int64_t>& bounds) {
  const auto pieces = pieces_between(whole, bounds);
  if (!second_) return first_.all_gather(pieces);
  second_->all_gather(pieces_of_place(pieces));
  for (int host = 0; host < hosts_; ++host) first_.all_gather(pieces_of_host(pieces, host));
}

}  // namespace evenkeel::comm
