# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that are wrong, but have valid digests."""
import json
import shutil

import reader
import xxhash


def text_of(value):
    """JSON as the program writes it."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def manifest(folder, edit):
    """Edits a manifest and computes its digest."""
    content = json.loads((folder / "MANIFEST.json").read_text())
    edit(content)
    content["root_digest"] = "0" * 32
    text = text_of(content)
    digest = xxhash.xxh3_128_hexdigest(text.encode())
    (folder / "MANIFEST.json").write_text(text.replace("0" * 32, digest, 1))


def configuration(run, step, key, value):
    """Changes one number of the configuration, in the manifest and in run.toml."""
    def changed(text):
        lines = [f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in text.split("\n")]
        return "\n".join(lines)
    manifest(reader.folder_of(run, step), lambda content: content.update(config=changed(content["config"])))
    (run / "run.toml").write_text(changed((run / "run.toml").read_text()))


def state(run, step, edit):
    """Replaces state.json of a checkpoint, and removes the older checkpoints."""
    folder = reader.folder_of(run, step)
    data = text_of(edit(json.loads((folder / "state.json").read_text()))).encode()
    (folder / "state.json").write_bytes(data)
    entry = {"size": len(data), "digest": xxhash.xxh3_128_hexdigest(data)}
    manifest(folder, lambda content: content["files"]["state.json"].update(entry))
    for older in reader.named_steps(run):
        if older != step:
            remove_checkpoint(run, older)


def remove_checkpoint(run, step):
    shutil.rmtree(reader.folder_of(run, step))
