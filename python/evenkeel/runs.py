# SPDX-License-Identifier: Apache-2.0
"""What a run left on disk: its metrics, and its model once it is exported."""
import json
import os
import pathlib
import sys
from typing import Any, Dict, List, Union

__all__ = ["load_run", "read_metrics", "read_records"]

Path = Union[str, "os.PathLike[str]"]


def read_records(run: Path, name: str = "metrics.jsonl") -> List[Dict[str, Any]]:
    """The records of one file of a run folder, one dictionary for each line.

    A last line without its end is left out: a run that trains may be writing it.
    `FileNotFoundError` or `ValueError` in one line where the file is missing or damaged.
    """
    path = pathlib.Path(run) / name
    if not path.is_file():
        raise FileNotFoundError(f"{run}: wanted a run folder with {name}, but found none")
    records = []
    lines = path.read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ValueError(f"{path}:{number}: wanted a JSON object, but found {line[:40]!r}")
        records.append(record)
    return records


def read_metrics(run: Path) -> Any:
    """The metrics of a run (docs/run_folder.md): a pandas.DataFrame, one row for each record of metrics.jsonl.

    Without pandas a dictionary of lists, of equal length; None where a record has no such field.
    """
    records = read_records(run)
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def load_run(path: Path, **options: Any) -> Any:
    """The model of an exported run as a module of transformers.

    `path` is the folder that `evenkeel export --output` wrote. Options are those of `from_pretrained`.
    """
    folder = pathlib.Path(path)
    if not (folder / "config.json").is_file():
        hint = f"; run: evenkeel export --run {folder} --output FOLDER" if (folder / "run.toml").is_file() else ""
        raise FileNotFoundError(f"{folder}: wanted an exported run with config.json, but found none{hint}")
    try:
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise ImportError(f"evenkeel.load_run: wanted the package transformers, but importing it failed: {error}; "
                          f"run: {sys.executable} -m pip install transformers") from error
    if json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type") != "evenkeel":
        return AutoModelForCausalLM.from_pretrained(folder, **options)
    from .hf.modeling_evenkeel import EvenkeelForCausalLM
    # save_pretrained() then writes the two files of code, too.
    EvenkeelForCausalLM.config_class.register_for_auto_class()
    EvenkeelForCausalLM.register_for_auto_class("AutoModelForCausalLM")
    return EvenkeelForCausalLM.from_pretrained(folder, **options)
