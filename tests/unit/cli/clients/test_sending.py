import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from helix_cli.clients.sending import AHEAD, IN_FLIGHT, Tally, off_thread, send_in_order
from helix_memory import events
from helix_memory.transport.publisher import PubAck
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.sources.source_event import Refusal, SourceEvent


class Log:
    """A stream that replies after a moment and records the order and the number of events in flight."""

    def __init__(self, *, refuse: str = "", fail: str = "") -> None:
        self.order: list[str] = []
        self.flying = self.most = 0
        self._refuse, self._fail = refuse, fail

    async def publish(self, event: events.Event) -> PubAck:
        """Acknowledge, refuse or fail."""
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(0.001 if event.event_id.endswith("1") else 0)
        self.flying -= 1
        if event.event_id == self._refuse:
            raise InvalidInputError("event", "too large")
        if event.event_id == self._fail:
            raise TemporaryError("server is away")
        self.order.append(event.event_id)
        return PubAck(len(self.order), duplicate=False)


def parsed(**fields: str) -> events.Event:
    """An event of acme."""
    return events.EVENT_ADAPTER.validate_python({"tenant_id": "acme", **fields})


def said(session: str, number: int) -> SourceEvent:
    """A message of a session."""
    fields = {"event_id": f"{session}-{number}", "session_id": session, "role": "user", "text": "hi"}
    return SourceEvent(f"f:{number}", parsed(kind="message", **fields))


def forgotten(event_id: str) -> SourceEvent:
    """An event that refers to others."""
    return SourceEvent("f:0", parsed(kind="forget", event_id=event_id, of_user="ada"))


def send(items: list[SourceEvent | Refusal], log: Log, *, in_flight: int = IN_FLIGHT) -> Tally:
    """Send the events and return the tally."""
    tally = Tally()
    asyncio.run(send_in_order(items, log.publish, tally=tally, in_flight=in_flight))
    return tally


def test_a_sessions_events_are_sent_in_order_and_sessions_side_by_side() -> None:
    """The first event of each session is slow; the others of the session wait for it."""
    items: list[SourceEvent | Refusal] = [said(s, n) for n in range(1, 30) for s in ("a", "b", "c")]
    log = Log()
    tally = send(items, log)
    for session in ("a", "b", "c"):
        assert [f"{session}-{n}" for n in range(1, 30)] == [e for e in log.order if e.startswith(session)]
    assert log.most == 3
    assert (tally.published, tally.last_sequence) == (87, 87)


def test_no_more_than_in_flight_are_unacknowledged() -> None:
    """50 sessions are ready, 4 events are allowed at once."""
    log = Log()
    send([said(f"s{n}", 1) for n in range(50)], log, in_flight=4)
    assert log.most == 4


def test_events_before_and_after_a_forget_keep_their_order() -> None:
    """A forget has the same position in the stream as in the file."""
    log = Log()
    send([said("a", 1), said("b", 1), forgotten("forget"), said("c", 2), said("d", 2)], log)
    assert log.order.index("forget") == 2


def test_a_refused_event_is_reported_and_the_session_continues() -> None:
    """The stream refuses one; the tally has its place in the file."""
    log = Log(refuse="a-2")
    tally = send([said("a", 1), said("a", 2), said("a", 3), Refusal("f:9", "text", "empty")], log)
    assert log.order == ["a-1", "a-3"]
    assert {(r.where, r.reason) for r in tally.refusals} == {("f:2", "too large"), ("f:9", "empty")}


def test_a_lost_server_ends_the_sending_and_nothing_of_the_session_follows() -> None:
    """The events after the failed one in its session are not sent."""
    log = Log(fail="a-2")
    with pytest.raises(TemporaryError, match="server is away"):
        send([said("a", n) for n in range(1, 6)], log)
    assert log.order == ["a-1"]


def test_more_events_than_are_read_ahead_all_arrive() -> None:
    """A session that is longer than `AHEAD` does not block itself."""
    log = Log()
    tally = send([said("a", n) for n in range(AHEAD * 2 + 5)], log)
    assert tally.published == AHEAD * 2 + 5


def test_a_failure_while_reading_reaches_the_caller() -> None:
    """An error while reading a file is raised."""

    def broken() -> Iterator[SourceEvent]:
        yield said("a", 1)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        asyncio.run(send_in_order(broken(), Log().publish, tally=Tally()))


def test_a_silent_pipe_does_not_stop_the_loop() -> None:
    """Other work of the event loop continues during a wait for the next line."""
    release = threading.Event()

    def pipe() -> Iterator[int]:
        yield 1
        release.wait(60)
        yield 2

    async def read() -> tuple[list[int], float]:
        asyncio.get_running_loop().call_later(0.05, release.set)
        started = time.monotonic()
        found = [number async for number in off_thread(pipe(), ahead=10)]
        return found, time.monotonic() - started

    found, seconds = asyncio.run(read())
    assert found == [1, 2]
    assert seconds < 30
