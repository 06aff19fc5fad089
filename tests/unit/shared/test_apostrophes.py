"""Short forms without their apostrophe get it back; words that look like them stay."""

import pytest

from helix_shared.text.apostrophes import with_apostrophes


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("whats the code, its on the door", "what's the code, it's on the door"),
        ("Im off and DONT wait", "I'm off and DON'T wait"),
        ("they arent here, theyre late", "they aren't here, they're late"),
        ("the dog hurt its paw, its first", "the dog hurt its paw, its first"),
        ("we were ill as well, lets go", "we were ill as well, lets go"),
        ("what's up, don't", "what's up, don't"),
        ("an image of the antwerp isnts", "an image of the antwerp isnts"),
    ],
)
def test_only_forms_that_are_no_word_get_an_apostrophe(typed: str, spelt: str) -> None:
    """Letters and their case are kept."""
    assert with_apostrophes(typed) == spelt
