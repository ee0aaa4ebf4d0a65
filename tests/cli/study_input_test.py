#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study that cannot be run says so in one line, before anything is started."""
import json
import re
import shutil
import signal
import xml.etree.ElementTree

import program
import study_runs_test
from study_runs_test import study


class Begun(program.Case):
    """A study of two steps that has been run."""

    def prepare(self):
        self.write("two.toml", study(steps=2))
        self.succeed("study", "two.toml")

    def test_recorded_runs_have_the_same_verdicts(self):
        """--from judges runs.csv without the pool; --figures writes SVG files."""
        verdicts = json.loads(self.succeed("study", "two.toml", "--json")[0])["verdicts"]
        shutil.copy(self.folder / "runs/studies/two/runs.csv", self.folder / "kept.csv")
        shutil.rmtree(self.folder / "runs")
        said, message = self.succeed("study", "two.toml", "--from", "kept.csv", "--json", "--figures", "figures")
        self.assertEqual(json.loads(said)["verdicts"], verdicts)
        self.assertFalse((self.folder / "runs").exists())
        files = sorted((self.folder / "figures").iterdir())
        self.assertEqual(message, f"{len(files)} {'figure' if len(files) == 1 else 'figures'} in figures\n")
        self.assertTrue(files)
        for file in files:
            self.assertEqual(xml.etree.ElementTree.parse(file).getroot().tag, "{http://www.w3.org/2000/svg}svg")
            self.assertNotIn("var(", file.read_text())  # programs other than browsers would draw black

    def test_quiet_has_results_and_no_notes(self):
        """Standard error is empty: neither the place of the figures nor the claims that the seeds cannot decide."""
        self.write("two.toml", study(steps=2) + '[[claims]]\nsays = "x"\nis = "trains"\nof = { scheme = "pre_norm" }\n')
        command = ["study", "two.toml", "--override", "--figures", "figures"]
        loud, notes = self.succeed(*command)
        self.assertRegex(notes, r"claim 2 cannot be decided with 2 seeds: [^\n]*\n(.*\n)*\d+ figures? in figures\n")
        shutil.rmtree(self.folder / "figures")
        self.assertEqual(self.succeed(*command, "--quiet"), (loud, ""))
        self.assertTrue(list((self.folder / "figures").iterdir()))
        shutil.copy(self.folder / "runs/studies/two/runs.csv", self.folder / "kept.csv")
        _, notes = self.succeed("study", "two.toml", "--from", "kept.csv", "--figures", "figures", "--quiet")
        self.assertEqual(notes, "")

    def test_dry_run_says_the_hours_that_are_left(self):
        said = self.succeed("study", "two.toml", "--seeds", "4", "--dry-run")[0]
        self.assertIn("2 arms, 4 seeds: 8 runs, 4 of them finished\n", said)
        self.assertRegex(said, r"\nthe other runs take about \d\S* \w+ here, at the speed of the finished ones\n")
        plan = json.loads(self.succeed("study", "two.toml", "--seeds", "4", "--dry-run", "--json")[0])
        self.assertTrue(0 < plan["hours"] < 0.1, plan)
        self.assertEqual(json.loads(self.succeed("study", "two.toml", "--dry-run", "--json")[0])["hours"], 0)
        self.assertFalse(plan["hours_are_estimated"])

    def test_dry_run_estimates_hours_and_disk(self):
        said = self.succeed("study", "placement", "--dry-run")[0]
        self.assertRegex(said, r"\nthe runs take about \d\S* \w+ here, estimated from the rate of a matrix product\n")
        self.assertRegex(said, r"\ncheckpoints: \d\S* MiB of disk, \d\S* \wiB free here\n$")
        plan = json.loads(self.succeed("study", "placement", "--dry-run", "--json")[0])
        self.assertTrue(plan["hours_are_estimated"])
        self.assertTrue(0 < plan["hours"] < 2, plan)
        large = self.succeed("study", "beats_both", "--size", "paper_1b", "--dry-run")[0]
        self.assertRegex(large, r"\ncheckpoints: \d\S* [GT]iB of disk, ")

    def test_recorded_runs_of_another_study(self):
        self.write("odd.csv", "name,scheme,seed,state,value\nx,post_norm,1,finished,2\n")
        self.refuse(65, 'odd.csv, line 2: study two has no arm with scheme "post_norm"', "study", "two.toml", "--from", "odd.csv")
        self.refuse_each([(64, "--from trains nothing: leave out --set, --jobs, --run, --device, --override, --workers, "
                           "--heartbeat-timeout, --slurm and --array", "study", "two.toml", "--from", "odd.csv", *option)
                          for option in (("--jobs", 1), ("--device", "cpu"), ("--device", "cuda"))])
        self.refuse(74, "none.csv: cannot open: No such file or directory", "study", "two.toml", "--from", "none.csv")

    def test_a_file_that_changed(self):
        self.write("two.toml", study(steps=2).replace("seeds = [1, 2]", "seeds = [1, 2, 3]"))
        self.refuse(78, "runs/studies/two: the study was begun with something else: seeds was "
                    "[1,2], but is [1,2,3]; name another folder with --run (finished runs are "
                    "shared), or allow it with --override", "study", "two.toml")
        self.succeed("study", "two.toml", "--override")

    def test_a_claim_that_changed(self):
        """A changed claim about existing runs needs --override, and the report names the change."""
        self.write("two.toml", study(steps=2).replace("[[claims]]", '[[claims]]\nis = "alike"\n'
                                                      'margin = 1'))
        self.refuse(78, "runs/studies/two: the study was begun with something else: [[claims]] had "
                    '["lower: hybrid_norm than pre_norm in validation loss"], but has ["alike: '
                    'hybrid_norm than pre_norm within 1.0 in validation loss"]; name another folder '
                    "with --run (finished runs are shared), or allow it with --override",
                    "study", "two.toml")
        for _ in range(2):
            self.succeed("study", "two.toml", "--override")
        for name in ("report.md", "report.html"):
            page = (self.folder / "runs/studies/two" / name).read_text()
            self.assertEqual(page.count("The study was changed after it was begun"), 1)

    def test_all_changes_are_reported(self):
        self.write("two.toml", study(steps=3).replace("paper = -0.014", "at = {}").replace(
            "seeds = [1, 2]", "seeds = [1, 2, 3]").replace("[[claims]]", '[[claims]]\nis = "alike"\n'
                                                           'margin = 1'))
        done = self.evenkeel("study", "two.toml")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b"(and 2 more); name another", done.stderr)
        self.succeed("study", "two.toml", "--override")
        page = (self.folder / "runs/studies/two/report.md").read_text()
        for change in ("seeds was", "train.steps=3", "alike: hybrid"):
            self.assertIn(change, page)

    def test_a_setting_that_changed(self):
        self.write("two.toml", study(steps=3))
        self.refuse(78, "runs/studies/two: the study was begun with something else: [settings] had "
                    '["train.steps=2"], but has ["train.steps=3"]; name another folder with --run '
                    "(finished runs are shared), or allow it with --override", "study", "two.toml")

    def test_more_seeds_than_the_file_has(self):
        self.refuse(78, "runs/studies/two: the study was begun with something else: seeds was "
                    "[1,2], but is [1,2,3]; name another folder with --run (finished runs are "
                    "shared), or allow it with --override", "study", "two.toml", "--seeds", "3",
                    "--run", "runs/studies/two")
        self.succeed("study", "two.toml", "--seeds", "3")
        own = self.folder / "runs/studies/two-3-seeds"
        self.assertIn("--seeds 3", (own / "report.md").read_text())
        self.assertEqual(len((own / "runs.csv").read_text().splitlines()), 1 + 6)
        self.assertEqual(len(list(self.folder.glob("runs/studies/pool/*"))), 6)

    def test_the_folder_of_another_study(self):
        self.write("other.toml", study(steps=2))
        done = self.evenkeel("study", "other.toml", "--run", "runs/studies/two")
        self.assertEqual(done.returncode, 78)
        self.assertIn(b'the study was "two", but is "other"', done.stderr)


