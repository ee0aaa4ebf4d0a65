#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes of a fresh model, of a checkpoint and inside a run; troubles that the monitor names."""
import json

import program
from program import lines_of, metrics, small, state_at


def profiles(lines, measure, part=""):
    return [line for line in lines if line["measure"] == measure and line["part"] == part]


class Probe(program.Case):
    def test_probes_a_fresh_model(self):
        out = self.succeed("probe", *small(model_layers=2))[0]
        self.assertTrue(out.startswith("hybrid_norm_star, step 0, a batch of training text: loss "))
        rows = [line.split() for line in out.splitlines()]
        head = next(i for i, row in enumerate(rows) if row[:3] == ["layer", "grad", "norm"])
        self.assertEqual([row[0] for row in rows[head + 1:head + 4]], ["embed", "1", "2"])
        for measure, heading in (("skip_loss", "skip loss"), ("weight_norm", "weight: q"),
                                 ("stream_jacobian", "jacobian")):
            self.assertIn(heading, self.succeed("probe", *small(), "--what", measure)[0])

    def test_measures_what_the_configuration_names(self):
        result = json.loads(self.succeed("probe", *small(), "--set", 'probe.what=["kurtosis"]', "--json")[0])
        self.assertEqual({each["measure"] for each in result["profiles"]}, {"kurtosis"})

    def test_probes_a_checkpoint_and_records_the_result(self):
        run = self.train("run", train_steps=3)
        arguments = ("--run", run, "--what", "stream_rms", "--what", "attention_entropy")
        result = json.loads(self.succeed("probe", *arguments, "--json")[0])
        self.assertEqual((result["step"], result["on"]), (3, "validation"))
        self.assertEqual({each["measure"] for each in result["profiles"]},
                         {"stream_rms", "attention_entropy"})
        self.assertEqual(lines_of(run / "probes.jsonl"), result["profiles"])
        self.assertIn("Residual stream", (run / "report.html").read_text())

    def test_a_checkpoint_of_a_mixture_says_which_source_it_reads(self):
        for name in ("a.txt", "b.txt"):
            self.write(name, program.BOOK)
        mixture = "[{ path = 'a.txt', weight = 0.25 }, { path = 'b.txt', weight = 0.75 }]"
        run = self.train("run", train_steps=1, data_train=mixture)
        arguments = ("probe", "--run", run, "--what", "stream_rms", "--json")
        out, error = self.succeed(*arguments)
        self.assertEqual(error, "note: probe reads the validation text of the first of 2 data sources only: a.txt\n")
        self.assertEqual(json.loads(out)["on"], "validation")
        one = self.train("one", train_steps=1)
        self.assertEqual(self.succeed("probe", "--run", one, "--what", "stream_rms", "--json")[1], "")

    def test_refuses_weights_that_it_would_not_load(self):
        self.refuse(64, "train.from has no effect on a model with initial weights; for those of a run: evenkeel probe "
                    "--run run", "probe", *program.small(train_from="run"))

    def test_refuses_what_it_cannot_measure(self):
        done = self.evenkeel("probe", *small(), "--what", "effective_rnk")
        self.assertEqual(done.returncode, 64)
        self.assertTrue(done.stderr.decode().startswith(
            "evenkeel: --what effective_rnk: no measure has this name; did you mean "
            "\"effective_rank\"? known: all, "), done.stderr)
        (self.folder / "bare").mkdir()
        for name in ("absent", "bare"):
            self.refuse(77, f"{name}: not a run folder (no run.toml); `evenkeel runs` lists them",
                        "probe", "--run", name)
        self.assertEqual(list((self.folder / "bare").iterdir()), [])
        for name in ("update_ratio", "stream_shift"):
            self.refuse(64, f"--what {name}: is measured inside a run: evenkeel train --set probe.steps=[100] --set "
                        f'probe.what=["{name}"]', "probe", "--what", name)
        for name, why in (("update_ratio", 'is measured inside a run: evenkeel train --set probe.steps=[100] --set '
                           'probe.what=["update_ratio"]'),
                          ("dead_experts", "is measured in a mixture of experts, but model.experts.count is 0")):
            self.refuse(64, f"probe.what: {name} {why}; --what chooses other measures",
                        "probe", *small(), "--set", f'probe.what=["{name}"]')
        self.refuse(64, "--set probe.steps=[0]: probe.steps[0] must be an integer >= 1, but is 0",
                    "config", "--set", "probe.steps=[0]")
        self.refuse(64, "--set probe.steps=5: probe.steps must be a list of integers, but is 5",
                    "config", "--set", "probe.steps=5")


