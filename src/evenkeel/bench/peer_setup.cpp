// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/peer_setup.h"

#include <algorithm>
#include <array>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/canonical_form.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"

namespace evenkeel::bench {

namespace {

using norm::Expression;
using norm::Norm;
using norm::Number;

/// The places of norms that the script supports.
constexpr std::array<const char*, 9> kPlaces = {
    "embedding.norm",     "attention.input",       "attention.q",
    "attention.k",        "attention.v",           "attention.residual",
    "feed_forward.input", "feed_forward.residual", "final"};

/// \throws Error (usage) always: "scheme NAME has WHAT, which the PyTorch script does not know"
[[noreturn]] void refuse(const norm::Scheme& scheme, const std::string& what) {
  throw Error(Exit::usage,
              text("bench peers: scheme ", scheme.info.name, " has ", what,
                   ", which the PyTorch script does not know; it knows rms_norm with gains, per "
                   "head on q, k and v, as in pre_norm, post_norm, hybrid_norm, hybrid_norm_star"));
}

/// True for an RMSNorm with a gain, per head inside attention, with any epsilon.
bool is_plain(const Norm& norm, bool in_attention) {
  auto plain = norm::default_norm(norm::Kind::rms_norm);
  plain.epsilon = norm.epsilon;
  if (in_attention) plain.scope = norm::Scope::head;
  return norm == plain;
}

bool is_one(const Number& number) {
  return number == Number(Expression(1));
}

/// True if the sublayer adds its branch to its input or to the normed input, without scales.
bool is_plain(const norm::Residual& add) {
  return add.skip.size() == 1 && add.skip.front() != norm::Tap::block_input &&
         is_one(add.skip_scale) && is_one(add.branch_scale) && add.update == norm::Update::add;
}

/// \throws Error (usage) for an unsupported property other than a norm
void check_rules(const norm::Scheme& scheme) {
  for (const auto& block : scheme.blocks) {
    if (!is_plain(block.attention.add) || !is_plain(block.feed_forward.add)) {
      refuse(scheme, "a residual connection other than a plain sum");
    }
    if (block.attention.score_scale || block.attention.softcap || block.damp ||
        block.feed_forward.up_gate_scale) {
      refuse(scheme, "scales inside its blocks");
    }
  }
  if (scheme.shape.is_mixture()) refuse(scheme, "a mixture of experts (model.experts.count)");
  if (scheme.parallel || scheme.dual)
    refuse(scheme, "a layout other than attention, then feed-forward");
  if (!is_one(scheme.embedding_scale) || !is_one(scheme.logits_scale) || scheme.logits_softcap) {
    refuse(scheme, "a scale on embedding or logits");
  }
  if (!scheme.hooks.empty() || !scheme.reparameterize.empty()) {
    refuse(scheme, "hooks or reparameterised matrices");
  }
}

/// The places of norms and of skip inputs "normed": place -> epsilon; 0 for a skip input.
struct PeerSlots {
  nlohmann::ordered_json blocks = nlohmann::ordered_json::array();  // one object per block
  nlohmann::ordered_json outside_blocks = nlohmann::ordered_json::object();
};

/// \throws Error (usage) for an unsupported norm
PeerSlots peer_slots(const norm::Scheme& scheme) {
  PeerSlots all;
  for (const auto& block : scheme.blocks) {
    nlohmann::ordered_json slots = nlohmann::ordered_json::object();
    if (block.attention.add.skip.front() == norm::Tap::normed) slots["attention.skip"] = 0;
    if (block.feed_forward.add.skip.front() == norm::Tap::normed) slots["feed_forward.skip"] = 0;
    all.blocks.push_back(slots);
  }
  for (const auto& slot : norm::slots_of(scheme)) {
    const bool is_known = std::find(kPlaces.begin(), kPlaces.end(), slot.place) != kPlaces.end();
    if (!is_known || !is_plain(*slot.norm, slot.in_attention)) {
      refuse(scheme, text("a ", norm::describe(*slot.norm), " at ", slot.place));
    }
    auto& slots =
        slot.block == 0 ? all.outside_blocks : all.blocks[static_cast<std::size_t>(slot.block) - 1];
    slots[slot.place] = slot.norm->epsilon;
  }
  return all;
}

}  // namespace

nlohmann::ordered_json peer_setup(const config::Config& config, const norm::Scheme& scheme,
                                  const train::Machine& machine) {
  if (machine.precision == nn::Precision::float64) {
    throw Error(Exit::usage,
                "bench peers: train.precision must be \"float32\" or \"bfloat16\", but is "
                "\"float64\"");
  }
  check_rules(scheme);
  const auto [blocks, outside_blocks] = peer_slots(scheme);
  const auto& model = config.model;
  const auto& optimizer = config.optimizer;
  return {{"width", model.width},
          {"heads", model.heads},
          {"kv_heads", model.kv_heads},
          {"context", model.context},
          {"vocabulary", scheme.shape.vocabulary},
          {"tied", model.tied},
          {"rope_theta", model.rope_theta},
          {"blocks", blocks},
          {"outside_blocks", outside_blocks},
          {"precision", machine.precision == nn::Precision::bfloat16 ? "bfloat16" : "float32"},
          {"device", machine.device.str()},
          {"threads", machine.threads},
          {"rate", config.schedule.peak},
          {"beta1", optimizer.beta1},
          {"beta2", optimizer.beta2},
          {"epsilon", optimizer.epsilon},
          {"weight_decay", optimizer.weight_decay},
          {"decay_gains", optimizer.decay_gains},
          {"decay_embedding", optimizer.decay_embedding},
          {"clip", optimizer.clip}};
}

}  // namespace evenkeel::bench
