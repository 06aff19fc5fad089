"""Which memories define a name: a token for each defined name in the field of exact tokens.

No text can have such a token: it begins with a character that ends every piece of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.text.defined_names import defined_names

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFINES: Final = "\x1f"
_IN_LOWER_CASE: Final = "\x1f\x1f"


def definition_tokens(text: str) -> Iterator[str]:
    """The tokens of the names that a text defines, as written, and in lower case where that differs."""
    for name in defined_names(text):
        yield _DEFINES + name
        if (lower := name.lower()) != name:
            yield _IN_LOWER_CASE + lower


def sought_tokens(name: str) -> tuple[tuple[str, ...], ...]:
    """The tokens to look a name up by: first as it is written, then those of any other case."""
    lower = name.lower()
    in_any_case = (_IN_LOWER_CASE + lower,) if lower == name else (_DEFINES + lower, _IN_LOWER_CASE + lower)
    return (_DEFINES + name,), in_any_case
