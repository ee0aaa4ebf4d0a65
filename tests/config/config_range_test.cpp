// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "config/config_fixture.h"

namespace evenkeel::config {
namespace {

class Range : public TemporaryFolderTest {};

/// A value out of range for each key that has a range.
const std::vector<std::string> kOutOfRange = {"seed=-1",
                                              "model.layers=0",
                                              "model.width=0",
                                              "model.heads=0",
                                              "model.kv_heads=0",
                                              "model.inner=0",
                                              "model.inner=16777217",
                                              "model.layers=4097",
                                              "train.threads=4097",
                                              "model.context=1",
                                              "model.vocabulary=0",
                                              "model.vocabulary=words",
                                              "model.pad_vocabulary_to=0",
                                              "model.rope_theta=0",
                                              "model.tied=1",
                                              "data.train=[]",
                                              "data.validation=3",
                                              "data.validation_fraction=0",
                                              "data.validation_fraction=1",
                                              "data.format=csv",
                                              "data.text_key=3",
                                              "train.steps=0",
                                              "train.tokens=0",
                                              "train.batch=0",
                                              "train.micro_batch=0",
                                              "train.precision=float16",
                                              "train.threads=0",
                                              "train.from=3",
                                              "optimizer.kind=sgd",
                                              "optimizer.betas=[0.9, 1.0]",
                                              "optimizer.betas=0.9",
                                              "optimizer.epsilon=0",
                                              "optimizer.weight_decay=-0.1",
                                              "optimizer.decay_gains=yes",
                                              "optimizer.decay_embedding=no",
                                              "optimizer.clip=-1",
                                              "schedule.kind=cosin",
                                              "schedule.peak=0",
                                              "schedule.floor=1.1",
                                              "schedule.floor=-0.1",
                                              "schedule.warmup=-1",
                                              "schedule.warmup=101%",
                                              "schedule.decay=2k",
                                              "evaluate.every=-1",
                                              "evaluate.sequences=-1",
                                              "evaluate.texts=a.txt",
                                              "evaluate.texts={ a = 3 }",
                                              "evaluate.texts={ \"a b\" = \"c.txt\" }",
                                              "evaluate.max_context=0",
                                              "evaluate.rule=olmo_v3",
                                              "evaluate.score_precision=float16",
                                              "checkpoint.every=-1",
                                              "checkpoint.keep=1",
                                              "checkpoint.seconds=-1",
                                              "health.on_nonfinite=warn",
                                              "health.budget=0",
                                              "log.every=0",
                                              "kernels.fused=1",
                                              "kernels.attention=fast",
                                              "distributed.shard=states",
                                              "distributed.exchange=ring",
                                              "distributed.connect_timeout=0",
                                              "distributed.heartbeat_timeout=1",
                                              "distributed.collective_timeout=9",
                                              "distributed.backend=mpi"};

TEST_F(Range, ChecksTheRangeOfEveryKey) {
  for (const auto& set : kOutOfRange) {
    const auto message = set_error({set});
    EXPECT_EQ(message.rfind("--set " + set + ": " + set.substr(0, set.find('=')), 0), 0U)
        << message;
  }
}

TEST_F(Range, OfAnExchangeExcludesSumsOfTheBackend) {
  EXPECT_EQ(set_error({"distributed.exchange=fast"}),
            "distributed.exchange must be \"exact\", but is \"fast\": reduce_scatter of "
            "Gloo takes longer than the exact one; leave it out");
}

}  // namespace
}  // namespace evenkeel::config
