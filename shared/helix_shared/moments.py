"""Times as stored: microseconds since 1970 UTC, without rounding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

MICROSECONDS_PER_DAY: Final = 86_400_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 UTC of an aware time, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_of(number: int) -> datetime:
    """The time `number` microseconds after the start of 1970 UTC.

    Raises:
        OverflowError: `datetime` cannot represent it.
    """
    return _EPOCH + timedelta(microseconds=number)
