#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kill -9` at any moment costs no checkpoint that was announced, and not a bit of the result.

A checkpoint counts as announced once its folder has its final name (docs/checkpoints.md, step 7).
6 kills every day, 50 with EVENKEEL_NIGHTLY=1.
"""
import random
import time

import program
from program import metrics, saved_steps, small, state_at

KILLS = 50 if program.NIGHTLY else 6
STEPS = 15 * KILLS
LONGEST_WAIT = 0.03  # seconds after a checkpoint: about two saves on a quiet machine


class Kill(program.Case):
    def arguments(self, run):
        return ["train", "--run", run, *small(train_steps=STEPS, checkpoint_every=1, log_every=1)]

    def kill_once(self, run, step, wait):
        """Kills the run some seconds after it has saved this step; returns what it had announced."""
        process = self.start(*self.arguments(run))
        self.until(lambda: max(saved_steps(self.folder / run), default=-1) >= step, process)
        time.sleep(wait)
        announced = max(saved_steps(self.folder / run))
        process.kill()
        process.wait()
        return announced

    def test_announced_checkpoints_survive_and_the_end_is_the_same(self):
        self.succeed(*self.arguments("whole"))
        seed = random.randrange(10**6)
        chance = random.Random(seed)
        last = 0
        for number in range(KILLS):
            step = min(STEPS - 1, max(last + 1, number * STEPS // KILLS + chance.randrange(10)))
            wait = chance.uniform(0, LONGEST_WAIT)
            with self.subTest(seed=seed, kill=number, step=step, wait=wait):
                announced = self.kill_once("killed", step, wait)
                last = max(saved_steps(self.folder / "killed"))
                self.assertGreaterEqual(last, announced)
                if last >= STEPS - 1:
                    break  # this machine saves so fast that nothing is left to kill
        error = self.succeed(*self.arguments("killed"))[1]
        self.assertNotIn("skipped", error)
        whole, killed = self.folder / "whole", self.folder / "killed"
        self.assertEqual(state_at(killed, STEPS), state_at(whole, STEPS))
        self.assertEqual(metrics(killed), metrics(whole))
        left = [path.name for path in (killed / "checkpoints").iterdir()]
        self.assertEqual([name for name in left if name.startswith(".")], [])

    def test_a_run_killed_before_its_first_checkpoint_starts_anew(self):
        process = self.start(*self.arguments("early"))
        self.until((self.folder / "early" / "run.toml").exists, process)
        process.kill()
        process.wait()
        self.succeed(*self.arguments("early"))
        self.assertEqual(max(saved_steps(self.folder / "early")), STEPS)


if __name__ == "__main__":
    program.main()
