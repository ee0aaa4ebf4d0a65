#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The run folder under bad conditions: moved, linked elsewhere, without records, on a full disk.

As in bad_input_test.py, messages stand here word for word.
"""
import json
import os
import shutil
import signal
import subprocess

import program
from program import lines_of, saved_steps, settings, small

RUN = {"checkpoint_every": 2, "log_every": 1}


class TwoWriters(program.Case):
    """The folder of a run is moved or removed, and another run begins at its path."""

    def seed_of(self, folder):
        step = max(saved_steps(folder))
        manifest = json.loads((program.folder_of(folder, step) / "MANIFEST.json").read_text())
        return manifest["random"]["key"]

    def test_a_moved_run_ends_saves_in_its_own_folder_and_leaves_the_other_alone(self):
        first = self.start_training("x", seed=1)
        (self.folder / "x").rename(self.folder / "old")
        second = self.start_training("x", seed=2)
        code, error = self.finish(first)
        old, new = self.folder / "old", self.folder / "x"
        self.assertEqual(code, 74)
        self.assertEqual(error.splitlines()[-1],
                         "evenkeel: x: the folder was moved while a process worked in it and is "
                         f"now {old}; go on with --run {old}")
        self.wait_for_steps(second, "x", 3)
        self.stop(second)
        self.assertEqual((self.seed_of(old), self.seed_of(new)), (1, 2))
        steps = [line["step"] for line in lines_of(new / "metrics.jsonl") if "loss" in line]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertIn(0, saved_steps(new))
        last = max(saved_steps(old))
        self.assertGreater(last, 0)
        self.assertEqual(lines_of(old / "metrics.jsonl")[-1]["step"], last)

    def test_a_removed_run_ends(self):
        process = self.start_training("x")
        while (self.folder / "x").exists():  # the run may write while the folder is emptied
            shutil.rmtree(self.folder / "x", ignore_errors=True)
        code, error = self.finish(process)
        self.assertEqual(code, 74)
        self.assertRegex(error.splitlines()[-1],
                         "evenkeel: x(: the folder was removed|/lock: was removed or replaced) while")
        self.assertFalse((self.folder / "x").exists())

    def test_a_start_that_fails_leaves_no_folder_and_no_lock(self):
        self.refuse(65, f"none.txt: {program.MISSING}", "train", "--quiet",
                    "--run", "x", *small(**{"data_train": "none.txt"}))
        self.assertFalse((self.folder / "x").exists())
        (self.folder / "x").mkdir()
        self.refuse(65, f"none.txt: {program.MISSING}", "train", "--quiet",
                    "--run", "x", *small(**{"data_train": "none.txt"}))
        self.assertEqual(list((self.folder / "x").iterdir()), [])

    def test_no_run_starts_among_other_files(self):
        (self.folder / "data").mkdir()
        self.write("data/notes.txt", "mine")
        self.refuse(64, "data: must be a run folder, or empty, but has other files; name another folder", "train",
                    "--run", "data", *program.small())
        self.assertEqual([path.name for path in (self.folder / "data").iterdir()], ["notes.txt"])
        for name, content in {"checkpoints/epoch-1.pt": "mine", "lock": "", "log.txt": "mine"}.items():
            (self.folder / "data" / name).parent.mkdir(exist_ok=True)
            self.write(f"data/{name}", content)
            self.refuse(64, "data: must be a run folder, or empty, but has other files; name another folder", "train",
                        "--run", "data", *program.small())
        self.assertEqual((self.folder / "data/notes.txt").read_text(), "mine")
        for name in ("config.json", "model.safetensors"):
            self.write(f"data/{name}", "{}")
        hint = "; it is a model of Hugging Face: `evenkeel import data --output RUN` makes a run of it"
        self.refuse(64, f"data: must be a run folder, or empty, but has other files; name another folder{hint}", "train",
                    "--run", "data")
        for verb in ("eval", "plan", "export --output out"):
            self.refuse(77, f"data: not a run folder (no run.toml); `evenkeel runs` lists them{hint}", *verb.split(),
                        "--run", "data")
        self.refuse(77, f"train.from: data has no usable checkpoint to start from{hint}", "train", "--quiet", "--run",
                    "x", *program.small(train_from="data"))
        (self.folder / "empty").mkdir()
        self.train("empty", train_steps=1)
        (self.folder / "early").mkdir()
        for name in "log-rank-1.txt", ".ranks", "lock":
            self.write(f"early/{name}", "")
        (self.folder / "early/checkpoints/.tmp-step-00000000-0-1").mkdir(parents=True)
        self.train("early", train_steps=1)

    def test_a_copy_of_the_checkpoints_is_resumed(self):
        run = self.train("run", train_steps=4, **RUN)
        shutil.copytree(run / "checkpoints", self.folder / "copy/checkpoints")
        (self.folder / "copy/checkpoints/.tmp-step-00000006-0-1").mkdir()
        self.write("copy/metrics.jsonl", (run / "metrics.jsonl").read_text())
        error = self.succeed("train", "--run", "copy", "--set", "train.steps=6")[1]
        self.assertIn("copy: run.toml was missing; it is written anew, as the checkpoint of step 4 has it", error)
        self.assertEqual(max(saved_steps(self.folder / "copy")), 6)
        self.train("run", train_steps=6, **RUN)
        self.assertEqual(program.state_at(self.folder / "copy", 6), program.state_at(run, 6))

    def test_a_report_has_the_path_of_its_run_for_a_shell(self):
        (self.folder / "my runs").mkdir()
        report = self.train("my runs/x", train_steps=1) / "report.html"
        self.assertIn("evenkeel train --config &#39;my runs/x/run.toml&#39;", report.read_text())

    def test_damaged_checkpoints_without_a_configuration_are_kept(self):
        run = self.train("run", train_steps=4, **RUN)
        for step in saved_steps(run):
            (program.folder_of(run, step) / "MANIFEST.json").write_text("{")
        (run / "run.toml").unlink()
        before = saved_steps(run)
        done = self.evenkeel("train", "--run", "run", *program.small(train_steps=4))
        self.assertEqual(done.returncode, 77)
        self.assertEqual(saved_steps(run), before)


class Links(program.Case):
    """A run folder from elsewhere: its symbolic links are not followed."""

    def prepare(self):
        self.train("run", train_steps=4, **RUN)

    def link(self, name):
        mine = self.write("mine", "precious")
        file = self.folder / "run" / name
        file.unlink(missing_ok=True)
        file.symlink_to(mine)
        return mine

    def test_files_that_are_replaced_lose_the_link(self):
        for name in ("report.html", "status.json", "sample.txt", "provenance.json", "scheme.txt"):
            mine = self.link(name)
            self.succeed("report", "run")
            self.succeed("train", "--run", "run")
            self.assertEqual(mine.read_text(), "precious", name)
            self.assertFalse((self.folder / "run" / name).is_symlink(), name)

    def test_the_log_is_not_written_through_a_link(self):
        mine = self.link("log.txt")
        error = self.succeed("train", "--run", "run", *settings({"train.steps": 6}))[1]
        self.assertEqual(mine.read_text(), "precious")
        log = self.folder / "run" / "log.txt"
        self.assertTrue(log.is_symlink() or "step 6" in log.read_text(), error)

    def test_records_and_configuration_are_not_read_through_a_link(self):
        said = ("is a symbolic link, which is not followed inside a run folder; replace it by what it "
                "points to")
        for name in ("metrics.jsonl", "health.jsonl", "run.toml"):
            shutil.copytree(self.folder / "run", self.folder / "kept")
            self.link(name)
            self.refuse(74, f"run/{name}: {said}", "train", "--quiet", "--run", "run")
            shutil.rmtree(self.folder / "run")
            (self.folder / "kept").rename(self.folder / "run")
        self.link("run.toml")
        self.refuse(74, f"run/run.toml: {said}", "eval", "--run", "run")
        self.succeed("report", "run")
        self.assertIn("run/run.toml: is a symbolic link",
                      (self.folder / "run" / "report.html").read_text())

    def test_what_the_user_types_is_followed(self):
        (self.folder / "typed").symlink_to("run")
        page = self.write("page.html", "")
        (self.folder / "page").symlink_to(page)
        self.succeed("report", "typed", "--output", "page")
        self.assertIn("<html", page.read_text())
        self.succeed("train", "--run", "typed", *settings({"train.steps": 6}))
        self.assertEqual(max(saved_steps(self.folder / "run")), 6)


class Records(program.Case):
    """Records that are lost or damaged are counted and said."""

    def prepare(self):
        self.train("run", train_steps=6, **RUN)

    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        self.metrics = self.run_folder / "metrics.jsonl"

    def change(self, function):
        self.metrics.write_text("".join(function(self.metrics.read_text().splitlines(keepends=True))))

    def resume(self, *arguments):
        return self.succeed("train", "--run", "run", *settings({"train.steps": 8}), *arguments)[1]

    def events(self):
        return [(line["step"], line["event"], line["detail"])
                for line in lines_of(self.run_folder / "health.jsonl")]

    def check_said(self, loss):
        self.assertIn(f"\n{loss}\n", self.resume())
        self.assertIn((6, "records_missing", loss), self.events())
        self.assertNotIn(loss, self.resume())  # it is said once
        self.assertEqual(len([each for each in self.events() if each[2] == loss]), 1)
        error = self.succeed("report", "run")[1]
        self.assertIn(f"run: {loss}\n", error)
        self.assertIn(loss, (self.run_folder / "report.html").read_text())

    def test_records_that_are_too_large_are_said_and_hide_no_other_run(self):
        for name in ("runs/large", "runs/other"):
            self.train(name, train_steps=2)
        records = self.folder / "runs/large/metrics.jsonl"
        with open(records, "ab") as file:
            file.truncate((4 << 30) + 1)  # without blocks on the disk
        states = {row["run"]: row["state"] for row in json.loads(self.succeed("runs", "--json")[0])}
        self.assertEqual(states, {"runs/large": "damaged", "runs/other": "finished"})
        self.refuse(74, "runs/large/metrics.jsonl: must have at most 4.0 GiB, but has 4.0 GiB; move it elsewhere: the run "
                    "resumes without these records", "train", "--quiet", "--run", "runs/large", "--set", "train.steps=3")
        records.unlink()
        self.succeed("train", "--quiet", "--run", "runs/large", "--set", "train.steps=3")

    def test_missing_steps_are_named(self):
        self.change(lambda lines: lines[:3])
        self.check_said("metrics.jsonl: the records of steps 4 to 6 are missing")

    def test_a_flipped_bit_is_kept_aside(self):
        self.change(lambda lines: [lines[0], lines[1].replace('"step"', '"stdp"'), *lines[2:]])
        listed = json.loads(self.succeed("runs", ".", "--json")[0])
        self.assertEqual([run["damaged_lines"] for run in listed], [1])
        self.assertIn("./run: metrics.jsonl has lost 1 damaged line\n", self.succeed("runs", ".")[0])
        self.assertIn("run: metrics.jsonl: 1 line is damaged\n", self.succeed("report", "run")[1])
        self.check_said("metrics.jsonl: 1 line is damaged and moved to metrics.jsonl.damaged; the "
                        "records of step 2 are missing")
        self.assertIn('"stdp":2', (self.run_folder / "metrics.jsonl.damaged").read_text())

    def test_a_change_of_a_value_is_said(self):
        self.change(lambda lines: [lines[0].replace('"lr"', '"mr"'), *lines[1:]])
        self.check_said("metrics.jsonl: records were changed or removed after the checkpoint was "
                        "written")

    def test_temporary_files_of_dead_processes_are_removed(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        left = self.run_folder / f"report.html.new-{dead.pid}"
        left.write_text("half")
        self.resume()
        self.assertFalse(left.exists())


class ClosedStreams(program.Case):
    def test_no_message_goes_into_a_file_of_the_run(self):
        for closed in ((2,), (0, 1, 2)):
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            done = subprocess.run([program.PROGRAM, "train", "--run", "run", *small(train_steps=3)],
                                  cwd=self.folder, env=program.ENVIRONMENT, check=False,
                                  preexec_fn=lambda: [os.close(each) for each in closed])
            self.assertEqual(done.returncode, 74 if 1 in closed else 0)
            self.assertRegex((self.folder / "run" / "lock").read_text(), r"^\d+\n$")
            for line in lines_of(self.folder / "run" / "metrics.jsonl"):
                self.assertIn("step", line)

    def test_no_file_takes_the_number_of_a_closed_stream(self):
        process = self.start("train", "--run", "run", *small(train_steps=10**9, log_every=1),
                             preexec_fn=lambda: [os.close(each) for each in (0, 1, 2)])
        self.wait_for_steps(process, "run", 1)
        for stream in (0, 1, 2):
            self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/{stream}"), "/dev/null")


class FullDisk(program.Case):
    """A disk that fills up. Needs the right to mount a small one."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=18m", "none", self.disk],
                                 check=False, capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no right to mount a small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.filler = self.disk / "filler"
        self.run_folder = self.disk / "run"

    def fill(self):
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def start_and_fill(self, steps):
        """A run whose disk is full from its first steps to its last."""
        process = self.start("train", "--run", "disk/run",
                             *small(train_steps=steps, checkpoint_every=0, log_every=1))
        self.wait_for_steps(process, "disk/run", 1)
        self.fill()
        return process, self.until_waiting(process)

    def until_waiting(self, process):
        """Everything that the process prints until it waits."""
        said = self.errors.pop(process.pid, b"")
        while b"for space" not in said:
            line = process.stderr.readline()
            self.assertNotEqual(line, b"", said)
            said += line
        return said.decode()

    def test_the_last_save_waits_for_space_and_nothing_is_lost(self):
        process, said = self.start_and_fill(600)
        self.assertRegex(said, r"\nstep 600: disk/run[^\n]*; the run waits for space; Ctrl-C ends it, "
                         r"and the checkpoint of step 0 remains\n")
        self.assertEqual(saved_steps(self.run_folder), [0])
        self.filler.unlink()
        code, error = self.finish(process)
        self.assertEqual((code, saved_steps(self.run_folder)), (0, [0, 600]), error)
        steps = [line["step"] for line in lines_of(self.run_folder / "metrics.jsonl") if "loss" in line]
        self.assertEqual(steps, list(range(1, 601)))
        log = (self.run_folder / "log.txt").read_text()
        self.assertEqual([log.count(f"step {step}/600 ") for step in (1, 300, 600)], [1, 1, 1])
        self.assertIn("step 600: saved\n", log)
        self.assertTrue((self.run_folder / "report.html").exists())

    def test_a_study_says_that_a_run_waits(self):
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in program.SMALL.items()
                          if key != "train.threads")
        self.write("one.toml", 'title = "One"\nquestion = "Which?"\nseeds = [1]\n'
                   'baseline = { scheme = "pre_norm" }\n[settings]\ntrain.steps = 600\n'
                   f'checkpoint.every = 0\n{lines}\n[grid]\nscheme = ["pre_norm"]\n')
        process = self.start("study", "one.toml", "--run", "disk/one")
        self.until(lambda: list(self.disk.glob("pool/*/metrics.jsonl")), process)
        self.fill()
        self.until_waiting(process)
        self.filler.unlink()
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_signal_ends_the_wait_and_the_old_checkpoint_remains(self):
        process, _ = self.start_and_fill(600)
        process.send_signal(signal.SIGTERM)
        code, error = self.finish(process)
        self.assertEqual((code, saved_steps(self.run_folder)), (74, [0]), error)
        self.filler.unlink()
        self.succeed("train", "--run", "disk/run")
        self.assertEqual(saved_steps(self.run_folder), [0, 600])


if __name__ == "__main__":
    program.main()
