"""Dead letters for people: their table, their body, what to do about one, and times of filters."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from helix_cli.output.terminal import plain, size, stdout
from helix_memory import subjects
from helix_memory.limits import TOKEN_RULE
from helix_memory.transport.dead_letters import DeadLetter, Filter
from helix_shared.errors import InvalidInputError

STREAM_PREFIX: Final = "HELIX_"
WIDE: Final = 100
"""Columns of a terminal with room for the whole table."""
_AGE: Final = re.compile(r"^(\d{1,6})([smhd])\Z")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def print_letters(letters: Sequence[DeadLetter]) -> None:
    """Print one row for each letter; a narrow terminal has no room for where it is from and its attempts."""
    console = stdout()
    table = Table(box=None, pad_edge=False, header_style="bold")
    names = ["sequence", "stored", "service", "tenant"]
    names += ["from", "attempts"] if console.width >= WIDE else []
    for name in names:
        table.add_column(name, no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for letter in letters:
        cells: dict[str, str | Text] = {
            "sequence": str(letter.sequence),
            "stored": letter.stored_at[:19],
            "service": plain(letter.service),
            "tenant": plain(letter.tenant_id),
            "from": f"{letter.stream.removeprefix(STREAM_PREFIX).lower()} {letter.stream_sequence}",
            "attempts": f"{letter.attempts or '?'}"
            + (f" ({letter.redrives} redriven)" if letter.redrives else ""),
        }
        table.add_row(*(cells[name] for name in names), plain(letter.reason))
    console.print(table)


def readable(body: bytes) -> Any:
    """A body for people: parsed JSON, other text as it is, anything else as its size."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"({size(len(body))} of binary data)"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def advice(letter: DeadLetter) -> str:
    """What to do about a letter."""
    redrive, drop = f"`helix dlq redrive {letter.sequence}`", f"`helix dlq drop {letter.sequence}`"
    field, rule = letter.broken_rule
    if "deadline" in letter.reason:
        return f"raise the deadline of {letter.service} and start it again, then {redrive}; else {drop}"
    if not letter.refuses_its_event:
        return f"its memories lack what {letter.service} adds; after a repair {redrive}, else {drop}"
    if field != "event":
        return (
            f"the event had no effect. It breaks a rule of {field} ({rule}): publish it again with that "
            f"corrected and {drop}; if the service was wrong, repair it and {redrive}"
        )
    return f"the event had no effect. Repair the cause, then {redrive}; or {drop}"


def letter_filter(service: str, tenant: str, reason: str, since: str) -> Filter:
    """The filter of the options with these values.

    Raises:
        InvalidInputError: a service or tenant that no subject has, or a `since` that is no time.
    """
    for option, value in (("--service", service), ("--tenant", tenant)):
        if value and not subjects.is_token(value):
            raise InvalidInputError(option, f"{value!r} {TOKEN_RULE}")
    return Filter(service, tenant, reason, since_moment(since))


def since_moment(text: str, *, now: datetime | None = None) -> datetime | None:
    """The moment of an age like `2h`, or of an ISO time (UTC without a zone); None for an empty text.

    Raises:
        InvalidInputError: it is neither.
    """
    if not text:
        return None
    try:
        if age := _AGE.match(text):
            return (now or datetime.now(UTC)) - timedelta(**{_UNITS[age[2]]: int(age[1])})
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            "--since", f"{text!r} is neither an age like 30m, 2h, 7d nor an ISO time"
        ) from None
