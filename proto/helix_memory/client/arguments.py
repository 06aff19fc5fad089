"""Checks of single arguments of the client.

Every function returns the value or raises `InvalidInputError` with the name of the argument; the limits that
a service shares are in `helix_memory.recall.checks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_memory.client.results import Written
from helix_memory.errors import InvalidInputError
from helix_memory.recall import checks
from helix_memory.refusal import nearest

LAST_PORT: Final = 65_535


def known_options(options: Mapping[str, Any], kind: type) -> None:
    """All options are of a kind; the error names one that is not."""
    valid = kind.__annotations__
    for name in options:
        if name not in valid:
            raise InvalidInputError(
                name, f"is unknown{nearest(name, valid)}; known: {', '.join(sorted(valid))}"
            )


def one_of(field: str, value: str, valid: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in valid:
        raise InvalidInputError(field, f"is unknown; known: {', '.join(valid)}")
    return value


def several(field: str, values: object) -> tuple[Any, ...]:
    """The entries of an argument that takes several; a single text is none of these."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(field, f"must be a sequence, not {type(values).__name__}")
    return tuple(values)


def switch(field: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidInputError(field, f"must be True or False, not {type(value).__name__}")
    return value


def seconds(field: str, value: object) -> float:
    """A time to wait, above 0."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidInputError(field, f"must be a number of seconds, not {type(value).__name__}")
    # that nan is above 0 is not true either
    if not value > 0:
        raise InvalidInputError(field, f"must be above 0 seconds, not {value:g}")
    return value


def deadline_of(options: Mapping[str, Any]) -> float | None:
    """The deadline of one call, in seconds; None: that of the client."""
    given = options.get("deadline_seconds")
    return None if given is None else seconds("deadline_seconds", given)


def port(field: str, value: int) -> int:
    """A port that can be connected to."""
    return checks.bounded(field, value, LAST_PORT)


def file(field: str, value: object) -> Path:
    """The path of a file."""
    if not isinstance(value, str | Path):
        raise InvalidInputError(field, f"must be a path, not {type(value).__name__}")
    return Path(value).expanduser()


def moment(field: str, value: datetime | None) -> datetime | None:
    """A moment in UTC, of a datetime with a zone; None stays None."""
    if value is not None and not isinstance(value, datetime):
        raise InvalidInputError(field, f"must be a datetime, not {type(value).__name__}")
    if value is not None and value.utcoffset() is None:
        raise InvalidInputError(field, "must carry a time zone")
    try:
        return None if value is None else value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInputError(field, "must be a time of the years 1 to 9999 in UTC") from error


def span(options: Mapping[str, Any], first: str, last: str) -> tuple[datetime | None, datetime | None]:
    """Two moments by their names, the first before the last."""
    after, before = moment(first, options.get(first)), moment(last, options.get(last))
    if after is not None and before is not None and after >= before:
        raise InvalidInputError(first, f"must be earlier than {last}")
    return after, before


def written(field: str, value: object) -> Written:
    """What a write returned."""
    if not isinstance(value, Written):
        raise InvalidInputError(field, f"must be what a write returned, not {type(value).__name__}")
    return value