class OfFiles(program.Case):
    """A study with a scheme of a file and a text of a file, which its runs depend on."""

    def prepare(self):
        (self.folder / "st").mkdir()
        self.write("st/mine.toml", 'extends = "post_norm"\ntitle = "Mine"\n')
        self.write("own.toml", study(steps=2).replace('"hybrid_norm"', '"st/mine.toml"'))
        self.succeed("study", "own.toml")

    def refuse_changes(self, difference):
        self.refuse(78, f"runs/studies/own: the study was begun with something else: {difference}; name another "
                    "folder with --run (finished runs are shared), or allow it with --override", "study", "own.toml")

    def page(self, name="report.md"):
        return (self.folder / "runs/studies/own" / name).read_text()

    def test_the_report_has_the_scheme(self):
        scheme = self.page().partition("\nThe scheme mine:\n\n```\n")[2].partition("```")[0]
        self.assertIn('title = "Mine"\n', scheme)
        self.assertEqual(json.loads(self.page("study.json"))["scheme mine"], scheme.splitlines())
        self.assertIn("<summary>The scheme mine</summary>", self.page("report.html"))
        self.write("copy.toml", scheme)
        self.succeed("schemes", "show", "copy.toml")

    def test_a_scheme_that_changed(self):
        self.write("st/mine.toml", 'extends = "post_norm"\ntitle = "Yours"\n')
        change = 'scheme mine had ["title = \\"Mine\\""], but has ["title = \\"Yours\\""]'
        self.refuse_changes(change)
        self.succeed("study", "own.toml", "--override")
        self.assertIn("The study was changed after it was begun: scheme mine had", self.page())

    def test_a_text_that_changed(self):
        before = json.loads(self.page("study.json"))["texts"]
        self.write("book.txt", (self.folder / "book.txt").read_text().replace("moon", "noon"))
        done = self.evenkeel("study", "own.toml")
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn(b'the study was begun with something else: texts had ["data.train ', done.stderr)
        self.succeed("study", "own.toml", "--override")
        self.assertIn("The study was changed after it was begun: texts had", self.page())
        self.assertNotEqual(json.loads(self.page("study.json"))["texts"], before)

    def test_a_folder_of_an_older_version(self):
        file = self.folder / "runs/studies/own/study.json"
        whole = file.read_text()
        known = json.loads(whole)
        file.write_text(json.dumps({key: known[key] for key in known if key not in ("texts", "scheme mine")}))
        self.succeed("study", "own.toml")
        self.assertEqual(file.read_text(), whole)


