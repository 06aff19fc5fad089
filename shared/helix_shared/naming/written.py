"""How a text writes a name of which the canonical form is known: "Zoë Ångström" for `zoe angstrom`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Final

from helix_shared.naming.form import canonical, folded

READ_CHARACTERS: Final = 8_000
"""Characters of a text in which the name is looked for."""
_MOST_CHARACTERS: Final = 256
"""A longer form has marks without end, and no place in a list."""
_MOST_READ: Final = 8
"""Places of the name that are looked at."""


def written_form(name: str, text: str) -> str:
    """The form in which `text` writes the canonical name `name`; empty where it does not.

    Of several forms it is the first that has capitals or accents: the others say less. What the text only
    means (a date, `http 503` of "status: 503") has no form.
    """
    read = text[:READ_CHARACTERS]
    found = ""
    if read.isascii():
        spans = (match.span() for match in _pattern(name).finditer(read.lower()))
    else:
        characters = [_folded(one) for one in read]
        places = [place for place, one in enumerate(characters) for _ in one]
        matches = _pattern(name).finditer("".join(characters))
        spans = ((places[match.start()], places[match.end() - 1] + 1) for match in matches)
    for start, end in islice(spans, _MOST_READ):
        form = " ".join(_with_marks(read, start, end).split())
        if len(form) <= _MOST_CHARACTERS and canonical(form) == name:
            if form != name:
                return form
            found = form
    return found


def _with_marks(text: str, start: int, end: int) -> str:
    """`text[start:end]` with the accents of its last letter that stand behind it as characters."""
    while end < len(text) and not _folded(text[end]) and not text[end].isspace():
        end += 1
    return text[start:end]


@lru_cache(4_096)
def _pattern(name: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, name.split(" ")))
    return re.compile(rf"(?<!\w){words}(?!\w)")


@lru_cache(8_192)
def _folded(character: str) -> str:
    return folded(character)
