// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/scheme/scheme_sublayer.h"

#include <array>

#include "evenkeel/base/error.h"
#include "evenkeel/config/scheme/scheme_norm.h"
#include "evenkeel/config/table_reader.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::config {

namespace {

using norm::Attention;
using norm::FeedForward;
using norm::Learned;
using norm::Norm;
using norm::Residual;

template <typename Sublayer>
struct NormSlot {
  const char* key;
  std::optional<Norm> Sublayer::* norm;
};

constexpr std::array<NormSlot<Attention>, 7> kAttentionSlots = {{
    {"input", &Attention::input},
    {"q", &Attention::q},
    {"k", &Attention::k},
    {"v", &Attention::v},
    {"context", &Attention::context},
    {"output", &Attention::output},
    {"residual", &Attention::residual},
}};
constexpr std::array<NormSlot<FeedForward>, 4> kFeedForwardSlots = {{
    {"input", &FeedForward::input},
    {"hidden", &FeedForward::hidden},
    {"output", &FeedForward::output},
    {"residual", &FeedForward::residual},
}};

template <typename Slots>
std::vector<std::string> known_keys(const Slots& slots, std::initializer_list<const char*> own) {
  std::vector<std::string> keys;
  keys.reserve(slots.size());
  for (const auto& slot : slots) keys.emplace_back(slot.key);
  keys.insert(keys.end(), {"skip", "skip_scale", "branch_scale", "update", "angle_decay"});
  keys.insert(keys.end(), own.begin(), own.end());
  return keys;
}

Learned read_learned(const toml::table& table, const Place& place,
                     const std::vector<std::string>& sizes, bool is_patch) {
  check_keys(table, {"learned", "init", "through", "at_most", "stored_at"}, place);
  for (const auto* const key : {"learned", "init"}) {
    if (is_patch || table.contains(key)) continue;
    refuse("bad_value", place, table, text("a learned value needs \"", key, "\""));
  }
  Learned learned;
  if (const auto* const node = table.get("learned")) {
    check_choice(read_word(*node, place.in("learned")), sizes, *node, place.in("learned"));
    learned.size = read_choice<Learned::Size>(*node, place.in("learned"),
                                              {{"scalar", Learned::Size::scalar},
                                               {"vector", Learned::Size::vector},
                                               {"per_head", Learned::Size::per_head}});
  }
  if (const auto* const node = table.get("through")) {
    learned.transform = read_choice<Learned::Transform>(*node, place.in("through"),
                                                        {{"identity", Learned::Transform::identity},
                                                         {"exp", Learned::Transform::exp},
                                                         {"abs", Learned::Transform::abs},
                                                         {"silu", Learned::Transform::silu}});
  }
  const auto formula = [&](const char* key) {
    const auto* const node = table.get(key);
    return node == nullptr ? std::nullopt : std::optional(read_expression(*node, place.in(key)));
  };
  learned.init = formula("init").value_or(learned.init);
  learned.at_most = formula("at_most");
  learned.stored_at = formula("stored_at");
  return learned;
}

std::vector<norm::Tap> read_skip(const toml::node& node, const Place& place) {
  const auto tap = [&](const toml::node& each) {
    const auto word = each.value_exact<std::string_view>();
    for (const auto known : {norm::Tap::stream, norm::Tap::normed, norm::Tap::block_input}) {
      if (word == norm::name_of(known)) return known;
    }
    refuse("bad_skip", place, each,
           text("wanted stream, normed or block_input, but found ", description(each)));
  };
  if (!node.is_array()) return {tap(node)};
  std::vector<norm::Tap> taps;
  for (const auto& each : *node.as_array()) taps.push_back(tap(each));
  if (taps.empty()) refuse("bad_skip", place, node, "wanted at least one tap, but found none");
  return taps;
}

norm::Update read_update(const toml::node& node, const Place& place) {
  const auto word = node.value_exact<std::string_view>();
  for (const auto known : {norm::Update::add, norm::Update::sphere, norm::Update::geodesic}) {
    if (word == norm::name_of(known)) return known;
  }
  refuse("bad_update", place, node,
         text("wanted add, sphere or geodesic, but found ", description(node)));
}

/// The node at `key`; nullptr if it is missing or "none".
const toml::node* rule(const toml::table& table, const char* key) {
  const auto* const node = table.get(key);
  return node == nullptr || is_none(*node) ? nullptr : node;
}

Residual read_residual(const toml::table& table, const Place& place,
                       const SublayerContext& context) {
  const std::vector<std::string> sizes = {"scalar", "vector"};
  Residual add;
  if (const auto* const node = rule(table, "skip")) add.skip = read_skip(*node, place.in("skip"));
  if (const auto* const node = rule(table, "skip_scale")) {
    add.skip_scale = read_number(*node, place.in("skip_scale"), sizes, context);
  }
  if (const auto* const node = rule(table, "branch_scale")) {
    add.branch_scale = read_number(*node, place.in("branch_scale"), sizes, context);
  }
  if (const auto* const node = rule(table, "update")) {
    add.update = read_update(*node, place.in("update"));
  }
  if (const auto* const node = rule(table, "angle_decay")) {
    add.angle_decay = read_expression(*node, place.in("angle_decay"));
  }
  return add;
}

template <typename Sublayer, typename Slots>
void read_slots(Sublayer& sublayer, const Slots& slots, const toml::table& table,
                const Place& place, const SublayerContext& context,
                const toml::node* except = nullptr) {
  for (const auto& slot : slots) {
    const auto* const node = table.get(slot.key);
    if (node == nullptr || node == except) continue;
    sublayer.*slot.norm = read_norm(*node, place.in(slot.key), context.norm, context.sizes);
  }
}

}  // namespace

norm::Number read_number(const toml::node& node, const Place& place,
                         const std::vector<std::string>& sizes, const SublayerContext& context) {
  if (const auto* const table = node.as_table()) {
    return read_learned(*table, place, sizes, context.is_patch);
  }
  return read_expression(node, place);
}

Attention read_attention(const toml::table& table, const Place& place,
                         const SublayerContext& context) {
  check_keys(table, known_keys(kAttentionSlots, {"score_scale", "softcap"}), place);
  Attention attention;
  read_slots(attention, kAttentionSlots, table, place, context);
  attention.add = read_residual(table, place, context);
  if (const auto* const node = rule(table, "score_scale")) {
    attention.score_scale =
        read_number(*node, place.in("score_scale"), {"scalar", "per_head"}, context);
  }
  if (const auto* const node = rule(table, "softcap")) {
    attention.softcap = read_expression(*node, place.in("softcap"));
  }
  return attention;
}

FeedForward read_feed_forward(const toml::table& table, const Place& place,
                              const SublayerContext& context) {
  check_keys(table, known_keys(kFeedForwardSlots, {"up_gate_scale"}), place);
  FeedForward feed_forward;
  const auto* const input = table.get("input");
  feed_forward.shares_input =
      input != nullptr && input->value_exact<std::string_view>() == "shared";
  read_slots(feed_forward, kFeedForwardSlots, table, place, context,
             feed_forward.shares_input ? input : nullptr);
  feed_forward.add = read_residual(table, place, context);
  if (const auto* const node = rule(table, "up_gate_scale")) {
    feed_forward.up_gate_scale =
        read_number(*node, place.in("up_gate_scale"), {"scalar", "vector"}, context);
  }
  return feed_forward;
}

}  // namespace evenkeel::config
