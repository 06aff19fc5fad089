"""Whether a matched word is asserted, or negated, asked for, or only possible."""

from __future__ import annotations

import re
from typing import Final

_BEFORE_CHARACTERS: Final = 40
_NEGATED: Final = re.compile(
    # "not yet fully tested", "wont be fixed"; a comma ends what a negation reaches
    r"(?:\b(?:not|never|no|nobody|none|nothing|neither|nor|hardly|without|un|yet to|no longer|cannot)"
    r"|n['\u2019]t|\b(?:dont|doesnt|didnt|isnt|arent|wasnt|werent|hasnt|havent|hadnt|wont|cant|couldnt"
    r"|shouldnt|wouldnt|aint))(?:[ -]\w+){0,4}[ -]$",
    re.IGNORECASE,
)
_UNREAL: Final = re.compile(
    r"\b(?:to be|if|once|until|till|unless|when|whether|should be|must be|will be|needs?|has to be|have to be"
    r"|can be|could be|might be|may be|be)(?:[ -]\w+){0,2}[ -]$",
    re.IGNORECASE,
)


def is_negated(text: str, at: int) -> bool:
    """Whether the word that begins at `at` follows a negation in its clause."""
    return bool(_NEGATED.search(text[max(0, at - _BEFORE_CHARACTERS) : at]))


def is_asserted(text: str, at: int) -> bool:
    """Whether the word that begins at `at` is said to be so: neither negated nor required or possible."""
    return not is_negated(text, at) and not _UNREAL.search(text[max(0, at - _BEFORE_CHARACTERS) : at])
