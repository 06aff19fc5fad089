"""Timeline and sessions: what happened, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.explorer.shown import NAMED, day, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_gateway.explorer.asked import Asked
    from helix_memory.client.results import Memory

SIZE: Final = 100
BARS: Final = 40
SPANS: Final = (("day", 1), ("week", 7), ("month", 31), ("year", 366))
"""Names of spans that end at the newest memory, and their days."""
ALL: Final = "all"
"""The span of every time."""
FIRST: Final = datetime(1, 1, 2, tzinfo=UTC)
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of the time that a page covers, and how much of it happened then."""

    since: datetime
    until: datetime
    count: int
    height: float
    """Share of the highest bar."""


async def build(asked: Asked) -> dict[str, Any]:
    """A span of time by days; without one the last month that has memories."""
    session = asked.text("session")
    since, until = asked.moment("since"), asked.end("until")
    span = ""
    if since is None and until is None and not session:
        span = asked.text("span") if asked.text("span") in {*dict(SPANS), ALL} else "month"
        newest = await _newest(asked)
        if newest is None:
            return _page(asked, (), {"session": session, "span": ""})
        since = FIRST if span == ALL else _before(newest, timedelta(days=dict(SPANS)[span]))
    given: dict[str, Any] = {"since": since, "until": until, "session": session}
    sent = {name: one for name, one in given.items() if one} | asked.page
    found = await asked.helix.timeline(page_size=SIZE, **sent)
    return _page(asked, found.memories, given | {"span": span}, found.next_page_token)


def _page(
    asked: Asked, memories: Sequence[Memory], chosen: dict[str, Any], next_page: str = ""
) -> dict[str, Any]:
    return {
        "title": "Timeline",
        "days": _by_day(asked, memories),
        "bars": bars(memories),
        "count": len(memories),
        "next": next_page,
        "chosen": {"since": None, "until": None} | chosen,
        "typed": {name: asked.text(name) for name in ("since", "until")},
        "spans": dict(SPANS),
    }


async def sessions(asked: Asked) -> dict[str, Any]:
    """A page of sessions."""
    found = await asked.helix.sessions(page_size=100, **asked.page)
    return {"title": "Sessions", "sessions": found.sessions, "next": found.next_page_token}


async def session(asked: Asked) -> dict[str, Any]:
    """What was said and done in one session."""
    name = asked.request.path_params["session"]
    found = await asked.helix.timeline(session=name, page_size=SIZE, **asked.page)
    return {
        "title": f"Session {one_line(name, NAMED)}",
        "session": name,
        "memories": found.memories,
        "next": found.next_page_token,
        "marked": asked.text("marked"),
    }


def bars(memories: Sequence[Memory]) -> list[Bar]:
    """The time from the first to the last memory in equal parts; none where all happened (nearly) at once."""
    times = [one.occurred_at for one in memories if one.occurred_at is not None]
    first, last = min(times, default=FIRST), max(times, default=FIRST)
    step = (last - first) / BARS
    if not step:
        return []
    counts = [0] * BARS
    for one in times:
        counts[min(BARS - 1, int((one - first) / step))] += 1
    most = max(counts)
    # a span ends before its last moment, and the newest memory belongs to the last part
    ends = [*(first + number * step for number in range(1, BARS)), last + _MOMENT]
    return [
        Bar(first + number * step, end, count, count / most)
        for number, (end, count) in enumerate(zip(ends, counts, strict=True))
    ]


def _by_day(asked: Asked, memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    days: dict[str, list[Memory]] = {}
    for one in memories:
        days.setdefault(day(one.occurred_at, asked.zone), []).append(one)
    return days


async def _newest(asked: Asked) -> datetime | None:
    """When the newest memory happened; None: there is no memory."""
    newest = (await asked.helix.list(page_size=1)).memories
    return (newest[0].occurred_at or datetime.now(UTC)) if newest else None


def _before(moment: datetime, span: timedelta) -> datetime:
    try:
        return max(FIRST, moment - span)
    except OverflowError:
        return FIRST
