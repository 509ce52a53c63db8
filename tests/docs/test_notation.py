"""The glossary: every place it names exists, and the nouns of the mathematics are in it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "notation.md").read_text()
WORDS = PAGE[PAGE.index("## Words") :]


def test_places_in_the_glossary_exist():
    places = {
        place for line in WORDS.splitlines() for place in re.findall(r"`([\w/.]+(?:/|\.py))`", line)
    }
    assert len(places) > 20
    for place in places:
        assert any((ROOT / base / place).exists() for base in ("src/hedgerow", ".")), place


@pytest.mark.parametrize("folder", ["ambiguity", "certify", "data", "kernels", "search", "solvers"])
def test_every_class_is_a_word_of_the_glossary(folder):
    """A class is named after the words it is made of, and public parts by their own names."""
    import hedgerow as hr

    known = PAGE.lower().replace("-", " ")
    for path in (ROOT / "src" / "hedgerow" / folder).rglob("*.py"):
        for name in re.findall(r"^class ([A-Z]\w+)", path.read_text(), re.M):
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
            described = words in known or name.lower() in known
            assert described or hasattr(hr, name) or name.endswith(("Ambiguity", "Error")), name
