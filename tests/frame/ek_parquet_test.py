#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When ./ek builds the reader of parquet files, and what it fetches for it."""
import unittest

from ek_case import Ek

FETCHING = "evenkeel: fetching Arrow for parquet files (once, 55 MB)"


class Parquet(Ek):
    def built(self):
        """The targets that were built since the last call, and whether pyarrow was fetched."""
        calls = self.calls()
        targets = [line.split()[-1] for line in calls if line.startswith("ninja ")]
        return targets, any("parquet_requirements.txt" in line for line in calls)

    def test_other_inputs_fetch_nothing(self):
        self.assertNotIn(FETCHING, self.ek("train", "--set", "data.train=a.txt")[2])
        self.assertEqual(self.built(), (["evenkeel"], False))

    def test_an_argument_with_a_parquet_file_builds_the_reader(self):
        code, out, error = self.ek("train", "--set", "data.train=wiki/*.parquet")
        self.assertEqual((code, out[-1]), (0, "<data.train=wiki/*.parquet>"))
        self.assertIn(FETCHING, error)
        self.assertEqual(self.built(), (["evenkeel", "evenkeel_parquet"], True))
        self.assertNotIn(FETCHING, self.ek("train", "--set", "data.train=b.parquet")[2])
        self.assertEqual(self.built(), (["evenkeel", "evenkeel_parquet"], False))

    def test_the_verb_builds_the_reader(self):
        self.assertEqual(self.ek("parquet")[:2], (0, []))
        self.assertEqual(self.built(), (["evenkeel", "evenkeel_parquet"], True))

    def test_digests_are_required_and_nothing_else_comes(self):
        self.ek("parquet")
        pip = [line for line in self.calls() if "parquet_requirements.txt" in line]
        self.assertEqual(len(pip), 1)
        self.assertIn(" install --require-hashes --no-deps --only-binary=:all: ", pip[0])

    def test_a_package_that_cannot_be_fetched_is_no_package(self):
        self.ek("train")
        code, _, error = self.ek("parquet", FAIL_PIP="1")
        self.assertEqual((code, error[-1]), (74, "evenkeel: parquet failed; all of it is in build/log/parquet.log"))
        self.assertFalse((self.root / ".deps/pyarrow.complete").exists())
        self.assertEqual(self.ek("parquet")[0], 0)

    def test_other_requirements_fetch_it_again(self):
        self.ek("parquet")
        requirements = self.root / "tools/parquet_requirements.txt"
        requirements.write_text(requirements.read_text().replace("==26", "==27"))
        self.assertIn(FETCHING, self.ek("parquet")[2])

    def test_the_folder_is_a_setting_of_the_build(self):
        self.ek("train")
        self.calls()
        self.ek("parquet")
        cmake = [line for line in self.calls() if line.startswith("cmake ")]
        self.assertEqual(len(cmake), 1)
        self.assertTrue(cmake[0].endswith(f"-DEVENKEEL_PYARROW={self.root}/.deps/pyarrow/pyarrow"), cmake[0])


if __name__ == "__main__":
    unittest.main()
