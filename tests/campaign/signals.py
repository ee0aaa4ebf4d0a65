# SPDX-License-Identifier: Apache-2.0
"""Sixteen kinds of signals at random instants, the first second included; then a resume.

The program ends with 0 or 130, or by a signal that it does not handle; a signal that comes before the run
folder exists may end it, too. Nothing acknowledged is lost, and the resumed run equals an undisturbed one.
"""
import signal

import harness
import program
import reader

STEPS = 240
SETTINGS = {"train_steps": STEPS, "checkpoint_every": 50, "log_every": 1}
S = signal
KINDS = [[S.SIGTERM], [S.SIGINT], [S.SIGINT, S.SIGINT], [S.SIGTERM, S.SIGINT], [S.SIGHUP], [S.SIGPIPE], [S.SIGUSR1],
         [S.SIGSTOP, S.SIGCONT], [S.SIGWINCH], [S.SIGUSR2], [S.SIGQUIT], [S.SIGALRM], [S.SIGVTALRM], [S.SIGXFSZ],
         [S.SIGCHLD], [S.SIGURG]]
HANDLED = {S.SIGTERM, S.SIGINT, S.SIGHUP, S.SIGUSR1}  # by docs/run_folder.md and the help of train


def losses(run):
    return [record for record in program.metrics(run) if "loss" in record]


def trial_of(context, kinds):
    """A trial: one or two signals, then a resume."""
    def trial(folder, chance):
        run, whole = folder / "run", context.whole(**SETTINGS)
        wait, pause = chance.uniform(0, 1.2), chance.choice([0, 1.1])

        def act(process):
            harness.wait_until(lambda: False, process, wait)
            for index, number in enumerate(kinds):
                if index > 0 and number == S.SIGINT:  # within a second two count as one
                    harness.wait_until(lambda: False, process, pause)
                harness.send(process, number)
                if number == S.SIGSTOP:
                    harness.wait_until(lambda: False, process, 0.05)
        arguments = ["train", "--run", run, *context.settings(**SETTINGS)]
        done = context.run(*arguments, act=act)
        fatal = set(kinds) - HANDLED if run.exists() else set(kinds)
        if done.code not in {0, 130} | {-number for number in fatal}:
            yield f"after {wait:.2f} s: ended with {done.code}: {done.last_line()}"
        yield from harness.lost(run, reader.acknowledged(done.err))
        done = context.run(*arguments)
        if done.code != 0:
            yield f"resume ends with {done.code}: {done.last_line()}"
        elif program.state_at(run, STEPS) != program.state_at(whole, STEPS):
            yield "the resumed run ends with another state than an undisturbed run"
        elif losses(run) != losses(whole):
            yield "the resumed run has other records of training than an undisturbed run"
    return trial


def trials(context):
    context.whole(**SETTINGS)
    return [(f"{number} {'+'.join(kind.name for kind in KINDS[number % 16])}", trial_of(context, KINDS[number % 16]))
            for number in range(context.count(16, 200, 200))]
