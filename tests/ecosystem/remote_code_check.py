#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported models of all schemes, loaded by transformers with trust_remote_code, against the program.

1. For each scheme, and for mixtures, grouped and plain attention, tied and untied heads, 2 and 4 layers: a run of
   some steps, so that no gain is 1, is exported. In float64, logits and loss are those of the program.
2. Greedy texts are those of `evenkeel generate --temperature 0`, with and without a key-value cache.
3. Left padding, inputs_embeds, sdpa and eager attention, gradient checkpointing, labels.
4. pipeline, save_pretrained, LoRA with PEFT, and lm_eval (if it is installed) run offline.

Usage: tests/ecosystem/remote_code_check.py EVENKEEL LOGITS_DRIVER [SCHEME...]
The packages are those of tools/transformers_requirements.txt. Prints one line per case; the exit code is 1
if a case fails.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

TOLERANCE = 1e-6  # of a logit and of a loss in nats, in float64
SIZES = {"model.layers": 2, "model.width": 32, "model.heads": 4, "model.kv_heads": 2, "model.inner": 48,
         "model.context": 64, "data.train": "book.txt", "train.batch": 4, "train.steps": 6, "train.threads": 1,
         "train.precision": "float32", "schedule.peak": 0.03, "schedule.warmup": 1, "evaluate.every": 0,
         "evaluate.sequences": 2}
MIXTURE = {"model.experts.count": 4, "model.experts.active": 2, "model.inner": 24}
VARIANTS = [  # beside the plain case of each scheme
    *((scheme, "4 layers, plain attention, untied",
       {"model.layers": 4, "model.kv_heads": 4, "model.tied": "false"})
      for scheme in ("hybrid_norm_star", "mix_ln", "olmo2", "ngpt", "siamese_norm_hybrid", "keel", "weight_norm")),
    *((scheme, "mixture", MIXTURE) for scheme in ("pre_norm", "hybrid_norm", "pre_qk_pre", "sub_ln", "weight_norm",
                                                  "sigma_reparam", "vit22b", "gpas")),
    *((scheme, "mixture with shared experts, a dense layer, a bias",
       MIXTURE | {"model.experts.shared": 2, "model.experts.dense_layers": 1, "model.experts.renormalize": "true",
                  "model.experts.bias_rate": 0.01, "model.experts.balance": 0})
      for scheme in ("pre_norm", "hybrid_norm_star", "sub_ln", "weight_norm")),
]
BOOK = "".join(f"{a} {b} {c}.\n" for a in ["The old baker", "A cat", "Nobody", "My neighbour"]
               for b in ["sees", "remembers", "paints", "follows", "sells"]
               for c in ["the river", "a red house", "two dogs", "an empty street", "the moon"])
PROMPT = "The old baker"
IDS = [list(BOOK.encode()[start:start + 48]) for start in (0, 101, 333)]
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1",
               "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false", "OMP_WAIT_POLICY": "passive"}


class Failures:
    count = 0

    def say(self, case, good, what=""):
        print(f"{'same' if good else 'DIFFERENT'}: {case}{': ' if what else ''}{what}", flush=True)
        self.count += not good


def options_of(values):
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


class Program:
    def __init__(self, path, driver, folder):
        self.path, self.driver, self.folder = path, driver, folder
        (folder / "book.txt").write_text(BOOK)

    def call(self, *words, standard_input=None):
        done = subprocess.run([self.path, *map(str, words)], cwd=self.folder, input=standard_input, capture_output=True,
                              text=True)
        if done.returncode:
            raise RuntimeError(f"evenkeel {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def schemes(self):
        return [each["name"] for each in json.loads(self.call("schemes", "--json"))]

    def exported(self, name, scheme, changed):
        """(run, folder of the export)"""
        run, output = self.folder / "runs" / name, self.folder / "exports" / name
        self.call("train", "--scheme", scheme, "--run", run, "--quiet", *options_of(SIZES | changed))
        self.call("export", "--run", run, "--output", output, "--as", "evenkeel", "--quiet")
        return run, output

    def logits(self, run):
        """[sequences, tokens, vocabulary] in float64."""
        lines = "\n".join(map(json.dumps, IDS))
        done = subprocess.run([self.driver, run], input=lines, capture_output=True, text=True, check=True)
        rows = torch.tensor([json.loads(line) for line in done.stdout.splitlines()], dtype=torch.float64)
        return rows.view(len(IDS), -1, rows.shape[-1])

    def greedy(self, run, tokens):
        return self.call("generate", "--run", run, "--prompt", PROMPT, "--tokens", tokens, "--temperature", "0",
                         "--set", "train.precision=float64")


def loaded(folder, **options):
    return AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True, **({"dtype": torch.float64} | options)).eval()


