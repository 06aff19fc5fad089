"""The table of dead letters, in wide and in narrow terminals."""

from __future__ import annotations

import pytest

from helix_cli.commands.common.letters import print_letters
from helix_memory.transport.dead_letters import DeadLetter

REASON = "event does not fit: text is longer than 100,000 characters"


@pytest.mark.parametrize(("columns", "is_whole"), [(80, False), (160, True)])
def test_a_reason_can_be_read_in_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_whole: bool
) -> None:
    """What `helix dlq show` says anyway gives it room: no word of the reason is broken."""
    monkeypatch.setenv("COLUMNS", str(columns))
    print_letters(
        [
            DeadLetter(
                sequence=17,
                stored_at="2026-11-30T21:40:00.000000Z",
                service="consolidation",
                tenant_id="acme",
                reason=REASON,
                size_bytes=99,
                event_sequence=812,
                attempts=1,
                redrives=1,
                subject="helix.events.acme.message",
                stream="HELIX_EVENTS",
                stream_sequence=812,
            )
        ]
    )
    said = capsys.readouterr().out
    assert ("attempts" in said) is is_whole
    assert all(word in said for word in REASON.split())
