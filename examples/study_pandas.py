#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validation losses of all runs in some folders, by scheme, with pandas.

    ./ek python examples/study_pandas.py runs        (pip install pandas)
"""
import json
import pathlib
import sys

import pandas

import evenkeel

rows = []
for folder in sys.argv[1:]:
    for metrics in sorted(pathlib.Path(folder).rglob("metrics.jsonl")):
        table = evenkeel.read_metrics(metrics.parent)
        about = json.loads((metrics.parent / "provenance.json").read_text())
        losses = table.dropna(subset=["val_loss"])
        rows.append({"scheme": about["scheme"], "run": metrics.parent.name, "steps": table["step"].max(),
                     "val_loss": losses["val_loss"].iloc[-1], "grad_norm": table["grad_norm"].median()})
runs = pandas.DataFrame(rows)
print(runs.to_string(index=False))
print(runs.groupby("scheme")["val_loss"].agg(["mean", "std", "count"]).sort_values("mean"))
