#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `./ek wheel` builds and fetches, and the folder that it writes to."""
import unittest

from ek_case import Ek

FETCHING = "evenkeel: fetching tools that make wheels"


class Wheel(Ek):
    def made(self):
        """The targets that were built since the last call, and the arguments of tools/build_wheel.py."""
        calls = self.calls()
        targets = [line.split()[-1] for line in calls if line.startswith("ninja ")]
        made = [line.split("build_wheel.py ")[1] for line in calls if "build_wheel.py " in line]
        return targets, made

    def test_it_takes_what_the_build_holds(self):
        code, _, error = self.ek("wheel")
        self.assertEqual(code, 0)
        self.assertEqual(error[-2:], [FETCHING, "evenkeel: making a wheel"])
        self.assertEqual(self.made(), (["evenkeel", "evenkeel_ops"],
                                       [f"{self.root}/build/release {self.root}/dist"]))

    def test_digests_are_required_and_the_second_time_fetches_nothing(self):
        self.ek("wheel")
        (pip,) = [line for line in self.calls() if "wheel_requirements.txt" in line]
        self.assertIn(" install --require-hashes --no-deps --only-binary=:all: ", pip)
        self.assertNotIn(FETCHING, self.ek("wheel")[2])
        self.assertFalse([line for line in self.calls() if "wheel_requirements.txt" in line])

    def test_another_folder(self):
        self.ek("wheel", "--output", "elsewhere")
        self.assertEqual(self.made()[1], [f"{self.root}/build/release elsewhere"])

    def test_bad_arguments(self):
        for words, found in ((["--out", "x"], '"--out"'), (["x"], '"x"')):
            code, _, error = self.ek("wheel", *words)
            self.assertEqual(code, 64)
            self.assertTrue(error[-1].startswith("evenkeel: wheel: wanted "), error)
            self.assertTrue(error[-1].endswith(f"but found {found}"), error)


if __name__ == "__main__":
    unittest.main()
