#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starting a run, going on with a finished one, making it longer, starting from another's weights."""
import json
import shutil

import program
from program import folder_of, metrics, saved_steps, settings, small, state_at

PEAK, FLOOR = 3e-3, 0.1
SHORT = {"train_steps": 20, "schedule_peak": PEAK, "schedule_floor": FLOOR, "schedule_warmup": 5,
         "log_every": 1}


class Start(program.Case):
    def test_a_folder_that_does_not_exist_is_made(self):
        run = self.train("deep/er/run", train_steps=1)
        self.assertEqual(saved_steps(run), [0, 1])

    def test_without_a_folder_it_is_named_after_scheme_preset_and_number(self):
        for number in (1, 2):
            self.succeed("train", "--quiet", *small(train_steps=1), "--scheme", "pre_norm")
            self.assertTrue((self.folder / f"runs/pre_norm-tiny-{number}/report.html").exists())

    def test_the_end_shows_a_sample_and_the_report(self):
        out, error = self.succeed("train", "--run", "run", *small(train_steps=2, log_every=1))
        rule = "-" * 72
        sample = (self.folder / "run/sample.txt").read_bytes().decode(errors="replace")
        self.assertEqual(out, f"{rule}\n{sample}\n{rule}\nreport: run/report.html\n")
        self.assertRegex(error, r"^evenkeel \d.* on .*, 1 thread, float32.*\n"
                         r"text   book\.txt \(1 text\), 1 document, 2\.6 KiB\n"
                         r"valid  the last 1\d(?:\.\d)? % of book\.txt \(1 text\), 1 document, .*\n"
                         r"model  hybrid_norm_star, 7\.1k parameters \(72 in norms\), 1 layer of "
                         r"width 16\nrun    run\n"
                         r"note: schedule\.warmup takes 60 steps, and the run has 2: the learning rate "
                         r"never gets to schedule\.peak\n"
                         r"step 0: saved\nstep 1/2 \(50 %, \d:\d\d left\)  loss 5\.\d+  \|g\| .*\nstep 2/2 \(100 %, .*\nstep 2: saved\n"
                         r"step 2: validation loss \d\.\d{4} nats per token, \d\.\d{4} bits per byte\n$")

    def test_quiet_says_nothing_but_the_result(self):
        self.assertEqual(self.succeed("train", "--quiet", "--run", "run", *small(train_steps=1))[1], "")

    def test_json_has_the_state_of_the_run(self):
        out = self.succeed("train", "--quiet", "--json", "--run", "run", *small(train_steps=1))[0]
        lines = metrics(self.folder / "run")
        self.assertEqual(json.loads(out), {
            "run": "run", "scheme": "hybrid_norm_star", "preset": "tiny", "state": "finished", "step": 1,
            "steps": 1, "loss": lines[0]["loss"], "val_loss": lines[1]["val_loss"], "val_gap": None,
            "report": "run/report.html"})

    def test_the_log_keeps_what_the_terminal_showed(self):
        error = self.succeed("train", "--run", "run", *small(train_steps=2, log_every=1))[1]
        self.assertTrue(error.endswith((self.folder / "run/log.txt").read_text()))
        self.assertIn("\nstep 2/2 (100 %, ", error)
        self.succeed("train", "--quiet", "--run", "quiet", *small(train_steps=2, log_every=1))
        self.assertIn("step 2: saved\n", (self.folder / "quiet/log.txt").read_text())

    def test_a_file_is_no_run_folder_and_stays(self):
        thesis = self.write("thesis.txt", "years of work")
        self.refuse(64, '--run must name a folder, but "thesis.txt" is a file', "train", "--run",
                    "thesis.txt")
        self.assertEqual(thesis.read_text(), "years of work")

    def test_a_folder_that_was_there_stays_even_if_no_run_begins(self):
        (self.folder / "mine").mkdir()
        self.refuse(65, f"none.txt: {program.MISSING}", "train", "--quiet",
                    "--run", "mine", *small(data_train="none.txt"))
        self.assertEqual([path.name for path in (self.folder / "mine").iterdir()], [])

    def test_warnings_of_a_scheme_are_printed(self):
        self.write("mine.toml", 'extends = "no_norm"\nfinal = "norm"\nnorm_parameters = "N*2*dk + d"\n'
                   'attention = { q = "norm per head", k = "norm per head" }\n')
        error = self.succeed("train", "--quiet", "--run", "run", "--scheme", "mine.toml",
                             *small(train_steps=1, model_layers=2))[1]
        self.assertRegex(error, "^warning bare_value_path: .*\n$")
        result = json.loads((self.folder / "run/provenance.json").read_text())["warnings"]
        self.assertEqual(result, ["bare_value_path"])

    def test_a_run_folder_repeats_its_run(self):
        run = self.train("run", train_steps=5)
        self.succeed("train", "--quiet", "--config", "run/run.toml", "--run", "again")
        self.assertEqual(state_at(self.folder / "again", 5), state_at(run, 5))
        self.assertEqual(metrics(self.folder / "again"), metrics(run))

    def test_a_warmup_in_tokens_counts_all_tokens_of_a_step(self):
        """2 sequences of 32 tokens are 64 tokens a step: 256 tokens are 4 steps."""
        run = self.train("run", train_steps=6, log_every=1, schedule_kind="constant", schedule_peak=1 / 256,
                         schedule_start=0, schedule_warmup='"256t"')
        rates = [line["lr"] * 256 for line in metrics(run) if "lr" in line]
        self.assertEqual(rates, [0.25, 0.5, 0.75, 1, 1, 1])

    def test_from_takes_over_the_weights_of_another_run(self):
        run = self.train("run", train_steps=5)
        new = self.train("new", train_steps=5, train_from="run", seed=7)
        name = "model.safetensors"
        self.assertEqual((folder_of(new, 0) / name).read_bytes(), (folder_of(run, 5) / name).read_bytes())
        self.assertEqual(metrics(new)[-1]["step"], 5)

    def test_a_mean_of_checkpoints_has_no_random_weights(self):
        """Those of step 0 are random, unless train.from takes them over."""
        self.train("run", train_steps=5)
        mean = ["--output", "out", "--average", 2, "--json"]
        self.refuse(77, "run: --average 2 wants 2 checkpoints up to step 5, but the run has those of: 5; step 0 has "
                    "random weights, which are not averaged; checkpoint.keep sets how many a run keeps",
                    "export", "--run", "run", *mean)
        self.train("new", train_steps=5, train_from="run")
        result = json.loads(self.succeed("export", "--run", "new", *mean)[0])
        self.assertEqual(result["averaged"], [0, 5])

    def test_from_takes_over_the_weights_of_an_earlier_checkpoint(self):
        run = self.train("run", train_steps=5, checkpoint_every=2, checkpoint_keep=9)
        name = "model.safetensors"
        for place in (folder_of(run, 2), f"{folder_of(run, 2)}/"):
            new = self.train(f"new{len(str(place))}", train_steps=1, train_from=str(place))
            self.assertEqual((folder_of(new, 0) / name).read_bytes(),
                             (folder_of(run, 2) / name).read_bytes())

    def test_from_wants_a_run_of_the_same_scheme(self):
        self.train("run", train_steps=1)
        self.refuse(77, "run/checkpoints/step-00000001/model.safetensors: holds "
                    "blocks.0.attention.input_norm.gain [16], which the model does not have; it is of "
                    "another scheme or model", "train", "--quiet", "--run", "new",
                    *small(train_from="run"), "--scheme", "hybrid_norm")

    def test_from_wants_a_run_with_a_checkpoint(self):
        self.refuse(77, "train.from: none has no usable checkpoint to start from",
                    "train", "--quiet", "--run", "new", *small(train_from="none"))


