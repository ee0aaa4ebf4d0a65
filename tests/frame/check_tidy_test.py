#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_tidy.sh with stand-ins for cmake, ninja and clang-tidy-19: what fails is never taken for success."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        for name in ["tools/check_tidy.sh", "tools/tidy_units.py"]:
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        for name in ["bin", "build/tidy"]:
            (self.root / name).mkdir(parents=True)
        for name in ["cmake", "ninja"]:
            self.stand_in(name, "exit 0")
        self.sources("nn/a.cpp", "base/b.cpp")

    def stand_in(self, name, body):
        path = self.root / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def sources(self, *names):
        entries = [{"file": str(self.root / "src/evenkeel" / name), "command": 'c++ -DA="x y" -Isrc -isystem t -c a.cpp'}
                   for name in names]
        (self.root / "build/tidy/compile_commands.json").write_text(json.dumps(entries))

    def check(self, *arguments):
        """Exit code and the lines of output."""
        environment = os.environ | {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run([self.root / "tools/check_tidy.sh", ".", *arguments], env=environment, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_silence_is_success(self):
        self.stand_in("clang-tidy-19", 'echo "$@" >>calls')
        self.assertEqual(self.check(), (0, ["clang-tidy has no complaint about 2 units"]))
        self.assertIn("-- -std=c++20 -x c++ -DA=x y -Isrc -isystem t", (self.root / "calls").read_text())

    def test_a_complaint_fails(self):
        self.stand_in("clang-tidy-19", f'echo "{self.root}/src/a.h:1: warning: long [size]"; exit 0')
        self.assertEqual(self.check(), (1, ["src/a.h:1: warning: long [size]", "clang-tidy: see above"]))

    def test_a_clang_tidy_that_crashes_fails(self):
        self.stand_in("clang-tidy-19", "echo broken >&2; exit 139")
        code, lines = self.check()
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"^error: clang-tidy-19 ended with exit code 139 on #include .*: broken$")

    def test_a_floor_without_a_unit_fails(self):
        self.stand_in("clang-tidy-19", "exit 0")
        self.sources("cellar/a.cpp")
        code, lines = self.check()
        self.assertEqual((code, lines[-1].split(";")[0]), (1, "tidy_units: floors without a unit: ['cellar']"))

    def test_a_source_that_is_not_there_fails(self):
        self.stand_in("clang-tidy-19", "exit 0")
        code, lines = self.check("src/evenkeel/nn/z.cpp")
        self.assertEqual(code, 1)
        self.assertIn("sources not found: ['src/evenkeel/nn/z.cpp']", lines[-1])


if __name__ == "__main__":
    unittest.main()