class Recorded(program.Case):
    """--from: a study of a file, without runs."""

    def judge(self, rows, *options, mark="", **study_options):
        self.write("two.toml", study(steps=2, **study_options))
        header = "scheme,seed,state,why,value,training_loss,validation_loss\n"
        self.write("kept.csv", mark + header + "".join(rows))
        return self.succeed("study", "two.toml", "--from", "kept.csv", "--json", *options)

    def test_the_threshold_is_that_of_the_study(self):
        rows = [f"{scheme},{seed},finished,,{loss + seed / 100},2,{loss + seed / 100}\n"
                for scheme, loss in (("pre_norm", 2), ("hybrid_norm", 6)) for seed in range(1, 7)]
        said, message = self.judge(rows)
        self.assertEqual(message, "kept.csv: fails_above = 5.5 changes the state of 6 runs\n")
        self.assertIn("6 of 6 runs of hybrid_norm failed", json.loads(said)["verdicts"][0]["sentence"])
        self.assertEqual(self.judge(rows, "--quiet"), (said, ""))

    def test_an_equivalence_has_no_sign_flip_p(self):
        alike = ('[[claims]]\nsays = "Alike"\nis = "alike"\nmargin = 0.1\nof = { scheme = "hybrid_norm" }\n'
                 'than = { scheme = "pre_norm" }\n')
        rows = [f"{scheme},{seed},finished,,{factor * seed},2,{factor * seed}\n"
                for scheme, factor in (("pre_norm", 1), ("hybrid_norm", 1.01)) for seed in (1, 2, 3)]
        lower, same = json.loads(self.judge(rows, more=alike)[0])["verdicts"]
        self.assertIsNone(same["sign_flip_p"])
        self.assertGreater(lower["sign_flip_p"], 0)

    def test_a_byte_order_mark(self):
        rows = [f"{scheme},{seed},finished,,{seed},2,{seed}\n"
                for scheme in ("pre_norm", "hybrid_norm") for seed in (1, 2)]
        self.assertEqual(self.judge(rows, mark="\ufeff"), self.judge(rows))

    def test_a_power_law_has_a_prediction_interval(self):
        """The numbers are scipy's: linregress of logarithms, t.ppf(0.975, 2) standard errors of a new value."""
        text = re.sub(r"model\.layers = .*\n", "", study(steps=2))
        axis = "model.layers = [1, 2, 4, 8, 16]\n[[claims]]"
        self.write("two.toml", 'power_law = "parameters"\n' + text.replace("[[claims]]", axis, 1))
        lines = "".join(f"{scheme},{layers},1,finished,{loss},{100 * layers}\n" for scheme in ("pre_norm", "hybrid_norm")
                        for layers, loss in zip((1, 2, 4, 8, 16), (4.1, 3.5, 3.05, 2.6, 2.31)))
        self.write("kept.csv", "scheme,model.layers,seed,state,value,parameters\n" + lines)
        said, _ = self.succeed("study", "two.toml", "--from", "kept.csv", "--json")
        laws = json.loads(said)["power_laws"]
        self.assertEqual([law["name"] for law in laws], ["pre_norm", "hybrid_norm"])
        for key, wanted in {"factor": 10.624198752086892, "exponent": -0.20843054149826515,
                            "exponent_low": -0.22607646785367466, "exponent_high": -0.19078461514285563,
                            "predicted": 2.2424942559134626, "predicted_low": 2.1417615255417797,
                            "predicted_high": 2.347964714013991, "measured": 2.31}.items():
            self.assertAlmostEqual(laws[0][key], wanted, 9, key)


