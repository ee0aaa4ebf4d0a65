# SPDX-License-Identifier: Apache-2.0
"""An independent reader of run folders: Python, xxhash and safetensors, none of the program's code.

A checkpoint is acknowledged once the program has printed "step N: saved".
"""
import json
import re

import safetensors
import xxhash

ACKNOWLEDGED = re.compile(r"^(?:.*\r)?(?:\x1b\[K)?step (\d+): saved$", re.MULTILINE)
NAMED = re.compile(r"step-(\d{8,})")
ZEROS = b"0" * 32


def folder_of(run, step):
    return run / "checkpoints" / f"step-{step:08d}"


def acknowledged(text, before=-1):
    """The last step that standard error reports as saved."""
    return max((int(step) for step in ACKNOWLEDGED.findall(text)), default=before)


def named_steps(run):
    """Steps with a folder of final name."""
    folder = run / "checkpoints"
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for match in map(NAMED.fullmatch, names) if match)


def file_defect(path, wanted):
    """Why a file does not match its entry of the manifest; '' if it does."""
    data = path.read_bytes()
    if len(data) != wanted["size"]:
        return f"{path.name} has {len(data)} bytes, wanted {wanted['size']}"
    if xxhash.xxh3_128_hexdigest(data) != wanted["digest"]:
        return f"{path.name} does not match its digest"
    if path.suffix == ".safetensors":
        tensors = {name: {"dtype": entry["dtype"], "shape": list(entry["shape"])}
                   for name, entry in safetensors.deserialize(data)}
        if tensors != wanted["tensors"]:
            return f"{path.name} has other tensors than the manifest"
    elif path.suffix == ".json":
        json.loads(data)
    return ""


def defect(folder, step):
    """Why a folder is no checkpoint of this step; '' if it is one."""
    try:
        text = (folder / "MANIFEST.json").read_bytes()
        manifest = json.loads(text)
        root = manifest["root_digest"].encode()
        if text.count(root) != 1 or xxhash.xxh3_128_hexdigest(text.replace(root, ZEROS)).encode() != root:
            return "MANIFEST.json does not match its digest"
        if manifest["step"] != step:
            return f"MANIFEST.json is of step {manifest['step']}"
        for name, wanted in manifest["files"].items():
            found = file_defect(folder / name, wanted)
            if found:
                return found
    except Exception as error:  # noqa: BLE001  any failure to read is a defect
        return repr(error)
    return ""


def intact_steps(run):
    """Steps whose checkpoint is complete and undamaged."""
    return [step for step in named_steps(run) if not defect(folder_of(run, step), step)]


def manifest(run, step):
    return json.loads((folder_of(run, step) / "MANIFEST.json").read_text())


def records(file):
    """The records of a file of JSON lines, and the lines that are none."""
    good, bad = [], []
    if file.is_file():
        for line in file.read_bytes().split(b"\n")[:-1]:
            try:
                good.append(json.loads(line))
            except ValueError:
                bad.append(line)
    return good, bad


def missing_records(run, newest):
    """Steps from 1 to `newest` without a record of training (of a run with log.every = 1)."""
    good, _ = records(run / "metrics.jsonl")
    found = {record["step"] for record in good if "loss" in record}
    return sorted(set(range(1, newest + 1)) - found)


def record_defects(run, step):
    """Records files that do not begin with the bytes that they had at the checkpoint of this step."""
    for name, wanted in manifest(run, step)["records"].items():
        data = (run / name).read_bytes() if (run / name).is_file() else b""
        if len(data) < wanted["size"]:
            yield f"{name} has {len(data)} bytes, wanted {wanted['size']} at the checkpoint of step {step}"
        elif xxhash.xxh3_128_hexdigest(data[:wanted["size"]]) != wanted["digest"]:
            yield f"{name} differs from the digest of the checkpoint of step {step}"


def leftovers(run):
    """Files of saves and replacements that did not finish."""
    return sorted(str(path.relative_to(run)) for path in run.rglob("*")
                  if ".new-" in path.name or path.name.startswith((".tmp-", ".trash-")))
