"""Time zones and moments that a user names; `helix_memory.machine_zone` has the zone of this machine."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from helix_memory.errors import InvalidInputError


def zone_of(name: str) -> tzinfo:
    """The zone of this name; UTC for the empty name.

    Raises:
        InvalidInputError: the database of this machine does not have it.
    """
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError) as error:
        message = f"{name!r} is not in the IANA database of this machine; write it like Europe/Berlin"
        raise InvalidInputError("--tz", message) from error


def moment(option: str, text: str, zone: tzinfo) -> datetime | None:
    """The moment that an option names, in `zone` unless it has its own; a date is its first moment.

    Raises:
        InvalidInputError: it is not an ISO date or time.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(option, f"{text!r} must read like 2026-11-01 or 2026-11-01T09:30") from error
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
