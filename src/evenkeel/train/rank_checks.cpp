// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/rank_checks.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "evenkeel/base/error.h"
#include "evenkeel/comm/agreement.h"
#include "evenkeel/nn/shard_layout.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/norm/kind.h"
#include "evenkeel/norm/slots.h"
#include "evenkeel/ops/common/compute_device.h"

namespace evenkeel::train {

namespace {

std::int64_t shards_of(const config::Config& config) {
  return std::max<std::int64_t>(1, config.train.gradient_shards);
}

Sharding sharding_of(const config::Config& config) {
  const auto& shard = config.distributed.shard;
  return shard == "none"        ? Sharding::none
         : shard == "gradients" ? Sharding::gradients
                                : Sharding::optimizer;
}

[[noreturn]] void refuse_on_ranks(std::string_view what, const char* why) {
  throw Error(Exit::usage, text(what, " cannot be trained on several ranks: ", why));
}

}  // namespace

DataParallel data_parallel_of(const config::Config& config, comm::Group& group) {
  return {.group = &group, .shards = shards_of(config), .sharding = sharding_of(config)};
}

void resolve_shards(config::Config& config, std::int64_t ranks) {
  auto& shards = config.train.gradient_shards;
  if (ranks > 1 && shards == 0) shards = nn::shards_of_ranks(shards, ranks, config.train.batch);
}

void check_ranks(const config::Config& config, std::int64_t ranks, bool needs_override) {
  if (config.distributed.backend == "nccl" && ops::compute_device().is_cpu()) {
    throw Error(Exit::usage,
                "distributed.backend must be \"gloo\" on CPUs, but is \"nccl\", which needs GPUs; "
                "leave it out");
  }
  nn::check_shards(shards_of(config), ranks, config.train.batch,
                   needs_override ? " with --override train.gradient_shards" : "");
  const bool in_rounds = sharding_of(config) == Sharding::gradients;
  if (in_rounds && !std::has_single_bit(static_cast<std::uint64_t>(ranks))) {
    throw Error(Exit::usage,
                text("distributed.shard = \"gradients\" needs a number of ranks that is "
                     "a power of two, but there are ",
                     ranks, "; choose \"optimizer\""));
  }
}

void check_scheme_on_ranks(const config::Config& config, const comm::Group& group) {
  if (group.ranks() == 1) return;
  const auto scheme = config::bind(config.scheme, config::shape_of(config, data::kByteVocabulary));
  for (const auto& slot : norm::slots_of(scheme)) {
    if (norm::buffers_of(*slot.norm, slot.width, slot.heads).empty()) continue;
    refuse_on_ranks(norm::name_of(slot.norm->kind),
                    "its running values go from part to part of a batch");
  }
  for (const auto& [rule, weights] : scheme.reparameterize) {
    if (rule == "sigma_reparam") refuse_on_ranks(rule, "its vectors move in every forward pass");
  }
  if (scheme.hooks.empty() || sharding_of(config) == Sharding::none) return;
  throw Error(Exit::usage, text("the hook ", scheme.hooks.front().kind,
                                " acts on whole matrices: on several ranks it needs "
                                "distributed.shard = \"none\""));
}

void check_texts_on_ranks(const data::Corpora& text, comm::Group& group) {
  if (group.ranks() == 1) return;
  comm::check_equal(group, {{"the digest of data.train", data::digest(text.train)},
                            {"the digest of data.validation", data::digest(text.validation)},
                            {"the digest of data.ood", text.ood ? text.ood->digest : "none"}});
}

void check_evaluation_on_ranks(const std::vector<data::Source>& texts,
                               const std::vector<evaluate::EncodedTask>& tasks,
                               comm::Group& group) {
  if (group.ranks() == 1 || (texts.empty() && tasks.empty())) return;
  comm::Facts facts;
  for (const auto& each : texts) {
    facts.emplace_back(text("the digest of evaluate.texts ", each.name), each.corpus.digest);
  }
  for (const auto& each : tasks) {
    facts.emplace_back(text("the digest of evaluate.tasks ", each.task.label), each.task.digest);
  }
  comm::check_equal(group, facts);
}

void check_weights_on_ranks(const store::VerifiedCheckpoint& from, comm::Group& group) {
  if (group.ranks() == 1) return;
  comm::check_equal(group,
                    {{"the digest of train.from", from.manifest.value("root_digest", "none")}});
}

std::string ranks_text(const config::Config& config, const comm::Group& group, int threads) {
  const auto& placement = group.placement();
  const auto& launcher = placement.launcher;
  const auto& hosts = placement.hosts;
  const auto machines = std::set<std::string>(hosts.begin(), hosts.end()).size();
  const auto shards = shards_of(config);
  return text(group.ranks(), " ranks", launcher.empty() ? "" : text(" (", launcher, ")"), " on ",
              machines, machines == 1 ? " machine, " : " machines, ", shards,
              shards == 1 ? " shard, " : " shards, ", placement.network, ", ",
              config.distributed.exchange, "; ", threads,
              threads == 1 ? " thread each" : " threads each");
}

nlohmann::ordered_json provenance_of_ranks(const config::Config& config, const comm::Group& group) {
  if (group.ranks() == 1) return nlohmann::ordered_json::object();
  const auto& placement = group.placement();
  return {{"ranks", group.ranks()},
          {"gradient_shards", shards_of(config)},
          {"machines", placement.hosts},
          {"launcher", placement.launcher}};
}

}  // namespace evenkeel::train
