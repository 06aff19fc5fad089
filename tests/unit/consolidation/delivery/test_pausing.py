"""A request to pause, as any operator may send it."""

from __future__ import annotations

import pytest

from helix_consolidation.delivery.leading.pausing import LONGEST_SECONDS, decode_pause, encode_pause


@pytest.mark.parametrize("seconds", [0.0, 0.5, 9.75, LONGEST_SECONDS])
def test_a_request_says_how_long(seconds: float) -> None:
    """It is read as it was written."""
    assert decode_pause(encode_pause(seconds)) == seconds


@pytest.mark.parametrize("body", [b"", b"x", b"nan", b"-1", b"-inf", b"\xff", b"0x10", b"1,5"])
def test_what_is_no_length_pauses_nobody(body: bytes) -> None:
    """A writer that paused for it would hold back every generation."""
    assert decode_pause(body) == 0


@pytest.mark.parametrize("body", [b"1e9", b"inf", b"11"])
def test_no_request_pauses_for_long(body: bytes) -> None:
    """A command that was killed must not stop a writer."""
    assert decode_pause(body) == LONGEST_SECONDS
