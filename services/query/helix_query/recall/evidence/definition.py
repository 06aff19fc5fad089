"""Definition: visible memories that define the name that a query looks up.

"Where is `getoption` defined?", "LFPlugin" and "--cache-show" are for the code that makes the thing, and many
memories mention it more often. Ingest told which memories define a name; stage 6 puts them first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.routing.exact_lookup import is_error, looked_up
from helix_query.recall.visibility import NO_ORDINALS, visible_hits
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.lexicon.exact_tokens import is_symbol
from helix_shared.naming.code import classify
from helix_shared.naming.definitions import QUALIFIED_NAME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.lexicon.query import OrdinalSet
    from helix_shared.artifacts.lexicon.reader import LexiconReader

_OF_USES: Final = re.compile(
    r"\b(?:uses?|used|using|usages?|calls?|called|calling|callers?|imports?|imported|references?|referenced|"
    r"raises?|raised|throws?|thrown|sets?|changed?|changes)\b",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(r"--[A-Za-z][\w-]{1,60}")
_WORD: Final = re.compile(r"`[^`\s]{1,120}`|[^\s`\"'()\[\]{},;?!]{1,120}(?:\(\))?")


def sought_name(text: str) -> str:
    """The one name of code whose definition a query (single spaces) is for; empty: there is none, or several.

    A query for its uses or its changes, and an error message, are for other memories.
    """
    if _OF_USES.search(text) or is_error(text):
        return ""
    words = [word.rstrip(".:") for word in _WORD.findall(text)]
    names = dict.fromkeys(word.strip("`").removesuffix("()") for word in words if _is_spelt_as_code(word))
    if not names and (word := looked_up(text)):
        names = dict.fromkeys([word])
    name = next(iter(names)) if len(names) == 1 else ""
    return name if _OPTION.fullmatch(name) or _is_name(name) else ""


def definitions(
    name: str,
    visibility: Visibility,
    *,
    lexicon: LexiconReader,
    limit: int,
    happened_by: int,
    within: OrdinalSet | None = None,
    already_served: NDArray[np.int64] = NO_ORDINALS,
) -> Hits:
    """The memories that define `name`; none if more than `limit` do, since such a name tells little.

    Only memories that had happened by `happened_by` (microseconds) and are not `already_served`; `within` as
    in `LexiconReader`.
    """
    hits = visible_hits(
        lambda count: lexicon.definitions(name, visibility.selection, limit=count, within=within),
        lambda ordinals: (
            visibility.is_valid_at(ordinals) & (visibility.signals.occurred_at[ordinals] <= happened_by)
        ),
        limit=limit + 1,
        already_served=already_served,
    )
    if len(hits) > limit:
        return Hits.none()
    fresh = ~np.isin(hits.ordinals, already_served)
    return Hits(hits.ordinals[fresh], hits.scores[fresh])


def _is_spelt_as_code(word: str) -> bool:
    """Whether it is an option, in backticks, a call without arguments, or a symbol by its letters."""
    return (
        word.startswith("`") or word.endswith("()") or is_symbol(word) or _OPTION.fullmatch(word) is not None
    )


def _is_name(word: str) -> bool:
    """Whether it is a name, qualified or not, and no file."""
    return QUALIFIED_NAME.fullmatch(word) is not None and (classify(word) or ("",))[0] != "path"
