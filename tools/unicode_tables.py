#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/evenkeel/tokenizer/unicode_tables.cpp: the general category of every code point (Unicode 16).

The source is the regex engine of the Python package `tokenizers`, whose classes our tokenizers must reproduce:
the package is probed with each code point. The table is a string of runs: a letter for the category, then the
length of the run where it is more than 1. Run it when `tokenizers` changes its Unicode version.

Usage: tools/unicode_tables.py          (needs the package tokenizers, 0.23.3 when the table was written)
"""
import pathlib

import tokenizers
from tokenizers import Regex, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "src/evenkeel/tokenizer/unicode_tables.cpp"
CATEGORIES = ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
              "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcd"
SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [code for code in range(0x110000) if code not in SURROGATES]
COLUMNS = 96


def members(category):
    """The code points of a category: what the split by its class removes."""
    text = "".join(map(chr, CODE_POINTS))
    rest = set()
    splitter = pre_tokenizers.Split(Regex(rf"\p{{{category}}}+"), "removed")
    for _, (begin, end) in splitter.pre_tokenize_str(text):
        rest.update(range(begin, end))
    return [CODE_POINTS[at] for at in range(len(CODE_POINTS)) if at not in rest]


def categories():
    """The letter of each code point's category."""
    letters = [LETTERS[0]] * 0x110000
    for letter, category in zip(LETTERS, CATEGORIES):
        for code in SURROGATES if category == "Cs" else members(category) if category != "Cn" else []:
            letters[code] = letter
    return letters


def runs(letters):
    """The string of runs."""
    out, begin = [], 0
    for at in range(1, len(letters) + 1):
        if at == len(letters) or letters[at] != letters[begin]:
            out.append(letters[begin] + (str(at - begin) if at - begin > 1 else ""))
            begin = at
    return "".join(out)


def main():
    text = runs(categories())
    lines = [f'    "{text[at:at + COLUMNS - 6]}"' for at in range(0, len(text), COLUMNS - 6)]
    names = ", ".join(f"{letter} {name}" for letter, name in zip(LETTERS, CATEGORIES))
    TARGET.write_text(
        "// SPDX-License-Identifier: Apache-2.0\n"
        f"// Written by tools/unicode_tables.py from the package tokenizers {tokenizers.__version__}. Not edited.\n"
        f"// {names[:90].rsplit(',', 1)[0]}, ...\n"
        '#include "evenkeel/tokenizer/unicode_tables.h"\n\n'
        "namespace evenkeel::tokenizer {\n\n"
        "// clang-format off\n"
        "const char* const kCategoryRuns =\n" + "\n".join(lines) + ";\n"
        "// clang-format on\n\n"
        "}  // namespace evenkeel::tokenizer\n")
    print(f"{TARGET.relative_to(ROOT)}: {len(text)} characters, {len(lines)} lines")


if __name__ == "__main__":
    main()
