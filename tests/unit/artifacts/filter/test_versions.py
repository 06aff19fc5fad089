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
    """A row whose ordinal is its sequence and that was created that many microseconds after 1970."""
    plain = {"tenant_id": "acme", "corrects": "", "document_id": "", "is_latest": False}
    made = {"ordinal": sequence, "memory_id": name, "stream_sequence": sequence}
    return plain | made | {"created_at": datetime.fromtimestamp(0, UTC).replace(microsecond=sequence)} | given


def superseded_at(hidden: list[dict[str, Any]], others: list[dict[str, Any]] = []) -> dict[str, int]:  # noqa: B006 - never written to
    """When each hidden row was superseded, among the rows of a whole table."""
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
    """Of the memory it names, in the same tenant, and of nothing that came after it."""
    hidden = [row("a", 3), row("b", 4)]
    others = [
        row("a2", 8, corrects="a"),
        row("b2", 2, corrects="b"),
        row("b3", 9, corrects="b", tenant_id="globex"),
    ]
    assert superseded_at(hidden, others) == {"a": 8, "b": ALWAYS}


def test_a_correction_that_was_forgotten_supersedes_at_no_time() -> None:
    """The next one that is not forgotten does; without one the time is unknown, as for an erased one."""
    gone = {"deleted_at": datetime(2026, 1, 1, tzinfo=UTC)}
    hidden = [row("a", 3), row("b", 4)]
    others = [
        row("a2", 8, corrects="a", **gone),
        row("b2", 9, corrects="b", **gone),
        row("b3", 11, corrects="b"),
    ]
    assert superseded_at(hidden, others) == {"a": ALWAYS, "b": 11}


def test_the_first_of_several_corrections_counts() -> None:
    """The memory from the first one on, the first one from the second on."""
    hidden = [row("a", 3), row("a2", 5, corrects="a")]
    assert superseded_at(hidden, [row("a3", 8, corrects="a")]) == {"a": 5, "a2": 8}


def test_a_chain_of_corrections_is_followed_link_by_link() -> None:
    """Each version until the one that names it."""
    hidden = [row("a", 3), row("b", 5, corrects="a")]
    assert superseded_at(hidden, [row("c", 8, corrects="b")]) == {"a": 5, "b": 8}


def test_pieces_of_a_document_hold_until_its_next_version() -> None:
    """All pieces of one event share its sequence; other documents and tenants do not count."""
    hidden = [row("p0", 3, document_id="d"), row("p1", 3, document_id="d", ordinal=4)]
    others = [
        row("q0", 7, document_id="d"), row("q1", 7, document_id="d"), row("r", 5, document_id="e"),
        row("s", 5, document_id="d", tenant_id="globex"),
    ]  # fmt: skip
    assert superseded_at(hidden, others) == {"p0": 7, "p1": 7}


def test_what_nothing_supersedes_any_more_counts_as_superseded_always() -> None:
    """A document that was deleted leaves no trace of when; it stays absent."""
    assert superseded_at([row("p", 3, document_id="d")]) == {"p": ALWAYS}


def test_what_is_latest_was_hidden_by_its_expiry_alone() -> None:
    """Whether it had expired at a moment is told by its own times."""
    assert superseded_at([row("e", 3, is_latest=True)]) == {"e": NEVER}


def test_current_is_asked_of_any_ordinals() -> None:
    """Those not among the hidden are not current by it; a memory superseded at the moment is not, either."""
    versions = Versions(np.array([2, 5], np.int64), np.array([10, NEVER], np.int64))
    ordinals = np.array([0, 2, 5, 9], np.int64)
    assert versions.is_current_at(ordinals, 9).tolist() == [False, True, True, False]
    assert versions.is_current_at(ordinals, 10).tolist() == [False, False, True, False]
    none = Versions(np.empty(0, np.int64), np.empty(0, np.int64))
    assert none.is_current_at(ordinals, 9).tolist() == [False] * 4