class BadInput(program.Case):
    def setUp(self):
        super().setUp()
        self.write("two.toml", study(steps=2))

    def test_no_such_study(self):
        self.refuse(64, 'no study is named "placment"; did you mean "placement"? known: '
                    + ", ".join(sorted(self.catalogue()))
                    + "; one of your own is a path that ends with .toml", "study", "placment")

    def catalogue(self):
        out, _ = self.succeed("study")
        return [line.split()[0] for line in out.splitlines()]

    def test_options_of_a_study_without_one(self):
        self.refuse_each([(64, "every option but --json needs a study, but none is named; list them with: "
                           "evenkeel study", "study", *option) for option in (
                               ("--seeds", "3"), ("--size", "desk"), ("--set", "train.steps=3"),
                               ("--strict",), ("--jobs", "2"), ("--dry-run",), ("--run", "runs"),
                               ("--figures", "figures"), ("--heartbeat-timeout", "5"), ("--array", "2"),
                               ("--workers",), ("--slurm",), ("--override",), ("--from", "runs.csv"),
                               ("--device", "cpu"), ("--quiet",))])

    def test_options_without_effect_on_a_dry_run(self):
        self.refuse_each([(64, "--dry-run starts no run: leave out --strict, --override, --workers and "
                           "--heartbeat-timeout", "study", "two.toml", "--dry-run", *option) for option in (
                               ("--strict",), ("--workers",), ("--override",),
                               ("--workers", "--heartbeat-timeout", "5"))])

    def test_paper_is_a_finite_number(self):
        text = study(steps=2).replace("paper = -0.014", "paper = nan")
        self.write("two.toml", text)
        line = text.split("\n").index("paper = nan") + 1
        self.refuse(64, f"two.toml:{line}: claims.paper must be a finite number, but is nan", "study", "two.toml")

    def test_a_folder_that_is_no_study(self):
        (self.folder / "mine").mkdir()
        self.write("mine/letter.txt", "Dear")
        self.refuse(64, "mine holds something else than a study; name another folder with --run",
                    "study", "two.toml", "--run", "mine")

    def test_two_at_once(self):
        self.write("two.toml", study(steps=10**6))
        process = self.start("study", "two.toml")
        self.until(lambda: list(self.folder.glob("runs/studies/pool/*/metrics.jsonl")), process)
        done = self.evenkeel("study", "two.toml")
        self.assertEqual(done.returncode, 75)
        process.send_signal(signal.SIGTERM)
        self.finish(process)

    def test_a_measure_that_does_not_exist(self):
        measure = 'measure = { probe = "branch_ration", part = "block", as = "slope", step = 2 }\n'
        self.write("two.toml", measure + study(steps=2))
        done = self.evenkeel("study", "two.toml")
        self.assertEqual(done.returncode, 64)
        self.assertIn('measure: no probe is named "branch_ration"; did you mean "branch_ratio"? ',
                      done.stderr.decode())

    def test_unknown_words(self):
        for more, wanted in [("[[claims]]\nsays = \"x\"\nis = \"best\"\nof = {scheme = \"keel\"}\n",
                              'claims.is: unknown word "best"'),
                             ("colour = 3\n", "colour")]:
            self.write("two.toml", more + study(steps=2) if "=" in more[:8] else
                       study(steps=2) + more)
            done = self.evenkeel("study", "two.toml")
            self.assertEqual(done.returncode, 64)
            self.assertIn(wanted, done.stderr.decode())
            self.assertEqual(done.stderr.count(b"\n"), 1)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)


