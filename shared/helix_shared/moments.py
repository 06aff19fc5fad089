"""Moments as the numbers that are stored: microseconds since 1970 UTC, without rounding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 of an aware time, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_of(number: int) -> datetime:
    """The moment that is so many microseconds after the beginning of 1970.

    Raises:
        OverflowError: no calendar holds it.
    """
    return _EPOCH + timedelta(microseconds=number)
