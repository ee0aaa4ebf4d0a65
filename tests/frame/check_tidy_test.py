#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_tidy.sh with stand-ins for cmake, ninja, pip and clang-tidy: what fails is never taken for success."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG_TIDY = ".deps/tidy/clang_tidy/data/bin/clang-tidy"


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
            self.stand_in(f"bin/{name}", "exit 0")
        (self.root / "tools/tidy_requirements.txt").write_text("clang-tidy==1\n")
        self.stand_in(".deps/tidy/clang_tidy/data/bin/clang-tidy", "exit 0")
        (self.root / ".deps/tidy/complete").write_text("clang-tidy==1\n")
        self.sources("nn/a.cpp", "base/b.cpp")

    def stand_in(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
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
        self.stand_in(CLANG_TIDY, 'echo "$@" >>calls')
        self.assertEqual(self.check(), (0, ["clang-tidy has no complaint about 2 units"]))
        calls = (self.root / "calls").read_text()
        self.assertIn("-- -std=c++20 -x c++ -isystem", calls)
        self.assertIn(" -DA=x y -Isrc -isystem t\n", calls)

    def test_a_complaint_fails(self):
        self.stand_in(CLANG_TIDY, f'echo "{self.root}/src/a.h:1: warning: long [size]"; exit 0')
        self.assertEqual(self.check(), (1, ["src/a.h:1: warning: long [size]", "clang-tidy: see above"]))

    def test_a_clang_tidy_that_crashes_fails(self):
        self.stand_in(CLANG_TIDY, "echo broken >&2; exit 139")
        code, lines = self.check()
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"^error: clang-tidy ended with exit code 139 on #include .*: broken$")

    def test_other_requirements_are_fetched(self):
        (self.root / "tools/tidy_requirements.txt").write_text("clang-tidy==2\n")
        self.stand_in(".deps/python/bin/python",
                      f"mkdir -p .deps/tidy/clang_tidy/data/bin && printf '#!/bin/sh\\n' >{CLANG_TIDY} && "
                      f'chmod +x {CLANG_TIDY} && echo "$@" >calls')
        self.assertEqual(self.check(), (0, ["clang-tidy has no complaint about 2 units"]))
        self.assertIn("--require-hashes", (self.root / "calls").read_text())
        self.assertEqual((self.root / ".deps/tidy/complete").read_text(), "clang-tidy==2\n")

    def test_what_cannot_be_fetched_is_skipped(self):
        (self.root / "tools/tidy_requirements.txt").write_text("clang-tidy==2\n")
        self.stand_in(".deps/python/bin/python", "exit 1")
        code, lines = self.check()
        self.assertEqual((code, lines), (77, ["clang-tidy cannot be fetched (build/log/tidy.log): names and sizes were "
                                              "not checked"]))
        self.assertFalse((self.root / ".deps/tidy/complete").exists())

    def test_a_floor_without_a_unit_fails(self):
        self.stand_in(CLANG_TIDY, "exit 0")
        self.sources("cellar/a.cpp")
        code, lines = self.check()
        self.assertEqual((code, lines[-1].split(";")[0]), (1, "tidy_units: floors without a unit: ['cellar']"))

    def test_a_source_that_is_not_there_fails(self):
        self.stand_in(CLANG_TIDY, "exit 0")
        code, lines = self.check("src/evenkeel/nn/z.cpp")
        self.assertEqual(code, 1)
        self.assertIn("sources not found: ['src/evenkeel/nn/z.cpp']", lines[-1])


if __name__ == "__main__":
    unittest.main()
