import base64
import json
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_memory.adapters import conditions, records
from helix_memory.adapters.namespaces import listed_namespaces
from helix_memory.adapters.reading import grouped
from helix_memory.adapters.record_store import RecordStore
from helix_memory.adapters.records import Record
from helix_memory.adapters.texts import text_of
from helix_memory.adapters.turns import last_question, session_token
from helix_memory.client import InvalidInputError, Memory, MemoryPage, SessionEntry, SessionPage
from helix_memory.recall.v1 import recall_pb2


def _pieces(
    record: Record, cuts: list[int], *, user: str = "", event: str = "e", **times: Any
) -> list[Memory]:
    """The pieces that ingest makes of a record: cut anywhere, without outer white space."""
    edges = sorted({0, len(record.body), *(cut % (len(record.body) + 1) for cut in cuts)})
    found = []
    for start, end in pairwise(edges):
        raw = record.body[start:end]
        begin = start + len(raw) - len(raw.lstrip())
        source = recall_pb2.Source(
            document_id=record.document_id, event_id=event, source_uri=record.uri,
            char_start=begin, char_end=begin + len(raw.strip()),
        )  # fmt: skip
        message = recall_pb2.Memory(
            user_id=user, session_id=record.session, text=raw.strip(), source=source, **times
        )
        if raw.strip():
            found.append(Memory.of(message))
    return found


@given(
    words=st.lists(st.sampled_from(["a", "deploy", "é", "\U0001f408", "x\u200b"]), min_size=1, max_size=12),
    white=st.lists(
        st.sampled_from([" ", "  ", "\n", "\r\n\t", "\u2003", "\u2028", ""]), min_size=13, max_size=13
    ),
    cuts=st.lists(st.integers(0, 200), max_size=6),
)
def test_a_text_comes_back_from_its_pieces_to_the_last_white_space(
    words: list[str], white: list[str], cuts: list[int]
) -> None:
    """Wherever it was cut; without one of its pieces there is no text rather than half of one."""
    body = white[0] + "".join(word + gap for word, gap in zip(words, white[1:], strict=False))
    record = Record.of("langchain", "docs", "1", body, {"metadata": {"n": 1}}, field="metadata")
    pieces = _pieces(record, cuts)
    note = records.note_of("langchain", pieces[0])
    assert note is not None
    assert records.body_of(note, reversed(pieces)) == body
    assert records.body_of(note, pieces[1:]) is None
    assert records.note_of("langgraph", pieces[0]) is None


def _forged(text: str, *, name: str = "1", space: Any = "docs") -> Memory:
    """A memory of the place of an item, whose note is this text."""
    record = Record("", records.session_of("langchain", space), "one two", f"langchain:record?{text}")
    (piece,) = _pieces(replace(record, document_id=records.document_of("langchain", space, name)), [])
    return piece


NOTE: dict[str, Any] = {"metadata": {}, "space": "docs", "name": "1", "length": 7, "seen": 6}


def test_a_valid_note_is_read() -> None:
    """The control of the forged ones below."""
    piece = _forged(json.dumps(NOTE))
    assert records.note_of("langchain", piece) == NOTE
    assert records.body_of(NOTE, [piece]) == "one two"


@pytest.mark.parametrize(
    "change",
    [
        {"length": 10**10}, {"length": -1}, {"length": True}, {"length": "7"}, {"length": None},
        {"seen": None}, {"seen": 10**10}, {"name": None}, {"name": 1}, {"name": "2"},
        {"space": None}, {"space": "others"}, {"space": ["docs"]}, {"space": [1]}, {"white": 1},
        {"searched": "no"},
    ],
)  # fmt: skip
def test_a_forged_note_is_no_record(change: dict[str, Any]) -> None:
    """A field of a wrong type or out of its bounds, or the place of another item."""
    assert records.note_of("langchain", _forged(json.dumps(NOTE | change))) is None


