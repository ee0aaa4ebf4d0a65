#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judges of tests/campaign complain: each check of a case is shown a case that must fail."""
import json
import pathlib
import random
import shutil
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/campaign"))

try:
    import safetensors.numpy
    import numpy
    import xxhash
except ImportError as missing:
    print(f"{missing}: the campaign was not checked; ./ek test installs what is missing")
    sys.exit(77)

import campaign  # noqa: E402
import harness  # noqa: E402
import http_requests  # noqa: E402
import posix_model  # noqa: E402
import power_cuts  # noqa: E402
import reader  # noqa: E402
import table  # noqa: E402

STEP = 2


def done(code=65, err="a.txt: wrong\n", seconds=1, megabytes=100, hung=False):
    return harness.Done(code, b"", err, seconds, megabytes, hung)


def digest(data):
    return xxhash.xxh3_128_hexdigest(data)


def write_run(run, step=STEP):
    """A run folder with one checkpoint, written without the program."""
    folder = reader.folder_of(run, step)
    folder.mkdir(parents=True)
    (run / "run.toml").write_text("seed = 1\n")
    lines = "".join(json.dumps({"step": each, "loss": 5.0}) + "\n" for each in range(1, step + 1))
    (run / "metrics.jsonl").write_text(lines)
    safetensors.numpy.save_file({"x": numpy.zeros(3, numpy.float32)}, folder / "model.safetensors")
    data = (folder / "model.safetensors").read_bytes()
    files = {"model.safetensors": {"size": len(data), "digest": digest(data),
                                   "tensors": {"x": {"dtype": "F32", "shape": [3]}}}}
    records = {"metrics.jsonl": {"size": len(lines), "digest": digest(lines.encode())}}
    manifest = {"root_digest": "0" * 32, "step": step, "files": files, "records": records}
    text = json.dumps(manifest)
    (folder / "MANIFEST.json").write_text(text.replace("0" * 32, digest(text.encode())))


class Endings(unittest.TestCase):
    """harness.complaints_of() of a call that was wanted to end with 65."""

    def expect(self, complaint, ending):
        found = "; ".join(harness.complaints_of(ending, {65}))
        self.assertIn(complaint, found)
        self.assertEqual(bool(complaint), bool(found), found)

    def test_each_bad_ending_has_its_complaint(self):
        self.expect("", done())
        self.expect("ended by signal 11", done(code=-11))
        self.expect("exit code 70", done(code=70))
        self.expect("undocumented exit code 3", done(code=3))
        self.expect("exit code 0, wanted [65]", done(code=0))
        self.expect("was ended after 60 s", done(hung=True, seconds=60))
        self.expect("took 11 s", done(seconds=11))
        self.expect("took 5000 MB", done(megabytes=5000))
        self.expect("2 lines, wanted 1", done(err="a\nb\n"))
        self.expect("0 lines, wanted 1", done(err=""))
        for control in ("\x1b", "\x9b", "\r", "\x7f", "\u202e", "\ufffd"):
            self.expect("control character", done(err=f"a{control}b\n"))

    def test_70_is_wanted_by_no_case(self):
        self.assertTrue(list(harness.complaints_of(done(code=70), {70})))


