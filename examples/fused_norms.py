#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replaces the norms of a PyTorch model by Evenkeel's, and times a training pass of both.

    ./ek python examples/fused_norms.py
"""
import copy
import statistics
import time

import torch

import evenkeel


def fuse_norms(module):
    for name, child in module.named_children():
        if type(child) is torch.nn.RMSNorm and len(child.normalized_shape) == 1:
            fused = evenkeel.nn.RMSNorm(child.normalized_shape[0], child.eps, child.elementwise_affine)
            fused.load_state_dict(child.state_dict())
            setattr(module, name, fused)
        fuse_norms(child)
    return module


def seconds(model, x):
    start = time.perf_counter()
    model(x).square().mean().backward()
    return time.perf_counter() - start


torch.manual_seed(0)
layers = [layer for _ in range(8) for layer in (torch.nn.RMSNorm(512, eps=1e-5), torch.nn.Linear(512, 512))]
plain = torch.nn.Sequential(*layers)
fused = fuse_norms(copy.deepcopy(plain))
x = torch.randn(2048, 512)
torch.testing.assert_close(fused(x), plain(x))
rounds = [(seconds(plain, x), seconds(fused, x)) for _ in range(12)][2:]
before, after = (statistics.median(column) for column in zip(*rounds))
ratio = statistics.median(two / one for one, two in rounds)
print(f"RMSNorm {1e3 * before:.1f} ms, fused {1e3 * after:.1f} ms, ratio {ratio:.2f}: the same results")
