# SPDX-License-Identifier: Apache-2.0
"""Rules for links between pages; tools/check_texts.py runs them.

- Every relative link of a page leads to a file or a folder, and its anchor to a heading.
- docs/README.md leads to every page of docs/, directly or through other pages.
- Every path of a source or script that a page names (nn/model.h) is the end of a tracked file's path.
"""
import posixpath
import re

import doc_markdown

INDEX = "docs/README.md"
PATH = re.compile(r"(?<![\w/.-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:h|cpp|cu|cuh|py|sh|txt|cmake))(?![\w/])")
OF_LIBRARIES = ("torch/", "c10/")
ELSEWHERE = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def target_of(page, link):
    """(path in the tree, anchor) of a relative link on a page; "#anchor" alone is in the page itself."""
    path, _, anchor = link.partition("#")
    if not path:
        return page, anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), anchor


def link_complaints(root, page, text):
    """Links of one page that lead nowhere."""
    for number, link in doc_markdown.links(text):
        if ELSEWHERE.match(link):
            continue
        path, anchor = target_of(page, link)
        if path.startswith("..") or not (root / path).exists():
            yield f"{page}:{number}: the link {link} leads nowhere"
        elif anchor and path.endswith(".md") \
                and anchor not in doc_markdown.anchors((root / path).read_text()):
            yield f"{page}:{number}: the link {link} names no heading of {path}"


def path_complaints(page, text, tracked):
    """Paths on a page that name no file of the tree; `tracked`: names of all files."""
    for number, line in enumerate(text.splitlines(), 1):
        for path in PATH.findall(line):
            if not path.startswith(OF_LIBRARIES) and not any(f"/{name}".endswith(f"/{path}") for name in tracked):
                yield f"{page}:{number}: names {path}, which is no file here"


def unreachable(pages):
    """Pages of docs/ that no path of links from the index leads to; `pages` is {name: text}."""
    pages = {name: text for name, text in pages.items() if name.startswith("docs/")}
    if pages and INDEX not in pages:
        yield f"{INDEX}: missing; it must lead to every page of docs/"
        return
    seen, todo = set(), [INDEX] if pages else []
    while todo:
        page = todo.pop()
        if page in seen or page not in pages:
            continue
        seen.add(page)
        todo += [target_of(page, link)[0] for _, link in doc_markdown.links(pages[page])]
    for page in sorted(set(pages) - seen):
        yield f"{page}: no link from {INDEX} leads here"
