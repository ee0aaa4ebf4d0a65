#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the event files of resumed runs with TensorBoard and tbparse, and compares with metrics.jsonl.

Usage: tests/ecosystem/tensorboard_check.py PATH_OF_EVENKEEL

The packages are those of tools/ecosystem_tracking_requirements.txt. Prints one line per case; the exit code is 1 if
a case fails.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tbparse
from tensorboard import context as request_context
from tensorboard.backend.event_processing import data_provider, event_accumulator, plugin_event_multiplexer
from tensorboard.data import provider
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
from tensorboard.util import tensor_util

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import event_file  # noqa: E402
import program  # noqa: E402

RUN = {"train_steps": 12, "checkpoint_every": 2, "checkpoint_keep": 100, "log_every": 1, "evaluate_every": 3,
       "probe_every": 4}


def resumed_run(evenkeel, folder, name, **changed):
    """A run that was resumed three times from earlier checkpoints, each time with a torn last record."""
    def train(*arguments):
        subprocess.run([evenkeel, "train", "--quiet", "--run", name, *arguments], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
    run = folder / name
    train(*program.small(**RUN, **changed))
    for last in (8, 4, 10):
        for step in program.saved_steps(run):
            if step > last:
                shutil.rmtree(program.folder_of(run, step))
        file = event_file.files_of(run)[-1]
        file.write_bytes(file.read_bytes() + b"\x05\0")
        train()
    return run


def check_tensorboard(run):
    """TensorBoard's scalars, texts and histograms."""
    wanted = event_file.wanted_scalars(program.lines_of(run / "metrics.jsonl"))
    events = event_accumulator.EventAccumulator(str(run), size_guidance=event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE)
    events.Reload()
    found = [(event.step, tag, event.value) for tag in events.Tags()["scalars"] for event in events.Scalars(tag)]
    mine = {(step, tag): value for step, tag, value in found if tag in event_file.TAGS.values()}
    assert mine == wanted, "scalars differ"
    assert len(found) == len({(step, tag) for step, tag, _ in found}), "a value twice"
    tensors = set(events.Tags()["tensors"])
    assert {"run.toml/text_summary", "scheme/text_summary", "sample/text_summary"} <= tensors, tensors
    shown = tensor_util.make_ndarray(events.Tensors("run.toml/text_summary")[0].tensor_proto)[0].decode()
    assert [line[4:] for line in shown.splitlines()] == (run / "run.toml").read_text().splitlines(), "run.toml"
    assert [each.step for each in events.Histograms("probe/grad_norm/over blocks")] == [4, 8, 12]
    return f"{len(found)} scalars"


def check_tbparse(run):
    """tbparse does not forget steps at SessionLog START."""
    table = tbparse.SummaryReader(str(run)).scalars
    found = list(zip(table["step"], table["tag"], table["value"]))
    wanted = event_file.wanted_scalars(program.lines_of(run / "metrics.jsonl"))
    mine = [(step, tag, value) for step, tag, value in found if tag in event_file.TAGS.values()]
    assert len(mine) == len(wanted), f"{len(mine)} values, not {len(wanted)}"
    assert {(step, tag): value for step, tag, value in mine} == wanted, "scalars differ"
    return f"{len(found)} scalars"


def check_hparams(folder, runs):
    """The HPARAMS tab has one session per run, with the keys of run.toml and the last values."""
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder)).Reload()
    data = data_provider.MultiplexerDataProvider(multiplexer, str(folder))
    context = backend_context.Context(base_plugin.TBContext(data_provider=data))
    asked = request_context.RequestContext()
    metadata = context.hparams_metadata(asked, "x")
    nothing = provider.ListHyperparametersResult(hyperparameters=[], session_groups=[])
    experiment = context.experiment_from_metadata(asked, "x", True, metadata, nothing)
    names = {info.name for info in experiment.hparam_infos}
    assert {"scheme"} <= names, names  # those that differ, or all
    handler = list_session_groups.Handler(
        asked, context, "x", api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=10, include_metrics=True,
                                                           allowed_statuses=range(4)))
    groups = handler.run().session_groups
    schemes = sorted(group.hparams["scheme"].string_value for group in groups)
    assert len(groups) == len(runs), groups
    assert schemes == ["post_norm", "pre_norm"], schemes
    assert all(group.hparams["train.steps"].number_value == 12 for group in groups)
    assert all(group.hparams["model.tied"].bool_value in (True, False) for group in groups)
    return ", ".join(schemes)


def main():
    evenkeel, failed = str(pathlib.Path(sys.argv[1]).resolve()), 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-"))
    try:
        (folder / "book.txt").write_text(program.BOOK)
        runs = [resumed_run(evenkeel, folder, name, scheme=name) for name in ("pre_norm", "post_norm")]
        cases = [("tensorboard", check_tensorboard, runs[0]), ("tensorboard", check_tensorboard, runs[1]),
                 ("tbparse", check_tbparse, runs[0]), ("tensorboard hparams", check_hparams, folder, runs)]
        for name, check, *arguments in cases:
            try:
                print(f"ok   {name}: {check(*arguments)}")
            except AssertionError as failure:
                failed += 1
                print(f"FAIL {name}: {failure}")
    finally:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