@pytest.mark.parametrize("field", ["space", "name", "length", "seen"])
def test_a_note_without_a_field_is_no_record(field: str) -> None:
    """Each of them is needed."""
    text = json.dumps({name: value for name, value in NOTE.items() if name != field})
    assert records.note_of("langchain", _forged(text)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", "[" * 2_000])
def test_a_note_that_is_no_object_is_no_record(text: str) -> None:
    """Bad JSON raises nothing."""
    assert list(grouped("langchain", [_forged(text)], user="")) == []


def _white(runs: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(runs).encode())).decode()


@pytest.mark.parametrize(
    "white",
    [
        "?", "QUJD", _white(7), _white([7]), _white([[0]]), _white([[-1, "\n"]]), _white([[0, "x"]]),
        _white([[0, 1]]), _white([["0", "\n"]]),
    ],
)  # fmt: skip
def test_forged_white_space_gives_no_text(white: str) -> None:
    """What cannot be read raises nothing."""
    assert records.body_of(NOTE | {"white": white}, [_forged(json.dumps(NOTE))]) is None
    assert records.body_of(NOTE | {"white": _white([[3, "\n"]])}, [_forged(json.dumps(NOTE))]) is not None


class ListingHelix:
    """A client whose lists have these memories."""

    user = ""

    def __init__(self, memories: list[Memory]) -> None:
        self._memories = tuple(memories)

    def list(self, **_: Any) -> MemoryPage:
        """All of them."""
        return MemoryPage(memories=self._memories, next_page_token="", stale=False)

    def sessions(self, **_: Any) -> SessionPage:
        """The sessions of all of them."""
        ids = sorted({one.session_id for one in self._memories})
        entries = [SessionEntry(session_id=one, memories=1, first_at=None, last_at=None) for one in ids]
        return SessionPage(sessions=tuple(entries), next_page_token="", stale=False)


def test_forged_notes_hide_no_record() -> None:
    """Reads of a store return the valid records; one that the framework cannot use is left out, too."""
    texts = [json.dumps(NOTE | {"length": 10**10}), "{", json.dumps(NOTE | {"name": "2", "metadata": None})]
    forged = [_forged(text, name=str(n), space="docs") for n, text in enumerate(texts)]
    helix: Any = ListingHelix([*forged, _forged(json.dumps(NOTE))])
    store = RecordStore(helix, "langchain", is_item=lambda one: isinstance(one.note["metadata"], dict))
    assert [one.name for one in store.listed(["docs"])] == ["1"]
    assert [one.name for one in store.get("docs", ["0", "1", "2"])] == ["1"]
    assert store.spaces() == ["docs"]


@pytest.mark.parametrize(
    "value", [{1: "a"}, (1, 2), float("nan"), datetime.now(UTC), "\ud800", {"a": {1, 2}}]
)
def test_what_json_would_change_is_refused(value: Any) -> None:
    """A value comes back equal or is not taken."""
    with pytest.raises(InvalidInputError, match=r"^metadata: "):
        Record.of("langchain", "docs", "1", "text", {"metadata": value}, field="metadata")


def test_of_two_versions_and_two_owners_one_counts() -> None:
    """The caller's own document, and the later of two versions that pages of two generations hold."""
    record = Record.of("langchain", "docs", "1", "one two", {}, field="metadata")
    early, late = ({"created_at": datetime(2026, 1, day, tzinfo=UTC)} for day in (1, 2))
    old, new = _pieces(record, [4], event="old", **early), _pieces(record, [4], event="new", **late)
    general = _pieces(record, [], event="other", **late)
    mine = _pieces(record, [], event="mine", user="ana", **early)
    (found,) = grouped("langchain", [old[0], new[0], old[1], new[1]], user="ana")
    assert [one.event_id for one in found.pieces] == ["new", "new"]
    for order in ([*general, *mine], [*mine, *general]):
        (found,) = grouped("langchain", order, user="ana")
        assert [one.event_id for one in found.pieces] == ["mine"]


@pytest.mark.parametrize(
    ("wanted", "is_admitted"),
    [
        ({"n": 3}, True), ({"n": {"$gt": 2, "$lte": 3}}, True), ({"n": {"$lt": 3}}, False),
        ({"m": {"$gt": 0}}, False), ({"in": {"tags": ["a", "b"]}}, True), ({"in": {"tags": ["a"]}}, False),
        ({"n": {"$ne": 3}}, False), ({"text": {"$gte": 1}}, False), ({}, True), ({"m": None}, True),
    ],
)  # fmt: skip
def test_conditions_compare_fields(wanted: dict[str, Any], *, is_admitted: bool) -> None:
    """All must hold; what cannot be compared does not."""
    fields = {"n": 3, "text": "three", "in": {"tags": ["a", "b"]}}
    assert conditions.admits(conditions.checked(wanted), fields) is is_admitted


def test_an_unknown_operator_names_its_field() -> None:
    """No condition is ignored."""
    with pytest.raises(InvalidInputError, match=r"^filter.a.b: '\$in' is unknown"):
        conditions.checked({"a": {"b": {"$in": [1]}}})


def test_namespaces_match_at_both_ends() -> None:
    """`*` is any label, and a path that is longer than a namespace matches nothing."""
    known = [("a", "b", "c"), ("a", "c"), ("b", "a", "c")]

    def listed(*matches: tuple[str, tuple[str, ...]], depth: int | None = None) -> list[tuple[str, ...]]:
        return listed_namespaces(known, matches, max_depth=depth, offset=0, limit=9)

    assert listed(("prefix", ("a",)), ("suffix", ("*", "c"))) == [("a", "b", "c"), ("a", "c")]
    assert listed(("suffix", ("*", "*", "c"))) == [("a", "b", "c"), ("b", "a", "c")]
    assert listed(depth=1) == [("a",), ("b",)]


def test_the_searched_text_names_each_value() -> None:
    """Names and values, without the signs of JSON."""
    value = {"food": "I love pizza", "scores": [4, 5], "in": {"no": None, "yes": True}}
    assert text_of(value) == "food: I love pizza\nscores: 4\nscores: 5\nyes: True"


def test_sessions_and_questions_fit_their_limits() -> None:
    """A name that is no token becomes one, always the same; of a long question the end counts."""
    assert session_token("s-1") == "s-1"
    assert session_token("") == ""
    assert session_token("Trip / 1") == session_token("Trip / 1") != session_token("Trip / 2")
    assert session_token("-") != "-"
    assert last_question(["first?", "x" * 5_000 + " where?", " "]).endswith("x where?")
