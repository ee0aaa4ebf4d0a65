// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/data/load_corpora.h"
#include "evenkeel/evaluate/task_suite.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/gradient_reducer.h"

namespace evenkeel::train {

/// The ranks of a training and their gradient shards. \param group  must outlive the result
DataParallel data_parallel_of(const config::Config& config, comm::Group& group);

/// Resolves train.gradient_shards = "auto" at the start of a run: one shard per rank.
/// \throws Error (usage, exit code 64) if they do not divide the batch
void resolve_shards(config::Config& config, std::int64_t ranks);

/// Checks that ranks can share the gradient shards of a batch, and exchange them on their device.
/// \param needs_override  a resumed run, whose shards change with --override only: the message says
///                        so
/// \throws Error (usage, exit code 64)
void check_ranks(const config::Config& config, std::int64_t ranks, bool needs_override = false);

/// Checks that a scheme can be trained on several ranks:
///
/// | refused                                   | because                                |
/// | ----------------------------------------- | -------------------------------------- |
/// | batch_norm, batch_renorm                  | running values go from part to part    |
/// | sigma_reparam                             | its vectors move in every forward pass |
/// | hooks, unless distributed.shard is "none" | they act on whole matrices             |
///
/// \throws Error (usage, exit code 64)
void check_scheme_on_ranks(const config::Config& config, const comm::Group& group);

/// Compares the texts of all ranks by their digests: those of [data]; those of evaluate.texts, and
/// the files of evaluate.tasks. All ranks call it.
/// \throws Error (differs, exit code 78), with the first rank that differs from rank 0
void check_texts_on_ranks(const data::Corpora& text, comm::Group& group);
void check_evaluation_on_ranks(const std::vector<data::Source>& texts,
                               const std::vector<evaluate::EncodedTask>& tasks, comm::Group& group);

/// Compares the checkpoints from which all ranks take their first weights. All ranks call it.
/// \throws Error (differs, exit code 78), with the first rank that differs from rank 0
void check_weights_on_ranks(const store::VerifiedCheckpoint& from, comm::Group& group);

/// "4 ranks (torchrun) on 2 machines, 8 shards, gloo over eth0, exact; 2 threads each": the first
/// line of a run on several ranks.
std::string ranks_text(const config::Config& config, const comm::Group& group, int threads);

/// The fields of provenance.json of a run on several ranks: "ranks", "gradient_shards",
/// "machines" by rank, "launcher". Empty on one rank.
nlohmann::ordered_json provenance_of_ranks(const config::Config& config, const comm::Group& group);

}  // namespace evenkeel::train
