"""Time zones and moments that a user names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from helix_memory.errors import InvalidInputError
from helix_memory.machine_zone import machine_zone

_MINUTE: Final = timedelta(minutes=1)


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


def chosen_zone(name: str) -> tzinfo:
    """The zone of this name; that of this machine for the empty name.

    Raises: as `zone_of`.
    """
    return zone_of(name or machine_zone())


def moment(option: str, text: str, zone: tzinfo) -> datetime | None:
    """The moment that an option names, in `zone` unless it has its own; a date is its first moment.

    Raises:
        InvalidInputError: it is no ISO date or time, or is outside of the years 1 to 9999 there or in UTC.
    """
    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(option, f"{text!r} must read like 2026-11-01 or 2026-11-01T09:30") from error
    parsed = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
    try:
        parsed.astimezone(UTC)
        parsed.astimezone(zone)  # hints show it
    except OverflowError as error:
        raise InvalidInputError(option, f"{text!r} is outside of the years 1 to 9999") from error
    return parsed


def iso_text(at: datetime) -> str:
    """An aware moment as ISO 8601; an offset with seconds, as before standard time, becomes whole minutes."""
    offset = at.utcoffset() or timedelta()
    if offset % _MINUTE:
        at = at.astimezone(timezone(round(offset / _MINUTE) * _MINUTE))
    return at.isoformat()
