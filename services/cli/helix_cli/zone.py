"""The time zone of this machine, by its name in the IANA database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

LOCAL_TIME: Final = Path("/etc/localtime")
_DATABASE: Final = "/zoneinfo/"


def machine_zone(local_time: Path = LOCAL_TIME) -> str:
    """The zone of the variable TZ, else the one `local_time` links to; empty (UTC) if neither tells one.

    A name that the database of this machine does not hold is left out: the server would refuse it.
    """
    name = os.environ.get("TZ", "").removeprefix(":") or _linked(local_time)
    name = name.rpartition(_DATABASE)[2]
    try:
        return ZoneInfo(name).key if name else ""
    # ZoneInfoNotFoundError is a KeyError; "CET-1CEST" is a ValueError or a KeyError, a folder an OSError
    except (KeyError, ValueError, OSError):
        return ""


def _linked(local_time: Path) -> str:
    try:
        target = os.path.realpath(local_time)
    except OSError:
        return ""
    return target.rpartition(_DATABASE)[2] if _DATABASE in target else ""