class Refined(study_runs_test.Case):
    def test_tries_further_values_near_the_best(self):
        rates = "schedule.peak = [2e-3, 8e-3]\n[[claims]]"
        refine = '[refine]\nover = "schedule.peak"\nextend = 1\n'
        text = study(steps=40, more=refine).replace("[[claims]]", rates, 1)
        text = text.replace("paper = -0.014", 'measure = { over = "schedule.peak", as = "best" }')
        self.write("two.toml", text)
        self.succeed("study", "two.toml")
        rows = self.rows()
        found = {scheme: sorted({float(row["schedule.peak"]) for row in rows if row["scheme"] == scheme})
                 for scheme in ("pre_norm", "hybrid_norm")}
        for scheme, rates in found.items():
            self.assertGreaterEqual(len(rates), 4, found)  # beyond an end, and between
            self.assertLessEqual({2e-3, 8e-3}, set(rates))
            losses = {rate: sum(float(row["value"]) for row in rows if row["scheme"] == scheme and
                                float(row["schedule.peak"]) == rate) for rate in rates}
            place = rates.index(min(losses, key=losses.get))
            for near in rates[max(0, place - 1):place + 2]:
                self.assertLess(max(near / rates[place], rates[place] / near), 1.5, found)
        reports, count = self.reports(), len(list((self.folder / "runs/studies/pool").iterdir()))
        self.assertEqual(count, len(rows))
        self.succeed("study", "two.toml")
        self.assertEqual(self.reports(), reports)
        self.assertEqual(len(list((self.folder / "runs/studies/pool").iterdir())), count)
        said, _ = self.succeed("study", "two.toml", "--dry-run")
        self.assertIn(f"8 runs, 8 of them finished, and {count - 8} near the best values of schedule.peak, "
                      f"{count - 8} of them finished\n", said)
        self.assertIn("\nall runs are finished\n", said)
        whole = json.loads(self.succeed("study", "two.toml", "--json")[0])
        again = json.loads(self.succeed("study", "two.toml", "--from", "runs/studies/two/runs.csv", "--json")[0])
        self.assertEqual(again["verdicts"], whole["verdicts"])


if __name__ == "__main__":
    program.main()
