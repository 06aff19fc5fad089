"""Dead letters as they are read from their stream."""

from __future__ import annotations

import pytest
from nats.js.api import RawStreamMsg

from helix_memory import subjects
from helix_memory.transport.dead_letters import described


@pytest.mark.parametrize("stated", ["²", "9" * 5_000, "-1", "1.5", "", "٣"])
def test_a_header_that_is_no_number_does_not_hide_the_letter(stated: str) -> None:
    """Whoever may publish letters writes their headers: one of them ended the list of all others."""
    headers = {subjects.SEQUENCE_HEADER: stated, subjects.ATTEMPTS_HEADER: "8"}
    letter = described(RawStreamMsg(subject="helix.v1.dlq.ingest.acme", seq=1, headers=headers))
    assert (letter.stream_sequence, letter.attempts, letter.tenant_id) == (0, 8, "acme")