class Folders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name) / "run"
        write_run(self.run_folder)
        self.checkpoint = reader.folder_of(self.run_folder, STEP)

    def defects(self, acknowledged=STEP):
        return "; ".join(power_cuts.defects(self.run_folder, acknowledged))

    def test_an_intact_run_passes(self):
        self.assertEqual(reader.intact_steps(self.run_folder), [STEP])
        self.assertEqual(self.defects(), "")
        self.assertEqual(list(harness.lost(self.run_folder, STEP)), [])

    def test_every_flipped_bit_of_a_checkpoint_is_a_defect(self):
        for path in self.checkpoint.iterdir():
            whole = path.read_bytes()
            for bit in range(8 * len(whole)):
                damaged = bytearray(whole)
                damaged[bit // 8] ^= 1 << bit % 8
                path.write_bytes(damaged)
                self.assertNotEqual(reader.defect(self.checkpoint, STEP), "", f"{path.name} bit {bit}")
            path.write_bytes(whole)

    def test_a_checkpoint_that_was_acknowledged_and_is_missing(self):
        self.assertIn("step 4 was acknowledged", self.defects(4))
        self.assertIn("step 4 was acknowledged", "; ".join(harness.lost(self.run_folder, 4)))
        (self.checkpoint / "MANIFEST.json").unlink()
        self.assertIn("step 2 was acknowledged", self.defects())

    def test_a_run_folder_that_is_missing(self):
        shutil.rmtree(self.run_folder)
        self.assertIn("step 2 was acknowledged", self.defects())
        self.assertIn("step 2 was acknowledged", "; ".join(harness.lost(self.run_folder, STEP)))
        self.assertEqual(self.defects(-1), "")

    def test_records_that_are_missing_or_changed(self):
        metrics = self.run_folder / "metrics.jsonl"
        whole = metrics.read_bytes()
        metrics.write_bytes(whole.replace(b"5.0", b"6.0", 1))
        self.assertIn("metrics.jsonl differs from the digest", self.defects())
        metrics.write_bytes(whole[:whole.index(b"\n") + 1])
        self.assertIn("metrics.jsonl lacks 1 of the 2 records", self.defects())
        metrics.unlink()
        self.assertIn("metrics.jsonl has 0 bytes", self.defects())

    def test_a_configuration_that_is_missing(self):
        (self.run_folder / "run.toml").unlink()
        self.assertIn("run.toml is missing", self.defects())

    def test_only_printed_lines_acknowledge(self):
        self.assertEqual(reader.acknowledged("step 2: saved\nstep 4: not saved\nstep 6: sav"), 2)
        self.assertEqual(reader.acknowledged("a step 8: saved\n", before=-1), -1)


class HttpRequests(unittest.TestCase):
    """http_requests.complaint_of() of answers."""
    ERROR = b'{"error":{"message":"m","type":"t","param":null,"code":null}}'

    def test_only_documented_answers_are_good(self):
        for answer, start in [(b"HTTP/1.1 200 OK\r\n\r\n", ""), (b"HTTP/1.1 400 X\r\n\r\n" + self.ERROR, ""),
                              (b"", "no answer"), (b"HTTP/1.1 500 X\r\n\r\n" + self.ERROR, "status 500"),
                              (b'HTTP/1.1 400 X\r\n\r\n{"error":{"message":"m"}}', "{'message': 'm'}")]:
            complaint = http_requests.complaint_of(b"GET /", answer)
            self.assertTrue(complaint.startswith(start) if start else complaint == "", complaint)


class PosixModel(unittest.TestCase):
    """A file that was renamed without fsync of file or folder is lost in some states."""

    def states(self, flushed_file, flushed_folder):
        root = pathlib.Path("/root")
        call = lambda kind, path, second="", data=b"": posix_model.Call(  # noqa: E731
            kind, str(path), str(second), 0, 0, data)
        disk = posix_model.Disk(root)
        disk.apply(call("C", root / "new"))
        disk.apply(call("W", root / "new", data=b"content"))
        if flushed_file:
            disk.apply(call("F", root / "new"))
        disk.apply(call("R", root / "new", root / "name"))
        if flushed_folder:
            disk.apply(call("D", root))
        found, chance = set(), random.Random(1)
        for _ in range(200):
            with tempfile.TemporaryDirectory() as folder:
                disk.write(pathlib.Path(folder) / "disk", chance.randrange(4), chance)
                file = pathlib.Path(folder) / "disk/name"
                found.add(file.read_bytes() if file.exists() else None)
        return found

    def test_only_both_calls_of_fsync_keep_it(self):
        self.assertEqual(self.states(True, True), {b"content"})
        self.assertIn(b"", self.states(False, True))
        self.assertIn(None, self.states(True, False))


class Parts(unittest.TestCase):
    """campaign.run_part() of a part with these trials."""

    def row(self, trials):
        module = types.ModuleType("part_of_this_test", doc="A part.")
        module.trials = trials
        sys.modules[module.__name__] = module
        self.addCleanup(sys.modules.pop, module.__name__, None)
        with tempfile.TemporaryDirectory() as folder:
            context = harness.Context("evenkeel", folder, "change", 1, 1)
            return campaign.run_part(context, module.__name__, float("inf"))

    def test_complaints_exceptions_and_no_cases_are_failures(self):
        def broken(_, __):
            raise OSError("no disk")

        def refuses(_):
            raise ValueError("no input")
        row = self.row(lambda _: [("good", lambda *_: []), ("bad", lambda *_: ["a", "b"]), ("broken", broken),
                                  ("many", lambda *_: harness.Cases(5, ["x", "y"]))])
        self.assertEqual(row.tried, 8)
        self.assertEqual(row.failures, ["bad: a; b", "broken: OSError in broken: no disk", "many: x", "many: y"])
        self.assertEqual(self.row(refuses).failures, ["cannot begin: ValueError: no input"])
        self.assertEqual(self.row(lambda _: []).failures, ["has no cases"])

    def test_a_skipped_part_has_a_reason(self):
        def skip(_):
            raise harness.Skip("needs root")
        row = self.row(skip)
        self.assertEqual((row.skipped, row.failures), ("needs root", []))

    def test_failures_are_in_the_page(self):
        row = campaign.Row("kills", failures=["3 every 5: ended with 70"])
        self.assertEqual(table.failures([row], "- faults: old\n- kills: old\n"),
                         ["Failures:", "", "- faults: old", "- kills: 3 every 5: ended with 70"])
        self.assertEqual(table.failures([campaign.Row("kills")], ""), ["Nothing failed."])


if __name__ == "__main__":
    unittest.main()
