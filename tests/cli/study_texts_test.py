#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study whose text, or whose search, does not stay what it was: no pair of two texts, no verdict of a wrong rate."""
import json
import os
import pathlib
import signal

import program
import study_runs_test
from study_runs_test import TUNE, study


class Changed(study_runs_test.Case):
    def test_a_text_that_changes_while_the_study_runs(self):
        self.write("two.toml", study(steps=600).replace("seeds = [1, 2]", "seeds = [1]"))
        process = self.start("study", "two.toml", "--jobs", "1", "--quiet")
        pool = self.folder / "runs/studies/pool"
        self.until(lambda: list(pool.glob("*/metrics.jsonl")), process)
        self.write("book.txt", program.BOOK * 2)
        code, error = self.finish(process)
        self.assertEqual(code, 78, error)
        last = error.splitlines()[-1]
        self.assertRegex(last, r"^evenkeel: an input changed while the study ran: book.txt \(data.train\) has the "
                               r"digest [0-9a-f]{32} here, but [0-9a-f]{32} in the run runs/studies/pool/(\S+); "
                               r"the run is now \1.damaged and is not used; restore the file and give the "
                               r"command again, or name another folder with --run$")
        self.assertEqual(len(list(pool.glob("*.damaged"))), 1)
        self.assertEqual(len(list(pool.iterdir())), 2)
        self.succeed("study", "two.toml", "--quiet", "--run", "runs/studies/new")  # both arms with the new text
        self.assertEqual({row["state"] for row in self.rows("runs/studies/new")}, {"finished"})
        self.assertEqual(len(list(pool.iterdir())), 4)

    def test_a_run_of_the_cache_that_read_another_text(self):
        self.write("two.toml", study(steps=2))
        self.succeed("study", "two.toml")
        run = self.folder / "runs/studies/pool" / self.rows()[0]["folder"]
        provenance = (run / "provenance.json").read_text()
        (run / "provenance.json").write_text(provenance.replace('"train_digest": "', '"train_digest": "0'))
        done = self.evenkeel("study", "two.toml", "--quiet")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"an input changed while the study ran: ", done.stderr)
        self.assertTrue(run.with_name(run.name + ".damaged").is_dir())
        self.succeed("study", "two.toml", "--quiet")
        (run / "provenance.json").write_text('{"data": {}}')  # as an older version
        self.succeed("study", "two.toml", "--quiet")


class OfTasks(study_runs_test.Case):
    """A study whose runs are scored on a task."""
    TASKS = ("--set", "evaluate.tasks=quiz.jsonl")

    def write_quiz(self, question):
        rows = [{"doc_id": 0, "idx": choice, "label": 0, "request": {"context": question, "continuation": text}}
                for choice, text in enumerate((" the river", " two dogs"))]
        self.write("quiz.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def prepare(self):
        self.write_quiz("A cat sees")
        self.write("two.toml", study(steps=2))
        self.succeed("study", "two.toml", *self.TASKS)

    def run_folder(self):
        return self.folder / "runs/studies/pool" / self.rows()[0]["folder"]

    def test_a_run_of_the_cache_that_read_another_task_file(self):
        run = self.run_folder()
        file = run / "provenance.json"
        provenance = json.loads(file.read_text())
        task, = provenance["data"]["evaluate_tasks"]
        digest = task["digest"]
        self.assertEqual((task["path"], provenance["data"]["evaluate_tasks_digest"]), ("quiz.jsonl", digest))
        file.write_text(file.read_text().replace(digest, "0" * 32))
        self.refuse(78, f"an input changed while the study ran: quiz.jsonl (evaluate.tasks) has the digest {digest} "
                    f"here, but {'0' * 32} in the run {run.relative_to(self.folder)}; the run is now "
                    f"{run.name}.damaged and is not used; restore the file and give the command again, or name another "
                    "folder with --run",
                    "study", "two.toml", "--quiet", *self.TASKS)
        self.succeed("study", "two.toml", "--quiet", *self.TASKS)
        count = len(list(run.parent.iterdir()))
        for field in ("evaluate_tasks", "evaluate_tasks_digest"):  # as an older version
            del provenance["data"][field]
        file.write_text(json.dumps(provenance))
        self.succeed("study", "two.toml", "--quiet", *self.TASKS)
        self.assertEqual(len(list(run.parent.iterdir())), count)

    def test_a_task_file_that_changed(self):
        known = self.folder / "runs/studies/two/study.json"
        whole = known.read_text()
        line, = [each for each in json.loads(whole)["texts"] if each.startswith("evaluate.tasks ")]
        older = json.loads(whole)
        older["texts"].remove(line)
        known.write_text(json.dumps(older))
        self.succeed("study", "two.toml", *self.TASKS)
        self.assertEqual(known.read_text(), whole)
        self.write_quiz("Nobody paints")
        done = self.evenkeel("study", "two.toml", *self.TASKS)
        self.assertEqual(done.returncode, 78)
        self.assertRegex(done.stderr.decode(),
                         r"^evenkeel: runs/studies/two: the study was begun with something else: "
                         rf'texts had \["{line}"\], but has \["evaluate.tasks [0-9a-f]{{32}}"\]; name another ')


class Searched(study_runs_test.Case):
    def kill_trials_of(self, scheme, process):
        """Kills each run of the first arm as the kernel does if memory is missing."""
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while process.poll() is None:
            try:
                for child in children.read_text().split():
                    command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().decode()
                    if f"pool/{scheme}-" in command:
                        os.kill(int(child), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass

    def test_a_crashed_trial_decides_nothing(self):
        self.write("two.toml", study(steps=300, more=TUNE))
        process = self.start("study", "two.toml", "--jobs", "1")
        self.kill_trials_of("pre_norm", process)
        code, error = self.finish(process)
        self.assertEqual(code, 70, error)
        self.assertIn("exit code 137: killed by signal 9 (SIGKILL), often for lack of memory", error)
        states = {scheme: {row["state"] for row in self.rows() if row["scheme"] == scheme}
                  for scheme in ("pre_norm", "hybrid_norm")}
        self.assertEqual(states, {"pre_norm": {"missing"}, "hybrid_norm": {"finished"}})
        self.assertIn("a trial of the search crashed: schedule.peak ", self.rows()[0]["why"])
        page = self.reports()[1]
        self.assertRegex(page, r"not tested: a trial of the search crashed, of pre\\?_norm; the same command tries "
                               "it again")
        self.succeed("study", "two.toml")
        self.assertEqual({row["state"] for row in self.rows()}, {"finished"})

    def test_a_key_that_changes_no_trial(self):
        self.write("two.toml", study(more='[tune]\nkey = "evaluate.every"\nvalues = [1, 2]\n').replace(
            "evaluate.every = 0\n", ""))
        self.refuse(64, "study two: tune.key must change the trials of the search, but all values of evaluate.every "
                    "give arm pre_norm one trial in the last rung (a trial is evaluated at its end only, and its "
                    "warm-up is at most half of its steps); search another key or other values, or leave [tune] out",
                    "study", "two.toml")
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    program.main()
