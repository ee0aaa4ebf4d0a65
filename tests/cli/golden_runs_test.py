#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of 6 steps have the bits that they had when tests/golden/runs.json was written.

The file has digests by processor and LibTorch; on any other machine the test is skipped (exit code 77).
`golden_runs_test.py PATH_OF_EVENKEEL --write` adds those of this machine.
"""
import hashlib
import json
import pathlib
import sys

import program
from program import folder_of, metrics

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/runs.json"
STEPS = 6
RUNS = {"hybrid_norm_star": {"scheme": "hybrid_norm_star"}, "post_norm": {"scheme": "post_norm"},
        "mixture": {"scheme": "hybrid_norm", "model_experts": "{count = 4, bias_rate = 0.01}"}}
PLACE = ("processor", "isa", "libtorch", "libtorch_isa", "precision")


class GoldenRuns(program.Case):
    forks = False

    def run_of(self, name):
        """Where it ran, and the digests of weights, moments and metrics."""
        run = self.train(name, train_steps=STEPS, train_batch=4, train_micro_batch=2, log_every=1, evaluate_every=3,
                         **RUNS[name])
        provenance = json.loads((run / "provenance.json").read_text())
        content = {each: (folder_of(run, STEPS) / each).read_bytes() for each in program.STATE_FILES}
        content["metrics.jsonl"] = json.dumps(metrics(run)).encode()
        digests = {each: hashlib.sha256(data).hexdigest() for each, data in content.items()}
        return " / ".join(provenance[each] for each in PLACE), digests

    def test_have_the_same_bits(self):
        golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
        for name in RUNS:
            place, digests = self.run_of(name)
            if WRITE:
                golden.setdefault(place, {})[name] = digests
            elif place not in golden:
                self.skipTest(f"{GOLDEN.name} has no runs of {place}")
            else:
                with self.subTest(run=name):
                    self.assertEqual(digests, golden[place][name])
        if WRITE:
            GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    WRITE = "--write" in sys.argv
    sys.argv = [each for each in sys.argv if each != "--write"]
    program.main()
