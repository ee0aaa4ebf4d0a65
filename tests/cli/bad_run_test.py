#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run folders that are damaged, foreign, changed, in use, or on a full disk.

As in bad_input_test.py, messages stand here word for word.
"""
import json
import resource
import shutil
import signal
import subprocess

import program
from program import folder_of, lines_of, metrics, saved_steps, settings, small, state_at


class Damage(program.Case):
    """docs/checkpoints.md: from the highest step whose manifest, sizes and digests all hold."""

    def prepare(self):
        self.train("whole", train_steps=6, checkpoint_every=2, checkpoint_keep=10)

    def setUp(self):
        super().setUp()
        self.whole = self.folder / "whole"
        self.arguments = ["train", "--run", "run"]

    def copy(self):
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        return shutil.copytree(self.whole, run)

    def flip(self, file, at):
        content = bytearray(file.read_bytes())
        content[at] ^= 1
        file.write_bytes(content)

    def check_falls_back(self, run, defect):
        error = self.succeed(*self.arguments)[1]
        self.assertIn(f"\ncheckpoints/step-00000006: {defect}; skipped\n"
                      "resumes from step 4 of 6 (step-00000004)\n", error)
        self.assertEqual(state_at(run, 6), state_at(self.whole, 6))
        self.assertEqual(metrics(run), metrics(self.whole))

    def test_a_flipped_bit(self):
        for name in program.STATE_FILES:
            with self.subTest(name=name):
                run = self.copy()
                self.flip(folder_of(run, 6) / name, -5)
                self.check_falls_back(run, f"{name} does not match its digest")

    def test_a_flipped_bit_of_the_manifest(self):
        run = self.copy()
        self.flip(folder_of(run, 6) / "MANIFEST.json", 20)
        self.check_falls_back(run, "MANIFEST.json is damaged")

    def test_a_truncated_file(self):
        run = self.copy()
        file = folder_of(run, 6) / "model.safetensors"
        size = file.stat().st_size
        file.write_bytes(file.read_bytes()[:-1])
        self.check_falls_back(run, f"model.safetensors must have {size} bytes, but has {size - 1}")

    def test_a_missing_file(self):
        run = self.copy()
        (folder_of(run, 6) / "optimizer.safetensors").unlink()
        self.check_falls_back(run, "optimizer.safetensors is missing")

    def test_a_checkpoint_of_another_step(self):
        run = self.copy()
        shutil.rmtree(folder_of(run, 6))
        shutil.copytree(folder_of(run, 2), folder_of(run, 6))
        self.check_falls_back(run, "MANIFEST.json is of step 2")

    def check_none_usable(self, run):
        records = (run / "metrics.jsonl").read_text()
        done = self.evenkeel(*self.arguments, "--quiet")
        self.assertEqual(done.returncode, 77)
        self.assertEqual(done.stderr.decode().splitlines()[-1],
                         "evenkeel: run: none of its checkpoints is usable; start another run, or "
                         "restore the folder from a copy")
        self.assertEqual((run / "metrics.jsonl").read_text(), records)

    def test_damage_everywhere_is_not_a_new_start(self):
        run = self.copy()
        for step in saved_steps(run):
            self.flip(folder_of(run, step) / "model.safetensors", -1)
        self.check_none_usable(run)

    def test_manifests_that_are_all_missing_are_not_a_new_start(self):
        run = self.copy()
        for step in saved_steps(run):
            (folder_of(run, step) / "MANIFEST.json").unlink()
        self.check_none_usable(run)

    def test_checkpoints_that_are_gone_are_not_a_new_start(self):
        run = self.copy()
        shutil.rmtree(run / "checkpoints")
        self.check_none_usable(run)

    def test_a_checkpoint_of_another_scheme(self):
        plain = self.train("plain", train_steps=6, scheme="pre_norm")
        run = self.copy()
        shutil.rmtree(plain / "checkpoints")
        shutil.copytree(run / "checkpoints", plain / "checkpoints")
        self.refuse(78, 'plain: the run was started with scheme = "hybrid_norm_star", not "pre_norm"'
                    "; leave it out, start another run, or allow it with --override "
                    "scheme", "train", "--quiet", "--run", "plain")
        self.refuse(77, "plain/checkpoints/step-00000006/model.safetensors: holds "
                    "blocks.0.attention.k_norm.gain [8], which the model does not have; it is of "
                    "another scheme or model; --override cannot change the tensors of a run: go back to scheme = "
                    '"hybrid_norm_star", or start a new run with --run', "train", "--quiet", "--run", "plain",
                    "--override", "scheme", "--set", "train.steps=8")

    def test_reading_verbs_say_why_none_is_usable(self):
        run = self.copy()
        for step in saved_steps(run):
            (folder_of(run, step) / "state.json").unlink()
        done = self.evenkeel("eval", "--run", "run")
        self.assertEqual(done.returncode, 77)
        self.assertIn("step-00000006: state.json is missing", done.stderr.decode())

    def test_a_checkpoint_of_another_model(self):
        other = self.train("other", train_steps=6, model_inner=32)
        run = self.copy()
        shutil.rmtree(folder_of(run, 6))
        shutil.copytree(folder_of(other, 6), folder_of(run, 6))
        file = "run/checkpoints/step-00000006/model.safetensors"
        self.refuse(77, f"{file}: blocks.0.feed_forward.up_gate.weight must be F32 [48, 16], but is "
                    "F32 [64, 16]; it is of another model or precision; --override cannot change the tensors of a run: "
                    "go back to model.inner = 32, or start a new run with --run", *self.arguments, "--quiet",
                    "--override", "model.inner", "--set", "train.steps=8")


class Change(program.Case):
    def prepare(self):
        self.train("run", train_steps=4)

    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"

    def refuse_change(self, message, *arguments):
        before = {path: path.read_bytes() for path in self.run_folder.rglob("*")
                  if path.is_file() and path.name != "lock"}
        self.refuse(78, message, "train", "--quiet", "--run", "run", *arguments)
        self.assertEqual({path: path.read_bytes() for path in before}, before)

    def refuse_key(self, key, before, after):
        self.refuse_change(f"run: the run was started with {key} = {before}, not {after}"
                           f"; leave it out, start another run, or allow it with --override {key}",
                           "--set", f"{key}={after}")

    def test_a_key_that_decides_what_is_computed(self):
        self.refuse_key("seed", "1", "2")
        self.refuse_key("optimizer.clip", "1.0", "2.0")

    def test_another_scheme(self):
        self.refuse_change('run: the run was started with scheme = "hybrid_norm_star", not '
                           '"pre_norm"; leave it out, start another run, or allow it '
                           "with --override scheme", "--scheme", "pre_norm")

    def test_an_override_allows_it_and_is_recorded(self):
        self.succeed("train", "--run", "run", "--override", "optimizer.clip",
                     *settings({"optimizer.clip": 2.0, "train.steps": 6}))
        provenance = json.loads((self.run_folder / "provenance.json").read_text())
        clip = {"step": 4, "what": "optimizer.clip", "before": "1.0", "after": "2.0"}
        self.assertIn(clip, provenance["changes"])
        self.assertIn("\nclip = 2.0\n", (self.run_folder / "run.toml").read_text())
        self.succeed("train", "--run", "run", *settings({"train.steps": 7}))
        provenance = json.loads((self.run_folder / "provenance.json").read_text())
        steps = {"step": 6, "what": "train.steps", "before": "6", "after": "7"}
        self.assertIn(clip, provenance["changes"])
        self.assertIn(steps, provenance["changes"])
        manifest = json.loads((folder_of(self.run_folder, 7) / "MANIFEST.json").read_text())
        self.assertEqual(manifest["changes"], provenance["changes"])

    def killed_before_a_checkpoint(self, *arguments):
        """The run goes on with these arguments and is killed once it has taken a step."""
        process = self.start("train", "--run", "run", "--set", "checkpoint.every=0",
                             "--set", "log.every=1", *arguments)
        self.wait_for_steps(process, "run", 6)
        process.kill()
        process.wait()
        self.assertEqual(saved_steps(self.run_folder), [0, 4])

    def test_an_override_outlives_a_kill_before_the_next_checkpoint(self):
        self.killed_before_a_checkpoint("--override", "optimizer.clip",
                                        *settings({"optimizer.clip": 2.0, "train.steps": 90000}))
        self.succeed("train", "--run", "run", *settings({"train.steps": 6}),
                     "--override", "train.steps")
        manifest = json.loads((folder_of(self.run_folder, 6) / "MANIFEST.json").read_text())
        clip = {"step": 4, "what": "optimizer.clip", "before": "1.0", "after": "2.0"}
        self.assertEqual(manifest["changes"].count(clip), 1)
        self.assertIn("\nclip = 2.0\n", (self.run_folder / "run.toml").read_text())

    def test_an_accepted_text_outlives_a_kill_before_the_next_checkpoint(self):
        book = (self.folder / "book.txt").read_text()
        self.write("book.txt", book.replace("moon", "noon", 1))
        self.killed_before_a_checkpoint("--override", "data", *settings({"train.steps": 90000}))
        more = ["train", "--run", "run", *settings({"train.steps": 6}), "--override", "train.steps"]
        self.write("book.txt", book.replace("moon", "soon", 1))  # a third text
        self.assertEqual(self.evenkeel(*more).returncode, 78)
        self.write("book.txt", book.replace("moon", "noon", 1))
        self.succeed(*more)

    def test_a_longer_run_outlives_a_kill_before_the_next_checkpoint(self):
        self.killed_before_a_checkpoint(*settings({"train.steps": 90000}))
        process = self.start("train", "--run", "run")
        self.wait_for_steps(process, "run", 6)
        self.stop(process)
        longest = max(saved_steps(self.run_folder))
        self.assertGreater(longest, 4)
        planned = {"step": 4, "what": "schedule.steps", "before": '"auto"', "after": "4"}
        manifest = json.loads((folder_of(self.run_folder, longest) / "MANIFEST.json").read_text())
        self.assertEqual(manifest["changes"].count(planned), 1)

    def test_a_run_is_not_made_shorter_than_it_is(self):
        self.refuse_change("run: the run has 4 steps, more than the 2 of train.steps; name 4 or more: --set "
                           "train.steps=4 --override train.steps ends the run at its step 4", "--override",
                           "train.steps", *settings({"train.steps": 2}))
        self.assertIn("\nfinished already at step 4; ", self.succeed("train", "--run", "run")[1])

    def test_an_edited_run_toml_is_a_change(self):
        file = self.run_folder / "run.toml"
        file.write_text(file.read_text().replace("\nclip = 1.0\n", "\nclip = 9.0\n"))
        self.refuse_change("run: the run was started with optimizer.clip = 1.0, not 9.0; "
                           "leave it out, start another run, or allow it with --override "
                           "optimizer.clip")

    def test_another_held_out_part(self):
        book = self.folder / "book.txt"
        text = book.read_text()
        book.write_text(text[:-9] + "a new end")
        error = self.evenkeel("train", "--run", "run").stderr.decode()
        self.assertIn("run: the digest of the validation text (book.txt) was ", error)

    def test_another_text(self):
        def digest():
            return json.loads((self.run_folder / "provenance.json").read_text())["data"]["train_digest"]
        before = digest()
        book = (self.folder / "book.txt").read_text()
        self.write("book.txt", book.replace("moon", "noon", 1))
        after = json.loads((self.train("new", train_steps=1) / "provenance.json").read_text())
        after = after["data"]["train_digest"]
        self.refuse_change(f'run: the digest of the training text (book.txt) was "{before}" when the checkpoint '
                           f'was written, but is "{after}" now; allow it with --override data')
        self.succeed("train", "--run", "run", "--override", "data")
        self.assertEqual(digest(), before)  # nothing was left to train with the new text
        self.succeed("train", "--run", "run", "--override", "data", "--set", "train.steps=6")
        self.assertEqual(digest(), after)

    def test_what_decides_only_when_things_are_written_may_change(self):
        self.succeed("train", "--run", "run", *settings(
            {"train.steps": 5, "log.every": 1, "evaluate.every": 1, "checkpoint.every": 1,
             "train.threads": 2}))


class InUse(program.Case):
    def test_a_formula_without_a_value_at_a_late_step(self):
        self.write("mine.toml", 'extends = "pre_norm"\nattention.branch_scale = "1/(t - 1500)"\n')
        self.refuse(64, 'scheme mine, block 1, attention.branch_scale: bad_expression: "1/(t - 1500)" has no '
                    "finite value at t = 1500", "train", *program.small(train_steps=2000), "--scheme",
                    "mine.toml")
        self.succeed("train", *program.small(train_steps=3, schedule_steps=1000), "--scheme", "mine.toml")

    def test_a_probe_behind_the_last_step_is_told(self):
        error = self.succeed("train", *program.small(train_steps=3), "--set", "probe.steps=[2, 4]")[1]
        self.assertIn("warning: probe.steps names step 4, but the run ends with step 3: nothing is "
                      "measured there\n", error)

    def test_one_process_at_a_time(self):
        process = self.start_training("run")
        self.refuse(75, f"run: locked by process {process.pid}; wait for it, or stop it",
                    "train", "--run", "run")
        self.wait_for_steps(process, "run", 3)
        self.stop(process)

    def test_the_owner_of_a_killed_run_is_gone(self):
        process = self.start_training("run")
        process.kill()
        process.wait()
        error = self.succeed("train", "--run", "run", "--override", "train.steps",
                             *settings({"train.steps": 10}))[1]
        self.assertIn("\nresumes from step 0 of 10 (step-00000000)\n", error)


class FullDisk(program.Case):
    """train/run.h: a checkpoint that cannot be written is a warning; training goes on."""

    def check_survives(self, run, process, fill, make_room):
        """\\param fill, make_room  what makes saving fail, and possible again"""
        folder = self.folder / run
        before = saved_steps(folder)
        fill()
        process.send_signal(signal.SIGUSR1)
        self.until(lambda: self.events(folder) or not self.records_can_be_written, process)
        if self.records_can_be_written:
            self.wait_for_steps(process, run, 3)
        self.assertEqual(saved_steps(folder), before)
        self.assertEqual([path for path in folder.glob("checkpoints/.*")], [])
        make_room()
        process.send_signal(signal.SIGUSR1)
        self.until(lambda: saved_steps(folder) != before, process)
        return self.stop(process)

    def events(self, folder):
        return [line["event"] for line in lines_of(folder / "health.jsonl")]

    records_can_be_written = True

    def test_a_save_that_fails_is_a_warning_and_the_next_one_succeeds(self):
        process = self.start_training("run")
        limit = 25_000  # bytes a file: records fit, the weights do not
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        error = self.check_survives(
            "run", process,
            lambda: resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, unlimited[1])),
            lambda: resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited))
        self.assertRegex(error, r"\nstep \d+: checkpoint not saved, training goes on: "
                         r"run/checkpoints/\.tmp-step-[0-9a-f-]+/model\.safetensors: cannot reserve "
                         "space: File too large; `ulimit -f` shows the limit\n")

    def test_a_disk_without_space_is_a_warning_too(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=18m", "none", disk],
                                 check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        filler = disk / "filler"
        process = self.start_training("disk/run")
        error = self.check_survives("disk/run", process, lambda: filler.write_bytes(bytes(2 << 20)),
                                    filler.unlink)
        self.assertRegex(error, r"\nstep \d+: checkpoint not saved, training goes on: "
                         r"disk/run/checkpoints: a checkpoint needs 16\.\d MiB free, but 1\d\.\d MiB "
                         r"are; free some space; older checkpoints, if there are any, are intact\n")

    def test_the_last_checkpoint_of_a_run_must_be_written(self):
        done = self.evenkeel(
            "train", "--quiet", "--run", "run", *small(train_steps=3),
            before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (25_000, 25_000)))
        self.assertEqual(done.returncode, 74)
        self.assertRegex(done.stderr.decode(), r"^evenkeel: run/checkpoints/\.tmp-step-[0-9a-f-]+/"
                         r"model\.safetensors: cannot reserve space: File too large; `ulimit -f` shows the limit\n$")


if __name__ == "__main__":
    program.main()
