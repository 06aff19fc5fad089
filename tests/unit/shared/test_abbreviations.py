import re
import time

import pytest

from helix_shared.naming.abbreviations import is_abbreviation, sentence_ends


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my doctor is Dr. Hale", True),
        ("saw Ms. Will today", True),
        ("nuts, e.g. Brazil nuts", True),
        ("No. 7", True),
        ("by R. Adeyemi", True),
        ("Sam Jr. is here", True),
        ("Sam Jr. He is here", False),
        ("no. Never again", False),
        ("I saw the Dr. She was kind", False),
        ("we live on Mill St. i work there", False),
        ("so do I. Ana too", False),
        ("I live in Leeds. Ana too", False),
        ("ask the Dr.", False),
        ("Dr.\nOduya", False),
    ],
)
def test_the_words_around_a_dot_tell_whether_a_sentence_goes_on(text: str, expected: bool) -> None:
    """A title before a name, a number sign before a number, an initial before a name."""
    assert is_abbreviation(text, text.index(".", text.index("e.g") + 2 if "e.g" in text else 0)) is expected


@pytest.mark.parametrize("marks", [r"\.", r"(?<=\.)\s+"])
def test_a_sentence_ends_at_no_abbreviation(marks: str) -> None:
    """Whether a match begins at the dot or behind it."""
    text = "Dr. Oduya left. No. 7 is free. So is Mill St. 3"
    ends = [found.start() for found in sentence_ends(re.finditer(marks, text))]
    behind = int("(?<=" in marks)
    assert ends == [text.index(word) + len(word) + behind for word in ("left", "free")]


@pytest.mark.parametrize("text", ["." * 100_000, "Dr" * 50_000 + ". A", "a." * 50_000])
def test_a_few_characters_are_read(text: str) -> None:
    """However long the text is."""
    started = time.thread_time()
    for _ in range(1_000):
        is_abbreviation(text, len(text) - 2)
    assert time.thread_time() - started < 0.5
