"""The time zone of this machine: by its name in the IANA database, and the moment in it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from helix_shared.errors import InvalidInputError

LOCAL_TIME: Final = Path("/etc/localtime")
_DATABASE: Final = "/zoneinfo/"
_LOCAL: Final = "localtime"
"""Stands in the database of some systems, as a link to `LOCAL_TIME`."""
_VARIANTS: Final = ("posix/", "right/")
"""Folders that hold every zone once more, without and with leap seconds; few databases have them."""
_NO_ZONES: Final = ("Factory", "posixrules")
"""Files of some databases that are no zone."""


def machine_zone(local_time: Path = LOCAL_TIME) -> str:
    """The zone of the variable TZ, else the one `local_time` links to; empty (UTC) if neither tells one.

    An empty TZ is UTC (POSIX). TZ may name a zone or a file, with or without a colon before it (tzset(3)).
    A name that the database of this machine does not hold is left out: the server would refuse it.
    """
    variable = os.environ.get("TZ")
    told = str(local_time) if variable is None else variable.removeprefix(":")
    if told == _LOCAL:
        told = str(local_time)
    name = _file_zone(told) if told.startswith("/") else told
    for variant in _VARIANTS:
        name = name.removeprefix(variant)
    try:
        return ZoneInfo(name).key if name and name not in _NO_ZONES else ""
    # ZoneInfoNotFoundError is a KeyError; "CET-1CEST" is a ValueError or a KeyError, a folder an OSError
    except (KeyError, ValueError, OSError):
        return ""


def zone_of(name: str) -> tzinfo:
    """The zone of this name; UTC for the empty name.

    Raises:
        InvalidInputError: the database of this machine does not hold it.
    """
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError) as error:
        message = f"{name!r} is not in the IANA database of this machine; write it like Europe/Berlin"
        raise InvalidInputError("--tz", message) from error


def local_now() -> datetime:
    """This moment with the machine's offset from UTC, by which ingest reads "today" and "yesterday"."""
    return datetime.now(UTC).astimezone()


def _file_zone(path: str) -> str:
    """The zone that a file of the database, or a link to one, holds; empty if it is neither."""
    try:
        target = os.path.realpath(path)
    except OSError:
        return ""
    return target.rpartition(_DATABASE)[2] if _DATABASE in target else ""
