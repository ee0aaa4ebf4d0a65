# SPDX-License-Identifier: Apache-2.0
"""Strings that tokenizers are compared on, and texts that their speed is measured with."""
import pathlib
import random
import struct
import sysconfig
import unicodedata

SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [code for code in range(0x110000) if code not in SURROGATES]
EDGES = [
    "", " ", "  ", "\n", "\r\n", "\t", " \n ", "a", " a", "a ", "  a", "'s", "'S", "don't CAN'T we'Ll", "1234567",
    "It's  a\ttest\n\n  of   CAN'T 12345", "e\u0301 \u00e9", "\u1e9b\u0323", "\uac00\u11a8", "\u0344", "\ufb01",
    "\u212b", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u180e a\u180eb", "\u200b", "\ufeffx", "\0", "a\0b",
    "\u00a0\u00a0x", "\u2028x\u2029", "\u3000\u3000\u6f22\u5b57\u304b\u306a\u3001\u30c6\u3002", "\u00bd \u2167 \u00b2",
    "\u0645\u0631\u062d\u0628\u0627", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u0e44\u0e17\u0e22", "\u0e01\u0e47",
    "\u0345\u0301", "\u017f's \u017f", "\u212a's \u0130 \u0131", "'\u017f", "'\u017f x'\u017fy", "<|endoftext|>",
    "a<|endoftext|>b", " <|endoftext|> ", "<|pad|>", "|||IP_ADDRESS|||", "|||EMAIL_ADDRESS||| x", "<|endoftext",
    "  |||PHONE_NUMBER|||", "<|im_start|>user\nhi<|im_end|>", "<s>", "a</s> b", "[INST] x [/INST]", "<unk>", "<0x0A>",
    " " * 60, "\t" * 30, "\n" * 50, "a" * 5000, "=" * 3000, "\u00e9" * 1000, "\U00010400\U0001d7ce", "\ud7ff\ue000",
    "\U0010ffff", "x\u0300\u0301\u0302\u0303", "\uff21\uff11", "A\u030a", "\u1100\u1161\u11a8", "\u0958", "\u2126",
    "\U0001d15e", "\uf900", "\u0f73", "\u2581x \u2581\u2581 y", "\u02bcABC\u01c5x\u02b0Y", "a/b//\n/c", "x'", "''s'ree",
]


def span(first, last):
    return [chr(code) for code in range(first, last)]


POOLS = [
    span(32, 127), ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", " ", "  ", "\n", "\r", "\t", "a", "B", "1",
                    "\u00e9", "\u6f22", "-", "_", "/"],
    span(0x80, 0x500), span(0x300, 0x370) + list("aeiouAEIOU "), span(0x1100, 0x1200) + span(0xAC00, 0xAC80),
    span(0x2000, 0x2070) + list("ab 12"), span(0x3000, 0x3100) + span(0x4E00, 0x4E80) + list(" \u3002"),
    span(0x900, 0xA80) + [" "], span(0x1F300, 0x1F700) + ["\u200d", "\ufe0f", " "], span(0x600, 0x700) + [" "],
    span(0x1D400, 0x1D800) + list("ab 1"), ["<|endoftext|>", "<s>", "</s>", "<|pad|>", "  ", " ", "x", "\u2581"],
]


def random_strings(count, seed):
    """Strings of one pool each, and of any code points among letters."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        if rng.random() < 0.25:
            out.append("".join(chr(rng.choice(CODE_POINTS)) if rng.random() < 0.3 else rng.choice("ab 1.\n'")
                               for _ in range(rng.randint(1, 30))))
        else:
            pool = rng.choice(POOLS)
            out.append("".join(rng.choice(pool) for _ in range(rng.randint(1, 40))))
    return out


def every_code_point():
    """Each assigned code point in the context of others."""
    assigned = [code for code in CODE_POINTS if unicodedata.category(chr(code)) not in ("Cn", "Co")]
    return ["".join(f"a{chr(code)} {chr(code)}{chr(code)}1" for code in assigned[at:at + 7])
            for at in range(0, len(assigned), 7)]


def code_text(size):
    """Python's standard library, then the packages that are installed."""
    folder = pathlib.Path(sysconfig.get_paths()["stdlib"])
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    parts, length = [], 0
    for path in [*sorted(folder.glob("*.py")), *sorted(folder.glob("*/**/*.py")), *sorted(packages.glob("*/**/*.py"))]:
        parts.append(path.read_text(errors="replace"))
        length += len(parts[-1])
        if length > size:
            break
    return "".join(parts)[:size]


def documents(text, size=2000):
    return [text[at:at + size] for at in range(0, len(text), size)]


def fixed_strings(english):
    """Strings that are the same in every run."""
    return (EDGES + random_strings(14000, 7) + every_code_point() + documents(english[:300000], 300) +
            documents(code_text(300000), 6000))


def speed_texts(english):
    """Texts of about 1 MB by name. Chinese: random sentences of frequent characters; emoji: with joiners."""
    rng = random.Random(3)
    frequent = span(0x4E00, 0x9FA5)
    words = ["".join(rng.choices(frequent, k=rng.choice([1, 2, 2, 2, 3, 4]))) for _ in range(6000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    chinese = "".join("".join(rng.choices(words, weights, k=rng.randint(4, 14))) + rng.choice("\uff0c\u3002\uff01\n")
                      for _ in range(20000))
    emoji = "".join(rng.choice(span(0x1F300, 0x1F64F)) + rng.choice(["", "", "\u200d", "\ufe0f", " "])
                    for _ in range(180000))
    return {"English": english[:1000000], "code": code_text(1000000), "Chinese": chinese[:350000], "emoji": emoji}


def write_strings(path, strings):
    path.write_bytes(b"".join(struct.pack("<I", len(data)) + data for data in (each.encode() for each in strings)))


def read_ids(path):
    data, out, at = path.read_bytes(), [], 0
    while at < len(data):
        count, = struct.unpack_from("<I", data, at)
        out.append(list(struct.unpack_from(f"<{count}I", data, at + 4)))
        at += 4 + 4 * count
    return out
