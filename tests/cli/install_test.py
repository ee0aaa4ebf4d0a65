#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` into an empty folder, and the program that runs from there.

Usage: tests/cli/install_test.py PATH_OF_EVENKEEL; its folder is the build folder.
"""
import os
import pathlib
import shutil
import subprocess

import program


class Install(program.Case):
    def prepare(self):
        build = pathlib.Path(program.PROGRAM).parent
        done = subprocess.run(["cmake", "--install", build, "--prefix", self.folder / "usr"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_installs_program_library_page_completions_and_licence(self):
        usr = self.folder / "usr"
        files = sorted(str(file.relative_to(usr)) for file in usr.rglob("*") if file.is_file())
        library = next(file for file in files if file.endswith("libevenkeel_ops.so"))
        self.assertTrue(library.startswith("lib"), library)
        files.remove(library)
        self.assertEqual(files, ["bin/evenkeel", "share/bash-completion/completions/evenkeel",
                                 "share/doc/evenkeel/LICENSE", "share/fish/vendor_completions.d/evenkeel.fish",
                                 "share/man/man1/evenkeel.1", "share/zsh/site-functions/_evenkeel"])
        self.assertIn(".TH EVENKEEL 1", (usr / "share/man/man1/evenkeel.1").read_text())

    def test_the_program_runs_from_there(self):
        (self.folder / "usr").rename(self.folder / "moved")
        installed = self.folder / "moved/bin/evenkeel"
        done = subprocess.run([installed, "train", "--quiet", "--run", "run", *program.small(train_steps=2)],
                              cwd=self.folder, env=program.ENVIRONMENT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(program.saved_steps(self.folder / "run"), [0, 2])

    def test_a_libtorch_beside_it_is_taken_first(self):
        if not shutil.which("readelf"):
            self.skipTest("readelf is not installed")
        shown = subprocess.run(["readelf", "-d", self.folder / "usr/bin/evenkeel"], capture_output=True, text=True,
                               env=os.environ | {"LC_ALL": "C"}, check=True).stdout
        self.assertRegex(shown, r"runpath: \[\$ORIGIN/\.\./lib[^:]*:")


if __name__ == "__main__":
    program.main()
