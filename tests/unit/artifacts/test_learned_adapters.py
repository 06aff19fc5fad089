"""The files of learned query adapters: replaced whole, checked, removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from helix_shared.artifacts.learned_adapters import (
    LearnedCard,
    adapter_path,
    memories_of,
    publish_learned,
    read_learned_card,
    release,
    remove_learned,
    remove_unfinished,
    state_of,
    tenants_with_cards,
    tenants_with_files,
    withhold,
)
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.encoders.token_codes import CODE_BITS
from helix_shared.errors import CorruptArtifactError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from pathlib import Path

CARD = LearnedCard(
    tenant_id="acme",
    number=1,
    encoder="a" * 64,
    adapter="0" * 64,
    memories="0" * 64,
    fitted_at=datetime(2026, 3, 4, tzinfo=UTC),
    generation=7,
    questions=80,
    held_out={},
    askers={"ana": 12},
)


def adapter(fill: float) -> QueryAdapter:
    """An adapter of eight dimensions."""
    states = np.zeros((CODE_BITS, CODE_BITS), np.float32)
    return QueryAdapter(
        "a" * 64, np.full((8, 8), fill, np.float32), states, np.eye(8, CODE_BITS, dtype=np.float32)
    )


def test_the_newest_fit_of_a_tenant_counts(tmp_path: Path) -> None:
    """A second one replaces the first, whose files go; another tenant has its own."""
    assert state_of(tmp_path, "acme") is None
    assert tenants_with_cards(tmp_path) == []
    first = publish_learned(tmp_path, adapter(0.25).save, CARD, ["b" * 32, "a" * 32])
    before = state_of(tmp_path, "acme")
    second = publish_learned(tmp_path, adapter(0.5).save, CARD, ["c" * 32])
    publish_learned(tmp_path, adapter(0.75).save, CARD.model_copy(update={"tenant_id": "zeta"}), [])
    assert (first.number, second.number) == (1, 2)
    assert before != state_of(tmp_path, "acme")
    assert read_learned_card(tmp_path, "acme") == second
    assert QueryAdapter.load(adapter_path(tmp_path, second)).of_vector[0, 0] == 0.5
    assert memories_of(tmp_path, second) == ["c" * 32]
    assert sorted(path.name for path in (tmp_path / "adapters" / "acme").iterdir()) == [
        "000002.memories",
        "000002.npz",
        "card.json",
    ]
    with pytest.raises(CorruptArtifactError, match="missing"):
        adapter_path(tmp_path, first)
    assert tenants_with_cards(tmp_path) == ["acme", "zeta"]


@pytest.mark.parametrize("name", ["000001.npz", "000001.memories", "card.json"])
def test_a_changed_file_is_refused(tmp_path: Path, name: str) -> None:
    """The card holds the checksums of both files, and is checked itself."""
    card = publish_learned(tmp_path, adapter(0.25).save, CARD, ["b" * 32])
    path = tmp_path / "adapters" / "acme" / name
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(CorruptArtifactError):
        _ = (
            adapter_path(tmp_path, card),
            memories_of(tmp_path, card),
            read_learned_card(tmp_path, "acme"),
        )


def test_a_removed_adapter_leaves_nothing(tmp_path: Path) -> None:
    """Removing what is not there says so."""
    publish_learned(tmp_path, adapter(0.25).save, CARD, ["b" * 32])
    assert remove_learned(tmp_path, "acme")
    assert not remove_learned(tmp_path, "acme")
    assert list((tmp_path / "adapters").iterdir()) == []
    with pytest.raises(NotFoundError, match="no learned adapter"):
        read_learned_card(tmp_path, "acme")


@pytest.mark.parametrize("tenant", ["..", "../acme", "", "a/b", "acme\n", "a" * 65, "\x00"])
def test_only_the_name_of_a_tenant_is_looked_up(tmp_path: Path, tenant: str) -> None:
    """A request may state anything as its tenant."""
    publish_learned(tmp_path, adapter(0.25).save, CARD, [])
    assert state_of(tmp_path / "adapters", tenant) is None
    assert not remove_learned(tmp_path, tenant)
    assert tenants_with_cards(tmp_path) == ["acme"]


def test_files_that_no_card_names_are_found_and_removed(tmp_path: Path) -> None:
    """A process may end between two files; those of a whole adapter stay."""
    for tenant in ("acme", "cut", "zeta"):
        publish_learned(tmp_path, adapter(0.25).save, CARD.model_copy(update={"tenant_id": tenant}), [])
    adapters = tmp_path / "adapters"
    (adapters / "cut" / "card.json").unlink()
    (adapters / "zeta" / "000002.npz").write_bytes(b"of a fit that was not finished")
    assert tenants_with_files(tmp_path) == ["acme", "cut", "zeta"]
    for tenant in tenants_with_files(tmp_path):
        remove_unfinished(tmp_path, tenant)
    left = sorted(str(path.relative_to(adapters)) for path in adapters.glob("*/*"))
    whole = ("000001.memories", "000001.npz", "card.json")
    assert left == [f"{tenant}/{name}" for tenant in ("acme", "zeta") for name in whole]
    assert tenants_with_files(tmp_path) == ["acme", "zeta"]


def test_a_fit_whose_files_are_removed_meanwhile_is_not_published(tmp_path: Path) -> None:
    """Consolidation may remove what no card names yet."""

    def save(path: Path) -> None:
        adapter(0.25).save(path)
        remove_unfinished(tmp_path, "acme")

    with pytest.raises(TemporaryError, match="fit again"):
        publish_learned(tmp_path, save, CARD, [])
    assert state_of(tmp_path, "acme") is None


def test_a_withheld_adapter_has_no_state(tmp_path: Path) -> None:
    """A mark beside the adapters, whose folder may not be writable."""
    publish_learned(tmp_path, adapter(0.25).save, CARD, [])
    withhold(tmp_path, "acme")
    assert state_of(tmp_path, "acme") is None
    publish_learned(tmp_path, adapter(0.5).save, CARD, [])
    assert state_of(tmp_path, "acme") is None
    release(tmp_path, "acme")
    assert state_of(tmp_path, "acme") is not None
