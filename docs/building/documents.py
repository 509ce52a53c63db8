"""Documents that live at the root of the repository and have a page on the site all the same.

Between files links are written so that they work where the file is read on its own. On the site the
same file lies elsewhere, so links are written anew: to another page, or, where the site has none
(tests, source code), as text.
"""

from __future__ import annotations

import posixpath
import re

AT_ROOT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
"""Files of the repository's root → their pages."""

PIECES = re.compile(
    r"^```.*?^```|^ {4}[^\n]*$"  # code in a block
    r"|(?P<mark>!?)\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)"  # a link or a picture
    r"|`[^`\n]+`",  # code in a line
    flags=re.DOTALL | re.MULTILINE,
)
"""What has to be told apart: code stays as it is, and what looks like code may be inside a link."""


def relinked(text: str, source: str, page: str, pages: set[str]) -> str:
    """Return Markdown of the file ``source`` with links that are right on ``page``.

    ``source`` is a path from the repository's root, ``page`` and ``pages`` are paths in the site.
    Code is left as it is.
    """

    def write(found: re.Match[str]) -> str:
        mark, words, target = found["mark"], found["words"], found["target"]
        if target is None:
            return found.group()
        place, hash_, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not place:
            return found.group()
        wanted = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), place)))
        if wanted is None or wanted not in pages:
            return words
        relative = posixpath.relpath(wanted, posixpath.dirname(page) or ".")
        return f"{mark}[{words}]({relative}{hash_}{anchor})"

    return PIECES.sub(write, text)


def page_of(path: str) -> str | None:
    """Return the page of a file of the repository, or None: it has none."""
    if path in AT_ROOT:
        return AT_ROOT[path]
    if path == "docs/examples":
        return "gallery/index.md"
    if example := re.fullmatch(r"docs/examples/(\w+)\.py", path):
        return f"gallery/{example[1]}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else None
