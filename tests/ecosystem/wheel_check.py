#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel in an empty environment, next to a torch that is not in the same folder.

1. pip installs it; the command prints its version and trains in an empty folder, without importing torch.
2. `import evenkeel` needs no variable; the examples that need no other package run.
3. Another torch and a missing one are refused in one line, with exit code 64 or as an ImportError.
4. auditwheel's tag, the metadata and the licenses of the libraries in it.

Usage: tests/ecosystem/wheel_check.py WHEEL FOLDER      FOLDER: where the package torch is
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEEL, TORCH = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
LIMIT_S = 300


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.home = pathlib.Path(cls.folder.name)
        venv.create(cls.home / "venv", with_pip=True)
        cls.python = cls.home / "venv/bin/python"
        cls.site = next((cls.home / "venv/lib").glob("python*/site-packages"))
        # What torch needs is in the folder of the Python that runs this.
        others = next(pathlib.Path(sys.prefix, "lib").glob("python*/site-packages"))
        cls.torch_path = cls.site / "torch_elsewhere.pth"
        cls.torch_text = f"{TORCH}\n{others}\n"
        cls.torch_path.write_text(cls.torch_text)
        subprocess.run([cls.python, "-m", "pip", "--isolated", "install", "--quiet", "--no-deps", "--no-index", WHEEL],
                       check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_in(self, folder, *words, **more):
        """(exit code, standard output, standard error) of a command in a folder, without our variables."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "OMP_WAIT_POLICY": "passive", **more}
        done = subprocess.run([str(word) for word in words], cwd=folder, env=environment, capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def command(self):
        return self.home / "venv/bin/evenkeel"

    def test_the_command_trains_in_an_empty_folder(self):
        with tempfile.TemporaryDirectory() as empty:
            started = time.monotonic()
            code, out, _ = self.run_in(empty, self.command(), "--version")
            print(f"evenkeel --version: {time.monotonic() - started:.2f} s")
            self.assertEqual(code, 0)
            self.assertTrue(out.startswith("evenkeel "), out)
            code, out, error = self.run_in(empty, self.command(), "train", "--set", "train.steps=2", "--set",
                                           "model.layers=1", "--set", "evaluate.sequences=2")
            self.assertEqual(code, 0, error)
            (run,) = pathlib.Path(empty, "runs").iterdir()
            self.assertTrue((run / "report.html").is_file())
            code, out, error = self.run_in(empty, self.python, "-c",
                                           f"import evenkeel; print(list(evenkeel.read_metrics({str(run)!r})['step']))")
            self.assertEqual((code, out), (0, "[2, 2]\n"), error)  # training, evaluation

    def test_the_command_does_not_import_torch(self):
        _, out, error = self.run_in(self.home, self.python, "-c",
                                    "import sys, evenkeel_program; evenkeel_program._libtorch(); "
                                    "print('torch' in sys.modules)")
        self.assertEqual(out, "False\n", error)

    def test_the_examples_run(self):
        for name in ("fused_norms", "hybrid_norm_block"):
            code, _, error = self.run_in(self.home, self.python, ROOT / f"examples/{name}.py")
            self.assertEqual(code, 0, f"{name}: {error}")

    def with_torch(self, version):
        """A folder with a package torch of a version and nothing in it."""
        folder = self.home / f"torch-{version}"
        (folder / "torch").mkdir(parents=True, exist_ok=True)
        (folder / "torch/__init__.py").write_text(f'__version__ = "{version}"\n'
                                                  "class ops:\n    evenkeel = None\n")
        (folder / f"torch-{version}.dist-info").mkdir(exist_ok=True)
        (folder / f"torch-{version}.dist-info/METADATA").write_text(
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        return folder

    def test_another_torch_is_refused(self):
        line = 'evenkeel: wanted torch 2.13, but found torch 2.1.0; run: pip install "torch==2.13.*"'
        self.torch_path.write_text(f"{self.with_torch('2.1.0')}\n")
        try:
            self.assertEqual(self.run_in(self.home, self.command(), "runs"), (64, "", line + "\n"))
            code, _, error = self.run_in(self.home, self.python, "-c", "import evenkeel; evenkeel.ops")
            self.assertEqual((code, error.splitlines()[-1]), (1, f"ImportError: {line}"))
            self.torch_path.write_text("")
            code, _, error = self.run_in(self.home, self.command(), "runs")
            self.assertEqual((code, len(error.splitlines())), (64, 1))
            _, _, error = self.run_in(self.home, self.python, "-c", "import evenkeel; evenkeel.ops")
            self.assertIn("ImportError: evenkeel: wanted the package torch 2.13, but importing it failed", error)
        finally:
            self.torch_path.write_text(self.torch_text)

    def test_what_is_in_it(self):
        names = zipfile.ZipFile(WHEEL).namelist()
        print(WHEEL.name)
        self.assertRegex(WHEEL.name, r"^evenkeel-[0-9.]+-py3-none-manylinux_2_35_x86_64\.whl$")
        self.assertIn("evenkeel/py.typed", names)
        self.assertFalse([name for name in names if "torch" in name or "gomp" in name or "__pycache__" in name])
        libraries = {name.split("/lib")[1].split("-")[0] for name in names if name.startswith("evenkeel.libs/lib")}
        licenses = " ".join(name for name in names if ".dist-info/licenses/" in name)
        for library in libraries - {"brotlicommon", "brotlidec", "brotlienc", "cpp", "crypto", "icudata", "icuuc"}:
            self.assertIn(library, licenses)
        metadata = zipfile.ZipFile(WHEEL).read(next(name for name in names if name.endswith("/METADATA"))).decode()
        self.assertIn("\nRequires-Dist: torch==2.13.*\n", metadata)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
