# SPDX-License-Identifier: Apache-2.0
"""Rules for links between pages; tools/check_texts.py runs them.

- Every relative link of a page leads to a file or a folder, and its anchor to a heading.
- docs/README.md leads to every page of docs/, directly or through other pages.
"""
import posixpath
import re

import doc_markdown

INDEX = "docs/README.md"
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
