from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from helix_shared.artifacts.filter.versions import ALWAYS, NEVER, Versions

TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("ordinal", pa.int64()), ("memory_id", pa.string()), ("tenant_id", pa.string()),
        ("corrects", pa.string()), ("document_id", pa.string()), ("is_latest", pa.bool_()),
        ("stream_sequence", pa.uint64()), ("created_at", TIME), ("deleted_at", TIME),
    ]
)  # fmt: skip


def row(name: str, sequence: int, **given: Any) -> dict[str, Any]:
    """A row whose ordinal, sequence and time of creation (microseconds since 1970) are equal."""
    plain = {"tenant_id": "acme", "corrects": "", "document_id": "", "is_latest": False}
    made = {"ordinal": sequence, "memory_id": name, "stream_sequence": sequence}
    return plain | made | {"created_at": datetime.fromtimestamp(0, UTC).replace(microsecond=sequence)} | given


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
    versions = Versions(np.array([2, 5], np.int64), np.array([10, NEVER], np.int64))
    ordinals = np.array([0, 2, 5, 9], np.int64)
    assert versions.is_current_at(ordinals, 9).tolist() == [False, True, True, False]
    assert versions.is_current_at(ordinals, 10).tolist() == [False, False, True, False]
    none = Versions(np.empty(0, np.int64), np.empty(0, np.int64))
    assert none.is_current_at(ordinals, 9).tolist() == [False] * 4
