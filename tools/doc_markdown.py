# SPDX-License-Identifier: Apache-2.0
"""Splits a Markdown page into prose, tables and code, with line numbers.

Used by the checks in this folder. It knows the Markdown that docs/ uses: fenced and indented code, tables
whose lines begin with a bar, lists, headings, inline code, links.
"""
import re
from dataclasses import dataclass

FENCE = re.compile(r"^\s*(```|~~~)")
INDENTED = re.compile(r"^(    |\t)")
ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
TARGET = re.compile(r"\]\([^)\s]*\)")
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?\)")


@dataclass
class Line:
    number: int
    text: str
    kind: str  # "prose", "table", "heading", "code", "blank", "comment"


def lines_of(text):
    """Every line of the page with its kind; the fences themselves are code."""
    out, fence, in_list, before, in_comment = [], None, False, "blank", False
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence or mark:
            kind = "code"
            fence = None if fence and mark and mark[1] == fence else fence or mark[1]
        elif in_comment or line.startswith("<!--"):
            kind, in_comment = "comment", "-->" not in line
        elif not line.strip():
            kind = "blank"
        elif INDENTED.match(line) and not in_list and before in ("blank", "code", "indented"):
            kind = "indented"
        elif line.lstrip().startswith("|"):
            kind = "table"
        elif line.startswith("#"):
            kind = "heading"
        else:
            kind = "prose"
        if ITEM.match(line) and kind == "prose":
            in_list = True
        elif kind not in ("blank", "code", "table") and not line.startswith(" "):
            in_list = False
        out.append(Line(number, line, "code" if kind == "indented" else kind))
        before = before if kind == "blank" and before == "indented" else kind
    return out


def blanked(text):
    """The text with inline code and targets of links replaced, character by character."""
    text = INLINE_CODE.sub(lambda match: "`" * len(match[0]), text)
    return TARGET.sub(lambda match: "](" + "_" * (len(match[0]) - 3) + ")", text)


def paragraphs(text):
    """(number of the first line, kind, lines): prose up to a blank line or the next item of a list; a
    heading or a row of a table alone. No code."""
    out, open_lines = [], None
    for line in lines_of(text):
        if line.kind == "prose" and open_lines is not None and not ITEM.match(line.text):
            open_lines.append(blanked(line.text))
            continue
        open_lines = None
        if line.kind in ("prose", "heading", "table"):
            words = [blanked(line.text)]
            out.append((line.number, line.kind, words))
            open_lines = words if line.kind == "prose" else None
    return out


def links(text):
    """(line number, target) of every link outside code."""
    for line in lines_of(text):
        if line.kind in ("prose", "heading", "table"):
            plain = INLINE_CODE.sub(lambda match: "`" * len(match[0]), line.text)
            for match in LINK.finditer(plain):
                yield line.number, match[1]


def anchors(text):
    """The anchors of a page's headings, as GitHub and GitLab make them."""
    seen, out = {}, set()
    for line in lines_of(text):
        if line.kind != "heading":
            continue
        title = re.sub(r"\]\([^)]*\)", "]", line.text.lstrip("#").strip().lower())
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        out.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return out
