"""A correction changes the fields it sets; all others are copied from the memory it corrects."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import pytest

from helix_consolidation.folding.corrections import VISIBILITY
from helix_ingest.kept_columns import kept_columns
from helix_memory.events import CorrectEvent, UndoEvent
from helix_shared.edges import memories_schema
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import NOON, Bench, Stream, lifecycle, row

FIRST: Final = memory_id("acme", "e1", 0)
SECOND: Final = memory_id("acme", "e2", 0)
THIRD: Final = memory_id("acme", "e3", 0)
FIELDS: Final[dict[str, Any]] = {
    "user_id": "ann",
    "acl": ["hr"],
    "shared": True,
    "project_id": "p",
    "session_id": "s",
    "categories": ["a", "b"],
    "type": "decision",
    "title": "Port",
    "salience": 0.25,
    "confidence": 0.75,
    "pinned": True,
    "priority": 1.5,
    "valid_from": NOON - timedelta(days=1),
    "valid_to": NOON + timedelta(days=1),
    "expires_at": NOON + timedelta(days=2),
    "event_start": NOON,
    "event_end": NOON,
    "event_guessed": True,
    "document_id": "d",
    "source_uri": "file:///d",
    "source_class": "user",
    "speaker": "Mo",
    "role": "assistant",
}
NEVER_SET = {"document_id", "source_uri", "source_class", "speaker", "role"}
"""What no correction sets."""


def correction(**fields: Any) -> CorrectEvent:
    """A correction of the first memory."""
    base = {"event_id": "e2", "tenant_id": "acme", "memory_id": FIRST, "text": "the port is 9090"}
    return CorrectEvent.model_validate(base | fields)


def test_every_column_a_correction_may_set_is_kept_where_it_is_absent() -> None:
    """Text, ids, storage times and vectors are always the correction's own."""
    rows = [{"event_start": None, "event_end": None}]
    assert set(kept_columns(correction(), rows)) == set(FIELDS) - set(VISIBILITY)
    assert set(FIELDS) < set(memories_schema(8).names)
    everything = set(FIELDS) - NEVER_SET - {"event_guessed"}
    fields = {("tags" if name == "categories" else name): FIELDS[name] for name in everything}
    assert set(kept_columns(correction(**fields), rows)) == NEVER_SET


def test_the_time_in_the_new_text_replaces_the_old_one() -> None:
    """A text that names a time has that time; one that names none keeps the old one, guessed or stated."""
    times = {"event_start", "event_end", "event_guessed"}
    named = [{"event_start": NOON, "event_end": NOON}]
    assert not times & set(kept_columns(correction(), named))
    unnamed = [{"event_start": None, "event_end": None}]
    assert times <= set(kept_columns(correction(), unnamed))
    assert not times & set(kept_columns(correction(event_end=None), unnamed))


@pytest.mark.parametrize("apart", [True, False])
def test_absent_fields_are_kept_through_a_chain_of_corrections(
    bench: Bench, stream: Stream, apart: bool
) -> None:
    """In one batch or several, and after a restart."""
    first = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080", **FIELDS)])
    new = [row("acme", "e2", 2, "the port is 9090", corrects=FIRST, piece=piece) for piece in (0, 1)]
    second = stream.memories("acme", "e2", 2, new, keeps=tuple(FIELDS))
    tags = row("acme", "e3", 3, "the port is 443", corrects=SECOND, categories=["c"], pinned=False)
    others = tuple(name for name in FIELDS if name not in ("categories", "pinned"))
    third = stream.memories("acme", "e3", 3, [tags], keeps=others)
    for batch in [[first], [second], [third]] if apart else [[first, second, third]]:
        assert bench.apply(*batch).dead == []
    bench.publish()
    stored = bench.reopened().rows()
    for piece in (SECOND, memory_id("acme", "e2", 1)):
        assert {name: stored[piece][name] for name in FIELDS} == FIELDS
    assert stored[SECOND]["text"] == "the port is 9090"
    assert (stored[SECOND]["owner"], stored[SECOND]["audience"]) == ("", ["hr"])
    kept = FIELDS | {"categories": ["c"], "pinned": False}
    assert {name: stored[THIRD][name] for name in FIELDS} == kept
    assert [stored[one]["is_latest"] for one in (FIRST, SECOND, THIRD)] == [False, False, True]


@pytest.mark.parametrize("is_undone", [False, True])
def test_a_correction_of_an_earlier_version_keeps_what_the_current_one_has(
    bench: Bench, stream: Stream, is_undone: bool
) -> None:
    """It was pinned in between, and the id is of before; an undone pin is not kept. Also delivered again."""
    first = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080", **FIELDS)])
    others = tuple(name for name in FIELDS if name != "pinned")
    pin = row("acme", "e2", 2, "the port is 8080", corrects=FIRST, pinned=not FIELDS["pinned"])
    bench.apply(first, stream.memories("acme", "e2", 2, [pin], keeps=others))
    undo = UndoEvent(event_id="u", tenant_id="acme", memory_id=SECOND)
    bench.apply(lifecycle(undo, 3) if is_undone else stream.memories("acme", "n", 3, []))
    new = stream.memories(
        "acme", "e3", 4, [row("acme", "e3", 4, "the port is 443", corrects=FIRST)], keeps=tuple(FIELDS)
    )
    for _ in range(2):
        bench.apply(new)
        assert {name: bench.rows()[memory_id("acme", "e3", 0)][name] for name in FIELDS} == FIELDS | {
            "pinned": FIELDS["pinned"] if is_undone else not FIELDS["pinned"]
        }


def test_a_redelivered_correction_keeps_what_it_kept(bench: Bench, stream: Stream) -> None:
    """The second delivery stores the same values."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080", **FIELDS)]))
    new = row("acme", "e2", 2, "the port is 9090", corrects=FIRST)
    second = stream.memories("acme", "e2", 2, [new], keeps=tuple(FIELDS))
    bench.apply(second)
    stored = bench.rows()
    bench.apply(second)
    assert bench.rows() == stored
    assert stored[SECOND]["categories"] == ["a", "b"]


def test_an_unknown_column_to_keep_is_dead_lettered(bench: Bench, stream: Stream) -> None:
    """As a newer worker may send it."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080")]))
    new = row("acme", "e2", 2, "the port is 9090", corrects=FIRST)
    ((_, error),) = bench.apply(stream.memories("acme", "e2", 2, [new], keeps=("colour",))).dead
    assert "colour" in str(error)
