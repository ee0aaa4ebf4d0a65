// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/norm/difference.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/computed.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::norm {

namespace {

constexpr const char* kNothing = "-";

/// What stands at one place of a scheme, in words.
struct Setting {
  std::string place, words;
  bool at_start = false;
};
using Settings = std::vector<Setting>;

std::string words(const std::optional<Norm>& norm) {
  return norm ? describe(*norm) : kNothing;
}

std::string words(const std::optional<Number>& number) {
  return number ? describe(*number) : kNothing;
}

std::string words(const std::optional<Expression>& formula) {
  return formula ? formula->formula() : kNothing;
}

std::string words(const std::vector<Tap>& taps) {
  std::string sum;
  for (const auto tap : taps) sum += text(sum.empty() ? "" : " + ", name_of(tap));
  return sum;
}

void add_rules(Settings& settings, const std::string& half, const Residual& add) {
  settings.push_back({half + ".skip", words(add.skip)});
  settings.push_back({half + ".skip_scale", describe(add.skip_scale)});
  settings.push_back({half + ".branch_scale", describe(add.branch_scale)});
  settings.push_back({half + ".update", std::string(name_of(add.update))});
  settings.push_back({half + ".angle_decay",
                      add.update == Update::geodesic ? add.angle_decay.formula() : kNothing});
}

/// As many settings in the same order for every block.
Settings settings_of(const Block& block) {
  const auto& [attention, feed_forward, damp] = block;
  Settings settings = {{"attention.input", words(attention.input)},
                       {"attention.q", words(attention.q)},
                       {"attention.k", words(attention.k)},
                       {"attention.v", words(attention.v)},
                       {"attention.score_scale", words(attention.score_scale)},
                       {"attention.softcap", words(attention.softcap)},
                       {"attention.context", words(attention.context)},
                       {"attention.output", words(attention.output)}};
  add_rules(settings, "attention", attention.add);
  settings.push_back({"attention.residual", words(attention.residual)});
  settings.push_back(
      {"feed_forward.input", feed_forward.shares_input ? "shared" : words(feed_forward.input)});
  settings.push_back({"feed_forward.up_gate_scale", words(feed_forward.up_gate_scale)});
  settings.push_back({"feed_forward.hidden", words(feed_forward.hidden)});
  settings.push_back({"feed_forward.output", words(feed_forward.output)});
  add_rules(settings, "feed_forward", feed_forward.add);
  settings.push_back({"feed_forward.residual", words(feed_forward.residual)});
  settings.push_back({"damp", words(damp)});
  return settings;
}

void add_dual(Settings& settings, const std::optional<Dual>& dual) {
  const auto add = [&](const char* key, const std::string& value) {
    settings.push_back({text("dual.", key), dual ? value : kNothing});
  };
  const Dual one = dual.value_or(Dual());
  add("read", one.reads_norm_of_y ? "x + norm(y)" : "x");
  add("output", one.norms_both_at_end ? "norm(norm(x) + norm(y))" : "x + norm(y)");
  add("norm", describe(one.norm));
  add("write_y", one.write_y.formula());
  add("y_init", one.y_init.formula());
}

bool names(const std::vector<std::string>& weights, const char* matrix) {
  return std::count(weights.begin(), weights.end(), matrix) > 0;
}

std::string joined(const std::string& list, const std::string& more, const char* between) {
  return list.empty() ? more : text(list, between, more);
}

/// Matrix by matrix: rules in another order or grouping are the same.
void add_matrices(Settings& settings, const Scheme& scheme) {
  for (const auto* const matrix : kWeights) {
    std::string rules;
    for (const auto& each : scheme.reparameterize) {
      if (names(each.weights, matrix)) rules = joined(rules, each.rule, ", ");
    }
    settings.push_back({text("reparameterize ", matrix), rules.empty() ? kNothing : rules});
  }
}

std::string words(const Hook& hook) {
  if (hook.kind == "qk_clip") return text("qk_clip at ", Expression(hook.threshold).formula());
  return hook.axis.empty() ? hook.kind : text(hook.kind, " along ", hook.axis);
}

void add_hooks(Settings& settings, const Scheme& scheme) {
  std::string whole;
  for (const auto& hook : scheme.hooks) {
    if (hook.weights.empty()) whole = joined(whole, words(hook), ", ");
  }
  settings.push_back({"hooks", whole.empty() ? kNothing : whole});
  std::vector<const char*> matrices(kWeights.begin(), kWeights.end());
  matrices.insert(matrices.end(), {"embedding", "head"});
  for (const auto* const matrix : matrices) {
    std::string rules;
    for (const auto& hook : scheme.hooks) {
      if (names(hook.weights, matrix)) rules = joined(rules, words(hook), ", ");
    }
    settings.push_back({text("hooks on ", matrix), rules.empty() ? kNothing : rules});
  }
}

void add_start(Settings& settings, const Scheme& scheme) {
  settings.push_back({"base_init", scheme.base_init, true});
  settings.push_back({"embedding_init", scheme.embedding_init, true});
  for (const auto* const matrix : kWeights) {
    std::string factor;
    for (const auto& each : scheme.init) {
      if (names(each.weights, matrix)) factor = joined(factor, each.factor.formula(), " * ");
    }
    settings.push_back({text("init of ", matrix), factor.empty() ? "1" : factor, true});
  }
}

Settings settings_before(const Scheme& scheme) {
  Settings settings = {{"layout", scheme.parallel ? "parallel" : "sequential"},
                       {"embedding.norm", words(scheme.embedding_norm)},
                       {"embedding.scale", describe(scheme.embedding_scale)}};
  add_dual(settings, scheme.dual);
  return settings;
}

Settings settings_behind(const Scheme& scheme) {
  const auto* const head = !scheme.tied ? kNothing : *scheme.tied ? "tied" : "untied";
  Settings settings = {{"final", words(scheme.final)},
                       {"logits.scale", describe(scheme.logits_scale)},
                       {"logits.softcap", words(scheme.logits_softcap)},
                       {"head", head}};
  add_matrices(settings, scheme);
  add_hooks(settings, scheme);
  add_start(settings, scheme);
  return settings;
}

/// The settings of one place of two schemes: as written, and computed.
struct Pair {
  Settings left, right, computed_left, computed_right;
};

/// "init of attention.v", then "init of attention.output": "init of attention.v, attention.output".
bool joins(Difference& before, const Difference& next) {
  for (const std::string_view start : {"init of ", "reparameterize ", "hooks on "}) {
    if (!before.place.starts_with(start) || !next.place.starts_with(start)) continue;
    if (before.left != next.left || before.right != next.right) continue;
    before.place += text(", ", next.place.substr(start.size()));
    return true;
  }
  return false;
}

std::vector<Difference> compare(const Pair& pair, std::int64_t block) {
  std::vector<Difference> found;
  for (std::size_t i = 0; i < pair.left.size(); ++i) {
    if (pair.computed_left[i].words == pair.computed_right[i].words) continue;
    const auto& left = pair.left[i];
    const Difference next = {block,        block, left.place, left.words, pair.right[i].words,
                             left.at_start};
    if (found.empty() || !joins(found.back(), next)) found.push_back(next);
  }
  return found;
}

bool alike(const std::vector<Difference>& left, const std::vector<Difference>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Difference& a, const Difference& b) {
                      return a.place == b.place && a.left == b.left && a.right == b.right;
                    });
}

