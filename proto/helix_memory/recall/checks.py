"""The limits of a request's fields, checked before it is sent and again where it arrives.

Every function returns the value or raises `InvalidInputError` with the dotted path of the field and the
limit. What only the server knows (its ranking profiles, its time zones) is checked there alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from helix_memory import limits
from helix_memory.errors import InvalidInputError
from helix_memory.subjects import is_token

_NAME: Final = re.compile(limits.NAME_PATTERN)
_MEMORY_ID: Final = re.compile(limits.MEMORY_ID_PATTERN)
_ID_PREFIX: Final = re.compile(rf"[0-9a-f]{{{limits.ID_PREFIX_DIGITS},{limits.ID_DIGITS}}}")


def text(field: str, value: str) -> str:
    """A text that can be sent: a string without lone surrogates."""
    if not isinstance(value, str):
        raise InvalidInputError(field, f"must be a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(field, "must be text without lone surrogates") from error
    return value


def query_text(query: str) -> str:
    """A query: not only white space, and not too long."""
    if not text("query", query).strip():
        raise InvalidInputError("query", "must hold more than white space")
    if len(query) > limits.QUERY_CHARACTERS:
        raise InvalidInputError("query", f"must have at most {limits.QUERY_CHARACTERS} characters")
    return query


def tenant(tenant_id: str) -> str:
    """A tenant: a token."""
    if not is_token(text("scope.tenant_id", tenant_id)):
        raise InvalidInputError("scope.tenant_id", limits.TOKEN_RULE)
    return tenant_id


def name(field: str, value: str) -> str:
    """A name without control characters."""
    if len(text(field, value)) > limits.NAME_CHARACTERS:
        raise InvalidInputError(field, f"must have at most {limits.NAME_CHARACTERS} characters")
    if _NAME.fullmatch(value) is None:
        raise InvalidInputError(field, "must not hold control characters")
    return value


def names(field: str, values: Sequence[str], *, most: int = limits.FILTER_VALUES) -> tuple[str, ...]:
    """At most `most` names, each once."""
    _count(field, values, most)
    return tuple(dict.fromkeys(name(field, value) for value in values))


def texts(field: str, values: Sequence[str]) -> tuple[str, ...]:
    """Texts as memories have them, each once."""
    _count(field, values, limits.LISTED_TEXTS)
    for value in values:
        if not text(field, value).strip():
            raise InvalidInputError(field, "must hold more than white space")
        if len(value) > limits.TEXT_CHARACTERS:
            raise InvalidInputError(field, f"must have at most {limits.TEXT_CHARACTERS} characters")
    return tuple(dict.fromkeys(values))


def known(field: str, values: Collection[str], noun: str, valid: Collection[str]) -> None:
    """Each of `values` is one of `valid`."""
    if not set(values) <= set(valid):
        raise InvalidInputError(field, f"unknown {noun}; known: {', '.join(valid)}")


def memory_ids(field: str, values: Sequence[str], *, most: int) -> tuple[str, ...]:
    """At most `most` memory ids, each once."""
    _count(field, values, most)
    if not all(_MEMORY_ID.fullmatch(value) for value in values):
        raise InvalidInputError(field, "must be 32 hexadecimal digits in lower case")
    return tuple(dict.fromkeys(values))


def memory_id(value: str) -> str:
    """One memory id."""
    return memory_ids("memory_id", [value], most=1)[0]


def event_id(value: str) -> str:
    """The id of an event, as its publisher gave it."""
    if re.match(limits.EVENT_ID_PATTERN, value) is None or value.endswith("\n"):
        raise InvalidInputError("event_id", "must be 1 to 128 printable ASCII characters without spaces")
    return value


def id_prefix(prefix: str, *, field: str = "prefix") -> str:
    """The beginning of a memory id, in lower case."""
    if _ID_PREFIX.fullmatch(prefix.lower()) is None:
        raise InvalidInputError(
            field, f"must be {limits.ID_PREFIX_DIGITS} to {limits.ID_DIGITS} hexadecimal digits"
        )
    return prefix.lower()


def id_prefixes(field: str, values: Sequence[str]) -> list[str]:
    """Beginnings of memory ids, in lower case."""
    _count(field, values, limits.ID_PREFIXES)
    return [id_prefix(value, field=field) for value in values]


def bounded(field: str, value: int, most: int) -> int:
    """A whole number of 1 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(field, f"must be a whole number, not {type(value).__name__}")
    if not 1 <= value <= most:
        raise InvalidInputError(field, f"must be 1 to {most}")
    return value


def optional_number(message: Any, field: str, most: int) -> int | None:
    """`bounded` for an optional field of a message; None where it is not set."""
    return bounded(field, getattr(message, field), most) if message.HasField(field) else None


def optional_moment(message: Any, field: str, *, prefix: str = "") -> datetime | None:
    """A timestamp of a message, in UTC; None where it is not set. `prefix` is the path of the message."""
    if not message.HasField(field):
        return None
    timestamp: Any = getattr(message, field)
    try:
        moment: datetime = timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{prefix}{field}", "must be a time of the years 1 to 9999") from error
    return moment


def _count(field: str, values: Sequence[str], most: int) -> None:
    if len(values) > most:
        raise InvalidInputError(field, f"must have at most {most} entries")
