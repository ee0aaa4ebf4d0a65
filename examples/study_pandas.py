#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validation losses of all runs in some folders, by scheme, with pandas.

    ./ek python -m pip install pandas
    ./ek python examples/study_pandas.py runs
"""
import json
import pathlib
import sys

try:
    import pandas
except ImportError as error:
    sys.exit(f"study_pandas.py: wanted the package pandas, but importing it failed: {error}; "
             f"run: {sys.executable} -m pip install pandas")

import evenkeel

if len(sys.argv) < 2:
    sys.exit("usage: study_pandas.py FOLDER...")
rows = []
for folder in sys.argv[1:]:
    for metrics in sorted(pathlib.Path(folder).rglob("metrics.jsonl")):
        table = evenkeel.read_metrics(metrics.parent)
        about = json.loads((metrics.parent / "provenance.json").read_text())
        if "step" not in table:
            continue  # no step yet
        table = table.reindex(columns=table.columns.union(["val_loss", "grad_norm"]))  # a run may have no evaluation
        losses = table["val_loss"].dropna()
        rows.append({"scheme": about["scheme"], "run": metrics.parent.name, "steps": table["step"].max(),
                     "val_loss": losses.iloc[-1] if len(losses) else float("nan"),
                     "grad_norm": pandas.to_numeric(table["grad_norm"]).median()})
runs = pandas.DataFrame(rows)
print(runs.to_string(index=False))
print(runs.groupby("scheme")["val_loss"].agg(["mean", "std", "count"]).sort_values("mean"))
