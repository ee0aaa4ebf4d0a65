# SPDX-License-Identifier: Apache-2.0
"""Rules for the words of a page and of comments; tools/check_texts.py runs them.

- Lines of pages have at most 120 characters, outside tables, code and lines that are one link.
- Banned phrases, in pages and in comments of C++ sources. Inline code is exempt.
- Starts of sentences that put something else before the subject, in pages.
"""
import re

import doc_markdown

MOST_CHARACTERS = 120
ONE_LINK = re.compile(r"^\s*([-*]\s+|\d+\.\s+)?(\[[^\]]*\]\([^)]*\)|<?https?://\S+>?)[.,;:]?\s*$")
GENERATED = re.compile(r"^<!-- Below: made from ")

# (pattern, what to write). A blank in a pattern is any white space, a line break included.
BANNED = [
    (r"\btold\b", '"reported", "printed" or "distinguished"'),
    (r"\bby hand of\b", '"with"'),
    (r"\bcomes? again\b", '"is recomputed" or "repeats"'),
    (r"\b(is|are|was|were|be|been) asked\b", '"requested" or "required"'),
    (r"\bwhoever\b", '"a caller", "a user"'),
    (r"\bfor who\b", '"for callers that"'),
    (r"\bstands? (beside|behind|in front)\b", '"follows" or "precedes"'),
    (r"\bin front of\b", '"before"'),
    (r"\bthe others\b(?!')", "the noun"),
    (r"\blistens? to\b", '"uses"'),
    (r"\b(says?|said) the same\b", '"agrees" or "replicates"'),
    (r"\b(little|no) news\b", '"weak evidence"'),
    (r"\b(attention|feed-forward) hal(f|ves)\b", '"attention sublayer", "feed-forward sublayer"'),
    (r"\bhalf[-\s]blocks?\b", '"sublayer"'),
    (r"\b(each|every) half\b(?! of\b)", '"each sublayer"'),
    (r"\bboth halves\b(?! of the\b)", '"both sublayers"'),
    (r"\bwritten scores\b|\bscores (are |were )?written (down|out)\b", '"materialized scores"'),
    (r"\binner width\b", '"FFN width"'),
    (r"\bway of (its|their|his|our) own\b", '"separate path"'),
    (r"\btells\b", '"prints", "reports" or "distinguishes"'),
    (r"\bstands\b(?! for\b)", '"is"'),
    (r"\bstood\b", '"was"'),
    (r"\bbeside\b", '"with", "next to" or "compared with"'),
    (r"(?<!\blag\s)(?<!\blags\s)\bbehind\b(?! a flag\b)", '"after"'),
    (r"\blook(s|ed|ing)? at\b", '"reads", "checks" or "inspects"'),
    (r"\bkept for (the )?backward\b", '"saved for backward"'),
    (r"\b(is|are|was|were) no numbers?\b", '"is NaN or infinite"'),
    (r"\bthe other way round\b", '"reversed"'),
    (r"\bso many (seeds|steps|rows|tokens|blocks)\b", "the number, or \"this many\""),
    (r"\bunjudged\b|\bundecided\b", '"not tested", "inconclusive"'),
    (r"\bcomes? to nothing\b", '"has no effect"'),
]
STARTS = r"(Of|Those|What|Who|The same|It is told)\b"
AFTER_A_SENTENCE = re.compile(r"[.!?][\"')\]*_]*\s+[\"'(\[*_]*" + STARTS)
AT_THE_START = re.compile(r"^\s*([-*+]\s+|\d+[.)]\s+)?[\"'(\[*_]*" + STARTS)

COMMENT = re.compile(r"(?:^|\s)///?<?\s?(.*)$")


def compiled(rules):
    return [(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), instead)
            for pattern, instead in rules]


BANNED = compiled(BANNED)


def banned(first, lines):
    """(line number, complaint) of each banned phrase in consecutive lines, of which `first` is the number
    of the first one."""
    joined = "\n".join(lines)
    for pattern, instead in BANNED:
        for match in pattern.finditer(joined):
            number = first + joined.count("\n", 0, match.start())
            yield number, f'"{" ".join(match[0].split())}": write {instead}'


def long_lines(text):
    """Lines over the limit; none below the mark of what a program wrote."""
    for line in doc_markdown.lines_of(text):
        if GENERATED.match(line.text):
            return
        if line.kind not in ("table", "code") and len(line.text) > MOST_CHARACTERS \
                and not ONE_LINK.match(line.text):
            yield line.number, (f"{len(line.text)} characters; at most {MOST_CHARACTERS} outside tables "
                                "and code")


def starts(first, kind, lines):
    """Sentences that begin with a word of STARTS. A heading, or the first words of a cell, is free."""
    joined = "\n".join(lines)
    found = list(AFTER_A_SENTENCE.finditer(joined))
    if kind == "prose":
        found += AT_THE_START.finditer(joined)
    for match in found:
        number = first + joined.count("\n", 0, match.end())
        yield number, f'a sentence starts with "{match[match.lastindex]}": put its subject first'


def page_complaints(name, text):
    """Everything that is wrong with the words of a page."""
    found = list(long_lines(text))
    for first, kind, lines in doc_markdown.paragraphs(text):
        found += banned(first, lines)
        if kind != "heading":
            found += starts(first, kind, lines)
    for number, what in sorted(set(found)):
        yield f"{name}:{number}: {what}"


def comments(text):
    """(number of the first line, lines) of each run of // comments of a C++ source."""
    out, before = [], -1
    for number, line in enumerate(text.splitlines(), 1):
        match = COMMENT.search(line)
        if not match:
            continue
        words = doc_markdown.blanked(match[1])
        if number == before + 1 and line.lstrip().startswith("//"):
            out[-1][1].append(words)
        else:
            out.append((number, [words]))
        before = number
    return out


def source_complaints(name, text):
    """Banned phrases in the comments of a C++ source."""
    for first, lines in comments(text):
        for number, what in banned(first, lines):
            yield f"{name}:{number}: {what}"
