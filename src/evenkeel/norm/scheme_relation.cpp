// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/scheme_relation.h"

#include "evenkeel/norm/canonical_form.h"
#include "evenkeel/norm/scheme_entries.h"

namespace evenkeel::norm {

namespace {

void write(const SchemeEntries& entries, std::string& function, std::string& start) {
  for (const auto& entry : entries) {
    auto& out = entry.at_start ? start : function;
    out += entry.value;
    out += '\n';
  }
}

void write(const Scheme& scheme, std::string& function, std::string& start) {
  write(entries_before_blocks(scheme), function, start);
  for (const auto& block : scheme.blocks) write(block_entries(block), function, start);
  write(entries_after_blocks(scheme), function, start);
}

}  // namespace

Fingerprint fingerprint(const Scheme& scheme) {
  Fingerprint print;
  const auto evaluated_scheme = evaluated(scheme);
  write(evaluated_scheme, print.function, print.start);
  const auto moved = canonical(evaluated_scheme);
  write(moved, print.moved, print.moved_start);
  std::string start;
  write(at_initialization(moved), print.untrained, start);
  return print;
}

SchemeRelation relation(const Fingerprint& left, const Fingerprint& right) {
  const bool same = left.function == right.function;
  const bool moved = left.moved == right.moved;
  if (same && left.start == right.start) return SchemeRelation::same;
  if (moved && left.moved_start == right.moved_start) return SchemeRelation::moved;
  if (same || moved) return SchemeRelation::other_start;
  const bool same_start =
      left.untrained == right.untrained && left.moved_start == right.moved_start;
  return same_start ? SchemeRelation::same_before_training : SchemeRelation::different;
}

SchemeRelation relation(const Scheme& left, const Scheme& right) {
  return relation(fingerprint(left), fingerprint(right));
}

}  // namespace evenkeel::norm
