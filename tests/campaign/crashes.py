# SPDX-License-Identifier: Apache-2.0
"""Every input that once crashed the program, hung it, or took its memory.

crash_inputs.py generates the inputs. The program refuses each with a documented code, one line, at most
10 s and 4 GB; or it accepts it, where the input is legal.
"""
import shutil

import crash_inputs
import harness

# Verbs whose standard output is text of a model: bytes as they are in a pipe, escaped on a terminal.
GENERATE_TEXT = ("train", "generate")
SETTINGS = {"train_steps": 20, "checkpoint_every": 5, "log_every": 1, "evaluate_every": 5}


def trial_of(context, crash):
    """A trial: one input of the corpus."""
    def trial(folder, _):
        run = folder / "run"
        if crash.needs_run:
            shutil.copytree(context.whole(**SETTINGS), run)
        arguments = crash.make(crash_inputs.Place(folder, run, context.settings(**SETTINGS)))
        done = context.run(*arguments, limits=crash.limits, limit=30)
        yield from harness.complaints_of(done, crash.codes, one_line=crash.one_line)
        control = harness.control_bytes(done.out.decode(errors="replace"))
        if control and arguments[0] not in GENERATE_TEXT:
            yield f"control character {control} on standard output"
        if done.megabytes > crash.megabytes:
            yield f"took {done.megabytes:.0f} MB, wanted at most {crash.megabytes}"
        if crash.check:
            yield from filter(None, [crash.check(crash_inputs.Place(folder, run, []))])
    return trial


def trials(context):
    context.whole(**SETTINGS)
    return [(crash.name, trial_of(context, crash)) for crash in crash_inputs.CORPUS]
