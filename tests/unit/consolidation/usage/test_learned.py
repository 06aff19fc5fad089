"""A learned query adapter goes with what it was fitted with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from helix_consolidation.ledger.event_reach import TENANT, value_code
from helix_consolidation.ledger.lifecycle.tombstone_log import Record, Table
from helix_consolidation.ledger.lifecycle.tombstones import Tombstones
from helix_consolidation.usage.learned import remove_fitted_with_erased
from helix_shared.artifacts.learned_adapters import (
    LearnedCard,
    has_withheld,
    publish_learned,
    tenants_with_cards,
)
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS

if TYPE_CHECKING:
    from pathlib import Path

MEMORY = "ab" * 16


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data folder where two tenants have an adapter that names the same memory, user and session."""
    adapter = QueryAdapter(
        "a" * 64,
        np.zeros((8, 8), np.float32),
        np.zeros((CODE_BITS, CODE_BITS), np.float32),
        np.eye(8, CODE_BITS, dtype=np.float32),
    )
    for tenant in ("acme", "other"):
        card = LearnedCard(
            tenant_id=tenant,
            number=1,
            encoder="a" * 64,
            adapter="0" * 64,
            memories="0" * 64,
            fitted_at=datetime(2026, 3, 4, tzinfo=UTC),
            generation=7,
            questions=80,
            held_out={},
            askers={"ana": 12},
            sessions={"s1": 20},
        )
        publish_learned(tmp_path, adapter.save, card, [MEMORY, "cd" * 16])
    return tmp_path


def erased_memory(memory_id: str) -> Tombstones:
    """What is left of an erased memory of acme."""
    found = Tombstones()
    found.restore(Record(Table.ERASED_MEMORIES, value_code("acme", "memory", memory_id), 0, 5, 30, 1))
    return found


def test_an_erased_memory_takes_the_adapter_of_its_tenant_along(root: Path) -> None:
    """The ids of another tenant are other memories."""
    assert remove_fitted_with_erased(root, erased_memory(MEMORY)) == ["acme"]
    assert tenants_with_cards(root) == ["other"]


def test_an_erased_memory_that_was_not_part_of_the_fit_changes_nothing(root: Path) -> None:
    """Otherwise a tenant that erases now and then would never keep an adapter."""
    assert remove_fitted_with_erased(root, erased_memory("ef" * 16)) == []
    assert remove_fitted_with_erased(root, Tombstones()) == []


@pytest.mark.parametrize(
    ("kind", "name", "sequence", "removed"),
    [
        ("user", "ana", 13, ["acme"]),
        ("user", "ana", 11, []),
        ("user", "bob", 40, []),
        ("session", "s1", 21, ["acme"]),
        ("session", "s1", 19, []),
        ("session", "ana", 40, []),
    ],
)
def test_the_erasure_of_who_asked_takes_it_along(
    root: Path, kind: str, name: str, sequence: int, removed: list[str]
) -> None:
    """If it came after their first question."""
    tombstones = Tombstones()
    selector = value_code("acme", "user" if kind == "user" else "session", name)
    tombstones.record_erasure(selector, TENANT, sequence)
    assert remove_fitted_with_erased(root, tombstones) == removed


def test_an_adapter_whose_list_cannot_be_read_is_removed(root: Path) -> None:
    """Nobody could tell any more what it was fitted with."""
    (root / "adapters" / "acme" / "000001.memories").write_text("")
    assert remove_fitted_with_erased(root, Tombstones()) == ["acme"]


@pytest.mark.parametrize("kept", ["000001.npz", "000001.memories"])
def test_what_a_killed_process_left_is_removed(root: Path, kept: str) -> None:
    """Without its card, an adapter is not served, but its matrix was fitted with memories."""
    for path in (root / "adapters" / "acme").iterdir():
        if path.name != kept:
            path.unlink()
    assert remove_fitted_with_erased(root, Tombstones()) == []
    assert [path.name for path in (root / "adapters").iterdir()] == ["other"]


def test_a_file_that_cannot_be_removed_ends_nothing_and_withholds_the_adapter(root: Path) -> None:
    """The other tenants are looked at, and the next call tries again."""
    tombstones = erased_memory(MEMORY)
    tombstones.restore(Record(Table.ERASED_MEMORIES, value_code("other", "memory", MEMORY), 0, 5, 30, 1))
    obstacle = root / "adapters" / "acme" / "folder"
    obstacle.mkdir()
    assert remove_fitted_with_erased(root, tombstones) == ["other"]
    assert [path.name for path in (root / "adapters-withheld").iterdir()] == ["acme"]
    assert has_withheld(root)
    obstacle.rmdir()
    remove_fitted_with_erased(root, tombstones)
    assert not has_withheld(root)
    assert list((root / "adapters").iterdir()) == []
