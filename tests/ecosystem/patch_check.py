#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""evenkeel.patch on small models of transformers, and the examples that need transformers or pandas.

1. Losses and gradients of training, logits and greedy texts are those of the model without the patch; what was
   replaced; `state_dict`, copies, save_pretrained and unpatch.
2. Inputs that the operators do not take give the results of transformers: padding, autocast, gradient accumulation.
   So do models whose heads, norms and layers compute something else, and layers with LoRA.
3. Trainer and generate read the signature of a patched model. torch.compile and torch.export make one graph of it.
4. examples/patch_llama.py and examples/study_pandas.py run.

Usage: tests/ecosystem/patch_check.py EVENKEEL      (EVENKEEL_OPS, and python/ in PYTHONPATH)
The packages are those of tools/transformers_requirements.txt.
"""
import copy
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import peft
import torch
import transformers

import evenkeel

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv[1]
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "OMP_WAIT_POLICY": "passive"}
SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 101, "max_position_embeddings": 64,
         "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
# (class, its own settings, how many norms, SwiGLU layers, attention layers and losses are replaced)
MODELS = {
    "Llama": ({}, (5, 2, 2, 1)),
    "Qwen2": ({}, (5, 2, 2, 1)),                      # biases of q, k and v
    "Qwen3": ({}, (9, 2, 2, 1)),                      # norms of heads
    "Olmo2": ({}, (9, 2, 2, 1)),                      # norms of all heads together
    "Mistral": ({"sliding_window": 4}, (5, 2, 2, 1)),  # a window, where transformers goes on
    "Gemma": ({"hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh"}, (5, 0, 2, 1)),
    "Gemma2": ({"query_pre_attn_scalar": 24, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
                "attn_implementation": "eager", "sliding_window": 4}, (9, 0, 2, 1)),
    "SmolLM3": ({"no_rope_layers": [1, 0]}, (5, 2, 1, 1)),   # a layer without RoPE
    "Cohere": ({"logit_scale": 1.0}, (0, 2, 0, 1)),          # RoPE of neighbours, LayerNorm
    "Gemma3": ({"query_pre_attn_scalar": 24, "sliding_window": 4}, (13, 0, 2, 1)),
}


def model_of(name, dtype=torch.float32):
    """A model with random parameters; no gain is the one that it starts with."""
    torch.manual_seed(3)
    config = getattr(transformers, f"{name}TextConfig" if name == "Gemma3" else f"{name}Config")
    settings = dict((MODELS | OTHERS)[name][0])
    implementation = settings.pop("attn_implementation", "sdpa")
    model = getattr(transformers, f"{name}ForCausalLM")(config(**SIZES | settings))
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.to(dtype).train()


# Models with parts that compute something else: (class, its own settings, how many parts of each kind are replaced)
MAMBA = {"mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16,
          "linear_value_head_dim": 16, "layer_types": ["linear_attention", "full_attention"]}
OTHERS = {
    "FalconH1": (MAMBA | {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mlp_multipliers": [0.5, 0.7], "key_multiplier": 0.5,
                          "lm_head_multiplier": 0.2}, (5, 0, 0, 0)),
    "RecurrentGemma": ({"lru_width": 64, "logits_soft_cap": 1.0}, (5, 0, 0, 0)),
    "SeedOss": ({"residual_dropout": 0.1}, (5, 0, 0, 1)),
    "Qwen3Next": (LINEAR | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                            "shared_expert_intermediate_size": 32}, (7, 2, 0, 1)),
}


def tokens(count=24):
    torch.manual_seed(4)
    return torch.randint(1, 101, (2, count))


def passes(model, **options):
    """(loss, gradients) of a training step."""
    model.zero_grad()
    ids = tokens()
    loss = model(input_ids=ids, **{"labels": ids} | options).loss
    loss.backward()
    return loss.detach(), {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


class Patch(unittest.TestCase):
    def check(self, model, patched, tolerance=1e-5, **options):
        (wanted, gradients), (found, ours) = passes(model, **options), passes(patched, **options)
        torch.testing.assert_close(found, wanted, rtol=0, atol=tolerance, check_dtype=False)
        self.assertEqual(set(ours), set(gradients))
        for name, each in gradients.items():
            bound = tolerance * (1 + each.abs().max().item())
            torch.testing.assert_close(ours[name], each, rtol=0, atol=bound, msg=lambda text, name=name: f"{name}: {text}")

    def test_losses_gradients_and_counts(self):
        for name, (_, counts) in MODELS.items():
            with self.subTest(name):
                model = model_of(name)
                patched = copy.deepcopy(model)
                self.assertEqual(tuple(evenkeel.patch(patched).values()), counts)
                self.check(model, patched)
                wide, wide_patched = model.double(), patched.double()
                self.check(wide, wide_patched, 2e-6)  # transformers computes norms and losses in float32
                self.check(model.bfloat16(), patched.bfloat16(), 0.1)

    def test_a_patched_model_is_compiled_and_exported_in_one_graph(self):
        options = {"input_ids": tokens(), "labels": tokens(), "use_cache": False}
        for name in MODELS:
            with self.subTest(name):
                model = model_of(name)
                wanted = model(**options).loss
                evenkeel.patch(model)
                for each in (model, copy.deepcopy(model).eval()):
                    torch._dynamo.reset()
                    found = torch.compile(each, fullgraph=True, backend="aot_eager")(**options).loss
                    torch.testing.assert_close(found, wanted)
                torch.testing.assert_close(torch.export.export(model, (), options).module()(**options).loss, wanted)

    def test_labels_that_torch_refuses_are_refused(self):
        model, labels = model_of("Llama"), tokens().index_fill(1, torch.tensor([5]), -5)
        for patch in (lambda each: each, evenkeel.patch):
            patch(model)
            with self.assertRaisesRegex(IndexError, "-5"):
                model(input_ids=tokens(), labels=labels)

    def test_logits_and_texts(self):
        for name in MODELS:
            with self.subTest(name):
                model = model_of(name).eval()
                patched = copy.deepcopy(model)
                evenkeel.patch(patched)
                ids = tokens(7)
                with torch.no_grad():
                    torch.testing.assert_close(patched(input_ids=ids).logits, model(input_ids=ids).logits,
                                               rtol=1e-4, atol=1e-4)
                texts = [each.generate(ids, max_new_tokens=12, do_sample=False) for each in (model, patched)]
                self.assertTrue(torch.equal(*texts))

    def test_inputs_that_are_left_to_transformers(self):
        model = model_of("Qwen3")
        patched = copy.deepcopy(model)
        evenkeel.patch(patched)
        mask = torch.ones(2, 24, dtype=torch.long)
        self.check(model, patched, attention_mask=mask)
        mask[1, :5] = 0  # padding on the left
        self.check(model, patched, attention_mask=mask)
        labels = tokens().masked_fill(mask == 0, -100)
        self.check(model, patched, attention_mask=mask, labels=labels)
        self.check(model, patched, labels=labels, num_items_in_batch=torch.tensor(70))
        self.check(model, patched, shift_labels=labels.roll(-1, 1))
        evenkeel.unpatch(patched)
        evenkeel.patch(patched, loss=False)
        with torch.autocast("cpu", torch.bfloat16):
            self.check(model, patched, 0.02)

    def test_models_with_other_parts(self):
        for name, (_, counts) in OTHERS.items():
            with self.subTest(name):
                model = model_of(name)
                patched = copy.deepcopy(model)
                self.assertEqual(tuple(evenkeel.patch(patched).values()), counts)
                losses = []
                for each in (model, patched):
                    torch.manual_seed(5)
                    losses.append(each(input_ids=tokens(), labels=tokens(), use_cache=False).loss)
                torch.testing.assert_close(*losses)
        config = transformers.BartConfig(d_model=64, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=64,
                                         vocab_size=101)
        with self.assertRaises(ValueError):  # its labels are not shifted
            evenkeel.patch(transformers.BartForCausalLM(config))

    def test_lora(self):
        settings = {"r": 4, "target_modules": "all-linear", "init_lora_weights": False, "task_type": "CAUSAL_LM"}

        def adapted(model):
            torch.manual_seed(6)
            return peft.get_peft_model(model, peft.LoraConfig(**settings))
        plain, before, after = model_of("Llama"), model_of("Llama"), adapted(model_of("Llama"))
        evenkeel.patch(before)
        self.assertEqual(tuple(evenkeel.patch(after).values()), (5, 0, 0, 1))
        plain, before = adapted(plain), adapted(before)
        self.check(plain, before)
        self.check(plain, after)

    def test_bidirectional_attention(self):
        model = model_of("Llama").eval()
        patched = copy.deepcopy(model)
        evenkeel.patch(patched)
        wanted = model(input_ids=tokens(), is_causal=False).logits
        torch.testing.assert_close(patched(input_ids=tokens(), is_causal=False).logits, wanted)
        patched.config.is_causal = False
        torch.testing.assert_close(patched(input_ids=tokens()).logits, wanted)

    def test_trainer_and_generate_read_the_signature(self):
        model = model_of("Llama")
        patched = copy.deepcopy(model)
        evenkeel.patch(patched)
        self.assertTrue(patched._supports_logits_to_keep())
        data = [{"input_ids": row, "labels": row, "length": 24} for row in tokens()]
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(output_dir=folder, max_steps=2, report_to=[], use_cpu=True,
                                                       save_strategy="no", disable_tqdm=True)
            losses = [transformers.Trainer(each, arguments, train_dataset=data).train().training_loss
                      for each in (model, patched)]
        self.assertAlmostEqual(*losses, 4)
        padded = tokens(7).index_fill(1, torch.tensor([0, 1]), 0)  # pad_token_id
        texts = [each.eval().generate(padded, max_new_tokens=8, do_sample=False) for each in (model, patched)]
        self.assertTrue(torch.equal(*texts))

    def test_gradient_checkpointing(self):
        model = model_of("Llama")
        patched = copy.deepcopy(model)
        evenkeel.patch(patched)
        patched.gradient_checkpointing_enable()
        self.check(model, patched)

    def test_the_model_stays_what_it_is(self):
        model = model_of("Llama")
        before = {name: each.clone() for name, each in model.state_dict().items()}
        wanted = passes(model)[0]
        evenkeel.patch(model)
        self.assertIsNone(model(input_ids=tokens(), labels=tokens()).logits)
        self.assertIsNotNone(model.eval()(input_ids=tokens(), labels=tokens()).logits)
        self.assertEqual(list(model.state_dict()), list(before))
        other = copy.deepcopy(model)
        with torch.no_grad():
            other.lm_head.weight.zero_()
        self.assertGreater(model.lm_head.weight.abs().max().item(), 0)
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            again = transformers.LlamaForCausalLM.from_pretrained(folder).train()
        torch.testing.assert_close(passes(again)[0], wanted, rtol=0, atol=0)
        evenkeel.unpatch(model).train()
        self.assertFalse([each for each in model.modules() if "forward" in vars(each)])
        torch.testing.assert_close(passes(model)[0], wanted, rtol=0, atol=0)

    def test_nothing_to_replace(self):
        with self.assertRaisesRegex(ValueError, "evenkeel.patch: wanted a model with RMSNorm, .* none in Linear$"):
            evenkeel.patch(torch.nn.Linear(2, 2))
        config = transformers.GPT2Config(n_embd=64, n_layer=1, n_head=4, vocab_size=101)
        with self.assertRaisesRegex(ValueError, "none in GPT2LMHeadModel$"):  # no word of its head, which has no fault
            evenkeel.patch(transformers.GPT2LMHeadModel(config))


class Examples(unittest.TestCase):
    def run_example(self, name, *words):
        done = subprocess.run([sys.executable, ROOT / f"examples/{name}.py", *map(str, words)], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_patch_llama(self):
        for words in ([], ["bfloat16"]):
            out = self.run_example("patch_llama", *words)
            self.assertIn("replaced: 9 norm, 4 swiglu, 4 attention, 1 loss", out)
            print(*words, out.splitlines()[-1])

    def test_runs(self):
        """A study's table, and an exported run that is trained on (where the program has `export`)."""
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder)
            for scheme in ("pre_norm", "post_norm"):
                subprocess.run([PROGRAM, "train", "--quiet", "--scheme", scheme, "--run", runs / scheme, "--set",
                                "train.steps=3", "--set", "model.layers=1", "--set", "evaluate.sequences=2"], check=True)
            shutil.copytree(runs / "post_norm", runs / "early")  # interrupted before its first evaluation
            metrics = runs / "early/metrics.jsonl"
            metrics.write_text("".join(line for line in metrics.read_text().splitlines(True) if "val_loss" not in line))
            out = self.run_example("study_pandas", runs)
            self.assertIn("post_norm", out)
            self.assertIn("NaN", next(line for line in out.splitlines() if " early " in line))
            self.assertEqual(len(evenkeel.read_metrics(runs / "pre_norm")), 2)  # training, evaluation
            if subprocess.run([PROGRAM, "export", "--help"], capture_output=True, check=False).returncode:
                self.skipTest("this program has no command `export`")
            subprocess.run([PROGRAM, "export", "--run", runs / "pre_norm", "--output", runs / "model"], check=True)
            (runs / "text.txt").write_text("The old baker sees the river. " * 40)
            out = self.run_example("fine_tune_export", runs / "model", runs / "tuned", runs / "text.txt")
            first, last = (float(word) for word in out.split() if word.replace(".", "").isdigit())
            self.assertLess(last, first)
            self.assertTrue((runs / "tuned/config.json").is_file())

    def test_only_the_loss_of_our_own_class_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            run, exported = pathlib.Path(folder) / "run", pathlib.Path(folder) / "model"
            subprocess.run([PROGRAM, "train", "--quiet", "--run", run, "--scheme", "hybrid_norm_star", "--set",
                            "train.steps=3", "--set", "model.layers=1", "--set", "evaluate.sequences=2"], check=True)
            subprocess.run([PROGRAM, "export", "--run", run, "--output", exported, "--as", "evenkeel"], check=True)
            model, ids = evenkeel.load_run(exported).train(), torch.arange(60, 80)[None]
            wanted = model(ids, labels=ids).loss
            self.assertEqual(evenkeel.patch(model), {"norm": 0, "swiglu": 0, "attention": 0, "loss": 1})
            found = model(ids, labels=ids)
            self.assertIsNone(found.logits)
            torch.testing.assert_close(found.loss, wanted)

    def test_a_tuned_run_of_another_scheme_is_a_model_of_transformers(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder)
            subprocess.run([PROGRAM, "train", "--quiet", "--run", runs / "run", "--set", "train.steps=3", "--set",
                            "model.layers=1", "--set", "evaluate.sequences=2"], check=True)
            subprocess.run([PROGRAM, "export", "--run", runs / "run", "--output", runs / "model"], check=True)
            (runs / "text.txt").write_text("The old baker sees the river. " * 40)
            self.run_example("fine_tune_export", runs / "model", runs / "tuned", runs / "text.txt")
            model = transformers.AutoModelForCausalLM.from_pretrained(runs / "tuned", trust_remote_code=True)
            ids = torch.arange(60, 80)[None]
            torch.testing.assert_close(model(ids).logits, evenkeel.load_run(runs / "tuned")(ids).logits)
            subprocess.run([PROGRAM, "import", runs / "tuned", "--output", runs / "imported"], check=True)
            model.resize_token_embeddings(330)
            new = torch.cat([ids, torch.tensor([[325]])], 1)
            self.assertTrue(model(new, labels=new).loss.isfinite())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
