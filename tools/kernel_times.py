#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the kernels of one training step, longest first, from a file of tools/kernel_times.cpp.

    kernel_times.py FILE [--step -3] [--kernels 40]

A step ends with the last kernel of AdamW. The default is the third-last step: `bench step` profiles the last one.
"""
import argparse
import collections

GROUPS = (("attention, forward", ("fprop",)), ("attention, backward", ("bprop", "cudnn::fusion", "flash_bwd")),
          ("matrix products", ("nvjet", "cutlass", "splitKreduce", "grouped_weight_gradient")),
          ("loss", ("logits_kernel",)), ("SwiGLU", ("Swiglu",)), ("norms and rotation of heads", ("QkvRows",)),
          ("other norms", ("RmsNorm", "LayerNorm", "total_kernel")), ("optimizer", ("adamw", "squares")))


def read(path):
    names, records = {}, []
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("N "):
                _, number, name = line.rstrip("\n").split(" ", 2)
                names[number] = name
            else:
                number, start, duration = line.split()
                records.append((names[number], int(start), int(duration)))
    return records


def ends_of_steps(records):
    """The index of the last kernel of AdamW in each step: groups are updated one after another."""
    ends, last = [], None
    for index, (name, _, _) in enumerate(records):
        if "adamw" not in name:
            continue
        if last is not None and index - last <= 200:
            ends[-1] = index
        else:
            ends.append(index)
        last = index
    return ends


def group_of(name):
    return next((group for group, words in GROUPS if any(word in name for word in words)), "other")


def table(times, count, rows):
    for name, time in sorted(times.items(), key=lambda item: -item[1])[:rows]:
        print(f"{time / 1e6:10.3f} ms {count[name]:6d} x  {name[:150]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--step", type=int, default=-3)
    parser.add_argument("--kernels", type=int, default=40)
    options = parser.parse_args()
    records = read(options.file)
    ends = ends_of_steps(records)
    step = records[ends[options.step - 1] + 1:ends[options.step] + 1]
    times, count = collections.Counter(), collections.Counter()
    busy, until = 0, step[0][1]
    for name, start, duration in step:
        for key in (name, group_of(name)):
            times[key] += duration
            count[key] += 1
        busy += max(0, start + duration - max(start, until))
        until = max(until, start + duration)
    span = until - step[0][1]
    print(f"{len(step)} kernels and copies in {span / 1e6:.2f} ms, of which the GPU works {busy / 1e6:.2f} ms")
    groups = {group for group, _ in GROUPS} | {"other"}
    table({name: time for name, time in times.items() if name in groups}, count, len(groups))
    print()
    table({name: time for name, time in times.items() if name not in groups}, count, options.kernels)


if __name__ == "__main__":
    main()
