"""How a text writes a name of which the canonical form is known: "Zoë Ångström" for `zoe angstrom`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from helix_shared.naming.form import canonical, folded
from helix_shared.text.scripts import is_of_word

READ_CHARACTERS: Final = 8_000
"""Characters of a text in which the name is looked for."""
_MOST_CHARACTERS: Final = 256
"""A longer form has marks without end, and no place in a list."""
_MOST_READ: Final = 8
"""Places of the name that are looked at."""
_SPACES: Final = re.compile(r"\s\s")
_AS_SPACE: Final = dict.fromkeys(map(ord, "\t\n\r\f\v\x1c\x1d\x1e\x1f"), " ")


def written_form(name: str, text: str) -> str:
    """The form in which `text` writes the canonical name `name`; empty where it does not.

    Of several forms it is the first that has capitals or accents: the others say less. What the text only
    means (a date, `http 503` of "status: 503") has no form.
    """
    read = text[:READ_CHARACTERS]
    found = ""
    for start, end in islice(_spans(name, read), _MOST_READ):
        form = " ".join(_with_marks(read, start, end).split())
        if len(form) <= _MOST_CHARACTERS and canonical(form) == name:
            if form != name:
                return form
            found = form
    return found


def _spans(name: str, text: str) -> Iterator[tuple[int, int]]:
    """The places of whole words in `text` that are `name` when folded, with one space for any white space."""
    if text.isascii() and not _SPACES.search(text):
        characters, places = text.lower().translate(_AS_SPACE), list(range(len(text)))
    else:
        characters, places = _with_single_spaces(text)
    start = characters.find(name)
    while start >= 0:
        end = start + len(name)
        if not (is_of_word(characters[start - 1 : start]) or is_of_word(characters[end : end + 1])):
            yield places[start], places[end - 1] + 1
        start = characters.find(name, start + 1)


def _with_single_spaces(text: str) -> tuple[str, list[int]]:
    """The folded text with one space for any white space, and where each of its characters is written."""
    parts: list[str] = []
    places: list[int] = []
    for place, one in enumerate(text):
        part = " " if one.isspace() else _folded(one)
        if part != " " or parts[-1:] != [" "]:
            parts.append(part)
            places.extend([place] * len(part))
    return "".join(parts), places


def _with_marks(text: str, start: int, end: int) -> str:
    """`text[start:end]` with the accents of its last letter that stand behind it as characters."""
    while end < len(text) and not _folded(text[end]) and not text[end].isspace():
        end += 1
    return text[start:end]


@lru_cache(8_192)
def _folded(character: str) -> str:
    return folded(character)
