"""Which memories define a name: a token for each defined name in the field of exact tokens.

No text can have such a token: it begins with a character that ends every piece of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.naming.definitions import defined_names, last_part

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFINES: Final = "\x1f"
_IN_ANY_CASE: Final = "\x1f\x1f"


def definition_tokens(title: str, text: str) -> Iterator[str]:
    """The tokens of the names that a memory defines, each as it is written and in lower case."""
    for name in defined_names(title, text):
        yield _DEFINES + name
        yield _IN_ANY_CASE + name.lower()


def sought_tokens(name: str) -> list[str]:
    """The tokens to look a name up by, the closest first: as it is written, in any case, its last part."""
    qualified, last = name.replace("::", ".").replace("->", ".").replace("#", "."), last_part(name)
    return list(
        dict.fromkeys(
            token for one in (qualified, last) for token in (_DEFINES + one, _IN_ANY_CASE + one.lower())
        )
    )
