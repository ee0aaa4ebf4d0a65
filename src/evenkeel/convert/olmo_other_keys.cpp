// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/convert/olmo_other_keys.h"

#include <algorithm>
#include <array>

namespace evenkeel::convert {

namespace {

constexpr const char* kRunName = "--run names the run folder";
constexpr const char* kFiles = "the run folder has the files of a run";
constexpr const char* kDevices = "how OLMo divides its work among devices";
constexpr const char* kLoader = "how OLMo loads its data";
constexpr const char* kProfiling = "how OLMo measures and logs its speed";
constexpr const char* kKernel = "how OLMo computes the same numbers";
constexpr const char* kCheckpoints = "checkpoint.keep says how many checkpoints remain";
constexpr const char* kCheckpointReason = "of OLMo's checkpoints; train.from starts from a run";

struct OtherKey {
  std::string_view key;
  const char* note;
};

constexpr std::array kOtherKeys = {
    OtherKey{"run_name", kRunName},
    OtherKey{"save_folder", kRunName},
    OtherKey{"remote_save_folder", kFiles},
    OtherKey{"save_overwrite", kFiles},
    OtherKey{"save_data_indices", kFiles},
    OtherKey{"dry_run", "`evenkeel plan` shows what a run costs"},
    OtherKey{"wandb", "log.tensorboard and log.csv record the metrics"},
    OtherKey{"model.flash_attention", "kernels.attention chooses the implementation"},
    OtherKey{"model.init_device", kDevices},
    OtherKey{"model.precision", "OLMo sets it itself, from precision"},
    OtherKey{"model.block_group_size", kDevices},
    OtherKey{"model.rope_full_precision", "rotary embeddings are computed in float32 or wider"},
    OtherKey{"model.pad_token_id", "no window has padding"},
    OtherKey{"model.alibi_bias_max", "only with model.alibi"},
    OtherKey{"model.moe_mlp_impl", kKernel},
    OtherKey{"model.moe_lbl_in_fp32", "the router computes in float32 or wider"},
    OtherKey{"model.moe_log_expert_assignment", kProfiling},
    OtherKey{"model.moe_capacity_factor", "only without model.moe_dropless"},
    OtherKey{"auxiliary_loss_multiplier", "only with softmax_auxiliary_loss"},
    OtherKey{"fused_loss", kKernel},
    OtherKey{"compile", kKernel},
    OtherKey{"fsdp", kDevices},
    OtherKey{"ddp", kDevices},
    OtherKey{"single", kDevices},
    OtherKey{"distributed_strategy", kDevices},
    OtherKey{"device_train_batch_size", kDevices},
    OtherKey{"device_train_grad_accum", kDevices},
    OtherKey{"device_eval_batch_size", kDevices},
    OtherKey{"sharded_checkpointer", kFiles},
    OtherKey{"new_style_checkpoints", kFiles},
    OtherKey{"save_interval_ephemeral", kCheckpoints},
    OtherKey{"save_interval_unsharded", kCheckpoints},
    OtherKey{"save_num_unsharded_checkpoints_to_keep", kCheckpoints},
    OtherKey{"force_save_unsharded", kCheckpoints},
    OtherKey{"no_pre_train_checkpoint", kCheckpoints},
    OtherKey{"load_path_sharded_checkpointer", kCheckpointReason},
    OtherKey{"reset_optimizer_state", kCheckpointReason},
    OtherKey{"reset_trainer_state", kCheckpointReason},
    OtherKey{"restore_dataloader", kCheckpointReason},
    OtherKey{"fast_forward_batches", kCheckpointReason},
    OtherKey{"speed_monitor", kProfiling},
    OtherKey{"gen1_gc_interval", kProfiling},
    OtherKey{"torch_profiling", kProfiling},
    OtherKey{"python_profiling", kProfiling},
    OtherKey{"optimizer.metrics_log_interval", kProfiling},
    OtherKey{"optimizer.record_update_metrics", kProfiling},
    OtherKey{"time_limit", "a signal stops a run, which saves a checkpoint"},
    OtherKey{"extra_steps_after_cancel", "a signal stops a run, which saves a checkpoint"},
    OtherKey{"canceled_check_interval", "a signal stops a run, which saves a checkpoint"},
    OtherKey{"eval_on_load", "`evenkeel eval` evaluates a checkpoint"},
    OtherKey{"tokenizer.truncate_direction", "no text is truncated"},
    OtherKey{"data.pad_direction", "no window has padding"},
    OtherKey{"data.num_workers", kLoader},
    OtherKey{"data.drop_last", kLoader},
    OtherKey{"data.pin_memory", kLoader},
    OtherKey{"data.prefetch_factor", kLoader},
    OtherKey{"data.persistent_workers", kLoader},
    OtherKey{"data.timeout", kLoader},
};

}  // namespace

const char* note_of_other_key(std::string_view key) {
  const auto found = std::find_if(kOtherKeys.begin(), kOtherKeys.end(), [&](const auto& each) {
    const bool is_in_table =
        key.size() > each.key.size() && key.starts_with(each.key) && key[each.key.size()] == '.';
    return key == each.key || is_in_table;
  });
  return found == kOtherKeys.end() ? nullptr : found->note;
}

}  // namespace evenkeel::convert
