#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that stopped and went on equals one that never stopped, bit for bit.

Weights, moments, counters and logged losses are compared. Every day from a few steps; with
EVENKEEL_NIGHTLY=1 from every step, in both precisions, with one and with two threads.
"""
import json
import shutil

import program
from program import NIGHTLY, folder_of, lines_of, metrics, saved_steps, small, state_at

STEPS = 40
EVERY = range(STEPS)  # from the initial weights, too


class Resume(program.Case):
    forks = False

    def whole_run(self, **changed):
        """A run of 40 steps that never stops and keeps a checkpoint of each."""
        run = self.train("whole", train_steps=STEPS, checkpoint_every=1, checkpoint_keep=100,
                         log_every=1, **changed)
        self.assertEqual(saved_steps(run), list(range(STEPS + 1)))
        return run

    def resumed(self, whole, step, **changed):
        """The same run as if it had died after this step: later lines of metrics are there, later
        checkpoints are not."""
        run = self.folder / f"from-{step}"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run, ignore=shutil.ignore_patterns("step-*"))
        shutil.copytree(folder_of(whole, step), folder_of(run, step))
        error = self.succeed("train", "--run", run,
                             *program.settings({"checkpoint.every": 0} | changed))[1]
        self.assertIn(f"\nresumes from step {step} of {STEPS} (step-{step:08d})\n", error)
        return run

    def check_equal(self, run, whole):
        self.assertEqual(state_at(run, STEPS), state_at(whole, STEPS))
        self.assertEqual(metrics(run), metrics(whole))

    def check_resumed(self, steps, **changed):
        whole = self.whole_run(**changed)
        threads = (1, 2) if NIGHTLY else (1,)
        for step in steps:
            for count in threads:
                with self.subTest(step=step, threads=count):
                    self.check_equal(self.resumed(whole, step, **{"train.threads": count}), whole)

    def test_from_a_step_in_float32(self):
        self.check_resumed(EVERY if NIGHTLY else (0, 1, 7, 20, 39), evaluate_every=8)

    def test_from_a_step_in_bfloat16(self):
        self.check_resumed(EVERY if NIGHTLY else (7,), train_precision="bfloat16")

    def test_under_a_scheme_whose_factors_change_with_the_step(self):
        self.check_resumed((7,), scheme="prores")

    def test_under_schemes_that_keep_states(self):
        for scheme in ("batch_norm", "batch_renorm", "sigma_reparam"):
            with self.subTest(scheme=scheme):
                self.check_resumed((7,), scheme=scheme)
                shutil.rmtree(self.folder / "whole")

    def test_of_a_mixture_of_experts(self):
        self.check_resumed(EVERY if NIGHTLY else (7,),
                           model_experts="{count = 4, bias_rate = 0.01}")
        two = self.train("two", train_steps=STEPS, log_every=1, train_threads=2,
                         model_experts="{count = 4, bias_rate = 0.01}")
        self.check_equal(two, self.folder / "whole")

    def test_with_steps_in_several_parts(self):
        self.check_resumed((7,), train_batch=4, train_micro_batch=2)

    def test_two_threads_give_the_bits_of_one(self):
        whole = self.whole_run()
        run = self.train("two", train_steps=STEPS, log_every=1, train_threads=2)
        self.check_equal(run, whole)
        self.check_equal(self.resumed(whole, 7, **{"train.threads": 2}), whole)

    def test_saving_changes_nothing(self):
        whole = self.whole_run()
        self.check_equal(self.train("rare", train_steps=STEPS, checkpoint_every=0, log_every=1),
                         whole)


class SkippedSteps(program.Case):
    """A skipped step counts as a step and not as an update of AdamW, before and after a stop."""
    forks = False

    def test_are_counted_across_a_stop(self):
        easy = "ab" * 4000
        self.write("book.txt", easy + "\n" + "zQ7#xW!" * 12 + "\n" + easy)  # spikes at steps 93 and 102
        whole = self.train("whole", train_steps=130, checkpoint_every=100, checkpoint_keep=100, log_every=1,
                           schedule_peak="1e-2", health_on_spike="skip")
        events = lines_of(whole / "health.jsonl")
        self.assertEqual({event["event"] for event in events}, {"spike"}, events)
        for step in (100, 130):
            state = json.loads(state_at(whole, step)["state.json"])
            self.assertEqual(state["skipped"], sum(event["step"] <= step for event in events))
            self.assertGreater(state["skipped"], 0)
            self.assertEqual(state["updates"], step - state["skipped"])
        run = self.folder / "stopped"
        shutil.copytree(whole, run, ignore=shutil.ignore_patterns("step-00000130"))
        error = self.succeed("train", "--run", run)[1]
        self.assertIn("\nresumes from step 100 of 130 (step-00000100)\n", error)
        ours, theirs = state_at(run, 130), state_at(whole, 130)
        self.assertEqual([name for name in theirs if ours[name] != theirs[name]], [])  # their diff takes minutes
        for line, wanted in zip(metrics(run), metrics(whole), strict=True):
            self.assertEqual(line, wanted)
        self.assertEqual(lines_of(run / "health.jsonl"), events)


class GoingBack(program.Case):
    """A run that diverged keeps a checkpoint from before, and can go back to it."""

    def test_to_a_checkpoint_from_before_the_divergence(self):
        run = self.train("run", train_steps=20, checkpoint_every=10, log_every=1)
        self.assertEqual(saved_steps(run), [10, 20])
        more = ["train", "--run", run, "--set", "train.steps=400", "--override", "train.steps"]
        peak = ["--set", "schedule.peak=1e15", "--override", "schedule.peak"]
        for command in ([*more, *peak], ["train", "--run", run], ["train", "--run", run]):
            self.assertEqual(self.evenkeel(*command).returncode, 76)
        self.assertIn(20, saved_steps(run))
        self.succeed("train", "--run", run, "--checkpoint", 20, "--set", "schedule.peak=1e-3", "--override",
                     "schedule.peak", "--set", "train.steps=24", "--override", "train.steps")
        self.assertEqual(saved_steps(run), [20, 24])
        self.assertEqual(sorted({line["step"] for line in metrics(run)}), list(range(1, 25)))

    def test_deletes_later_checkpoints_at_once(self):
        run = self.train("run", train_steps=6, checkpoint_every=2, checkpoint_keep=5)
        self.train("run", train_steps=8)  # changes the settings after step 2
        self.succeed("train", "--run", run, "--checkpoint", 2, "--set", "train.steps=2", "--override", "train.steps")
        self.assertEqual(saved_steps(run), [0, 2])
        self.succeed("train", "--run", run, "--set", "train.steps=4")
        self.assertEqual(max(saved_steps(run)), 4)
        self.assertEqual([line["step"] for line in metrics(run)][-1], 4)

    def test_needs_a_checkpoint_of_that_step(self):
        run = self.train("run", train_steps=2)
        self.refuse(77, f"{run}: has no checkpoint of step 5, but of: 0, 2", "train", "--run", run, "--checkpoint", 5)
        self.refuse(77, "new: has no checkpoint of step 5, but of: (none)", "train", "--run", "new", "--checkpoint", 5)
        self.refuse(64, "--checkpoint goes back to a step of a run, but no run is named; add --run FOLDER",
                    "train", "--checkpoint", 5)
        self.refuse(64, "--checkpoint: each restart of --restarts would go back again; go back without "
                    "restarts first", "train", "--run", run,
                    "--checkpoint", 2, "--ranks", 2, "--restarts", 1)
        self.assertFalse((self.folder / "new").exists())


class Shorter(program.Case):
    """Fewer tokens than the run has are refused, as fewer steps are (extend_test.py)."""

    def test_fewer_tokens_are_refused(self):
        for length in ({"train_tokens": 640}, {"train_steps": 10}):  # steps of 64 tokens
            run = self.train("-".join(length), **length)
            config = (run / "run.toml").read_bytes()
            for more in ([], ["--override", "train.tokens", "--override", "train.steps"]):
                self.refuse(78, f"{run}: the run has 640 tokens, more than the 576 of train.tokens; name 640 or more: "
                            "--set train.tokens=640 --override train.tokens ends the run at its step 10",
                            "train", "--run", run, "--set", "train.tokens=576", *more)
            self.assertEqual((run / "run.toml").read_bytes(), config)

    def test_as_many_steps_are_no_shorter_run(self):
        """577 to 640 tokens take ten steps."""
        run = self.train("run", train_tokens=640)
        for tokens in (577, 640):
            error = self.succeed("train", "--run", run, "--set", f"train.tokens={tokens}", "--override",
                                 "train.tokens")[1]
            self.assertIn("finished already at step 10; ", error)


class Difference(program.Case):
    """The comparison above can say no."""

    def test_another_seed_gives_other_bits(self):
        one = self.train("one", train_steps=2, seed=1)
        two = self.train("two", train_steps=2, seed=2)
        for name in ("model.safetensors", "optimizer.safetensors"):
            self.assertNotEqual(state_at(one, 2)[name], state_at(two, 2)[name], name)
        self.assertNotEqual(metrics(one), metrics(two))


if __name__ == "__main__":
    program.main()
