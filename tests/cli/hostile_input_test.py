#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and names that are made to break a program: each gets one line and an exit code, never a signal, an
endless wait, or a line that a terminal acts on.
"""
import json
import os
import resource
import signal
import struct
import subprocess

import program
from program import small
from study_runs_test import study

DEEP = "tables, lists and dotted keys must be nested at most 64 deep, but are deeper"
PIPE = "must be a regular file, but is a pipe"


class Depth(program.Case):
    def test_a_key_of_50000_parts(self):
        self.write("deep.toml", ".".join(['"a"'] * 50000) + " = 1\n")
        self.refuse_each([(64, f"{name}:1: {DEEP}", *arguments, name) for name, *arguments in [
            ("deep.toml", "config", "--check", "--config"), ("./deep.toml", "config", "--check", "--scheme"),
            ("./deep.toml", "study")]])

    def test_metadata_of_a_golden_file(self):
        nested = '{"layers":' + "[" * 100000 + "]" * 100000 + "}"
        header = json.dumps({"__metadata__": {"config": nested},
                             "x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        self.write("a.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))
        self.refuse(65, "a.safetensors: config: must be a JSON object, but is not", "verify", "a.safetensors")


class Pipes(program.Case):
    def test_a_pipe_or_device_as_a_file(self):
        os.mkfifo(self.folder / "pipe.toml")
        os.mkfifo(self.folder / "pipe.txt")
        self.refuse_each([(code, message, *arguments) for code, message, arguments in [
            (74, f"pipe.toml: {PIPE}", ["config", "--config", "pipe.toml"]),
            (74, f"pipe.toml: {PIPE}", ["study", "pipe.toml"]),
            (65, f"pipe.txt: {PIPE}", ["train", "--quiet", *small(data_train="pipe.txt")]),
            (65, "/dev/zero: must be a regular file, but is a device",
             ["train", "--quiet", *small(data_train="/dev/zero", data_format="text")])]])

    def by_shell(self, script):
        """Runs a script of bash, in which "$0" is the program; standard output."""
        done = subprocess.run(["bash", "-c", script, program.PROGRAM, *small(train_steps=2, train_gradient_shards=2)],
                              cwd=self.folder, env=program.ENVIRONMENT, capture_output=True, timeout=program.LIMIT,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_settings_in_a_pipe_of_the_shell(self):
        self.assertIn("\nseed = 7\n", "\n" + self.by_shell('"$0" config --config <(sleep 0.1; echo seed = 7)'))
        self.assertIn("\nseed = 8\n", "\n" + self.by_shell('echo seed = 8 | "$0" config --config /dev/stdin'))
        for ranks in (1, 2):
            self.by_shell(f'"$0" train --ranks {ranks} --run run-{ranks} --config <(echo seed = 9) "$@"')
            self.assertIn("\nseed = 9\n", "\n" + (self.folder / f"run-{ranks}/run.toml").read_text())
        self.by_shell('echo seed = 10 | "$0" train --ranks 2 --run piped --config /dev/stdin "$@"')
        self.assertIn("\nseed = 10\n", "\n" + (self.folder / "piped/run.toml").read_text())
        self.assertEqual(self.by_shell('"$0" config --config /dev/null'), self.by_shell('"$0" config'))

    def test_too_much_or_nothing_in_a_pipe_of_the_shell(self):
        for command, message in (
                ('yes "# more"', "must have at most 16777216 bytes, but has more; name a smaller file"),
                ("true", "must have a text, but this pipe is empty; check the command that writes to it")):
            done = subprocess.run(["bash", "-c", f'exec "$0" config --config <({command})', program.PROGRAM],
                                  cwd=self.folder, env=program.ENVIRONMENT, capture_output=True, check=False)
            self.assertEqual(done.returncode, 74)
            self.assertRegex(done.stderr.decode(), rf"^evenkeel: /dev/fd/\d+: {message}\n$")


class Trained(program.Case):
    def prepare(self):
        self.train("run", train_steps=2)

    def test_a_folder_with_pipes_is_listed(self):
        for name in ("metrics.jsonl", "status.json"):
            (self.folder / "run" / name).unlink()
            os.mkfifo(self.folder / "run" / name)
        rows = json.loads(self.succeed("runs", ".", "--json")[0])
        self.assertEqual([row["state"] for row in rows], ["damaged"])

    def test_an_endless_prompt(self):
        with open("/dev/zero", "rb") as zeros:
            done = subprocess.run([program.PROGRAM, "generate", "--run", "run"], cwd=self.folder,
                                          stdin=zeros, capture_output=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (65, "evenkeel: standard input: a prompt must have at most 16777216 bytes, but has "
                              "more; shorten it, or set --prompt\n"))

    def test_names_from_files_keep_to_their_line(self):
        status = self.folder / "run" / "status.json"
        status.write_text(json.dumps(json.loads(status.read_text()) | {"state": "\x1b[2J\n\x9b\u202e"}))
        (self.folder / "run").rename(self.folder / "a\nb\x1b]0;x\x07")
        out = self.succeed("runs", ".")[0]
        self.assertEqual(len(out.splitlines()), 2, out)
        self.assertIn("a\\nb\\u001B]0;x\\u0007", out)
        self.assertIn("\\u001B[2J\\n\\u009B\\u202E", out)
        rows = json.loads(self.succeed("runs", ".", "--json")[0])
        self.assertEqual(rows[0]["state"], "\x1b[2J\n\x9b\u202e")


class Messages(program.Case):
    def test_control_characters_of_the_command_line(self):
        self.refuse(64, f'no verb is named "a\\u001B[2Jb\\u009Bc\\nd"; known: {", ".join(program.VERBS)}',
                    "a\x1b[2Jb\x9bc\nd")

    def test_control_characters_of_a_scheme(self):
        self.write("a.toml", 'extends = "pre_norm"\ntitle = "\\u001B[2J\\nleak  forged\\u202E"\n')
        out = self.succeed("schemes", "show", "./a.toml")[0]
        self.assertIn("a: \\u001B[2J\\nleak  forged\\u202E\n", out)
        word = '"\\u001B[2J\\u009B"'
        self.refuse(64, f"--set train.precision={word}: train.precision: unknown word {word}; known: auto, "
                    "bfloat16, float32, float64", "config", "--set", f"train.precision={word}")


class Threads(program.Case):
    def test_more_threads_than_the_process_may_create(self):
        def limit():
            if os.geteuid() == 0:
                os.setuid(65534)  # the limit does not bind root
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.chmod(self.folder, 0o777)
        self.refuse(75, "3 threads are needed, but only 1 can be created: Resource temporarily unavailable; set "
                    "train.threads=1, or raise `ulimit -u`", "train", "--quiet", *small(train_threads=3),
                    before=limit)


class EarlySignals(program.Case):
    @staticmethod
    def mask(process, name):
        """The signals of a line of /proc/PID/status: SigBlk, those held back, or SigCgt, those with a handler."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith(name)).split()[1], 16)

    def until_held_back(self, process, number):
        """Waits until the process blocks the signal, which it must do before it has a handler."""
        bit = 1 << (number - 1)
        while not self.mask(process, "SigBlk") & bit:
            self.assertFalse(self.mask(process, "SigCgt") & bit, "no signal was held back")
            self.assertIsNone(process.poll())

    def test_a_signal_before_the_handlers_stops_in_order(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("train", "--run", f"run-{number}", *small(train_steps=10**9))
            self.until_held_back(process, number)
            process.send_signal(number)
            code, error = self.finish(process)
            self.assertEqual(code, 0, error)
            self.assertIn("saved at step", error)

    def test_a_signal_before_the_handlers_stops_a_study_and_its_runs(self):
        self.write("two.toml", study(steps=10**9))
        process = self.start("study", "two.toml")
        self.until_held_back(process, signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        for status in self.folder.glob("runs/pool/*/status.json"):
            self.assertNotEqual(json.loads(status.read_text())["state"], "training")


if __name__ == "__main__":
    program.main()
