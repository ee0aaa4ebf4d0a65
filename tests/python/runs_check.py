#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""evenkeel without torch, which cannot be imported here: evenkeel.runs, evenkeel.wandb and evenkeel_program."""
import fcntl
import importlib
import importlib.metadata
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.modules["torch"] = None  # importing it raises ImportError
sys.path.insert(0, str(PYTHON))
import evenkeel
import evenkeel.runs
import evenkeel.wandb
import evenkeel_program

RECORDS = [{"step": 1, "loss": 2.5, "clipped": True}, {"step": 2, "loss": 2.0, "clipped": False},
           {"step": 2, "val_loss": 2.25, "texts": {"a": {"text_loss": 1.0}}, "val_gap": None}]


class Service(types.ModuleType):
    """What evenkeel.wandb uses of wandb."""

    def __init__(self):
        super().__init__("wandb")
        self.calls = []

    def init(self, **arguments):
        self.calls.append(arguments)
        return self

    def log(self, values, step):
        self.calls.append((step, values))

    def finish(self):
        self.calls.append("finish")


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name) / "some_run"
        self.run_folder.mkdir()
        text = "".join(json.dumps(each) + "\n" for each in RECORDS) + '{"step": 3, "lo'
        (self.run_folder / "metrics.jsonl").write_text(text)

    def test_records_without_a_line_that_is_being_written(self):
        self.assertEqual(evenkeel.runs.read_records(self.run_folder), RECORDS)

    def test_columns_without_pandas(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            columns = evenkeel.runs.read_metrics(self.run_folder)
        self.assertEqual(list(columns), ["step", "loss", "clipped", "val_loss", "texts", "val_gap"])
        self.assertEqual((columns["step"], columns["loss"]), ([1, 2, 2], [2.5, 2.0, None]))

    def test_bad_folders(self):
        with self.assertRaisesRegex(FileNotFoundError, r"nosuch: wanted a run folder with metrics\.jsonl, but found"):
            evenkeel.runs.read_metrics("nosuch")
        (self.run_folder / "metrics.jsonl").write_text('{"step": 1}\n[1]\n')
        with self.assertRaisesRegex(ValueError, r"metrics\.jsonl:2: wanted a JSON object, but found b'\[1\]'"):
            evenkeel.runs.read_metrics(self.run_folder)
        (self.run_folder / "run.toml").touch()
        with self.assertRaisesRegex(FileNotFoundError, "wanted an exported run .* run: evenkeel export --run "):
            evenkeel.runs.load_run(self.run_folder)

    def wandb(self, *words, service=None):
        out, error = io.StringIO(), io.StringIO()
        with mock.patch.dict(sys.modules, {"wandb": service}), redirect_stdout(out), redirect_stderr(error):
            code = evenkeel.wandb.main([str(each) for each in words])
        return code, out.getvalue(), error.getvalue()

    def test_a_run_is_sent(self):
        service = Service()
        (self.run_folder / "run.toml").write_text('seed = 3\n[optimizer]\nclip = 1.0\n')
        self.assertEqual(self.wandb(self.run_folder, "--project", "p", service=service),
                         (0, f"{self.run_folder}: 2 steps\n", ""))
        keys = {"seed": 3, "optimizer.clip": 1.0} if sys.version_info >= (3, 11) else {}
        second = {"loss": 2.0, "clipped": 0.0, "val_loss": 2.25, "texts/a/text_loss": 1.0}
        self.assertEqual(service.calls, [{"project": "p", "name": "some_run", "config": keys},
                                         (1, {"loss": 2.5, "clipped": 1.0}), (2, second), "finish"])

    def test_following_ends_with_the_training(self):
        """The newest step is held back while the run trains. The pause is where it goes on."""
        service, status = Service(), self.run_folder / "status.json"
        status.write_text('{"state": "training"}')
        lock = (self.run_folder / "lock").open("w")
        self.addCleanup(lock.close)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, evenkeel.wandb.FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))

        def pause(_):
            self.assertEqual([each[0] for each in service.calls[1:]], [1])
            status.write_text('{"state": "finished"}')
        with mock.patch("time.sleep", pause):
            self.assertEqual(self.wandb(self.run_folder, "--follow", service=service)[0], 0)
        self.assertEqual([each[0] for each in service.calls[1:3]], [1, 2])

    def test_a_queue_is_followed(self):
        """The second run starts after the first; a third never does."""
        second = self.run_folder.with_name("second")

        def pause(_):
            second.mkdir()
            (second / "metrics.jsonl").write_text('{"step": 7, "loss": 1.5}\n')
        service, third = Service(), self.run_folder.with_name("third")
        with mock.patch("evenkeel.wandb.trains", lambda run: run == self.run_folder and not second.exists()), \
             mock.patch("time.sleep", pause):
            code, out, error = self.wandb(self.run_folder, second, third, "--follow", service=service)
        self.assertEqual((code, out), (65, f"{self.run_folder}: 2 steps\n{second}: 1 steps\n"))
        self.assertEqual(error, f"evenkeel.wandb: {third}: wanted a run folder with metrics.jsonl, but found none\n")
        begun = [each["name"] for each in service.calls if isinstance(each, dict)]
        self.assertEqual((begun, service.calls[-2:]), (["some_run", "second"], [(7, {"loss": 1.5}), "finish"]))
        self.assertEqual(self.wandb("nosuch", self.run_folder, "--follow")[0], 65)  # before the missing package

    def test_an_error_while_following_finishes_the_run_of_the_service(self):
        def damage(_):
            (self.run_folder / "metrics.jsonl").write_text("[1]\n")
        service = Service()
        with mock.patch("evenkeel.wandb.trains", lambda _: True), mock.patch("time.sleep", damage):
            code, out, error = self.wandb(self.run_folder, "--follow", service=service)
        self.assertEqual((code, out), (65, ""))
        self.assertRegex(error, r"^evenkeel\.wandb: .*metrics\.jsonl:1: wanted a JSON object, but found b'\[1\]'\n$")
        self.assertEqual([each if each == "finish" else each[0] for each in service.calls[1:]], [1, "finish"])

    def test_an_interrupt_finishes_the_run_of_the_service(self):
        service = Service()
        with mock.patch("evenkeel.wandb.trains", lambda _: True), \
             mock.patch("time.sleep", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.wandb(self.run_folder, "--follow", service=service)
        self.assertEqual(service.calls[-1], "finish")

    def test_a_line_without_a_step_is_refused_before_anything_is_sent(self):
        path = self.run_folder / "metrics.jsonl"
        for line, found in (('{"loss": 2.0}', "it has none"), ('{"step": null}', "found null"),
                            ('{"step": true}', "found true"), ('{"step": "2"}', 'found "2"')):
            path.write_text('{"step": 1, "loss": 2.5}\n' + line + "\n")
            service = Service()
            self.assertEqual(self.wandb(self.run_folder, service=service),
                             (65, "", f'evenkeel.wandb: {path}:2: wanted an integer "step", but {found}\n'))
            self.assertEqual(service.calls, [])

    def test_a_killed_run_is_not_waited_for(self):
        (self.run_folder / "status.json").write_text('{"state": "training"}')
        (self.run_folder / "lock").write_text(f"{os.getpid()}\n")  # a process id may belong to another process by now
        self.assertFalse(evenkeel.wandb.trains(self.run_folder))

    def test_what_cannot_be_sent(self):
        code, _, error = self.wandb(self.run_folder)
        self.assertEqual(code, 64)
        self.assertRegex(error, "^evenkeel.wandb: wanted the package wandb, but .*; run: .*python.* -m pip install wandb\n$")
        for service in (Service(), None):  # also without the package
            code, _, error = self.wandb("nosuch", service=service)
            self.assertEqual((code, error), (65, "evenkeel.wandb: nosuch: wanted a run folder with metrics.jsonl, but "
                                                 "found none\n"))
        service = Service()
        self.assertEqual(self.wandb(self.run_folder, "nosuch", service=service)[0], 65)
        self.assertEqual(service.calls, [])


class Package(unittest.TestCase):
    def test_names_that_need_the_operators_say_why_they_are_missing(self):
        line = 'wanted the package torch 2.13, but importing it failed: .*; run: pip install "torch==2.13'
        for name in ("nn", "ops", "optim", "patch", "unpatch"):
            with self.assertRaisesRegex(ImportError, line):
                getattr(evenkeel, name)
            self.assertIn(name, dir(evenkeel))
        with self.assertRaisesRegex(ImportError, line):
            from evenkeel import optim  # noqa: F401
        with self.assertRaisesRegex(AttributeError, "module 'evenkeel' has no attribute 'adamw'"):
            evenkeel.adamw
        self.assertIs(evenkeel.read_metrics, evenkeel.runs.read_metrics)

    def test_operators_of_another_torch(self):
        code = ("import sys, types; torch = types.ModuleType('torch'); torch.__version__ = '2.1.0'; "
                "torch.ops = types.SimpleNamespace(evenkeel=None); sys.modules['torch'] = torch; "
                "import evenkeel, evenkeel.wandb; evenkeel.read_metrics; evenkeel.patch")
        variables = {key: value for key, value in os.environ.items() if key != "EVENKEEL_OPS"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              env=variables | {"PYTHONPATH": str(PYTHON)})
        self.assertEqual(done.stderr.splitlines()[-1], "ImportError: evenkeel: wanted torch 2.13, but found torch "
                                                       '2.1.0; run: pip install "torch==2.13.*"')


class Program(unittest.TestCase):
    def start(self, folder, version):
        """What os.execv gets, or the message."""
        spec = types.SimpleNamespace(origin=f"{folder}/torch/__init__.py") if folder else None
        error = io.StringIO()

        def found(_):
            if version is None:
                raise importlib.metadata.PackageNotFoundError
            return version
        with mock.patch("importlib.util.find_spec", lambda _: spec), mock.patch("os.execv") as execute, \
                mock.patch("importlib.metadata.version", found), mock.patch.object(sys, "argv", ["evenkeel", "plan"]), \
                mock.patch.dict(os.environ, LD_LIBRARY_PATH="/before"), redirect_stderr(error):
            try:
                evenkeel_program.main()
            except SystemExit as end:
                return end.code, error.getvalue()
            return execute.call_args.args, os.environ["LD_LIBRARY_PATH"]

    def test_it_becomes_the_program(self):
        arguments = (evenkeel_program.program(), ["evenkeel", "plan"])
        self.assertEqual(self.start(PYTHON, "2.13.0+cpu"), (arguments, "/before"))
        self.assertEqual(self.start("/else", "2.13.1"), (arguments, "/else/torch/lib:/before"))

    def test_another_torch(self):
        end = '; run: pip install "torch==2.13.*"\n'
        self.assertEqual(self.start("/else", "2.1.0"),
                         (64, f"evenkeel: wanted torch 2.13, but found torch 2.1.0{end}"))
        self.assertEqual(self.start("/else", None),
                         (64, f"evenkeel: wanted torch 2.13, but found torch of an unknown version{end}"))
        self.assertEqual(self.start(None, None), (64, f"evenkeel: wanted the package torch 2.13, but found none{end}"))


if __name__ == "__main__":
    unittest.main()
