#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training and the signals to stop, to save, and that the terminal is gone."""
import json
import signal
import subprocess
import time

import program
from program import lines_of, metrics, saved_steps, small, state_at


def pending_signals(process):
    """The set of signals that the process has not taken yet, a bit each."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("ShdPnd"))


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

    def test_sighup_is_ignored(self):
        process = self.start_training("run")
        process.send_signal(signal.SIGHUP)
        self.wait_for_steps(process, "run", 3)
        self.stop(process)

    def test_sighup_ends_watch_unless_it_was_ignored(self):
        for ignored in (False, True):
            before = (lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None  # as under nohup
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