def check_numbers(failures, program, case, run, folder):
    """Logits and loss of one export."""
    model, ids = loaded(folder), torch.tensor(IDS)
    with torch.no_grad():
        out = model(ids, labels=ids)
    ours = program.logits(run)
    vocabulary = ours.shape[-1]
    error = (out.logits[..., :vocabulary] - ours).abs().max().item()
    loss = torch.nn.functional.cross_entropy(ours[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    masked = out.logits.shape[-1] == vocabulary or bool(torch.isneginf(out.logits[..., vocabulary:]).all())
    gains = [value for name, value in model.named_parameters() if name.endswith("norm.weight")]
    moved = not gains or max((gain - 1).abs().max().item() for gain in gains) > 0.01
    failures.say(case, error <= TOLERANCE and abs(out.loss - loss) <= TOLERANCE and masked and moved,
                 f"logits differ by {error:.1e}, losses by {abs(out.loss - loss):.1e}")
    return model


def texts(model, tokens):
    """Greedy continuations in bytes, with a cache and without."""
    prompt = torch.tensor([[256, *PROMPT.encode()]])
    for use_cache in (True, False):
        ids = model.generate(prompt, max_new_tokens=tokens, do_sample=False, use_cache=use_cache, pad_token_id=256)
        yield bytes(token for token in ids[0].tolist() if token < 256).decode(errors="replace")


def check_greedy(failures, program, case, run, model):
    tokens = 24
    ours = program.greedy(run, tokens)
    cached, plain = texts(model, tokens)
    failures.say(f"{case}: greedy text", ours.strip().endswith(plain.strip()) or plain.strip() in ours,
                 repr(plain) if plain.strip() in ours else f"{ours!r} {plain!r}")
    failures.say(f"{case}: greedy text with a cache", cached == plain)


def check_inputs(failures, folder):
    """What a caller may pass: padding on the left, embeddings, labels with checkpointing, either attention."""
    model, ids = loaded(folder), torch.tensor(IDS)
    with torch.no_grad():
        wanted = model(ids).logits
        padded = torch.cat((torch.full((3, 5), 256), ids), 1)
        mask = torch.cat((torch.zeros(3, 5, dtype=torch.long), torch.ones_like(ids)), 1)
        positions = (mask.cumsum(-1) - 1).clamp_min(0)
        got = model(padded, attention_mask=mask, position_ids=positions).logits[:, 5:]
        failures.say("left padding", torch.allclose(got[..., :257], wanted[..., :257], atol=1e-10, rtol=0))
        got = model(inputs_embeds=model.get_input_embeddings()(ids)).logits
        failures.say("inputs_embeds", torch.equal(got, wanted))
        got = loaded(folder, attn_implementation="eager")(ids).logits
        failures.say("sdpa and eager attention", torch.allclose(got[..., :257], wanted[..., :257], atol=1e-10, rtol=0))
        got = model(ids, logits_to_keep=1).logits
        failures.say("logits_to_keep", torch.allclose(got[..., :257], wanted[:, -1:, :257], atol=1e-12, rtol=0))
        states = model(ids, output_hidden_states=True).hidden_states
        last = model.base_model(ids).last_hidden_state
        failures.say("output_hidden_states", len(states) == model.config.num_hidden_layers + 1
                     and torch.equal(states[-1], last))
    gradients = []
    for checkpointing in (False, True):
        model = loaded(folder).train()
        if checkpointing:
            model.gradient_checkpointing_enable()
        model(ids, labels=ids, use_cache=False).loss.backward()
        gradients.append({name: each.grad for name, each in model.named_parameters() if each.requires_grad})
    same = all(torch.allclose(gradients[0][name], gradients[1][name], atol=1e-12, rtol=0) for name in gradients[0])
    failures.say("gradients with gradient_checkpointing_enable()", same)


def check_tools(failures, program, folder):
    """pipeline, save_pretrained, AutoModel, LoRA."""
    generator = pipeline("text-generation", model=str(folder), trust_remote_code=True, dtype=torch.float64)
    text = generator(PROMPT, max_new_tokens=24, do_sample=False)[0]["generated_text"]
    failures.say("pipeline", text.startswith(PROMPT) and len(text) > len(PROMPT), repr(text))
    model, ids = loaded(folder), torch.tensor(IDS)
    wanted = model(ids).logits.detach()
    again = program.folder / "saved_again"
    model.save_pretrained(again)
    failures.say("save_pretrained", torch.equal(loaded(again)(ids).logits, wanted))
    base = AutoModel.from_pretrained(folder, trust_remote_code=True, dtype=torch.float64).eval()
    failures.say("AutoModel", torch.equal(base(ids).last_hidden_state, model.model(ids).last_hidden_state))
    lora = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules=["q_proj", "v_proj", "up_proj"]))
    optimizer, losses = torch.optim.AdamW(lora.parameters(), lr=0.01), []
    for _ in range(3):
        loss = lora(input_ids=ids, labels=ids).loss
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    trained = lora.eval()(ids).logits.detach()
    merged = lora.merge_and_unload().eval()(ids).logits
    failures.say("LoRA: 3 steps", losses[2] < losses[0], f"losses {losses}")
    failures.say("LoRA: merged", torch.allclose(merged[..., :257], trained[..., :257], atol=1e-10, rtol=0))


