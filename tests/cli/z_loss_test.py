#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.z_loss: the z-loss of the logits in training, in the records and in the run folder."""
import csv

import program
from program import lines_of, metrics, small

STEPS = {"train_steps": 3, "log_every": 1, "train_precision": "float64", "log_csv": "true"}


class ZLoss(program.Case):
    def train(self, name, **changed):
        self.succeed("train", "--quiet", "--run", name, *small(**STEPS, **changed))
        return [line for line in lines_of(self.folder / name / "metrics.jsonl") if "loss" in line]

    def same(self, runs, *fields):
        for other in runs[1:]:
            for one, two in zip(runs[0], other):
                for field in fields:
                    self.assertAlmostEqual(one[field], two[field], delta=1e-11 * abs(one[field]))

    def test_the_loss_in_training_has_it_and_the_recorded_loss_does_not(self):
        plain = self.train("plain")
        self.assertFalse([line for line in plain if "z_loss" in line])
        lines = self.train("with", train_z_loss=0.01)
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0]["loss"], plain[0]["loss"])  # the cross-entropy, before any update
        self.assertNotEqual(lines[0]["grad_norm"], plain[0]["grad_norm"])
        self.assertNotEqual(lines[2]["loss"], plain[2]["loss"])
        for line in lines:
            self.assertGreater(line["z_loss"], 1)  # about (ln of the vocabulary)^2
        with open(self.folder / "with/metrics.csv", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["z_loss"]]
        self.assertEqual([float(row["z_loss"]) for row in rows], [line["z_loss"] for line in lines])

    def test_it_is_that_of_plain_tensor_operations_for_any_micro_batch(self):
        runs = [self.train(f"{fused}-{size}", train_z_loss=0.01, kernels_fused=fused, train_micro_batch=size)
                for fused, size in (("true", 2), ("true", 1), ("false", 2), ("false", 1))]
        self.same(runs, "loss", "z_loss", "grad_norm")
        for name in ("true-2", "true-1", "false-2"):
            self.assertAlmostEqual(metrics(self.folder / name)[-1].get("val_loss", 0),
                                   metrics(self.folder / "false-1")[-1].get("val_loss", 0), places=11)

    def test_a_negative_coefficient_is_refused(self):
        self.refuse(64, "--set train.z_loss=-1: train.z_loss must be a number >= 0, but is -1", "train", "--run", "x",
                    *small(train_z_loss=-1))


if __name__ == "__main__":
    program.main()
