#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`evenkeel.patch` under torch.compile and torch.export, and the labels of its loss.

    patch_compile_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

The modules are those of patch_check.py. Exits with 77 (skipped) where torch cannot be imported.
"""
import copy
import unittest
import warnings

import package_setup

package_setup.require("torch._dynamo")
import patch_check as parts
import torch

import evenkeel


def leading(output):
    """The loss of a head, the first output of a layer."""
    output = getattr(output, "loss", output)
    return output[0] if isinstance(output, tuple) else output


class Compiled(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        torch._dynamo.reset()
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.filterwarnings("error", ".*lru_cache")  # torch.compile ignores such a cache, and warns once

    def test_a_patched_model_is_compiled_and_exported_in_one_graph(self):
        ids, x, tables = torch.tensor([[3, 4, 7, 5]]), torch.randn(2, 5, parts.WIDTH), parts.rotation_tables()
        mask = torch.ones(5, 5, dtype=torch.bool).tril()
        for make, arguments, options in ((parts.ModelForCausalLM, (ids,), {"labels": ids}),
                                         (parts.FeedForward, (x,), {}),
                                         (parts.Attention, (x, tables), {}),
                                         (parts.Attention, (x, tables, mask), {}),  # computed by its own code
                                         (lambda: torch.nn.RMSNorm(parts.WIDTH, 1e-6), (x,), {})):
            model = make()
            wanted = leading(model(*arguments, **options))
            evenkeel.patch(model)
            for each in (model, copy.deepcopy(model)):
                torch._dynamo.reset()
                found = torch.compile(each, fullgraph=True, backend="aot_eager")(*arguments, **options)
                torch.testing.assert_close(leading(found), wanted)
            if not options:  # the output of the stand-in of a head is no tree of tensors
                program = torch.export.export(model, arguments)
                torch.testing.assert_close(leading(program.module()(*arguments)), wanted)

    def test_a_patched_norm_is_an_operator_in_both_graphs(self):
        graphs, norm, x = [], torch.nn.RMSNorm(parts.WIDTH, 1e-6), torch.randn(2, parts.WIDTH)
        evenkeel.patch(norm)
        torch.compile(norm, fullgraph=True, backend=lambda graph, _: graphs.append(graph) or graph)(x)
        for graph in (*graphs, torch.export.export(norm, (x,)).graph_module):
            self.assertTrue(any("evenkeel" in str(node.target) for node in graph.graph.nodes))

    def test_labels_that_torch_refuses_are_refused(self):
        """The operator ignores each target below 0, torch -100 alone."""
        model, ids = parts.ModelForCausalLM(), torch.tensor([[3, 4, 7, 5]])
        labels = torch.tensor([[3, -100, 7, -100]])
        wanted = model(ids, labels=labels).loss
        evenkeel.patch(model)
        torch.testing.assert_close(model(ids, labels=labels).loss, wanted)
        for wrong in (-5, -1, 11):
            bad = torch.tensor([[3, 4, wrong, 5]])
            with self.assertRaisesRegex(IndexError, "^evenkeel.patch: wanted labels from 0 to 10, or -100 for no "
                                                    f"token, but found {wrong}$"):
                model(ids, labels=bad)
            with self.assertRaisesRegex(RuntimeError, "target 11 is not below the vocabulary of 11"):
                torch.compile(model, fullgraph=True, backend="eager")(ids, labels=bad)


if __name__ == "__main__":
    unittest.main()
