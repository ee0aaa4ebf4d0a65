#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of the layout say no to trees that break one rule each, and yes to one that keeps all."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
EK = "#!/bin/sh\nprintf '  train      train a model\\n'\n"


def run(check, root):
    """Exit code and lines of a check of the tree at root."""
    done = subprocess.run([sys.executable, ROOT / "tools" / check, root], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines()


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        subprocess.run(["git", "init", "-q", self.root], check=True)
        self.write("src/evenkeel/base/a.h", SPDX)
        self.write("src/evenkeel/base/a.cpp", SPDX + '#include "evenkeel/base/a.h"\n')
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp)\n")
        self.write("README.md", "./ek train\n")
        self.write("ek", EK)
        (self.root / "ek").chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add_source(self, name, text):
        """A source that is built; text comes after the SPDX line."""
        path = pathlib.PurePath(name)
        self.write(name, SPDX + text)
        self.write(str(path.parent / "CMakeLists.txt"),
                   f"ek_floor({path.parent.name} SOURCES {path.name} a.cpp)\n")


class Floors(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_floors.py", self.root), (1, list(lines)))

    def test_a_good_tree_passes(self):
        self.assertEqual(run("check_floors.py", self.root), (0, ["every file stands on its floor"]))

    def test_a_floor_may_not_include_one_above_it(self):
        self.add_source("src/evenkeel/base/b.cpp",
                        '#include "evenkeel/base/a.h"\n#include "evenkeel/norm/scheme.h"\n')
        self.expect("src/evenkeel/base/b.cpp:3: floor base may not include norm")

    def test_report_may_include_store_but_not_torch(self):
        self.add_source("src/evenkeel/report/b.cpp",
                        '#include "evenkeel/store/run.h"\n#include <ATen/ATen.h>\n')
        self.expect("src/evenkeel/report/b.cpp:3: floor report may not include torch")

    def test_norm_reads_no_toml(self):
        self.add_source("src/evenkeel/norm/b.cpp", "#include <toml++/toml.h>\n")
        self.expect("src/evenkeel/norm/b.cpp:2: floor norm may not include toml")

    def test_a_folder_without_a_line_in_the_table_is_no_floor(self):
        self.add_source("src/evenkeel/cellar/b.cpp", "")
        self.expect("src/evenkeel/cellar/b.cpp: no floor is named cellar; "
                    "tools/check_floors.py lists them")

    def test_351_lines_are_too_many_and_350_are_not(self):
        self.add_source("src/evenkeel/base/b.cpp", "\n" * 349)
        self.assertEqual(run("check_floors.py", self.root)[0], 0)
        self.add_source("src/evenkeel/base/b.cpp", "\n" * 350)
        self.expect("src/evenkeel/base/b.cpp: 351 lines; split it by concept (350 at most)")

    def test_the_licence_stands_in_the_first_line(self):
        self.add_source("src/evenkeel/base/b.cpp", "")
        self.write("src/evenkeel/base/b.cpp", "\n" + SPDX)
        self.expect('src/evenkeel/base/b.cpp: the top must say "SPDX-License-Identifier: Apache-2.0"')

    def test_nobody_includes_all_of_torch(self):
        self.add_source("src/evenkeel/nn/b.cpp", "#include <torch/torch.h>\n")
        self.expect("src/evenkeel/nn/b.cpp:2: <torch/torch.h> is too large to include; "
                    "take the header of what is used")

    def test_a_source_that_nobody_builds_goes(self):
        self.write("src/evenkeel/base/data.cpp", SPDX)
        self.write("src/evenkeel/base/a.cpp", SPDX + '#include "evenkeel/base/a.h"\n')
        self.write("src/evenkeel/base/CMakeLists.txt", "ek_floor(base SOURCES a.cpp metadata.cpp)\n")
        self.expect("src/evenkeel/base/data.cpp: no CMakeLists.txt builds it")

    def test_a_header_that_nobody_includes_goes(self):
        self.write("src/evenkeel/base/b.h", SPDX)
        self.expect("src/evenkeel/base/b.h: nobody includes it")

    def test_an_empty_tree_is_not_a_good_one(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_floors.py", folder),
                             (1, [f"{pathlib.Path(folder).resolve()}: no sources here"]))


class Texts(Checks):
    def expect(self, *lines):
        self.assertEqual(run("check_texts.py", self.root), (1, list(lines)))

    def test_a_good_tree_passes(self):
        self.assertEqual(run("check_texts.py", self.root), (0, ["every text is fit to be read"]))

    def test_paths_of_a_machine_are_refused(self):
        self.write("notes.md", "see `/ho" + "me/ann/x`\n")
        self.expect("notes.md:1: a path of somebody's machine: `/ho" + "me/")

    def test_hosts_of_registries_are_refused(self):
        self.write("notes.md", "\nfrom py" + "pi.org\n")
        self.expect("notes.md:2: a registry's host: py" + "pi.org")

    def test_unfinished_work_is_refused(self):
        self.write("notes.md", "TO" + "DO: all\n")
        self.expect("notes.md:1: a word for unfinished work: TO" + "DO")

    def test_the_readme_shows_every_verb(self):
        self.write("README.md", "nothing\n")
        self.expect("README.md: does not show ./ek train")

    def test_without_git_nothing_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_texts.py", folder)[0], 77)

    def test_what_git_ignores_is_not_read(self):
        self.write(".gitignore", "/build/\n")
        self.write("build/notes.md", "FIX" + "ME\n")
        self.assertEqual(run("check_texts.py", self.root)[0], 0)


if __name__ == "__main__":
    unittest.main()
