"""The time zone of this machine, by its name in the IANA database, and the time there."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

LOCAL_TIME: Final = Path("/etc/localtime")
_DATABASE: Final = "/zoneinfo/"
_LOCAL: Final = "localtime"
"""Name in the database of some systems that links to `LOCAL_TIME`."""
_VARIANTS: Final = ("posix/", "right/")
"""Folders with all zones again, without and with leap seconds; few databases have them."""
_NO_ZONES: Final = ("Factory", "posixrules")
"""Files in some databases that are not zones."""


def machine_zone(local_time: Path = LOCAL_TIME) -> str:
    """The zone of the variable TZ, else the one that `local_time` links to; empty (UTC) if there is none.

    An empty TZ is UTC (POSIX). TZ may name a zone or a file, with or without a colon before it (tzset(3)).
    Returns an empty name for a zone that the database does not have, because the server would refuse it.
    """
    variable = os.environ.get("TZ")
    name_or_path = str(local_time) if variable is None else variable.removeprefix(":")
    if name_or_path == _LOCAL:
        name_or_path = str(local_time)
    name = _file_zone(name_or_path) if name_or_path.startswith("/") else name_or_path
    for variant in _VARIANTS:
        name = name.removeprefix(variant)
    try:
        return ZoneInfo(name).key if name and name not in _NO_ZONES else ""
    # ZoneInfoNotFoundError is a KeyError; "CET-1CEST" is a ValueError or a KeyError, a folder an OSError
    except (KeyError, ValueError, OSError):
        return ""


def local_now() -> datetime:
    """Now, with the machine's offset from UTC, by which ingest resolves "today" and "yesterday"."""
    return datetime.now(UTC).astimezone()


def _file_zone(path: str) -> str:
    """The zone of a file of the database or of a link to one; empty for any other file."""
    try:
        target = os.path.realpath(path)
    except OSError:
        return ""
    return target.rpartition(_DATABASE)[2] if _DATABASE in target else ""