def check_lm_eval(failures, program, folder):
    try:
        import lm_eval  # noqa: F401
    except ImportError:
        print("skipped: lm_eval is not installed")
        return
    tasks = program.folder / "tasks"
    tasks.mkdir()
    rows = [{"context": f"{a} {b}", "choices": [" the river", " a red house"], "label": 0}
            for a in ("A cat", "Nobody") for b in ("sees", "sells")]
    (tasks / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tasks / "choices.yaml").write_text(
        f"task: choices\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {tasks / 'rows.jsonl'}}}}}\n"
        'test_split: test\noutput_type: multiple_choice\ndoc_to_text: "{{context}}"\ndoc_to_choice: "{{choices}}"\n'
        'doc_to_target: "{{label}}"\nmetric_list: [{metric: acc}]\n')
    done = subprocess.run([sys.executable, "-m", "lm_eval", "--model", "hf", "--model_args",
                           f"pretrained={folder},trust_remote_code=True,dtype=float32", "--tasks", "choices",
                           "--include_path", tasks, "--device", "cpu", "--batch_size", "2"], capture_output=True, text=True)
    failures.say("lm_eval --model hf", done.returncode == 0 and "choices" in done.stdout, done.stderr[-300:] if done.returncode else "")


def main():
    program_path, driver, *chosen = sys.argv[1:]
    failures = Failures()
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as folder:
        os.environ["HF_HOME"] = os.path.join(folder, "hf")
        import_packages()
        program = Program(os.path.abspath(program_path), os.path.abspath(driver), pathlib.Path(folder))
        plain = [(scheme, "", {}) for scheme in program.schemes()]
        cases = [case for case in plain + VARIANTS if not chosen or case[0] in chosen]
        for index, (scheme, variant, changed) in enumerate(cases):
            case = f"{scheme}{', ' if variant else ''}{variant}"
            run, output = program.exported(f"{scheme}-{index}", scheme, changed)
            model = check_numbers(failures, program, case, run, output)
            check_greedy(failures, program, case, run, model)
            if not variant and scheme == "hybrid_norm_star":
                check_inputs(failures, output)
                check_tools(failures, program, output)
                check_lm_eval(failures, program, output)
        print(f"{len(cases)} models, {failures.count} failures")
    return 1 if failures.count else 0


def import_packages():
    """After HF_HOME is set, so that transformers copies the modeling code into the temporary folder."""
    global AutoModel, AutoModelForCausalLM, peft, pipeline, torch
    warnings.filterwarnings("ignore")
    import peft
    import torch
    from transformers import AutoModel, AutoModelForCausalLM, pipeline


if __name__ == "__main__":
    sys.exit(main())
