"""Requests to redrive or drop letters: bounded, and refused as a whole where a field is wrong."""

import json
from typing import Any

import pytest

from helix_memory.transport.letter_requests import MOST_LETTERS, LetterRequest
from helix_shared.errors import InvalidInputError

SOUND: dict[str, Any] = {"action": "redrive", "letters": [3, 1], "wait_seconds": 5.0, "roles": ["admin"]}


def test_a_request_is_read_as_it_was_written() -> None:
    """With who asks."""
    sent = LetterRequest("drop", (3, 1), credential="c1", user_id="ana", roles=("admin",), address="10.0.0.7")
    assert LetterRequest.decode(sent.encode()) == sent
    assert LetterRequest.decode(json.dumps(SOUND).encode()).letters == (3, 1)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"action": "purge"}, "action"),
        ({"letters": []}, "letters"),
        ({"letters": [0]}, "letters"),
        ({"letters": ["1"]}, "letters"),
        ({"letters": list(range(1, MOST_LETTERS + 2))}, "letters"),
        ({"wait_seconds": 61}, "wait_seconds"),
        ({"wait_seconds": -1}, "wait_seconds"),
        ({"unknown": 1}, "request"),
        ({"letters": None}, "request"),
        ({"wait_seconds": "soon"}, "request"),
    ],
)
def test_a_wrong_field_is_named(wrong: dict[str, Any], field: str) -> None:
    """Nothing of such a request is carried out."""
    with pytest.raises(InvalidInputError, match=field):
        LetterRequest.decode(json.dumps(SOUND | wrong).encode())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_a_body_that_is_none_is_refused(body: bytes) -> None:
    """Whatever it holds."""
    with pytest.raises(InvalidInputError, match="request"):
        LetterRequest.decode(body)
