# SPDX-License-Identifier: Apache-2.0
"""Every bit of a checkpoint flips; files are cut, extended, zeroed, swapped.

flips.cpp damages a checkpoint in memory and lets the program's own reader judge it: each damage is detected.
"""
import json
import shutil
import subprocess

import harness
import program

SETTINGS = {"train_steps": 4, "checkpoint_every": 2, "log_every": 1}
LARGE = {"model_width": 128, "model_layers": 4, "model_heads": 4, "model_inner": 352}  # about 1M parameters
LARGE_FLIPS = 1_000_000


def flipped(context, run, shard, of, most):
    """A trial: one of `of` parts of all damages. \\param most  damages; 0: every bit"""
    def trial(folder, _):
        tool = context.build / "campaign_flips"
        if not tool.exists():
            raise RuntimeError(f"{tool} is missing; `./ek test` builds it")
        work = folder / "run/checkpoints"
        shutil.copytree(program.folder_of(run, 4), work / "step-00000004")
        shutil.copytree(program.folder_of(run, 2), folder / "other")
        done = subprocess.run([tool, folder, str(context.seed), str(shard), str(of), str(most)], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            return harness.Cases(1, [f"campaign_flips ended with {done.returncode}: {done.stderr[-300:]}"])
        found = json.loads(done.stdout)
        return harness.Cases(found["tried"], found["complaints"])
    return trial


def trials(context):
    run, most = context.whole(**SETTINGS), context.count(90_000, 0, 0)
    shards = max(context.jobs, 1)
    listed = [(f"part {shard + 1} of {shards}", flipped(context, run, shard, shards, most)) for shard in range(shards)]
    if context.level == "release":
        large = context.whole(**SETTINGS, **LARGE)
        listed += [(f"1M parameters, part {shard + 1}", flipped(context, large, shard, shards, LARGE_FLIPS))
                   for shard in range(shards)]
    return listed
