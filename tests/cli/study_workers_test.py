#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several workers train one study: each run once, whatever ends a worker, and the report of one process.

With EVENKEEL_NIGHTLY=1 three workers train the smoke size of `placement`, and one is killed each minute.
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import program
import study_runs_test
from program import NIGHTLY
from study_runs_test import study

TIMEOUT = 1  # seconds without a heartbeat


def children_of(process):
    try:
        return [int(each) for each in
                pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def records(run):
    """The records of a run, without the evaluations where it was stopped."""
    lines = program.metrics(run)
    return [line for line in lines if "loss" in line or line["step"] == lines[-1]["step"]]


class Case(study_runs_test.Case):
    def worker(self, file="two.toml", folder="shared/two", more=(), timeout=TIMEOUT, variables=None):
        """Starts a worker. \\param variables  are added to its environment"""
        return self.start("study", file, "--run", folder, "--workers", "--jobs", "1", "--quiet",
                          "--heartbeat-timeout", timeout, *more, env=program.ENVIRONMENT | (variables or {}))

    def runs_in(self, folder):
        return sorted(run.name for run in (self.folder / folder / "pool").iterdir()
                      if not run.name.startswith("."))

    def same_as_one_process(self, folder="shared", one="whole", name="two"):
        """Report, runs and their records are those of one process; each step is there once."""
        wanted = self.reports(f"{one}/{name}")
        result = [report.replace(f"{folder}/{name}", f"{one}/{name}")
                  for report in self.reports(f"{folder}/{name}")]
        self.assertEqual(result, wanted)
        self.assertEqual(self.runs_in(folder), self.runs_in(one))
        for run in self.runs_in(one):
            self.assertEqual(records(self.folder / folder / "pool" / run),
                             records(self.folder / one / "pool" / run), run)
        self.assertEqual(list((self.folder / folder / "pool/.leases").glob("*")), [])

    def all_end(self, workers):
        for each in workers:
            code, error = self.finish(each)
            self.assertEqual(code, 0, error)

    def training(self, worker):
        """Waits until the worker trains a run."""
        self.until(lambda: children_of(worker), worker)

    def kill_machine(self, worker):
        """As a power cut does: the worker and its runs end at once."""
        runs = children_of(worker)
        worker.send_signal(signal.SIGSTOP)
        for each in runs + children_of(worker):
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass
        worker.kill()
        worker.wait()


class Whole(Case):
    """Runs of about a second, and the report of one process about them."""

    def prepare(self):
        self.write("two.toml", study(steps=300).replace("log.every = 5",
                                                        "log.every = 5\ncheckpoint.every = 50"))
        self.succeed("study", "two.toml", "--run", "whole/two")

    def test_three_workers_share_the_runs(self):
        workers = [self.worker() for _ in range(3)]
        self.all_end(workers)
        self.same_as_one_process()
        logs = list((self.folder / "shared/two/logs").glob("*.log"))
        self.assertEqual(len(logs), 4)
        self.assertEqual(json.loads((self.folder / "shared/two/workers.json").read_text())
                         ["arithmetic"].split()[0], "float32")

    def test_killed_one_after_another_they_end_with_the_same_report(self):
        dice = random.Random(7)
        workers = [self.worker() for _ in range(3)]
        for kill in (self.kill_machine, lambda worker: (worker.kill(), worker.wait()),
                     self.kill_machine):
            time.sleep(dice.uniform(0.2, 1.2))
            kill(workers.pop(dice.randrange(3)))
            workers.append(self.worker())
        self.all_end(workers)
        self.same_as_one_process()

    def test_a_worker_that_stops_leaves_its_runs_to_the_others_at_once(self):
        first = self.worker(timeout=3600)
        self.training(first)
        second = self.worker(timeout=3600)
        first.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(first)[0], 0)
        self.assertFalse((self.folder / "shared/two/report.html").exists())
        self.all_end([second])
        self.same_as_one_process()

    def test_a_worker_alone_takes_over_after_the_timeout(self):
        first = self.worker()
        self.training(first)
        self.kill_machine(first)
        lease, = (self.folder / "shared/pool/.leases").iterdir()
        done = self.evenkeel("study", "two.toml", "--run", "shared/two", "--workers", "--quiet",
                             "--heartbeat-timeout", TIMEOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(),
                         rf"seed 1: worker \S+:{first.pid}:[0-9a-f]{{8}} wrote no heartbeat for 1 s; this "
                         "worker takes the run over\n")
        self.assertTrue(lease.name.endswith(".1"))
        self.same_as_one_process()

    def test_a_worker_that_wakes_up_stops_its_stolen_run(self):
        first = self.worker()
        self.training(first)
        runs = children_of(first)
        for each in [first.pid, *runs]:  # a suspended machine
            os.kill(each, signal.SIGSTOP)
        second = self.worker()
        leases = self.folder / "shared/pool/.leases"
        self.until(lambda: list(leases.glob("*.2")), second)
        self.training(second)
        for each in [*runs, first.pid]:
            os.kill(each, signal.SIGCONT)
        self.all_end([first, second])
        self.same_as_one_process()

    def test_a_run_that_crashes_is_tried_twice_by_one_worker(self):
        """The other workers take its end from the lease; the same command tries again later."""
        self.write("bad.toml", study(steps=10**6).replace("seeds = [1, 2]", "seeds = [1]"))
        workers = [self.worker("bad.toml", "bad/two", timeout=3600) for _ in range(2)]
        tried = {}
        while any(each.poll() is None for each in workers):
            for worker in workers:
                for run in children_of(worker):
                    if list(self.folder.glob("bad/pool/*/metrics.jsonl")):
                        try:
                            os.kill(run, signal.SIGKILL)
                            tried[run] = worker.pid
                        except ProcessLookupError:
                            pass
            time.sleep(0.02)
        for each in workers:
            code, error = self.finish(each)
            self.assertEqual(code, 70, error)
        self.assertEqual({row["state"] for row in self.rows("bad/two")}, {"crashed"})
        self.assertEqual(len(list((self.folder / "bad/pool/.leases").glob("*"))), 2)
        self.assertLessEqual(len(tried), 5)


