#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training in its stride takes its memory from the caching allocator, not from the kernel."""
import program
from program import lines_of, settings

WARM = 5  # steps in which memory is taken for the first time
MOST = 100  # minor page faults a step; without the cache it is thousands


class Steady(program.Case):
    forks = False

    def test_a_step_of_the_default_run_causes_few_page_faults(self):
        self.succeed("train", "--quiet", "--run", "run", *settings(
            {"train.steps": 12, "log.every": 1, "evaluate.every": 0, "evaluate.sequences": 2}))
        lines = [line for line in lines_of(self.folder / "run/metrics.jsonl") if "faults" in line]
        self.assertEqual(len(lines), 12)
        self.assertGreater(lines[0]["faults"], MOST)  # or the counter counts nothing
        for line in lines[WARM:]:
            self.assertLess(line["faults"], MOST, line)


if __name__ == "__main__":
    program.main()
