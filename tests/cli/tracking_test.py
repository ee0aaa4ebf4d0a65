#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Event files of TensorBoard and metrics.csv agree with metrics.jsonl, also after resumes and failures."""
import csv
import shutil
import signal

import event_file
import program
from program import folder_of, lines_of, saved_steps, settings

RUN = {"checkpoint_every": 2, "checkpoint_keep": 100, "log_every": 1, "evaluate_every": 3, "log_csv": "true",
       "probe_every": 4}


class Tracking(program.Case):
    def check_events(self, run):
        """Each value of metrics.jsonl is there once, with the bits of its float32."""
        found = event_file.scalars(run)
        wanted = event_file.wanted_scalars(lines_of(run / "metrics.jsonl"))
        mine = [each for each in found if each[1] in event_file.TAGS.values()]
        self.assertEqual(len(found), len({(step, tag) for step, tag, _ in found}), "a value twice")
        self.assertEqual({(step, tag): value for step, tag, value in mine}, wanted)

    def check_csv(self, run):
        with (run / "metrics.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        by_step = {}
        for line in lines_of(run / "metrics.jsonl"):
            by_step.setdefault(line["step"], {}).update(line)
        self.assertEqual([int(row["step"]) for row in rows], list(by_step))
        for row in rows:
            for name, cell in row.items():
                value = by_step[int(row["step"])].get(name)
                if value is None or isinstance(value, bool):
                    self.assertEqual(cell, "" if value is None else str(value).lower(), name)
                else:
                    self.assertEqual(float(cell), value, name)

    def tags_of(self, run):
        return [tag for file in event_file.files_of(run) for _, values in event_file.events(file) for tag in values]

    def test_a_run_resumed_three_times_has_each_step_once(self):
        run = self.train("run", train_steps=12, **RUN)
        self.check_events(run)
        self.check_csv(run)
        for last in (8, 4, 10):
            for step in saved_steps(run):
                if step > last:
                    shutil.rmtree(folder_of(run, step))
            file = event_file.files_of(run)[-1]
            file.write_bytes(file.read_bytes() + b"\x05\0torn")
            self.succeed("train", "--run", run, "--quiet")
            self.check_events(run)
            self.check_csv(run)
        tags = self.tags_of(run)
        for tag in ("_hparams_/session_start_info", "run.toml/text_summary", "scheme/text_summary",
                    "sample/text_summary"):
            self.assertEqual(tags.count(tag), 1, tag)
        self.assertEqual(tags.count("probe/grad_norm/over blocks"), 3)
        self.assertEqual(tags.count("probe/grad_norm/block 01"), 3)

    def test_a_killed_run_goes_on(self):
        process = self.start_training("run", **RUN)
        self.wait_for_steps(process, "run", 20)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = self.start_training("run", **RUN)
        self.wait_for_steps(process, "run", 40)
        self.stop(process)
        run = self.folder / "run"
        self.check_events(run)
        self.check_csv(run)

    def test_files_that_are_turned_on_later_are_complete(self):
        run = self.train("run", train_steps=6, log_every=1, log_tensorboard="false")
        self.assertEqual(event_file.files_of(run), [])
        self.assertFalse((run / "metrics.csv").exists())
        self.succeed("train", "--run", run, "--quiet",
                     *settings({"train.steps": 8, "log.tensorboard": "true", "log.csv": "true"}))
        self.check_events(run)
        self.check_csv(run)

    def test_a_file_that_cannot_be_written_does_not_end_the_run(self):
        run = self.folder / "run"
        run.mkdir()
        (run / "provenance.json").write_text("{}")  # else it is a folder of other files
        (run / "metrics.csv").mkdir()
        error = self.succeed("train", "--run", run, "--quiet", *program.small(train_steps=4, **RUN))[1]
        self.assertIn("metrics.csv", error)
        self.assertIn("training goes on", error)
        events = [line for line in lines_of(run / "health.jsonl") if line["event"] == "log_failed"]
        self.assertEqual(len(events), 1)
        self.assertIn("metrics.csv", events[0]["detail"])
        self.check_events(run)


if __name__ == "__main__":
    program.main()
