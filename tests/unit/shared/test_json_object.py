import pytest

from helix_shared.json_object import json_object


def test_an_object_is_read_from_bytes_and_from_text() -> None:
    """Both are what callers have."""
    assert json_object(b'{"a": [1]}') == json_object('{"a": [1]}') == {"a": [1]}


@pytest.mark.parametrize("text", [None, b"", b"[1]", "null", b'{"a"', b"\xff\xfe{", b"[" * 100_000])
def test_what_is_no_object_is_empty(text: bytes | str | None) -> None:
    """Nothing raises, however damaged or deep it is."""
    assert json_object(text) == {}
