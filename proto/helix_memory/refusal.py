"""Turns a pydantic error into a readable reason; no other module reads pydantic's errors."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

SIMILARITY: Final = 0.6
"""Least similarity of a field that is suggested (`difflib`)."""
MISSING_SIMILARITY: Final = 0.4
"""That of a field that is missing, as `query` where `question` was given."""
MOST_LISTED: Final = 15
"""Field names that are listed where none is similar: as many as a tool of agents has."""
MISSING: Final = "is missing"
"""Reason of a field that must be given."""
UNKNOWN: Final = "is not a field here"
"""Beginning of the reason of a field that must not be given."""
_MISSING: Final = "missing"
_UNKNOWN: Final = "extra_forbidden"
_TOO_SHORT: Final = {"string_too_short", "too_short"}
_PATTERN: Final = "string_pattern_mismatch"
_OF_THE_KIND: Final = {"union_tag_invalid", "union_tag_not_found"}
_WORDS: Final[Mapping[str, str]] = {
    _MISSING: MISSING,
    _UNKNOWN: UNKNOWN,
    _PATTERN: "must match {pattern}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries, has {actual_length}",
    "too_long": "must have at most {max_length} entries, has {actual_length}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "datetime_from_date_parsing": "must be a time like 2026-11-22T09:30:00Z: {error}",
    "datetime_parsing": "must be a time like 2026-11-22T09:30:00Z: {error}",
    "datetime_type": "must be a time like 2026-11-22T09:30:00Z",
    "timezone_aware": "must name its offset, like 2026-11-22T09:30:00Z",
    "union_tag_invalid": "{tag!r} is unknown; known: {expected_tags}",
    "union_tag_not_found": "is missing; it says which event this is",
    "json_invalid": "is not JSON: {error}",
    "value_error": "{error}",
}
"""Reason by pydantic's error type, filled from the error's context; other types keep pydantic's message."""

_WORDS_OF_PATTERNS: Final[Mapping[str, str]] = {
    limits.TOKEN_PATTERN: limits.TOKEN_RULE,
    limits.TEXT_PATTERN: "must hold more than white space",
    limits.EVENT_ID_PATTERN: "must be 1 to 128 printable ASCII characters without spaces",
    limits.MEMORY_ID_PATTERN: "must be 32 hexadecimal digits in lower case",
}


def first_broken(error: ValidationError, names: Iterable[str] = ()) -> tuple[tuple[str, ...], str]:
    """Path and reason of the first broken rule, without the input; an empty path means the whole value.

    An unknown field is reported before a missing one, because it is usually the missing one misspelt.
    A missing field that is somewhat similar is suggested for it, else the most similar of `names`, the
    allowed field names, else all of them where they are few.
    """
    errors = error.errors(include_url=False, include_input=False)
    first = next((one for one in errors if one["type"] == _UNKNOWN), errors[0])
    path = tuple(map(str, first["loc"]))
    if first["type"] in _OF_THE_KIND:
        path = (*path, "kind")
    reason = _reason(first)
    if first["type"] == _UNKNOWN:
        missing = [str(one["loc"][-1]) for one in errors if one["type"] == _MISSING]
        reason += nearest(path[-1], missing, similarity=MISSING_SIMILARITY) or nearest(path[-1], names)
        # `names` are those of the whole value, not of an object inside it
        if "?" not in reason and len(path) == 1:
            reason += _listed(names)
    return path, reason


def nearest(name: str, names: Iterable[str], *, similarity: float = SIMILARITY) -> str:
    """`; did you mean ...?` with the most similar of `names`, or nothing; `similarity` is 0 to 1."""
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=similarity)
    return f"; did you mean {found[0]}?" if found else ""


def _listed(names: Iterable[str]) -> str:
    """`; there are ...` with a few names, or nothing."""
    known = list(names)
    return f"; there are {', '.join(known)}" if 0 < len(known) <= MOST_LISTED else ""


def _reason(error: ErrorDetails) -> str:
    context: dict[str, Any] = error.get("ctx", {})
    if error["type"] in _TOO_SHORT and context["min_length"] == 1:
        return "must not be empty"
    if error["type"] == _PATTERN and context["pattern"] in _WORDS_OF_PATTERNS:
        return _WORDS_OF_PATTERNS[context["pattern"]]
    words = _WORDS.get(error["type"])
    if words is None:
        return error["msg"][:1].lower() + error["msg"][1:]
    return words.format(**context)
