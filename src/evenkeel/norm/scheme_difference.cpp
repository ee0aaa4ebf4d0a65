// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme_difference.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/canonical_form.h"
#include "evenkeel/norm/scheme_entries.h"

namespace evenkeel::norm {

namespace {

/// The entries at the same places of two schemes, before and after evaluated().
struct Pair {
  SchemeEntries left, right, evaluated_left, evaluated_right;
};

/// Merges equal differences: "init of attention.v" and "init of attention.output" become "init of
/// attention.v, attention.output".
bool try_merge(SchemeDifference& before, const SchemeDifference& next) {
  for (const std::string_view start : {"init of ", "reparameterize ", "hooks on "}) {
    if (!before.place.starts_with(start) || !next.place.starts_with(start)) continue;
    if (before.left != next.left || before.right != next.right) continue;
    before.place += text(", ", next.place.substr(start.size()));
    return true;
  }
  return false;
}

std::vector<SchemeDifference> compare(const Pair& pair, std::int64_t block) {
  std::vector<SchemeDifference> found;
  for (std::size_t i = 0; i < pair.left.size(); ++i) {
    if (pair.evaluated_left[i].value == pair.evaluated_right[i].value) continue;
    const auto& left = pair.left[i];
    const SchemeDifference next = {block,        block, left.place, left.value, pair.right[i].value,
                                   left.at_start};
    if (found.empty() || !try_merge(found.back(), next)) found.push_back(next);
  }
  return found;
}

bool are_equal(const std::vector<SchemeDifference>& left,
               const std::vector<SchemeDifference>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const SchemeDifference& a, const SchemeDifference& b) {
                      return a.place == b.place && a.left == b.left && a.right == b.right;
                    });
}

/// Compares block by block; consecutive blocks with equal differences form one group.
std::vector<SchemeDifference> compare_blocks(const Scheme& left, const Scheme& right,
                                             const Scheme& evaluated_left,
                                             const Scheme& evaluated_right) {
  std::vector<SchemeDifference> all;
  std::vector<SchemeDifference> group;
  const auto append = [&] { all.insert(all.end(), group.begin(), group.end()); };
  for (std::size_t i = 0; i < left.blocks.size(); ++i) {
    const auto block = static_cast<std::int64_t>(i) + 1;
    auto found =
        compare({block_entries(left.blocks[i]), block_entries(right.blocks[i]),
                 block_entries(evaluated_left.blocks[i]), block_entries(evaluated_right.blocks[i])},
                block);
    if (are_equal(group, found)) {
      for (auto& each : group) each.last = block;
      continue;
    }
    append();
    group = std::move(found);
  }
  append();
  return all;
}

}  // namespace

std::vector<SchemeDifference> differences(const Scheme& first, const Scheme& second) {
  EK_ASSERT(first.blocks.size() == second.blocks.size());
  const auto first_evaluated = evaluated(first);
  const auto second_evaluated = evaluated(second);
  const auto left = with_norms_moved(first, norm_moves(first_evaluated));
  const auto right = with_norms_moved(second, norm_moves(second_evaluated));
  const auto a = canonical(first_evaluated);
  const auto b = canonical(second_evaluated);
  auto all = compare({entries_before_blocks(left), entries_before_blocks(right),
                      entries_before_blocks(a), entries_before_blocks(b)},
                     0);
  const auto add = [&](const std::vector<SchemeDifference>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(compare_blocks(left, right, a, b));
  add(compare({entries_after_blocks(left), entries_after_blocks(right), entries_after_blocks(a),
               entries_after_blocks(b)},
              0));
  return all;
}

}  // namespace evenkeel::norm
