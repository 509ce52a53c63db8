"""The gallery: every script in docs/examples with what it printed and drew.

    make gallery        # runs each script once and keeps its output and its picture in docs/gallery

A script opens with a docstring: its title in the first line, then what it shows. It prints what it
finds and saves one picture under its own name.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ORDER = (
    *("newsvendor", "time_features", "lots", "hedging", "worst_case"),
    *("contexts", "causality", "portfolio", "capacity", "custom_loss"),
)
"""From what a planner meets first to what somebody writes who extends the package."""


class Example(NamedTuple):
    """A script: its title, what it says about itself, its code, and what it printed."""

    name: str
    title: str
    about: str
    code: str
    output: str

    @property
    def teaser(self) -> str:
        """The first sentence about it."""
        return self.about.replace("\n", " ").split(". ")[0].rstrip(".") + "."


def read(root: Path, name: str) -> Example:
    """Read an example and what is kept of its last run."""
    text = (root / "docs" / "examples" / f"{name}.py").read_text(encoding="utf-8")
    module = ast.parse(text)
    docstring = ast.get_docstring(module) or ""
    title, _, about = docstring.partition("\n")
    code = "\n".join(text.splitlines()[module.body[0].end_lineno or 0 :]).strip()
    output = (root / "docs" / "gallery" / f"{name}.txt").read_text(encoding="utf-8")
    return Example(name, title.rstrip("."), about.strip(), code, output.rstrip())


def pages(root: Path) -> dict[str, str]:
    """Return the Markdown of the gallery's pages by their place in the site."""
    examples = [read(root, name) for name in ORDER]
    made = {f"gallery/{example.name}.md": _page(example) for example in examples}
    made["gallery/index.md"] = _index(examples)
    return made


def _page(example: Example) -> str:
    return (
        f"# {example.title}\n\n{example.about}\n\n"
        f"![{example.title}]({example.name}.png)\n\n"
        f"It prints\n\n```text\n{example.output}\n```\n\n"
        f"## The script\n\n`docs/examples/{example.name}.py`\n\n```python\n{example.code}\n```\n"
    )


def _index(examples: list[Example]) -> str:
    cards = "\n".join(
        f"-   [![]({example.name}.png){{ loading=lazy }}]({example.name}.md)\n\n"
        f"    **[{example.title}]({example.name}.md)**\n\n    {example.teaser}\n"
        for example in examples
    )
    return (
        "# Gallery\n\nTen scripts with what they print and draw. Each runs by itself in less than "
        "half a minute, and runs in the tests. `make gallery` makes this page again.\n\n"
        f'<div class="grid cards gallery" markdown>\n\n{cards}\n</div>\n'
    )


def run(root: Path, name: str) -> float:
    """Run a script as a user would, keep what it printed and drew, and return the seconds."""
    kept = root / "docs" / "gallery"
    kept.mkdir(exist_ok=True)
    script = root / "docs" / "examples" / f"{name}.py"
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        )
        seconds = time.perf_counter() - began
        (kept / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
        shutil.copyfile(Path(folder) / f"{name}.png", kept / f"{name}.png")
    return seconds


if __name__ == "__main__":
    for example in sys.argv[1:] or ORDER:
        print(f"{example}: {run(Path(__file__).parents[2], example):.1f} s", flush=True)
