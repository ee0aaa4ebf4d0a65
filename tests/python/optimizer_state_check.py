#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The state of `evenkeel.optim.AdamW`: what is loaded, converted, counted and copied; inputs that are refused.

    optimizer_state_check.py LIBRARY    LIBRARY: libevenkeel_ops.so

Exits with 77 (skipped) where torch cannot be imported.
"""
import copy
import pickle
import unittest
import unittest.mock
import weakref

import package_setup
import torch

from evenkeel import optim

ARGUMENTS = {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}


def parameter(values, gradient=None):
    """A parameter with these values, and a gradient of ones by default."""
    part = torch.nn.Parameter(values)
    part.grad = torch.ones_like(part) if gradient is None else gradient
    return part


def stepped(dtype, count=1, kind=optim.AdamW):
    """A parameter of ones after some steps, and its optimizer."""
    part = parameter(torch.ones(4, dtype=dtype))
    optimizer = kind([part], **ARGUMENTS)
    for _ in range(count):
        optimizer.step()
    return part, optimizer


class Views(unittest.TestCase):
    """A step needs flat views of a parameter, of its gradient and of its state, in one order of memory."""

    def test_tensors_without_gaps_need_no_check_of_strides_and_placements(self):
        parts = [parameter(torch.randn(3, 5).to(dtype)) for dtype in (torch.float32, torch.bfloat16)]
        optimizer = optim.AdamW(parts, **ARGUMENTS)
        refused = unittest.mock.Mock(side_effect=AssertionError("the slow path"))
        with unittest.mock.patch.multiple(optim, _like=refused, _flat=refused, _local=refused):
            optimizer.step()
            optimizer.step()
        self.assertEqual({state["step"].item() for state in optimizer.state.values()}, {2})

    def test_a_gradient_or_a_state_of_another_order_is_reordered(self):
        torch.manual_seed(1)
        values, gradient = torch.randn(3, 5), torch.randn(5, 3).t()
        ours, theirs = (parameter(values.clone(), gradient) for _ in range(2))
        optimizers = optim.AdamW([ours], **ARGUMENTS), torch.optim.AdamW([theirs], **ARGUMENTS)
        for optimizer in optimizers:
            optimizer.step()
        ours.data, theirs.data = (each.data.t().contiguous().t() for each in (ours, theirs))
        for optimizer in optimizers:
            optimizer.step()
        torch.testing.assert_close(ours, theirs)
        self.assertEqual(ours.stride(), (1, 3))

    def test_a_state_of_another_shape_is_refused(self):
        # Equally many values, values that copy_ would broadcast, and equal strides.
        for shape in ((3, 2), (2, 1), (4, 3)):
            part = parameter(torch.ones(2, 3))
            optimizer = optim.AdamW([part])
            moments = {name: torch.zeros(shape) for name in optim.MOMENTS}
            optimizer.state[part] = {"step": torch.tensor(1.0), **moments}
            with self.assertRaises(ValueError) as refused:
                optimizer.step()
            self.assertEqual(str(refused.exception), "AdamW: wanted a gradient and a state of shape [2, 3] like their "
                                                     f"parameter, but found {list(shape)}")

    def test_memory_of_a_replaced_parameter_is_released(self):
        try:
            import numpy
        except ImportError as missing:
            self.skipTest(str(missing))
        values = numpy.ones(64, dtype=numpy.float32)
        part = parameter(torch.from_numpy(values))
        optimizer = optim.AdamW([part])
        optimizer.step()
        alive = weakref.ref(values)
        part.data, part.grad = torch.zeros(0), None  # as frameworks do that offload parameters
        del values
        self.assertIsNone(alive())


class Conversion(unittest.TestCase):
    """The state follows a parameter that `model.to(dtype)` converts."""

    def test_the_state_follows_the_dtype_of_the_parameter(self):
        for before, after, has_copy in ((torch.float32, torch.bfloat16, True), (torch.bfloat16, torch.float32, False),
                                        (torch.float32, torch.float64, False), (torch.bfloat16, torch.float64, False)):
            part, optimizer = stepped(before, 2)
            moment = optimizer.state[part]["exp_avg"].clone()
            part.data, part.grad = part.data.to(after), torch.zeros(4, dtype=after)
            optimizer.step()
            state = optimizer.state[part]
            self.assertEqual(("master" in state, state["step"].item()), (has_copy, 3))
            self.assertEqual(state["exp_avg"].dtype, torch.promote_types(after, torch.float32))
            torch.testing.assert_close(state["exp_avg"], 0.8 * moment, check_dtype=False)  # beta1 times the moment

    def test_a_dtype_without_operator_is_refused(self):
        for dtype in (torch.float16, torch.complex64):
            with self.assertRaises(ValueError) as refused:
                stepped(dtype)
            self.assertEqual(str(refused.exception), "AdamW: wanted a parameter in float32, bfloat16 or float64, but "
                                                     f"found {dtype}; use torch.optim.AdamW")
        frozen = torch.nn.Parameter(torch.ones(2, dtype=torch.float16), requires_grad=False)
        optim.AdamW([frozen]).step()  # without a gradient

    def test_a_sparse_gradient_is_refused(self):
        part = parameter(torch.ones(3), torch.ones(3).to_sparse())
        with self.assertRaises(ValueError) as refused:
            optim.AdamW([part]).step()
        self.assertEqual(str(refused.exception), "AdamW: wanted a dense gradient, but found torch.sparse_coo; "
                                                 "use torch.optim.SparseAdam")

    def test_a_step_that_fails_counts_for_the_parameters_before_it(self):
        one, two = parameter(torch.ones(3)), parameter(torch.ones(3), torch.ones(3).to_sparse())
        optimizer = optim.AdamW([one, two])
        with self.assertRaises(ValueError):
            optimizer.step()
        self.assertEqual((optimizer.state[one]["step"].item(), optimizer.state[two]["step"].item()), (1, 0))

    def test_parameters_without_values_and_on_the_meta_device(self):
        for values in (torch.ones(0, 3), torch.ones(3, device="meta"), torch.ones(3, device="meta").bfloat16()):
            part = parameter(values)
            optimizer = optim.AdamW([part])
            optimizer.step()
            self.assertEqual(optimizer.state[part]["exp_avg"].device, values.device)


class Loading(unittest.TestCase):

    def test_copies_and_pickles_continue_with_equal_bits(self):
        for dtype in (torch.float32, torch.bfloat16):
            part, optimizer = stepped(dtype, 2)
            for pair in (copy.deepcopy((part, optimizer)), pickle.loads(pickle.dumps((part, optimizer)))):
                other, again = pair
                other.grad = part.grad.clone()
                reference, steps = copy.deepcopy((part, optimizer))
                reference.grad = part.grad.clone()
                again.step()
                steps.step()
                self.assertIs(again.param_groups[0]["params"][0], other)
                self.assertTrue(torch.equal(other, reference))
                self.assertFalse(torch.equal(other, part))

    def test_torch_continues_from_our_state(self):
        for dtype in (torch.float32, torch.bfloat16):
            part, optimizer = stepped(dtype, 2)
            gradient = torch.linspace(-1, 1, 4, dtype=dtype)
            one, two = (parameter(part.detach().clone(), gradient.clone()) for _ in range(2))
            loaded, reference = torch.optim.AdamW([one]), torch.optim.AdamW([two], **ARGUMENTS)
            loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            moments = {name: optimizer.state[part][name].to(dtype, copy=True) for name in optim.MOMENTS}
            reference.state[two] = {"step": torch.tensor(2.0), **moments}
            loaded.step()
            reference.step()
            self.assertTrue(torch.equal(one, two))
            self.assertEqual(loaded.state[one]["step"].item(), 3)
            self.assertFalse(loaded.param_groups[0]["amsgrad"])
            if dtype == torch.float32:  # torch rounds each operation in bfloat16
                part.grad = gradient
                optimizer.step()
                torch.testing.assert_close(one, part)

    def test_names_of_parameters_are_kept(self):
        model = torch.nn.Linear(2, 3)
        saved = optim.AdamW(model.named_parameters()).state_dict()
        self.assertEqual(saved["param_groups"][0]["param_names"], ["weight", "bias"])
        optim.AdamW(model.named_parameters()).load_state_dict(saved)

    def test_hooks_see_and_replace_what_is_loaded(self):
        _, optimizer = stepped(torch.bfloat16, 2)
        part, again = stepped(torch.bfloat16, 0)
        state = copy.deepcopy(optimizer.state_dict())
        third = torch.full((4,), 1 / 3)  # bfloat16 would round it

        def replace(_, loaded):
            return {**loaded, "state": {0: {**loaded["state"][0], "exp_avg": third}}}
        seen = []
        again.register_load_state_dict_pre_hook(replace)
        again.register_load_state_dict_post_hook(lambda each: seen.append(each.state[part]["exp_avg"].clone()))
        again.load_state_dict(state)
        again.load_state_dict(state)
        for each in (*seen, again.state[part]["exp_avg"]):
            torch.testing.assert_close(each, third, rtol=0, atol=0)
        self.assertEqual(len(seen), 2)
        with self.assertRaises(ValueError):
            again.load_state_dict({**state, "param_groups": []})
        hooks = again._optimizer_load_state_dict_pre_hooks, again._optimizer_load_state_dict_post_hooks
        self.assertEqual([len(each) for each in hooks], [1, 1])  # those of the user

    def test_a_loaded_state_goes_to_the_device_of_the_parameter(self):
        _, optimizer = stepped(torch.bfloat16)
        part = parameter(torch.ones(4, device="meta", dtype=torch.bfloat16))
        again = optim.AdamW([part])
        again.load_state_dict(optimizer.state_dict())
        for name in ("exp_avg", "exp_avg_sq", "master"):
            self.assertEqual((again.state[part][name].device.type, again.state[part][name].dtype),
                             ("meta", torch.float32))

    def test_a_parameter_without_a_saved_state_gets_none(self):
        part, optimizer = stepped(torch.bfloat16)
        rest = torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
        optimizer.add_param_group({"params": [rest]})
        optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        self.assertEqual(list(optimizer.state), [part])

    def test_a_step_that_torch_1_11_saved_as_int(self):
        part, optimizer = stepped(torch.float32, 2)
        state = copy.deepcopy(optimizer.state_dict())
        state["state"][0]["step"] = 2
        optimizer.load_state_dict(state)
        optimizer.step()
        self.assertEqual(optimizer.state[part]["step"].item(), 3)

    def test_a_state_of_another_optimizer_is_refused(self):
        part, optimizer = stepped(torch.float32, 1, lambda parts, **_: torch.optim.SGD(parts, 0.1, momentum=0.9))
        with self.assertRaises(ValueError) as refused:
            optim.AdamW([part]).load_state_dict(optimizer.state_dict())
        self.assertEqual(str(refused.exception), "AdamW: wanted a state with step, exp_avg, exp_avg_sq, but found "
                                                 "momentum_buffer; load a state of AdamW")


if __name__ == "__main__":
    unittest.main()