class Extend(program.Case):
    def prepare(self):
        self.train("run", **SHORT)

    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"

    def rates(self):
        return {line["step"]: line["lr"] for line in metrics(self.run_folder) if "lr" in line}

    def test_a_finished_run_says_so_and_how_to_extend_it(self):
        state, lines = state_at(self.run_folder, 20), metrics(self.run_folder)
        error = self.succeed("train", "--run", "run")[1]
        self.assertIn("\nfinished already at step 20; extend it with --set train.steps=40\n", error)
        self.assertEqual(state_at(self.run_folder, 20), state)
        self.assertEqual(metrics(self.run_folder), lines)

    def test_a_finished_run_refuses_a_change_that_trains_nothing(self):
        """Its run.toml and provenance.json say what the weights were trained with."""
        def files():
            return {path.name: path.read_bytes() for path in self.run_folder.iterdir()
                    if path.is_file() and path.name != "lock"}
        before = files()
        for key, old, new in (("schedule.peak", "0.003", "0.001"), ("seed", "1", "7"),
                              ("optimizer.clip", "1.0", "2.0"), ("model.inner", "24", "64")):
            advice = "start another run" if key == "model.inner" else "extend the run with --set train.steps=40"
            self.refuse(78, f"run: the run ended at step 20 with {key} = {old}, so that {new} has no effect: nothing "
                        f"is left to train; leave it out, or {advice}",
                        "train", "--run", "run", "--set", f"{key}={new}", "--override", key)
            self.assertEqual(files(), before)
        self.succeed("train", "--quiet", "--run", "run", "--override", "schedule.peak",
                     *settings({"schedule.peak": 0.001, "train.steps": 30}))
        self.assertAlmostEqual(self.rates()[30], 0.001 * FLOOR, delta=1e-12)
        self.assertIn("Settings changed at step 20 (schedule.peak 0.003 → 0.001): this command does not repeat the "
                      "run.", (self.run_folder / "report.html").read_text())

    def test_a_change_of_the_tensors_says_what_to_do(self):
        config = (self.run_folder / "run.toml").read_bytes()
        done = self.evenkeel("train", "--quiet", "--run", "run", "--override", "model",
                             *settings({"model.layers": 2, "train.steps": 40}))
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stderr.decode(), r"^evenkeel: run/checkpoints/step-00000020/model\.safetensors: wants a "
                         r"tensor blocks\.1\.\S+ F32 \[.*\], but has none; it is of another model; --override cannot "
                         r"change the tensors of a run: go back to model\.layers = 1, or start a new run with --run\n$")
        self.assertEqual((self.run_folder / "run.toml").read_bytes(), config)
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=21")

    def test_a_finished_run_evaluates_with_other_settings(self):
        error = self.succeed("train", "--run", "run", "--set", "log.every=5")[1]
        self.assertIn("\nfinished already at step 20; ", error)
        self.assertIn("\n[log]\nevery = 5\n", (self.run_folder / "run.toml").read_text())
        self.succeed("train", "--run", "run", "--set", "log.every=1")
        self.assertIn("\n[log]\nevery = 1\n", (self.run_folder / "run.toml").read_text())

    def test_more_steps_go_on_at_the_end_of_the_planned_schedule(self):
        before = self.rates()
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=30")
        after = self.rates()
        self.assertEqual({step: after[step] for step in before}, before)
        self.assertEqual(max(after), 30)
        for step in range(20, 31):
            self.assertAlmostEqual(after[step], PEAK * FLOOR, delta=1e-12)
        self.assertIn("\nsteps = 20\n", (self.run_folder / "run.toml").read_text())
        self.assertIn("run.toml, complete: repeats the run", (self.run_folder / "report.html").read_text())
        self.succeed("train", "--quiet", "--config", "run/run.toml", "--run", "again")
        self.assertEqual(state_at(self.folder / "again", 30), state_at(self.run_folder, 30))

    def test_a_longer_run_that_was_planned_at_once_has_another_schedule(self):
        longer = self.train("longer", **SHORT | {"train_steps": 30})
        rates = {line["step"]: line["lr"] for line in metrics(longer) if "lr" in line}
        self.assertGreater(rates[20], 2 * PEAK * FLOOR)

    def test_override_schedule_lays_it_out_anew(self):
        self.succeed("train", "--quiet", "--run", "run", "--override", "schedule",
                     "--set", "train.steps=30")
        self.assertIn('\nsteps = "auto"\n', (self.run_folder / "run.toml").read_text())
        self.assertGreater(self.rates()[21], 1.2 * PEAK * FLOOR)
        page = (self.run_folder / "report.html").read_text()
        self.assertIn("Settings changed at step 20 (train.steps 20 → 30)", page)

    def test_override_schedule_fits_one_that_was_kept(self):
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=30")
        error = self.succeed("train", "--run", "run", "--override", "schedule", "--set", "train.steps=40")[1]
        self.assertNotIn("the schedule stays", error)
        self.assertIn('\nsteps = "auto"\n', (self.run_folder / "run.toml").read_text())
        self.assertGreater(self.rates()[31], 1.2 * PEAK * FLOOR)

    def test_override_schedule_leaves_out_damaged_changes(self):
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=30")
        file = self.run_folder / "provenance.json"
        provenance = json.loads(file.read_text())
        for damaged in ([3, "x", {"what": 5}, {"what": "schedule.steps", "before": 1}], {"a": 1}, "x"):
            with self.subTest(damaged=damaged):
                file.write_text(json.dumps(provenance | {"changes": damaged}))
                self.succeed("train", "--quiet", "--run", "run", "--override", "schedule")
        file.write_text(json.dumps(provenance | {"changes": [*provenance["changes"], 3]}))
        self.succeed("train", "--quiet", "--run", "run", "--override", "schedule", "--set", "train.steps=40")
        self.assertIn('\nsteps = "auto"\n', (self.run_folder / "run.toml").read_text())

    def test_the_preset_of_the_run_changes_nothing(self):
        self.succeed("train", "--quiet", "--preset", "nano", "--run", "nano",
                     *small(train_steps=2, checkpoint_every=1, checkpoint_keep=9, log_every=1))
        before = (self.folder / "nano/run.toml").read_text()
        error = self.succeed("train", "--preset", "nano", "--run", "nano")[1]
        self.assertIn("\nfinished already at step 2; ", error)
        self.assertEqual((self.folder / "nano/run.toml").read_text(), before)
        self.assertEqual(saved_steps(self.folder / "nano"), [0, 1, 2])
        self.succeed("train", "--quiet", "--preset", "nano", "--run", "nano", "--set", "train.steps=4")
        self.assertEqual(saved_steps(self.folder / "nano"), [0, 1, 2, 3, 4])

    def test_another_preset_is_refused(self):
        message = ("--preset nano: run was started with the preset tiny; leave --preset out, or start another run")
        self.refuse(64, message, "train", "--run", "run", "--preset", "nano")
        self.assertEqual(saved_steps(self.run_folder), [0, 20])

    def test_a_preset_leaves_what_the_run_has_chosen(self):
        """The kept schedule stays, and the command can be repeated."""
        values = settings(program.SMALL | {"train.steps": 2})
        longer = settings(program.SMALL | {"train.steps": 4})
        self.succeed("train", "--quiet", "--preset", "tiny", "--run", "preset", *values)
        for _ in range(2):
            self.succeed("train", "--quiet", "--preset", "tiny", "--run", "preset", *longer)
        self.assertIn("\nsteps = 2\n", (self.folder / "preset/run.toml").read_text())

    def test_a_length_in_tokens_extends_one_in_steps(self):
        self.succeed("train", "--quiet", "--run", "run", *settings({"train.tokens": 25 * 2 * 32}))
        self.assertEqual(max(saved_steps(self.run_folder)), 25)

    def test_a_length_in_tokens_counts_batches_of_their_size(self):
        """20 steps of 2 sequences of 32 tokens, and the other half of the tokens in steps of 4 sequences."""
        schedule = {key: value for key, value in SHORT.items() if key != "train_steps"}
        self.train("run-2", **schedule | {"train_tokens": 20 * 64})
        more = ["train", "--run", "run-2", *settings({"train.tokens": 40 * 64, "train.batch": 4}),
                "--override", "train.batch"]
        self.assertIn("\nresumes from step 20 of 30 ", self.succeed(*more)[1])
        run = self.folder / "run-2"
        self.assertEqual(json.loads((folder_of(run, 30) / "state.json").read_text())["tokens"], 40 * 64)
        self.assertIn("\nfinished already at step 30;", self.succeed(*more)[1])
        error = self.succeed("train", "--run", "run-2", *settings({"train.tokens": 50 * 64}),
                             "--override", "schedule")[1]
        self.assertIn("\nresumes from step 30 of 35 ", error)
        self.assertNotIn("the schedule stays", error)
        self.assertIn("\nsteps = 35\n", (run / "run.toml").read_text())

    def test_fewer_steps_are_refused(self):
        self.refuse(78, "run: the run was started with train.steps = 20, not 10; leave "
                    "it out, start another run, or allow it with --override train.steps",
                    "train", "--run", "run", "--set", "train.steps=10")

    def test_a_run_that_was_made_shorter_can_be_extended(self):
        """The shortening saves no checkpoint: the length in the manifest stays that of the longer run."""
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=100", "--set", "checkpoint.every=30")
        shutil.rmtree(folder_of(self.run_folder, 100))  # as if it had been stopped at step 90
        error = self.succeed("train", "--run", "run", "--set", "train.steps=90", "--override", "train.steps")[1]
        self.assertIn("\nfinished already at step 90; extend it with --set train.steps=180\n", error)
        self.refuse(78, "run: the run was started with train.steps = 100, not 80; leave it out, start another run, or "
                    "allow it with --override train.steps", "train", "--run", "run", "--set", "train.steps=80")
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=95")
        self.assertEqual(max(saved_steps(self.run_folder)), 95)

    def test_a_stopped_run_has_not_ended(self):
        """Fewer steps than the run has are refused, whatever else changes and is permitted."""
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=100", "--set", "checkpoint.every=30")
        shutil.rmtree(folder_of(self.run_folder, 100))  # as if it had been stopped at step 90
        config = (self.run_folder / "run.toml").read_bytes()
        shorter = ["train", "--run", "run", "--set", "train.steps=50"]
        too_short = ("run: the run has 90 steps, more than the 50 of train.steps; name 90 or more: --set "
                     "train.steps=90 --override train.steps ends the run at its step 90")
        seed = ["--set", "seed=5", "--override", "seed"]
        for more in (seed, ["--set", "data.train=none.txt", "--override", "data"]):
            self.refuse(78, "run: the run was started with train.steps = 100, not 50; leave it out, start another "
                        "run, or allow it with --override train.steps", *shorter, *more)
            self.refuse(78, too_short, *shorter, *more, "--override", "train.steps")
        self.refuse(78, too_short, *shorter, "--override", "train.steps")
        ending = ["train", "--run", "run", "--set", "train.steps=90", "--override", "train.steps"]
        self.refuse(78, "run: the run ends at step 90 with seed = 1, so that 5 has no effect: nothing is left to "
                    "train; leave it out, or train more than 90 steps", *ending, *seed)
        self.assertEqual((self.run_folder / "run.toml").read_bytes(), config)
        self.assertIn("\nfinished already at step 90; ", self.succeed(*ending)[1])

    def test_a_recorded_length_below_the_steps_is_refused(self):
        """Such a length needs no second --override."""
        config, provenance = self.run_folder / "run.toml", self.run_folder / "provenance.json"
        config.write_text(config.read_text().replace("\nsteps = 20\n", "\nsteps = 5\n", 1))
        change = {"step": 20, "what": "train.steps", "before": "20", "after": "5"}
        provenance.write_text(json.dumps(json.loads(provenance.read_text()) | {"changes": [change]}))
        self.refuse(78, "run: the run has 20 steps, more than the 5 of train.steps; name 20 or more: --set "
                    "train.steps=20 --override train.steps ends the run at its step 20", "train", "--run", "run")
        self.succeed("train", "--quiet", "--run", "run", "--set", "train.steps=20", "--override", "train.steps")

    def test_an_edited_run_toml_makes_no_shorter_run(self):
        file = self.run_folder / "run.toml"
        file.write_text(file.read_text().replace("\nsteps = 20\n", "\nsteps = 5\n", 1))
        self.refuse(78, "run: the run was started with train.steps = 20, not 5; leave it out, start another run, or "
                    "allow it with --override train.steps", "train", "--run", "run")

    def test_a_length_in_tokens_is_named(self):
        self.train("tokens", train_tokens=640, checkpoint_every=4)
        self.refuse(78, "tokens: the run was started with train.tokens = 640, not train.steps = 4; leave it out, start "
                    "another run, or allow it with --override train.tokens",
                    "train", "--run", "tokens", "--set", "train.steps=4")
        self.refuse(78, "tokens: the run has 10 steps, more than the 4 of train.steps; name 10 or more: --set "
                    "train.steps=10 --override train.steps ends the run at its step 10", "train", "--run", "tokens",
                    "--set", "train.steps=4", "--override", "train.tokens")
        shutil.rmtree(folder_of(self.folder / "tokens", 10))  # as if it had been stopped at step 8
        self.succeed("train", "--quiet", "--run", "tokens", "--set", "train.steps=9", "--override", "train.tokens")
        self.assertEqual(max(saved_steps(self.folder / "tokens")), 9)

    def test_an_override_on_a_new_run_is_noted(self):
        error = self.succeed("train", "--run", "new", "--override", "numerics", *small(train_steps=1))[1]
        self.assertIn("note: --override numerics has no effect on a new run; it permits changes on resume\n", error)
        self.assertNotIn("note: --override", self.succeed("train", "--run", "new", "--override", "numerics")[1])


if __name__ == "__main__":
    program.main()
