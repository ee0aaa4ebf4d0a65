# SPDX-License-Identifier: Apache-2.0
"""A small tree that passes the checks of tools/, for tests that break one rule each."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

GOOD_TREE = "every floor includes lower floors only, and every file is in order"
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
        self.write("README.md", "| `./ek train` | trains `a` model |\n")
        self.write("src/evenkeel/cli/verbs.txt", "# names\ntrain      trains a model\n")
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
