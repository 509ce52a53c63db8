"""What MkDocs asks for while it builds the site: pages that are made of something else.

The API reference is made of docstrings, the gallery of example scripts and what they printed and
drew, and a few documents live at the repository's root.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import documents
import gallery
import reference
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def on_config(config: Any) -> Any:
    """Fill in the parts of the navigation that are lists of what there is."""
    results = sorted(path.name for path in RESULTS.glob("*.md") if path.name != "index.md")
    lists = {
        "GALLERY": ["gallery/index.md", *(f"gallery/{name}.md" for name in gallery.ORDER)],
        "API": ["api/index.md", *(f"api/{page.file}.md" for page in reference.PAGES)],
        "RESULTS": ["results/index.md", *(f"results/{name}" for name in results)],
    }
    for entry in config.nav:
        for title, place in entry.items():
            entry[title] = lists.get(place, place) if isinstance(place, str) else place
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that no file under docs/ is."""
    made = reference.pages() | gallery.pages(ROOT)
    for source, page in documents.AT_ROOT.items():
        made[page] = (ROOT / source).read_text(encoding="utf-8")
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Point links at pages of the site; what has none becomes text."""
    place = page.file.src_uri
    sources = {there: here for here, there in documents.AT_ROOT.items()}
    source = sources.get(place, f"docs/{place}")
    return documents.relinked(markdown, source, place, {file.src_uri for file in files})
