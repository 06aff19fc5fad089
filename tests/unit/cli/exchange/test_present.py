"""Which messages the log has already."""

import tracemalloc
from datetime import UTC, datetime

from helix_cli.exchange.present import PresentIds
from helix_shared.event_log.record import EventRecord

AT = datetime(2026, 11, 24, tzinfo=UTC)
MANY = 20_000


def record(sequence: int, message_id: str) -> EventRecord:
    """A message of the log, without its body."""
    return EventRecord(sequence, "helix.v1.events.acme.-.memory", AT, b"", message_id)


def test_an_id_is_found_with_the_sequence_of_its_last_message() -> None:
    """A log may hold an id twice; messages without one are none of them."""
    present = PresentIds()
    assert present.sequence_of("acme:1") is None
    present.add([record(1, "acme:1"), record(2, ""), record(3, "acme:2")])
    present.add([record(7, "acme:1")])
    present.sort()
    found = {name: present.sequence_of(name) for name in ("acme:1", "acme:2", "acme:3", "")}
    assert found == {"acme:1": 7, "acme:2": 3, "acme:3": None, "": None}


def test_every_id_is_found_whatever_its_digest_ends_with() -> None:
    """One digest in 256 ends with a zero byte, which numpy drops: such an event was imported twice."""
    present = PresentIds()
    present.add(record(n + 1, f"acme:{n}") for n in range(MANY))
    present.sort()
    assert [present.sequence_of(f"acme:{n}") for n in range(MANY)] == list(range(1, MANY + 1))
    assert all(present.sequence_of(f"other:{n}") is None for n in range(MANY))


def test_a_large_log_costs_little_memory_for_each_id() -> None:
    """The ids themselves would cost 200 bytes and more."""
    tracemalloc.start()
    present = PresentIds()
    present.add(record(n + 1, f"acme:{n:064x}") for n in range(MANY))
    present.sort()
    assert all(present.sequence_of(f"acme:{n:064x}") == n + 1 for n in range(0, MANY, 97))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 100 * MANY