/// Block by block, equal neighbours in one group.
std::vector<Difference> compare_blocks(const Scheme& left, const Scheme& right,
                                       const Scheme& computed_left, const Scheme& computed_right) {
  std::vector<Difference> all;
  std::vector<Difference> group;
  const auto append = [&] { all.insert(all.end(), group.begin(), group.end()); };
  for (std::size_t i = 0; i < left.blocks.size(); ++i) {
    const auto block = static_cast<std::int64_t>(i) + 1;
    auto found =
        compare({settings_of(left.blocks[i]), settings_of(right.blocks[i]),
                 settings_of(computed_left.blocks[i]), settings_of(computed_right.blocks[i])},
                block);
    if (alike(group, found)) {
      for (auto& each : group) each.last = block;
      continue;
    }
    append();
    group = std::move(found);
  }
  append();
  return all;
}

bool only_at_start(const std::vector<Difference>& found) {
  return std::all_of(found.begin(), found.end(), [](const auto& each) { return each.at_start; });
}

}  // namespace

std::vector<Difference> differences(const Scheme& left, const Scheme& right) {
  EK_ASSERT(left.blocks.size() == right.blocks.size());
  const auto a = computed(left);
  const auto b = computed(right);
  auto all = compare(
      {settings_before(left), settings_before(right), settings_before(a), settings_before(b)}, 0);
  const auto add = [&](const std::vector<Difference>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(compare_blocks(left, right, a, b));
  add(compare(
      {settings_behind(left), settings_behind(right), settings_behind(a), settings_behind(b)}, 0));
  return all;
}

Relation relation(const Scheme& left, const Scheme& right) {
  const auto found = differences(left, right);
  if (found.empty()) return Relation::same;
  const auto moved = differences(canonical(computed(left)), canonical(computed(right)));
  if (moved.empty()) return Relation::moved;
  return only_at_start(found) || only_at_start(moved) ? Relation::other_start : Relation::different;
}

}  // namespace evenkeel::norm
