from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.filter.versions import ALWAYS, NEVER, Versions
from helix_shared.artifacts.signals.columns import NO_TIME

TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("ordinal", pa.int64()), ("memory_id", pa.string()), ("tenant_id", pa.string()),
        ("corrects", pa.string()), ("document_id", pa.string()), ("is_latest", pa.bool_()),
        ("stream_sequence", pa.uint64()), ("created_at", TIME), ("deleted_at", TIME), ("occurred_at", TIME),
        ("superseded_by", pa.string()), ("valid_to", TIME),
        ("decayed_at", TIME),
    ]
)  # fmt: skip


def row(name: str, sequence: int, **given: Any) -> dict[str, Any]:
    """A row whose ordinal, sequence and time of creation (microseconds since 1970) are equal."""
    plain = {"tenant_id": "acme", "corrects": "", "document_id": "", "is_latest": False, "superseded_by": ""}
    made = {"ordinal": sequence, "memory_id": name, "stream_sequence": sequence}
    return plain | made | dict.fromkeys(("created_at", "occurred_at"), at(sequence)) | given


def at(microsecond: int) -> datetime:
    """Microseconds since 1970."""
    return datetime.fromtimestamp(0, UTC).replace(microsecond=microsecond)


def superseded_at(hidden: list[dict[str, Any]], others: list[dict[str, Any]] = []) -> dict[str, int]:  # noqa: B006 - never written to
    """When each hidden row was superseded, by memory id, for a table of these rows."""
    table = pa.Table.from_pylist([*hidden, *others], schema=SCHEMA)

    def read(condition: str, columns: Any) -> pa.Table:
        mask = {
            "hidden = true AND deleted_at IS NULL": pa.array(
                [n < len(hidden) for n in range(table.num_rows)]
            ),
            "corrects != '' AND deleted_at IS NULL": pa.compute.and_(
                pa.compute.not_equal(table["corrects"], ""), pa.compute.is_null(table["deleted_at"])
            ),
            "document_id != ''": pa.compute.not_equal(table["document_id"], ""),
            "memory_id IN ('b', 'gone')": pa.compute.is_in(table["memory_id"], pa.array(["b", "gone"])),
        }[condition]
        return table.filter(mask).select(list(columns))

    versions = Versions.read(read)
    names = {entry["ordinal"]: entry["memory_id"] for entry in hidden}
    return {
        names[o]: t for o, t in zip(versions.ordinals.tolist(), versions.superseded_at.tolist(), strict=True)
    }


def test_a_correction_supersedes_from_its_creation() -> None:
    """It supersedes the memory that it names, in the same tenant, and no later row."""
    hidden = [row("a", 3), row("b", 4)]
    others = [
        row("a2", 8, corrects="a"),
        row("b2", 2, corrects="b"),
        row("b3", 9, corrects="b", tenant_id="globex"),
    ]
    assert superseded_at(hidden, others) == {"a": 8, "b": ALWAYS}


def test_a_forgotten_correction_supersedes_nothing() -> None:
    """The next correction counts; without one the time is unknown, as for an erased correction."""
    gone = {"deleted_at": datetime(2026, 1, 1, tzinfo=UTC)}
    hidden = [row("a", 3), row("b", 4)]
    others = [
        row("a2", 8, corrects="a", **gone),
        row("b2", 9, corrects="b", **gone),
        row("b3", 11, corrects="b"),
    ]
    assert superseded_at(hidden, others) == {"a": ALWAYS, "b": 11}


def test_the_first_of_several_corrections_counts() -> None:
    """The memory is superseded by the first correction, the first by the second."""
    hidden = [row("a", 3), row("a2", 5, corrects="a")]
    assert superseded_at(hidden, [row("a3", 8, corrects="a")]) == {"a": 5, "a2": 8}


def test_each_correction_of_a_chain_is_superseded_by_the_next() -> None:
    """Each version is current until the one that names it."""
    hidden = [row("a", 3), row("b", 5, corrects="a")]
    assert superseded_at(hidden, [row("c", 8, corrects="b")]) == {"a": 5, "b": 8}


def test_pieces_of_a_document_are_current_until_its_next_version() -> None:
    """All pieces of an event share its sequence; other documents and tenants do not count."""
    hidden = [row("p0", 3, document_id="d"), row("p1", 3, document_id="d", ordinal=4)]
    others = [
        row("q0", 7, document_id="d"), row("q1", 7, document_id="d"), row("r", 5, document_id="e"),
        row("s", 5, document_id="d", tenant_id="globex"),
    ]  # fmt: skip
    assert superseded_at(hidden, others) == {"p0": 7, "p1": 7}


def test_an_unknown_time_counts_as_always_superseded() -> None:
    """The time is unknown when the document was deleted."""
    assert superseded_at([row("p", 3, document_id="d")]) == {"p": ALWAYS}


def test_a_latest_row_is_hidden_by_its_expiry_alone() -> None:
    """It was never superseded; its own times say when it expired."""
    assert superseded_at([row("e", 3, is_latest=True)]) == {"e": NEVER}


def test_is_current_at_takes_any_ordinals() -> None:
    """False for ordinals that are not hidden, and for a memory superseded at that very moment."""
    none = np.empty(0, np.int64)
    versions = Versions(np.array([2, 5]), np.array([10, NEVER]), np.array([7, NEVER]), np.array([3, NO_TIME]))
    ordinals = np.array([0, 2, 5, 9], np.int64)
    assert versions.is_current(ordinals, as_of=9, valid_at=None).tolist() == [False, True, True, False]
    assert versions.is_current(ordinals, as_of=10, valid_at=None).tolist() == [
        False,
        False,
        True,
        False,
    ]
    empty = Versions(none, none, none, none)
    assert empty.is_current(ordinals, as_of=9, valid_at=None).tolist() == [False] * 4


def test_what_superseded_it_counts_only_if_known_and_happened() -> None:
    """Created at 10, occurred at 7: both must be over; then the end that it set counts too."""
    versions = Versions(np.array([2]), np.array([10]), np.array([7]), np.array([3]))
    two, end = np.array([2]), np.array([1])

    def current(as_of: int | None, valid_at: int | None) -> tuple[bool, int]:
        when = {"as_of": as_of, "valid_at": valid_at}
        return bool(versions.is_current(two, **when)[0]), int(versions.ends(two, end, **when)[0])

    assert current(None, 6) == (True, 3)
    assert current(None, 7) == (False, 1)
    assert current(9, 8) == (True, 3)
    assert current(10, 7) == (False, 1)


def test_a_memory_that_a_later_one_closed_takes_the_times_of_that_one() -> None:
    """`superseded_by` names it; an unknown one makes the time unknown."""
    closed = [row("a", 3, superseded_by="b"), row("c", 4, superseded_by="gone")]
    assert superseded_at(closed, [row("b", 9)]) == {"a": 9, "c": ALWAYS}


def test_a_decayed_memory_was_current_until_it_decayed() -> None:
    """Decay hides it from then on, also for a recall of a past moment."""
    decayed_at = datetime.fromtimestamp(0, UTC).replace(microsecond=700)
    assert superseded_at([row("old", 1, is_latest=True, decayed_at=decayed_at)]) == {"old": 700}
