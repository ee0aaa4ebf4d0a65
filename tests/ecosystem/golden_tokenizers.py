#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tokenizers: small tokenizers of our own text, and ids that Hugging Face's library gives.

Each tokenizer.json has the fields of a kind of tokenizer that people use; `ids.json` has texts and their ids.
tests/tokenizer/golden_test.cpp compares our ids with them. The result depends on nothing but this file.

Usage: tests/ecosystem/golden_tokenizers.py       (needs the packages tokenizers and sentencepiece)
"""
import io
import json
import pathlib

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests/golden/tokenizers"
END = "<|endoftext|>"
TRAINING = [
    "The keel of a ship is a long piece of wood or steel along the bottom, on which the frame is built.",
    "A ship on an even keel floats upright in the water; an uneven one lists to port, and it's slow.",
    "for (int i = 0; i < 100; ++i) {\n    total += weight[i] * gain[i];  // the sum of 2024 rows\n}\n",
    "def norm(x, eps=1e-5):\n    return x / (mean(x * x) + eps) ** 0.5\n\n\nprint(norm([1, 2, 34, 567]))\n",
    "we'll say they're here, don't we? I've seen 12,345 ships; the captain's log says so.",
    "Der Kiel des Schiffes ist gerade, und die Wellen sind groß. Où est le café à côté de l'école?",
]
TEXTS = [
    "", " ", "  ", "\n", "a", "The ship's keel is even.", "It's  a\ttest\n\n  of   CAN'T 12345", "we'Ll SEE'S they'RE",
    "   indented\n\n\n    more   \r\n\r\n x", "1234567 12 1,000.5", "caf\u00e9 cafe\u0301 gro\u00df", "\u6f22\u5b57\u304b\u306a",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f6a2!", END, f"a{END}b {END} c", "<pad>x<pad>", "a  <pad>  b",
    "\u00a0\u2028x\u180e y\u3000z", "'\u017f x'\u017f", "\u2581x \u2581\u2581y", "a" * 70, " " * 40 + "x", "\t\t\tx\x00y",
    "a<s>b </s> c", "caf\u00e9" * 20, "x<0x0A>y", "\u0641\u0642\u0637 \u0939\u093f\u0928\u094d\u0926\u0940", "na\u00efve \u0130\u0131 \u2167 \u00bd \u0663",
]
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
OTHER = r"\p{Lu}?\p{Ll}{1,4}+|\d+$|^[^\S\n]+|."  # of no known tokenizer


def trained(pre_tokenizer, normalizer=None, size=400, **fields):
    """A byte-level BPE of our text."""
    tokenizer = Tokenizer(models.BPE(**fields))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=size, special_tokens=[END], initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False))
    return tokenizer


def byte_fallback(pre_tokenizer, normalizer, decoder):
    """A BPE over characters, with tokens of bytes."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(TRAINING, trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<unk>", "<s>", "</s>", *bytes_], show_progress=False))
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = data["added_tokens"][:3]  # byte tokens are ordinary ones
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.decoder = decoder
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def split(pattern, behavior, invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def bytes_after(*steps, prefix=False):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)])


def tokenizers():
    """Tokenizers by name."""
    level = pre_tokenizers.ByteLevel
    out = {
        "gpt2": trained(level(add_prefix_space=False)),
        "prefix": trained(level(add_prefix_space=True)),
        "gpt4": trained(bytes_after(split(Regex(GPT4), "removed", True))),
        "digits": trained(pre_tokenizers.Sequence([pre_tokenizers.Digits(True), level(add_prefix_space=False)])),
        "other": trained(bytes_after(split(Regex(OTHER), "isolated"))),
        "strings": trained(bytes_after(split(" ", "merged_with_next"), split("e", "merged_with_previous"),
                                       split(Regex(r"[\p{P}\n]"), "contiguous"), prefix=True)),
        "removed": trained(bytes_after(split(Regex(r"\s+|(?=[A-Z])"), "removed"))),
    }
    neox = trained(level(add_prefix_space=False), normalizers.NFC())
    neox.add_tokens([AddedToken(" " * count, normalized=True) for count in range(8, 1, -1)])
    neox.add_special_tokens([AddedToken("<pad>", normalized=False)])
    out["neox"] = neox
    data = json.loads(out["gpt4"].to_str())
    data["model"]["ignore_merges"] = True
    data["model"]["merges"] = data["model"]["merges"][:20]
    out["ignore_merges"] = Tokenizer.from_str(json.dumps(data))
    spaces = [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    back = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    out["llama2"] = byte_fallback(None, normalizers.Sequence(spaces),
                                  decoders.Sequence([*back, decoders.Strip(" ", 1, 0)]))
    data = json.loads(byte_fallback(pre_tokenizers.Metaspace(), normalizers.Sequence([]), decoders.Metaspace()).to_str())
    fields = json.loads(out["llama2"].to_str())
    out["words"] = Tokenizer.from_str(json.dumps({**fields, "model": data["model"]}))  # no token spans words
    out["gemma"] = byte_fallback(split(" ", "merged_with_previous"), spaces[1], decoders.Sequence(back))
    out["metaspace"] = byte_fallback(pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                     normalizers.Sequence([]), decoders.Metaspace(prepend_scheme="first"))
    return out


def sentencepiece_ids(path):
    """Writes a SentencePiece model of our text. Returns the ids of TEXTS, in which control symbols are text."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter("\n".join(TRAINING).splitlines()), model_writer=model, model_type="bpe", vocab_size=450,
        byte_fallback=True, character_coverage=1.0, hard_vocab_limit=False, minloglevel=2)
    path.write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).encode(TEXTS)


def main():
    TARGET.mkdir(exist_ok=True)
    cases = {}
    for name, tokenizer in tokenizers().items():
        (TARGET / f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=True,
                                                        separators=(",", ":")) + "\n")
        with_special = [each.ids for each in tokenizer.encode_batch(TEXTS, add_special_tokens=False)]
        tokenizer.encode_special_tokens = True
        plain = [each.ids for each in tokenizer.encode_batch(TEXTS, add_special_tokens=False)]
        cases[name] = {"ids": with_special, "plain_ids": plain}
    lines = [f'  {json.dumps(name)}: {json.dumps(case, separators=(",", ":"))}' for name, case in cases.items()]
    head = {"texts": TEXTS, "training": TRAINING, "sentencepiece": sentencepiece_ids(TARGET / "sentencepiece.model")}
    head = ",\n ".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in head.items())
    (TARGET / "ids.json").write_text(f'{{{head},\n "tokenizers": {{\n' + ",\n".join(lines) + "\n}}\n")
    print(f"{len(cases)} tokenizers, {len(TEXTS)} texts")


if __name__ == "__main__":
    main()
