"""Text is text: nothing in it acts, and all that can be seen stays as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.describe.numbers import listed
from hedgerow.describe.text import quoted, shown


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("sky", "sky"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\u2028\ufeff\x7f", "\\u2028\\ufeff\\x7f"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_acts_is_shown_by_its_escape(text, seen):
    assert shown(text) == seen


@pytest.mark.parametrize(
    "text", ["[/b]", "3.4\u00a0%", "−½ €", "שלום", "👩\u200d🔬", "می\u200cخواهم", "<b>"]
)
def test_what_is_seen_stays_as_it_is(text):
    assert shown(text) == text


def test_lines_may_be_kept():
    assert shown("a\n\x1bb", keep="\n") == "a\n\\x1bb"


@given(st.text(alphabet=st.characters(codec=None)))
def test_nothing_is_left_that_acts(text):
    seen = shown(text)
    assert seen.encode().decode() == seen
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in seen)
    assert shown(seen) == seen


def test_quotes_are_short():
    assert quoted("a\x1b") == "'a\\x1b'"
    assert quoted("x" * 61) == f"'{'x' * 60}'… (61 characters)"


def test_lists_of_names_are_shown():
    assert listed(["a\x1b[2J", "b"]) == "a\\x1b[2J, b"
