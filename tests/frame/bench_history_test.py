#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/history.py with a program that prints given times."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import history  # noqa: E402

ROWS_OF_A_RUN = 2 * 2 * 2  # models, precisions, schemes


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "history.csv"

    def measure(self, seconds, exit_code=0):
        """Runs bench/history.py with a program whose steps take this long."""
        machine = {"commit": "abc", "processor": "a processor", "isa": "avx2", "threads": 2}
        records = [{"date": "2026-01-02T00:00:00Z", "machine": machine, "scheme": scheme, "floor_seconds": 0.5,
                    "round_seconds": [factor * seconds for factor in (0.99, 1, 1, 1, 1.01)]}
                   for scheme in ("pre_norm", "hybrid_norm")]
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(records)}\nEOF\nexit {exit_code}\n")
        program.chmod(0o755)
        return subprocess.run([sys.executable, ROOT / "bench/history.py", program, self.file], capture_output=True,
                              text=True, check=False)

    def rows(self):
        with self.file.open() as file:
            return list(csv.DictReader(file))

    def test_a_run_appends_a_row_per_case_and_scheme(self):
        done = self.measure(1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("2.00 of the floor  first"), ROWS_OF_A_RUN)
        self.measure(1)
        self.assertEqual(len(self.rows()), 2 * ROWS_OF_A_RUN)
        self.assertEqual({row["median_ms"] for row in self.rows()}, {"1000"})

    def test_a_slower_run_is_found(self):
        self.measure(1)
        self.assertEqual(self.measure(1.04).returncode, 0)
        done = self.measure(1.2)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count("1.176 of the last 2, SLOWER"), ROWS_OF_A_RUN)

    def test_one_slow_run_does_not_hide_the_next(self):
        for seconds in (1, 1, 1, 1.2):
            last = self.measure(seconds)
        self.assertEqual(last.returncode, 1)
        self.assertEqual(self.measure(1.2).returncode, 1)

    def test_a_name_gets_family_and_model(self):
        cpuinfo = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
        self.assertEqual(history.name_of("AMD EPYC", cpuinfo), "AMD EPYC, family 26 model 2")
        self.assertEqual(history.name_of("a processor", "model name\t: x\n"), "a processor")

    def test_a_busy_machine_and_a_failure_append_nothing(self):
        self.assertEqual(self.measure(1, exit_code=75).returncode, 75)
        failed = self.measure(1, exit_code=1)
        self.assertEqual(failed.returncode, 70)
        self.assertIn("--json: exit code 1", failed.stderr)
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main()
