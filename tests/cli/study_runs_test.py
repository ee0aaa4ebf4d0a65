#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study runs what is missing, survives whatever ends it, and judges what it may.

With EVENKEEL_NIGHTLY=1 it is killed at 20 random instants, else at 4.
"""
import csv
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import program
from program import NIGHTLY, SMALL

SETTINGS = {key: value for key, value in SMALL.items() if key != "train.threads"}
STUDY = """
title = "Two schemes"
question = "Which?"
seeds = [1, 2]
fails_above = 5.5
baseline = {{ scheme = "pre_norm" }}
[settings]
train.steps = {steps}
log.every = 5
{settings}
[grid]
scheme = ["pre_norm", "hybrid_norm"]
[[claims]]
says = "HybridNorm ends lower"
of = {{ scheme = "hybrid_norm" }}
than = {{ scheme = "pre_norm" }}
paper = -0.014
"""
TUNE = '[tune]\nvalues = [1e-3, 4e-3, 16e-3]\nrungs = [0.5]\nextend = 0\n'


def study(steps=20, more=""):
    def toml(value):
        return value if isinstance(value, (int, float)) else f'"{value}"'
    lines = "\n".join(f"{key} = {toml(value)}" for key, value in SETTINGS.items())
    return STUDY.format(steps=steps, settings=lines) + more


def without_times(report):
    """Everything but what this machine took for it."""
    return re.sub(r'<p class="times">.*?</p>|^Time: .*$', "", report, flags=re.DOTALL | re.MULTILINE)


class Case(program.Case):
    def reports(self, folder="runs/studies/two"):
        names = ["report.html", "report.md", "runs.csv"]
        return [without_times((self.folder / folder / name).read_text()) for name in names]

    def rows(self, folder="runs/studies/two"):
        with open(self.folder / folder / "runs.csv", newline="") as file:
            return list(csv.DictReader(file))


class Finished(Case):
    """What a study whose runs are all there says, and what other studies take from it."""

    def prepare(self):
        self.write("two.toml", study())
        self.write("out.txt", self.succeed("study", "two.toml")[0])

    def test_runs_all_and_tests_claims(self):
        out = (self.folder / "out.txt").read_text()
        self.assertRegex(out, r"(supported|contradicted|inconclusive) +HybridNorm ends lower\n")
        self.assertIn("report: runs/studies/two/report.html", out)
        rows = self.rows()
        self.assertEqual([(row["scheme"], row["seed"], row["state"]) for row in rows],
                         [(scheme, seed, "finished") for scheme in ("pre_norm", "hybrid_norm")
                          for seed in ("1", "2")])
        for row in rows:
            self.assertTrue((self.folder / "runs/studies/pool" / row["folder"] / "run.toml").exists())

    def test_repeats_no_finished_run(self):
        pool = self.folder / "runs/studies/pool"
        before = {file: file.stat().st_mtime_ns for file in pool.rglob("*") if file.is_file()}
        reports = self.reports()
        self.succeed("study", "two.toml")
        after = {file: file.stat().st_mtime_ns for file in pool.rglob("*") if file.is_file()}
        self.assertEqual(after, before)
        self.assertEqual(self.reports(), reports)

    def test_a_damaged_run_is_no_failed_model(self):
        reports = self.reports()
        pool = self.folder / "runs/studies/pool"
        for number, damage in enumerate([lambda file: file.unlink(),
                                         lambda file: file.write_text(file.read_text()[:200])]):
            run = pool / self.rows()[number]["folder"]
            damage(run / "metrics.jsonl")
            _, error = self.succeed("study", "two.toml")
            self.assertIn(f"{run.name} has no record of its last evaluation", error)
            self.assertTrue((pool / f"{run.name}.damaged").is_dir())
            self.assertEqual(self.reports(), reports)

    def test_shares_runs_with_other_studies(self):
        self.write("three.toml", study().replace("seeds = [1, 2]", "seeds = [1, 2, 3]"))
        self.succeed("study", "three.toml")
        pool = [folder.name for folder in (self.folder / "runs/studies/pool").iterdir()]
        self.assertEqual(len(pool), 6)

    def test_a_single_run_and_its_run_in_a_study_are_the_same(self):
        row = self.rows()[0]
        run = self.train("alone", "--scheme", "pre_norm", "--set", "seed=1", train_steps=20,
                         log_every=5)
        self.assertEqual(program.metrics(run),
                         program.metrics(self.folder / "runs/studies/pool" / row["folder"]))

    def test_a_folder_with_a_slash_is_the_same_folder(self):
        (self.folder / "runs/studies").rename(self.folder / "a")
        self.succeed("study", "two.toml", "--run", "a/two")
        self.succeed("study", "two.toml", "--run", "a/two/")
        self.assertEqual(len(list((self.folder / "a/pool").iterdir())), 4)
        self.assertFalse((self.folder / "a/two/pool").exists())
        self.assertEqual(list((self.folder / "runs").iterdir()), [])

    def test_text_elsewhere_is_the_same_text(self):
        (self.folder / "runs/studies").rename(self.folder / "a")
        self.succeed("study", "two.toml", "--run", "a/two")
        shutil.copy(self.folder / "book.txt", self.folder / "copy.txt")
        self.succeed("study", "two.toml", "--run", "a/copy", "--set", "data.train=copy.txt")
        self.assertEqual(len(list((self.folder / "a/pool").iterdir())), 4)

    def test_timed_runs_are_exclusive(self):
        self.write("timed.toml", 'alone = true\nmeasure = "step_time"\n' + study())
        process = self.start("study", "timed.toml")
        pool = self.folder / "runs/studies/pool"
        most = 0
        while process.poll() is None:
            states = [json.loads(file.read_text() or "{}") for file in pool.glob("*/status.json")]
            most = max(most, sum(each.get("state") == "training" for each in states))
            time.sleep(0.02)
        self.assertEqual(self.finish(process)[0], 0)
        self.assertEqual(most, 1)
        self.assertEqual(len(list(pool.iterdir())), 8)  # none of those that ran side by side
        timed = [pool / row["folder"] for row in self.rows("runs/studies/timed")]
        timed.sort(key=lambda run: (run / "run.toml").stat().st_mtime_ns)
        states = [json.loads((run / "status.json").read_text()) for run in timed]
        self.assertEqual([state["scheme"] for state in states],  # every second round backwards
                         ["pre_norm", "hybrid_norm", "hybrid_norm", "pre_norm"])
        for state in states:
            self.assertTrue(0 <= state["others"] <= 1, state)
        out, _ = self.succeed("study", "timed.toml", "--dry-run")
        self.assertIn("4 runs, 4 of them finished", out)
        page = (self.folder / "runs/studies/timed/report.md").read_text()
        table = page.split("## Counted and measured")[1].split("## ")[0]
        for scheme in ("pre_norm", "hybrid_norm"):
            row = re.search(rf"^\| {scheme.replace('_', '.?_')} \|(.*)$", table, re.MULTILINE)[1]
            cells = [cell.strip() for cell in row.split("|")]
            plan = json.loads(self.succeed("plan", "--scheme", scheme, "--json",
                                           *program.small())[0])
            share = plan["norm_flops_per_token"] / plan["flops_per_token"]
            self.assertEqual(cells[2], f"{100 * share:.3g} %")
            self.assertGreater(float(cells[4]), 0)

    def test_strict_says_no_if_a_claim_is_contradicted(self):
        self.write("strict.toml", study().replace("seeds = [1, 2]", "seeds = [1, 2, 3, 4, 5, 6]")
                   .replace("[[claims]]", '[[claims]]\nis = "fails"')
                   .replace('than = { scheme = "pre_norm" }', "").replace("paper = -0.014", ""))
        self.assertEqual(self.evenkeel("study", "strict.toml", "--strict").returncode, 1)
        self.succeed("study", "strict.toml")


class Tuned(Case):
    def prepare(self):
        self.write("two.toml", study(steps=60, more=TUNE))
        started = time.monotonic()
        self.succeed("study", "two.toml", "--run", "whole/two")
        self.write("seconds.txt", str(time.monotonic() - started))

    def test_searches_each_arms_own_rate(self):
        page = self.reports("whole/two")[1]
        self.assertIn("schedule.peak", page)
        rates = set()
        for row in self.rows("whole/two"):
            config = (self.folder / "whole/pool" / row["folder"] / "run.toml").read_text()
            rates.add((row["scheme"], re.search(r"^peak = (.*)$", config, re.MULTILINE)[1]))
        self.assertEqual(len(rates), 2, rates)  # one for each scheme
        pool = list((self.folder / "whole/pool").iterdir())
        self.assertEqual(len(pool), 2 * 3 + 2 * 2)
        with open(self.folder / "whole/two/searches.csv", newline="") as file:
            trials = list(csv.DictReader(file))
        self.assertEqual(len(trials), 2 * 3)
        chosen = {(each["name"], each["schedule.peak"]) for each in trials if each["chosen"]}
        self.assertEqual(chosen, {(row["name"], row["tuned"]) for row in self.rows("whole/two")})
        out, _ = self.succeed("study", "two.toml", "--run", "whole/two", "--dry-run")
        self.assertRegex(out, r"4 runs, 4 of them finished, and 6, .*, 6 of them finished")
        self.assertIn("\nall runs are finished\n", out)

    def kill(self, process):
        """As a power cut would, for the study; its children get word of its death."""
        process.kill()
        process.wait()

    def test_killed_at_any_instant_it_ends_with_the_same_report(self):
        lasts = float((self.folder / "seconds.txt").read_text())
        wanted = self.reports("whole/two")
        dice = random.Random(1)
        times = 20 if NIGHTLY else 4
        for _ in range(times):
            process = self.start("study", "two.toml", "--run", "cut/two", "--quiet")
            try:
                process.wait(timeout=dice.uniform(0, 2 * lasts / times))
            except subprocess.TimeoutExpired:
                self.kill(process)
        self.succeed("study", "two.toml", "--run", "cut/two")
        result = [report.replace("cut/two", "whole/two") for report in self.reports("cut/two")]
        self.assertEqual(result, wanted)


class Begun(Case):
    def setUp(self):
        super().setUp()
        self.write("two.toml", study())

    def test_stops_cleanly_and_resumes(self):
        self.write("two.toml", study(steps=10**6))
        process = self.start("study", "two.toml")
        pool = self.folder / "runs/studies/pool"
        self.until(lambda: list(pool.glob("*/metrics.jsonl")), process)
        process.send_signal(signal.SIGTERM)
        code, _ = self.finish(process)
        self.assertEqual(code, 0)
        self.assertIn("missing", self.rows()[0]["state"])
        states = [(folder / "status.json").read_text() for folder in pool.iterdir()]
        self.assertTrue(all('"stopped"' in state for state in states), states)

    def test_a_run_that_crashes_is_retried_once(self):
        self.write("two.toml", study(steps=1000).replace("seeds = [1, 2]", "seeds = [1]"))
        process = self.start("study", "two.toml")
        child = self.child_of(process)
        os.kill(child, signal.SIGKILL)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        self.assertIn("exit code 137", error)
        self.assertIn("it starts again", error)
        self.assertEqual({row["state"] for row in self.rows()}, {"finished"})

    def child_of(self, process):
        """The first child that has a run folder's metrics."""
        self.until(lambda: list(self.folder.glob("runs/studies/pool/*/metrics.jsonl")), process)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        return int(children.split()[0])

    def test_a_run_that_diverges_is_an_outcome(self):
        self.write("two.toml", study().replace("log.every = 5",
                                               'log.every = 5\nschedule.peak = 1e30\n'
                                               'schedule.warmup = 1\nhealth.on_nonfinite = "stop"'))
        self.succeed("study", "two.toml")
        self.assertEqual({row["state"] for row in self.rows()}, {"failed"})
        self.assertTrue(all("diverged" in row["why"] for row in self.rows()))

    def test_a_full_disk_ends_it_and_loses_no_finished_run(self):
        self.write("two.toml", study(steps=3).replace("seeds = [1, 2]", "seeds = [1]"))
        self.succeed("study", "two.toml", "--run", "a/one")
        pool = self.folder / "a/pool"
        before = {file: file.stat().st_mtime_ns for file in pool.rglob("*") if file.is_file()}
        self.write("two.toml", study(steps=3))

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
        done = self.evenkeel("study", "two.toml", "--run", "a/two", before=small_files)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, 74, error)
        self.assertRegex(error.splitlines()[-1], r"^evenkeel: (?!evenkeel)\S+")
        self.assertNotIn("it starts again", error)
        self.assertEqual({file: file.stat().st_mtime_ns for file in before}, before)
        self.succeed("study", "two.toml", "--run", "a/two")
        self.assertEqual({file: file.stat().st_mtime_ns for file in before}, before)

    def test_what_runs_do_not_record_is_refused_before_they_start(self):
        for measure, wanted in [('"val_gap"', "whose entropy is known"),
                                ('{ probe = "grad_norm", step = 7 }', "is never probed"),
                                ('"step_time"', "set alone = true"),
                                ('"ood_loss"', "set data.ood"),
                                ('"val_wrong"', "answers are counted in builtin:addition")]:
            self.write("two.toml", f"measure = {measure}\n" + study())
            done = self.evenkeel("study", "two.toml")
            self.assertEqual(done.returncode, 64)
            self.assertIn(wanted, done.stderr.decode())
        self.assertFalse((self.folder / "runs").exists())

    def test_answers_in_and_out_of_distribution(self):
        sums = study(more='[[claims]]\nsays = "answers"\nmeasure = "ood_wrong"\n'
                          'of = { scheme = "hybrid_norm" }\nthan = { scheme = "pre_norm" }\n')
        sums = sums.replace('data.train = "book.txt"', 'data.train = "builtin:addition"\n'
                                                       'data.ood = "builtin:addition_longer"')
        self.write("sums.toml", 'measure = "val_wrong"\n' + sums)
        self.succeed("study", "sums.toml")
        run = self.folder / "runs/studies/pool" / self.rows("runs/studies/sums")[0]["folder"]
        last = [line for line in program.metrics(run) if "val_loss" in line][-1]
        for share in ("val_exact", "ood_exact"):
            self.assertTrue(0 <= last[share] <= 1, last)
        self.assertGreater(last["ood_loss"], 0)
        value = float(self.rows("runs/studies/sums")[0]["value"])
        self.assertAlmostEqual(value, 1 - last["val_exact"])

    def test_dry_run_starts_nothing(self):
        out, _ = self.succeed("study", "two.toml", "--dry-run")
        self.assertIn("2 arms, 2 seeds: 4 runs\n", out)
        self.assertFalse((self.folder / "runs").exists())

    def test_lists_the_catalogue(self):
        out, _ = self.succeed("study")
        self.assertRegex(out, r"placement +smoke desk paper +\w")


class Catalogue(program.Case):
    def names(self):
        return [study["study"] for study in json.loads(self.succeed("study", "--json")[0])]

    def test_every_study_can_be_planned(self):
        names = self.names()
        plans = self.each(lambda name: self.evenkeel("study", name, "--dry-run", "--json"), names)
        for name, done in zip(names, plans):
            with self.subTest(study=name):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(json.loads(done.stdout)["runs"], 5)


if __name__ == "__main__":
    program.main()
