#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals to stop, to save, that the terminal is gone, and that the reader of standard output is."""
import json
import os
import signal
import subprocess
import time

import program
from launchers_test import children
from program import lines_of, metrics, saved_steps, small, state_at
from study_runs_test import study


def pending_signals(process):
    """The set of signals that the process has not taken yet, a bit each."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("ShdPnd"))


def ignore_sighup():
    """As nohup does."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


class ReaderGone(program.Case):
    """Standard output whose reader has ended, or that is closed."""

    def run_into(self, output, *arguments, **options):
        done = subprocess.run([program.PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=subprocess.PIPE, env=program.ENVIRONMENT, check=False, **options)
        return done.returncode, done.stderr.decode()

    def into_pipe(self, *arguments, **options):
        """Exit code and standard error where nobody reads standard output."""
        reading, writing = os.pipe()
        os.close(reading)
        try:
            return self.run_into(writing, *arguments, **options)
        finally:
            os.close(writing)

    def test_ends_a_verb_that_only_prints_without_a_word(self):
        for arguments in (["config"], ["schemes"], ["--help"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.into_pipe(*arguments), (-signal.SIGPIPE, ""))

    def test_is_named_by_a_verb_that_works(self):
        gone = ("evenkeel: standard output: cannot be written completely: its reader is gone; send it to a file, or "
                "to a program that reads all")
        code, error = self.into_pipe("train", "--run", "run", "--scheme", "pre_norm", *small(train_steps=2))
        self.assertEqual((code, error.splitlines()[-1]), (74, gone))
        self.assertEqual(max(saved_steps(self.folder / "run")), 2)
        code, error = self.into_pipe("export", "--run", "run", "--output", "model")
        self.assertEqual((code, error.splitlines()[-1]), (74, gone))

    def test_is_named_where_sigpipe_is_ignored(self):
        code, error = self.into_pipe("config", preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
        self.assertEqual(code, 74)
        self.assertIn(": its reader is gone; ", error)

    def test_a_closed_standard_output_is_named(self):
        self.assertEqual(self.run_into(None, "config", preexec_fn=lambda: os.close(1)),
                         (74, "evenkeel: standard output: cannot be written: it is closed; send it to a file or to "
                              "/dev/null\n"))


class Signals(program.Case):
    def status(self, run):
        return json.loads((self.folder / run / "status.json").read_text())

    def check_stops_in_order(self, number):
        process = self.start_training("run")
        process.send_signal(number)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        step = max(saved_steps(self.folder / "run"))
        self.assertEqual(error.splitlines()[-1],
                         f"saved at step {step}; go on with: evenkeel train --run run")
        status = self.status("run")
        self.assertEqual((status["state"], status["step"]), ("stopped", step))
        logged = [line["step"] for line in metrics(self.folder / "run") if "loss" in line]
        self.assertEqual(logged, list(range(1, step + 1)))
        self.assertEqual(lines_of(self.folder / "run" / "metrics.jsonl")[-1].keys(),
                         {"step", "val_loss", "val_bits_per_byte"})

    def test_sigint_saves_and_says_how_to_go_on(self):
        self.check_stops_in_order(signal.SIGINT)

    def test_sigterm_saves_and_says_how_to_go_on(self):
        self.check_stops_in_order(signal.SIGTERM)

    def test_a_second_signal_stops_at_once_and_leaves_the_last_checkpoint_intact(self):
        for batch in (8192, 65536):  # half a second a step; longer if it ended before the second signal
            run = f"run-{batch}"
            process = self.start_training(run, checkpoint_every=2, train_batch=batch)
            process.send_signal(signal.SIGINT)
            self.until(lambda: pending_signals(process) == 0, process)  # the first signal is handled
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.1)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            code, error = self.finish(process)
            if code != 0:
                break
        self.assertEqual(code, 130, error)
        error = self.succeed("generate", "--run", run, "--tokens", 1)[1]
        self.assertNotIn("skipped", error)
        runs = json.loads(self.succeed("runs", ".", "--json")[0])
        self.assertIn((f"./{run}", "interrupted"), [(each["run"], each["state"]) for each in runs])

    def test_signals_within_a_second_count_as_one(self):
        process = self.start_training("run", checkpoint_every=2)
        process.send_signal(signal.SIGSTOP)  # so that both signals wait for it together
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        self.assertEqual(self.status("run")["state"], "stopped")

    def test_sigusr1_saves_and_goes_on(self):
        process = self.start_training("run")
        self.assertEqual(saved_steps(self.folder / "run"), [0])
        process.send_signal(signal.SIGUSR1)
        self.until(lambda: len(saved_steps(self.folder / "run")) == 2, process)
        self.wait_for_steps(process, "run", 3)
        self.stop(process)

    def test_sighup_saves_and_says_how_to_go_on(self):
        self.check_stops_in_order(signal.SIGHUP)

    def test_sighup_stays_ignored_under_nohup(self):
        for ranks in (1, 2):
            run = f"run-{ranks}"
            arguments = small(train_steps=10**9, checkpoint_every=0, log_every=1, train_gradient_shards=2)
            process = self.start("train", "--run", run, "--ranks", ranks, *arguments, preexec_fn=ignore_sighup)
            self.wait_for_steps(process, run, 3)
            process.send_signal(signal.SIGHUP)
            self.wait_for_steps(process, run, 3)
            self.stop(process)

    def test_sighup_saves_on_all_ranks(self):
        arguments = small(train_steps=10**9, checkpoint_every=0, log_every=1, train_gradient_shards=2)
        process = self.start("train", "--run", "run", "--ranks", 2, *arguments)
        self.wait_for_steps(process, "run", 3)
        process.send_signal(signal.SIGHUP)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        self.assertEqual(error.count("saved at step"), 1, error)

    def test_sighup_stops_a_study_and_its_runs(self):
        self.write("two.toml", study(steps=10**9))
        process = self.start("study", "two.toml")
        pool = self.folder / "runs/studies/pool"
        self.until(lambda: list(pool.glob("*/metrics.jsonl")), process)
        process.send_signal(signal.SIGHUP)
        code, error = self.finish(process)
        self.assertEqual(code, 0, error)
        states = {json.loads(file.read_text())["state"] for file in pool.glob("*/status.json")}
        self.assertEqual(states, {"stopped"})

    def test_the_first_signal_ends_what_saves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.start("probe", "theory")
            process.send_signal(number)
            self.assertEqual(self.finish(process), (-number, ""))

    def test_a_signal_ends_bench_ranks_which_says_so(self):
        for number, name in ((signal.SIGINT, "Interrupt"), (signal.SIGTERM, "Terminated"), (signal.SIGHUP, "Hangup")):
            process = self.start("bench", "ranks", "--ranks", 2, "--rounds", 100, *small())
            self.until(lambda pid=process.pid: len(children(pid)) == 2, process)
            process.send_signal(number)
            code, error = self.finish(process)
            self.assertEqual(code, 128 + number, error)
            self.assertEqual(error.splitlines()[-1], f"evenkeel: signal {number:d} ({name}) ended all ranks")

    def test_sighup_ends_watch_unless_it_was_ignored(self):
        for ignored in (False, True):
            before = ignore_sighup if ignored else None
            with subprocess.Popen([program.PROGRAM, "watch", ".", "--port", "0"], cwd=self.folder, preexec_fn=before,
                                  env=program.ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as watch:
                self.addCleanup(watch.kill)
                self.assertIn(b"watching on", watch.stdout.readline())
                watch.send_signal(signal.SIGHUP)
                if ignored:
                    with self.assertRaises(subprocess.TimeoutExpired):
                        watch.wait(timeout=1)
                    watch.terminate()
                self.assertEqual(watch.wait(timeout=program.LIMIT), 0)

    def test_a_closed_standard_error_is_no_reason_to_stop(self):
        process = self.start("train", "--run", "run", *small(train_steps=200, log_every=1))
        process.stderr.close()
        self.assertEqual(process.wait(timeout=program.LIMIT), 0)
        self.assertEqual(self.status("run")["state"], "finished")

    def test_a_run_stopped_twice_ends_with_the_bits_of_one_that_never_stopped(self):
        steps = 1200  # a few seconds, so that it does not end before it is stopped
        arguments = small(train_steps=steps, checkpoint_every=0, log_every=1)
        self.succeed("train", "--quiet", "--run", "whole", *arguments)
        for _ in range(2):
            process = self.start("train", "--run", "run", *arguments)
            self.wait_for_steps(process, "run", 3)
            self.stop(process)
            self.assertLess(max(saved_steps(self.folder / "run")), steps)
        self.succeed("train", "--quiet", "--run", "run", *arguments)
        self.assertEqual(state_at(self.folder / "run", steps),
                         state_at(self.folder / "whole", steps))


if __name__ == "__main__":
    program.main()
