# SPDX-License-Identifier: Apache-2.0
"""Reads TensorBoard's event files without TensorBoard.

It checks each length, but no checksum: tests/tracking and tests/ecosystem/tensorboard_check.py do that.
"""
import struct

# Tags of docs/tracking.md, by field of metrics.jsonl.
TAGS = {"loss": "train/CE loss", "lr": "optim/LR", "grad_norm": "optim/total grad norm",
        "clipped": "optim/grad norm clipped", "tokens": "throughput/total tokens",
        "tokens_per_s": "throughput/device/TPS", "step_s": "throughput/device/seconds per step",
        "memory_bytes": "system/peak memory (bytes)", "faults": "system/minor page faults",
        "val_loss": "eval/loss", "val_bits_per_byte": "eval/bits per byte"}


def fields(message):
    """(number of the field, value) of a protobuf message."""
    at = 0

    def varint():
        nonlocal at
        out = shift = 0
        while True:
            byte = message[at]
            at += 1
            out |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return out
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at:at + size]
        at += size


def events(file):
    """(step, {tag: float or bytes}) of a file; a torn last record is left out."""
    content, at = file.read_bytes(), 0
    while at + 16 <= len(content):
        size, = struct.unpack_from("<Q", content, at)
        if at + 16 + size > len(content):
            return
        event = list(fields(content[at + 12:at + 12 + size]))
        at += 16 + size
        values = {}
        for _, summary in (each for each in event if each[0] == 5):
            for _, value in fields(summary):
                parts = dict(fields(value))
                values[parts[1].decode()] = struct.unpack("<f", parts[2])[0] if 2 in parts else value
        yield dict(event).get(2, 0), values


def files_of(run):
    return sorted(run.glob("events.out.tfevents.*"))


def scalars(run):
    """[(step, tag, value)] of all event files of a run, in their order."""
    return [(step, tag, value) for file in files_of(run) for step, values in events(file)
            for tag, value in values.items() if isinstance(value, float)]


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def wanted_scalars(lines):
    """{(step, tag): value} that lines of metrics.jsonl have in event files."""
    return {(line["step"], TAGS[key]): float32(value) for line in lines for key, value in line.items()
            if key in TAGS}
