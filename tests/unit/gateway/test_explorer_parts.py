"""Parts of the explorer's pages: what is hidden, bodies of letters, bars, and the connection to NATS."""

import sys
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from nats.js.errors import NotFoundError as NoStreamError

from helix_gateway.explorer.broker import Broker
from helix_gateway.explorer.pages.letters import SHOWN_CHARACTERS, readable
from helix_gateway.explorer.pages.timeline import BARS, bars
from helix_gateway.explorer.shown import shown
from helix_gateway.settings import GatewaySettings
from helix_memory.client.results import Memory
from helix_memory.transport import connection
from helix_memory.transport.dead_letters import Filter
from helix_shared.text.flags import flags_of
from tests.unit.gateway.explorers import memory


def test_what_ingest_flags_as_invisible_is_shown() -> None:
    """Every character that gives a text the flag has a mark, also a selector of variants."""
    hidden = [
        one
        for one in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(one) in ("Cc", "Cf") or "VARIATION SELECTOR" in unicodedata.name(one, "")
    ]
    flagged = [one for one in hidden if "invisible" in flags_of(f"a{one}b")]
    assert {"\x00", "\u202e", "\U000e0100", "\U000e01ef"} <= set(flagged)
    assert [one for one in flagged if 'class="mark"' not in shown(f"a{one}b")] == []


def test_the_body_of_a_letter_is_bounded() -> None:
    """A tenant wrote it: neither depth nor indentation makes it longer than the page shows."""
    deep = "[" * 400 + "1," * 5_000 + "1" + "]" * 400
    assert readable(deep.encode()) == deep
    assert readable(b"[" * 100_000) == "[" * 100_000
    wide = readable(b"[" * 30 + b"1," * 90_000 + b"1" + b"]" * 30)
    assert SHOWN_CHARACTERS < len(wide) < SHOWN_CHARACTERS + 100
    assert readable(b'{"a": [1]}') == '{\n  "a": [\n    1\n  ]\n}'


def test_times_that_are_nearly_equal_have_no_bars() -> None:
    """A fortieth of a microsecond is no time."""
    at = datetime(2026, 11, 2, tzinfo=UTC)

    def bars_of(*times: datetime) -> int:
        return len(bars([replace(Memory.of(memory()), occurred_at=one) for one in times]))

    assert bars_of(at, at + timedelta(microseconds=1)) == 0
    assert bars_of(at, at + timedelta(days=1)) == BARS
    assert bars_of(at) == bars_of() == 0


def test_the_last_bar_has_the_newest_memory() -> None:
    """A span of time ends before its last moment, so a link to the last bar showed nothing."""
    times = [datetime(2026, 11, day, tzinfo=UTC) for day in (2, 3, 9)]
    found = bars([replace(Memory.of(memory()), occurred_at=one) for one in times])
    assert [sum(bar.since <= one < bar.until for one in times) for bar in found] == [
        bar.count for bar in found
    ]
    assert all(bar.until == following.since for bar, following in pairwise(found))


async def test_no_stream_means_no_dead_letters_and_a_closed_connection_is_opened_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A connection that gave up does not stay for ever."""
    opened: list[SimpleNamespace] = []

    async def stream_info(_: str) -> None:
        raise NoStreamError

    async def connect(*_: Any, **__: Any) -> SimpleNamespace:
        js = SimpleNamespace(stream_info=stream_info)
        opened.append(SimpleNamespace(is_closed=False, jetstream=lambda **_: js))
        return opened[-1]

    monkeypatch.setattr(connection, "connect", connect)
    broker = Broker(GatewaySettings.load())
    assert await broker.letters(limit=5, before=0, only=Filter()) == []
    assert await broker.streams() == []
    assert len(opened) == 1
    opened[0].is_closed = True
    assert await broker.streams() == []
    assert len(opened) == 2
