"""Time zones of the IANA database by name."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from helix_memory import limits
from helix_shared.errors import InvalidInputError

FIELD: Final = "time_zone"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")
_PRESENT_ZONE: Final = "Etc/UTC"
"""A zone that every database has."""
_UTC_NAMES: Final = frozenset(["UTC", _PRESENT_ZONE])
"""Names that need no database."""


def zone_of(name: str) -> tzinfo | None:
    """The zone of this name; None for the empty name.

    Raises:
        InvalidInputError: the name is too long or unknown, or the server has no time zone database.
    """
    if not name:
        return None
    if len(name) > limits.TIME_ZONE_CHARACTERS:
        raise InvalidInputError(FIELD, f"must have at most {limits.TIME_ZONE_CHARACTERS} characters")
    if name in _UTC_NAMES:
        return UTC
    if _NAME.fullmatch(name) is None:
        raise InvalidInputError(FIELD, "must be a name of the IANA database, such as Europe/Berlin")
    return _read(name)


@lru_cache(maxsize=64)
def _read(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    # ZoneInfoNotFoundError is a KeyError; a folder of the database ("Europe") is an OSError
    except (KeyError, ValueError, OSError) as error:
        if not _has_database():
            raise InvalidInputError(
                FIELD,
                "cannot be read: the server has no time zone database; install the package tzdata there",
            ) from error
        raise InvalidInputError(
            FIELD, f"{name!r} is not in the IANA database; write it like Europe/Berlin"
        ) from error


def _has_database() -> bool:
    """Whether the server has a time zone database.

    It reads one zone: listing all of them takes 8 to 60 ms, in which the event loop answers nobody else.
    """
    try:
        ZoneInfo.no_cache(_PRESENT_ZONE)
    except ZoneInfoNotFoundError:
        return False
    return True
