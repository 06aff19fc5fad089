"""Where a dead letter is stored."""

from __future__ import annotations

from typing import Any, cast

import pytest

from helix_memory import subjects
from helix_memory.transport.publisher import PubAck, Publisher
from helix_shared.broker.dead_letters import LetterOrigin, publish_dead_letter


class Stored:
    """A publisher that keeps the subjects."""

    def __init__(self) -> None:
        self.subjects: list[str] = []

    async def publish(self, subject: str, _: bytes, **__: Any) -> PubAck:
        """Keep the subject."""
        self.subjects.append(subject)
        return PubAck(len(self.subjects), duplicate=False)


@pytest.mark.parametrize(
    ("subject", "tenant"),
    [
        (subjects.event_subject("acme", "s1", "message"), "acme"),
        (subjects.derived_subject("memories", "acme"), "acme"),
        (subjects.pairs_subject("acme", 17), "acme"),
        ("helix.v1.events.acme.s1.message.more", "acme"),
        ("helix.v1.events.acme", "acme"),
        ("helix.v1.derived.memories", subjects.UNKNOWN_TENANT),
    ],
)
async def test_a_letter_is_of_the_tenant_that_the_refused_message_names(subject: str, tenant: str) -> None:
    """An erasure, and a list of letters, look for it by its tenant; one of pairs was of their event."""
    stored = Stored()
    origin = LetterOrigin(subject, "S", 3, 17)
    await publish_dead_letter(origin, b"", "no", service="extract", publisher=cast("Publisher", stored))
    assert stored.subjects == [f"helix.v1.dlq.extract.{tenant}"]