class Launched(Case):
    """A launcher starts the workers: their runs inherit no rank, and train as single processes."""

    def setUp(self):
        super().setUp()
        self.write("two.toml", study(steps=20).replace("seeds = [1, 2]", "seeds = [1]"))

    def all_finish(self, workers):
        self.all_end(workers)
        self.assertEqual([row["state"] for row in self.rows("shared/two")], ["finished"] * 2)

    def test_by_srun(self):
        job = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_JOB_NODELIST": "localhost",
               "SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": "2", "SLURM_CPUS_PER_TASK": "1", "PMI_SIZE": "2"}
        self.all_finish([self.worker(variables=job | {"SLURM_PROCID": rank, "SLURM_LOCALID": rank, "PMI_RANK": rank})
                         for rank in ("0", "1")])

    def test_by_torchrun(self):
        ranks = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500",
                 "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
        self.all_finish([self.worker(variables=ranks | {"RANK": "1", "LOCAL_RANK": "1"})])

    def test_by_anything_that_gives_a_rank(self):
        """comm/place.cpp reads these variables; with RANK=1 and WORLD_SIZE=1, a training is refused."""
        place = pathlib.Path(__file__).parents[2] / "src/evenkeel/comm/place.cpp"
        names = set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+|RANK)"', place.read_text()))
        self.assertLessEqual({"RANK", "WORLD_SIZE", "PMI_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}, names)
        rank = dict.fromkeys(names, "1")
        training = self.start("train", "--run", "run", *program.small(train_steps=1), env=program.ENVIRONMENT | rank)
        self.assertEqual(self.finish(training)[0], 64)
        self.all_finish([self.worker(variables=rank)])


class Tuned(Case):
    def test_workers_search_together(self):
        self.write("two.toml", study(steps=60, more=study_runs_test.TUNE))
        self.succeed("study", "two.toml", "--run", "whole/two")
        workers = [self.worker() for _ in range(3)]
        time.sleep(0.7)
        self.kill_machine(workers.pop(0))
        self.all_end(workers)
        self.same_as_one_process()
        self.assertEqual((self.folder / "shared/two/searches.csv").read_text(),
                         (self.folder / "whole/two/searches.csv").read_text())


class Refused(Case):
    def setUp(self):
        super().setUp()
        self.write("two.toml", study(steps=2))

    def test_a_study_of_step_times(self):
        self.write("timed.toml", 'alone = true\nmeasure = "step_time"\n' + study())
        message = ("--workers: the runs of study timed must be timed on one machine (alone = true), but "
                   "workers share them; leave --workers out")
        self.refuse(64, message, "study", "timed.toml", "--workers")
        self.refuse(64, message, "study", "timed.toml", "--slurm")

    def test_options_without_effect(self):
        self.refuse(64, "--array needs --slurm, which prints a Slurm job array; add --slurm",
                    "study", "two.toml", "--array", "4")
        self.refuse(64, "--heartbeat-timeout needs --workers or --slurm: no other process trains runs of "
                    "this study; add --workers", "study", "two.toml", "--heartbeat-timeout", "4")
        for option in (["--json"], ["--figures", "figures"]):
            self.refuse(64, "--slurm prints a script and no results: leave out --json and --figures",
                        "study", "two.toml", "--slurm", *option)

    def test_a_machine_that_computes_differently(self):
        self.succeed("study", "two.toml", "--workers", "--quiet")
        workers = self.folder / "runs/studies/two/workers.json"
        here = json.loads(workers.read_text())["arithmetic"]
        workers.write_text('{"arithmetic": "float32 other libtorch 1"}\n')
        self.refuse(78, "runs/studies/two/workers.json: the workers of a study must compute alike, but "
                    f'they compute with "float32 other libtorch 1" and this machine with "{here}"; use '
                    "machines of one kind, or name another folder with --run",
                    "study", "two.toml", "--workers")


    def test_a_worker_with_another_text(self):
        self.succeed("study", "two.toml", "--workers", "--quiet")
        self.write("book.txt", program.BOOK * 2)
        for options in (["--workers"], ["--workers", "--override"], [], ["--override"]):
            done = self.evenkeel("study", "two.toml", "--quiet", *options)
            self.assertEqual(done.returncode, 78, done.stderr)
            message = (r"the workers of a study must read the same files, but texts had \["
                       r'"data.train [0-9a-f]{32}".*\], but has \["data.train .*\] here, which --override does '
                       "not allow; give all workers the same files, or name another folder with --run")
            if "--workers" not in options:
                message = ("this study was trained by workers with data.train [0-9a-f]{32}, but here it is "
                           r"[0-9a-f]{32} \(and 1 more\), which --override does not allow; restore the file, or "
                           "name another folder with --run")
            self.assertRegex(done.stderr.decode(),
                             rf"^evenkeel: runs/studies/two/workers.json: {message}\n$", options)
        self.assertEqual(len(self.runs_in("runs/studies")), 4)


class Slurm(Case):
    def test_prints_a_job_array_whose_tasks_are_workers(self):
        self.write("two.toml", study(steps=20))
        script, _ = self.succeed("study", "two.toml", "--slurm", "--set", "data.train=book.txt",
                                 "--run", "it's shared/two", "--heartbeat-timeout", TIMEOUT)
        self.assertIn("#SBATCH --array=1-4\n", script)
        self.assertIn("#SBATCH --cpus-per-task=1\n", script)
        self.assertRegex(script, r"#SBATCH --mem=[1-9]\d\dM\n")
        self.assertIn("--run 'it'\\''s shared/two'", script)
        self.assertFalse((self.folder / "it's shared").exists())
        environment = program.ENVIRONMENT | {"SLURM_CPUS_PER_TASK": "1"}
        tasks = [subprocess.Popen(["bash"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                                  stdout=subprocess.DEVNULL, env=environment) for _ in range(2)]
        for each in tasks:
            each.stdin.write(script.encode())
            each.stdin.close()
            each.stdin = None
        for each in tasks:
            _, error = each.communicate(timeout=program.LIMIT)
            self.assertEqual(each.returncode, 0, error)
        self.assertEqual({row["state"] for row in self.rows("it's shared/two")}, {"finished"})

    def test_strict_is_an_option_of_the_jobs(self):
        self.write("two.toml", study())
        self.assertIn(" --strict --workers ", self.succeed("study", "two.toml", "--slurm", "--strict")[0])
        self.assertNotIn("--strict", self.succeed("study", "two.toml", "--slurm")[0])

    def test_the_array_has_at_most_16_tasks_unless_named(self):
        self.write("two.toml", study().replace("seeds = [1, 2]", f"seeds = {list(range(1, 21))}"))
        self.assertIn("#SBATCH --array=1-16\n", self.succeed("study", "two.toml", "--slurm")[0])
        script, _ = self.succeed("study", "two.toml", "--slurm", "--array", "25", "--jobs", "8")
        self.assertIn("# 40 runs of a study.", script)
        self.assertIn("#SBATCH --array=1-25\n", script)
        self.assertIn("#SBATCH --cpus-per-task=8\n", script)
        self.assertIn("tasks of the Slurm job array", " ".join(self.succeed("study", "--help")[0].split()))
        self.assertEqual(self.evenkeel("study", "two.toml", "--slurm", "--tasks", "25").returncode, 64)


class Nightly(Case):
    def setUp(self):
        if not NIGHTLY:
            self.skipTest("EVENKEEL_NIGHTLY is not set")
        super().setUp()
        limit, program.LIMIT = program.LIMIT, 3600
        self.addCleanup(setattr, program, "LIMIT", limit)

    def smoke_worker(self):
        return self.worker("placement", "shared/smoke", ("--size", "smoke"), timeout=10)

    def test_the_smoke_size_with_a_kill_a_minute(self):
        self.succeed("study", "placement", "--size", "smoke", "--run", "whole/smoke", "--quiet")
        workers = [self.smoke_worker() for _ in range(3)]
        kills, last = 0, time.monotonic()
        while any(each.poll() is None for each in workers):
            time.sleep(0.1)
            if time.monotonic() - last < 60:
                continue
            last = time.monotonic()
            self.kill_machine(workers.pop(0))
            workers.append(self.smoke_worker())
            kills += 1
        self.all_end(workers)
        print(f"{kills} workers killed", file=sys.stderr)
        self.assertGreater(kills, 0)
        self.same_as_one_process(name="smoke")


if __name__ == "__main__":
    program.main()
