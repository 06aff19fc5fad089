import io
import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_cli.sources.jsonl import LINE_BYTES, derived_event_id, read_events
from helix_memory import events, limits
from helix_shared.sources.lines import numbered_lines
from helix_shared.sources.source_event import BODY_BYTES, Refusal, SourceEvent

MESSAGE = {"kind": "message", "tenant_id": "acme", "session_id": "s1", "role": "user", "text": "hello"}


def read(*lines: object, tenant_id: str = "") -> list[SourceEvent | Refusal]:
    """The entries of these lines."""
    body = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return list(read_events(io.BytesIO(body), "file", tenant_id=tenant_id))


def only(items: list[SourceEvent | Refusal]) -> SourceEvent:
    """The one event."""
    (item,) = items
    assert isinstance(item, SourceEvent), item
    return item


def test_a_line_without_id_gets_one_that_follows_from_its_content() -> None:
    """The same content has the same id, however its keys are ordered; other content has another."""
    first = only(read(MESSAGE)).event.event_id
    assert first == only(read(dict(reversed(MESSAGE.items())))).event.event_id
    assert first != only(read(MESSAGE | {"text": "bye"})).event.event_id


def test_an_id_tells_nothing_of_a_private_passage() -> None:
    """A short one could be found by trying ids."""
    first, second = (
        only(read(MESSAGE | {"text": f"My code is <private>{code}</private>, change it."})).event
        for code in (4711, 4712)
    )
    assert first == second.model_copy(update={"occurred_at": first.occurred_at})  # type: ignore[attr-defined]
    assert "4711" not in first.text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "acts_again"),
    [
        ({"kind": "erase", "of_user": "ann"}, True),
        ({"kind": "forget", "of_session": "s1"}, True),
        ({"kind": "document", "document_id": "notes", "deleted": True}, True),
        ({"kind": "feedback", "helpful": ["a" * 32]}, False),
        ({"kind": "session", "session_id": "s1", "phase": "ended"}, False),
    ],
)
def test_a_line_that_hides_acts_again_and_any_other_is_not_doubled(
    line: dict[str, object], *, acts_again: bool
) -> None:
    """Publishing a file again after a failure counts nothing twice, but an erasure applies again."""
    first, second = (only(read(line, tenant_id="acme")).event.event_id for _ in range(2))
    assert (first != second) is acts_again


def test_the_derived_id_is_the_sha256_of_canonical_json() -> None:
    """The expected value is from `printf '{"a":1,"b":"x"}' | sha256sum`."""
    expected = "ecf9e98ec0641e23113ff3ce8bdc78d0ddd249886517fd4a7f68cc83d4e65667"
    assert expected == derived_event_id({"b": "x", "a": 1})


def test_a_given_id_is_kept() -> None:
    """An id in the line is kept."""
    assert only(read(MESSAGE | {"event_id": "e-7"})).event.event_id == "e-7"


def test_a_default_tenant_fills_in_and_never_overrides() -> None:
    """A line that names its tenant keeps it."""
    nameless = {key: value for key, value in MESSAGE.items() if key != "tenant_id"}
    tenants = [only(read(line, tenant_id="other")).event.tenant_id for line in (nameless, MESSAGE)]
    assert tenants == ["other", "acme"]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"{not json", "line"),
        (b"[1, 2]", "line"),
        (b"\xff\xfe", "line"),
        (b"[" * 100_000, "line"),
        (MESSAGE | {"txt": "typo"}, "txt"),
        (MESSAGE | {"text": "  "}, "text"),
        (MESSAGE | {"tenant_id": "a.b"}, "tenant_id"),
        (MESSAGE | {"kind": "chat"}, "kind"),
        (MESSAGE | {"text": "x" * (limits.TEXT_CHARACTERS + 1)}, "text"),
    ],
)
def test_a_bad_line_names_its_place_and_field(line: object, field: str) -> None:
    """The refusal has `file:line` and the field; the other lines are read."""
    before, bad, after = read(MESSAGE, line, MESSAGE | {"text": "next"})
    assert isinstance(before, SourceEvent)
    assert isinstance(after, SourceEvent)
    assert isinstance(bad, Refusal)
    assert (bad.where, bad.field) == ("file:2", field)
    assert bad.reason


def test_an_event_larger_than_the_stream_takes_is_refused_before_it_is_sent() -> None:
    """100,000 characters of four bytes are within the limit of characters and exceed that of bytes."""
    (item,) = read(MESSAGE | {"text": "\N{GRINNING FACE}" * limits.TEXT_CHARACTERS})
    assert isinstance(item, Refusal)
    assert str(BODY_BYTES) in item.reason


def test_blank_lines_count_but_are_no_events() -> None:
    """The second event is on line 4."""
    lines = list(numbered_lines(io.BytesIO(b"\xef\xbb\xbfa\r\n\n  \nb"), "f", line_bytes=LINE_BYTES))
    assert lines == [("f:1", b"a"), ("f:4", b"b")]


@pytest.mark.parametrize("length", [10, 11, 19, 20, 21, 22, 35])
def test_a_line_too_long_is_refused_whole_and_the_next_one_is_read(length: int) -> None:
    """At any length, the rest of a long line is not read as another line."""
    stream = io.BytesIO(b"a" * length + b"\nb\n")
    (_, first), second = list(numbered_lines(stream, "f", line_bytes=10))
    assert (first == b"a" * 10) if length == 10 else isinstance(first, Refusal)
    assert second == ("f:2", b"b")


@given(st.binary(max_size=400))
def test_any_bytes_end_in_events_or_refusals(body: bytes) -> None:
    """Reading never raises, for any content."""
    for item in read_events(io.BytesIO(body), "f"):
        assert isinstance(item, SourceEvent | Refusal)


def test_what_is_read_can_be_encoded_and_parsed_again() -> None:
    """The event that was checked is the event that is sent."""
    event = only(read(MESSAGE)).event
    assert events.parse_event(events.encode_event(event)) == event


def test_a_time_without_a_zone_is_one_of_the_zone_that_is_named() -> None:
    """Without a named zone it is refused: the file may come from anywhere."""
    line = json.dumps(MESSAGE | {"occurred_at": "2026-03-02T18:30"}).encode()
    (refused,) = read_events(io.BytesIO(line), "file")
    assert isinstance(refused, Refusal)
    assert refused.field == "occurred_at"
    read_again = only(list(read_events(io.BytesIO(line), "file", zone=ZoneInfo("Europe/Madrid"))))
    assert read_again.event.occurred_at == datetime(2026, 3, 2, 17, 30, tzinfo=UTC)
    with_offset = line.replace(b"18:30", b"18:30Z")
    assert only(
        list(read_events(io.BytesIO(with_offset), "file", zone=ZoneInfo("Europe/Madrid")))
    ).event.occurred_at
    wrong = line.replace(b"2026-03-02T18:30", b"soon")
    (refused,) = read_events(io.BytesIO(wrong), "file", zone=ZoneInfo("Europe/Madrid"))
    assert isinstance(refused, Refusal)


def test_a_time_that_the_named_zone_cannot_have_is_refused() -> None:
    """Year 1 began there before all times; the lines after it are read."""
    lines = [json.dumps(MESSAGE | {"occurred_at": at}).encode() for at in ("0001-01-01", "2026-03-02")]
    refused, _ = read_events(io.BytesIO(b"\n".join(lines)), "file", zone=ZoneInfo("Asia/Tokyo"))
    assert isinstance(refused, Refusal)
    assert (refused.field, refused.reason) == ("occurred_at", "must lie in the years 1001 to 2999")