class InRun(program.Case):
    def test_probes_change_nothing_of_the_run(self):
        """Not even where norms over the batch keep running values."""
        for scheme in ("hybrid_norm_star", "batch_norm", "sigma_reparam", "qk_clip"):
            with self.subTest(scheme):
                plain = self.train(f"plain-{scheme}", scheme=scheme, train_steps=8, log_every=1)
                probed = self.train(f"probed-{scheme}", scheme=scheme, train_steps=8, log_every=1,
                                    probe_every=2, probe_steps=[1],
                                    probe_what='["all", "skip_loss", "stream_jacobian", "stream_shift"]')
                self.assertEqual(state_at(plain, 8), state_at(probed, 8))
                self.assertEqual(metrics(plain), metrics(probed))
                self.assertFalse((plain / "probes.jsonl").exists())
                flow = profiles(lines_of(probed / "probes.jsonl"), "grad_norm", "block")
                self.assertEqual([line["step"] for line in flow], [1, 2, 4, 6, 8])

    def test_the_probe_of_step_1_is_that_of_the_fresh_model(self):
        run = self.train("run", train_steps=2, probe_steps=[1])
        fresh = json.loads(self.succeed("probe", "--json", *small())[0])["profiles"]
        inside = lines_of(run / "probes.jsonl")
        ratios = profiles(inside, "update_ratio", "attention.output.weight")
        self.assertEqual(len(ratios), 1)
        self.assertGreater(ratios[0]["values"][0], 0)
        measured = [line for line in inside if line["measure"] != "update_ratio"]
        self.assertEqual([line | {"step": 0} for line in measured], fresh)

    def test_a_resumed_run_drops_later_probes(self):
        run = self.train("run", train_steps=6, probe_every=2, checkpoint_every=3)
        whole = lines_of(run / "probes.jsonl")
        for step in (6,):
            for file in program.folder_of(run, step).iterdir():
                file.unlink()
            program.folder_of(run, step).rmdir()
        self.succeed("train", "--quiet", "--run", run)
        self.assertEqual(lines_of(run / "probes.jsonl"), whole)


class Health(program.Case):
    def test_a_spike_is_named_and_skipped(self):
        """Learning rate 0 in every step but warm weights: only the text can spike. A document of
        other letters in the middle of an easy text is one."""
        easy = "ab" * 4000
        self.write("book.txt", easy + "\n" + "zQ7#xW!" * 12 + "\n" + easy)
        run = self.train("run", data_train="book.txt", train_steps=260, train_batch=2,
                         schedule_peak="1e-2", health_on_spike="skip")
        events = lines_of(run / "health.jsonl")
        self.assertEqual({event["event"] for event in events}, {"spike"}, events)
        self.assertIn("the loss is that of sequence", events[0]["detail"])
        self.assertIn("the step was skipped", events[0]["detail"])

    def test_on_spike_stop_ends_the_run(self):
        easy = "ab" * 4000
        self.write("book.txt", easy + "\n" + "zQ7#xW!" * 12 + "\n" + easy)
        done = self.evenkeel("train", "--quiet", "--run", "run",
                             *small(train_steps=260, schedule_peak="1e-2", health_on_spike="stop"))
        self.assertEqual(done.returncode, 76, done.stderr)
        self.assertIn('(health.on_spike is "stop")', done.stderr.decode())


if __name__ == "__main__":
    program.main()
