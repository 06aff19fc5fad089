"""Definition: visible memories that define the name that a query looks up.

"Where is `getoption` defined?", "LFPlugin" and "--cache-show" are for the code that makes the thing, and many
memories mention it more often. The lexicon's writer tells which memories define a name; stage 6 puts them
first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.visibility import NO_ORDINALS
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.lexicon.definition_tokens import sought_tokens
from helix_shared.artifacts.lexicon.exact_tokens import is_symbol
from helix_shared.naming.code import classify
from helix_shared.text.defined_names import LONG_OPTION, NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader

MAX_DEFINING: Final = 200
"""Memories with a name that are looked at, also those that the caller does not see; more lift none."""

_KIND: Final = "(?:class|function|method|option|flag|type|struct|interface|trait|enum|module|macro|symbol)"
_PART: Final = (
    "(?:definition|signature|source code|source|code|implementation|docstring|declaration|body|help text|"
    "help)"
)
_SHOW: Final = (
    "(?:(?:please|can you|could you|find|show|give|open|go to|jump to|see|get|look up|print|grep|explain|"
    "describe)(?: for)?(?: me)? )*"
)
_SOUGHT: Final = (
    rf"(?:the )?(?:{_KIND} )?(?P<name>`[^`\s]{{1,120}}`|[\w$:.#>~-]{{1,120}}(?:\(\))?)(?: {_KIND})?"
)


def _look_ups(*patterns: str) -> tuple[re.Pattern[str], ...]:
    forms = (pattern.replace("SOUGHT", _SOUGHT) for pattern in patterns)
    return tuple(re.compile(rf"{form} ?\??", re.IGNORECASE) for form in forms)


_FOR_A_DEFINITION: Final = _look_ups(
    rf"{_SHOW}(?:the )?{_PART} (?:of|for) SOUGHT",
    "where(?:'s| is| are) SOUGHT (?:defined|declared|implemented|located)",
)
"""The name may be any word."""
_FOR_A_NAME: Final = _look_ups(
    rf"{_SHOW}SOUGHT(?: {_PART})?",
    "where(?:'s| is| are) SOUGHT",
    "what(?:'s| is| are) SOUGHT",
    "(?:what|how) does SOUGHT (?:do|work|return|mean|look like)",
)
"""The name must be spelt as code: "what is CartStore" is a look-up, "where is Marta" is none."""
_QUALIFIED: Final = re.compile(rf"{NAME}(?:(?:::|->|[.#]){NAME}){{0,9}}")
_SEPARATOR: Final = re.compile(r"::|->|[.#]")


def sought_name(text: str) -> str:
    """The name of code whose definition a query (single spaces) is for; empty: there is none.

    Of a qualified name it is the last part. A query that asks anything else about a name (who wrote it, what
    was decided about it) is for other memories.
    """
    if " " not in text:
        return _name_in(text.rstrip("?"))
    if word := _looked_up(text, _FOR_A_DEFINITION):
        return _name_in(word)
    word = _looked_up(text, _FOR_A_NAME)
    return _name_in(word) if _is_spelt_as_code(word) else ""


def defining_memories(
    name: str,
    visibility: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    occurred_until: int,
    within: OrdinalSet | None = None,
    already_served: NDArray[np.int64] = NO_ORDINALS,
) -> Hits:
    """The memories that define `name` as it is written, else in any case; none if they are more than `limit`.

    Only memories that had happened by `occurred_until` (microseconds) and are not `already_served`; `within`
    as in `LexiconReader`. The scores are 1.
    """
    for tokens in sought_tokens(name):
        found = lexicon.with_any_token(
            tokens, visibility.selection, limit=MAX_DEFINING, within=within
        ).ordinals
        seen = found[visibility.is_valid_and_occurred(found, occurred_until)]
        if len(found) == MAX_DEFINING or len(seen) > limit:
            return Hits.none()
        if len(seen):
            fresh = seen[~np.isin(seen, already_served)]
            return Hits(fresh, np.ones(len(fresh), np.float32))
    return Hits.none()


def _looked_up(text: str, forms: Sequence[re.Pattern[str]]) -> str:
    matches = (form.fullmatch(text) for form in forms)
    return next((found["name"] for found in matches if found is not None), "")


def _is_spelt_as_code(word: str) -> bool:
    """Whether it is an option, in backticks, a call without arguments, or a symbol by its letters."""
    is_option = LONG_OPTION.fullmatch(word) is not None
    return is_option or word.startswith("`") or word.endswith("()") or is_symbol(word)


def _name_in(word: str) -> str:
    """An option, or the last part of a name; empty: it is neither, or a file."""
    bare = word.strip("`").removesuffix("()")
    if LONG_OPTION.fullmatch(bare):
        return bare
    is_name = _QUALIFIED.fullmatch(bare) is not None and (classify(bare) or ("",))[0] != "path"
    return _SEPARATOR.split(bare)[-1] if is_name else ""
