"""Query adapters of single tenants are served as the data folder holds them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from helix_query.generations.learned_adapters import LearnedAdapters
from helix_query.profile.adapter import adapter_for
from helix_query.profile.sections.search import Embed
from helix_query.recall.query_adapter import adapter_of
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.learned_adapters import (
    LearnedCard,
    publish_learned,
    release,
    remove_learned,
    withhold,
)
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def encoder(models_dir: Path) -> Iterator[Encoder]:
    """The default model."""
    with Encoder.load(default_model(models_dir)) as loaded:
        yield loaded


def publish(root: Path, encoder: Encoder, tenant: str, *, model: str = "") -> int:
    """Publish the adapter of the package as that of a tenant; return its number."""
    package = adapter_for(encoder)
    assert package is not None
    card = LearnedCard(
        tenant_id=tenant,
        number=1,
        encoder=model or package.encoder,
        adapter="0" * 64,
        memories="0" * 64,
        fitted_at=datetime(2026, 3, 4, tzinfo=UTC),
        generation=1,
        questions=80,
        held_out={},
    )
    return publish_learned(root, package.save, card, []).number


def test_what_is_published_is_served_at_once_and_what_is_removed_is_not(
    tmp_path: Path, encoder: Encoder
) -> None:
    """For its tenant alone, in the numbers of the model's projection, without a new reader."""
    reader = LearnedAdapters(tmp_path)
    assert reader.of("acme", encoder) is None
    publish(tmp_path, encoder, "acme")
    first = reader.of("acme", encoder)
    assert first is not None
    assert first.number == 1
    assert np.array_equal(first.adapter.projection, encoder.required_projection().matrix)
    assert reader.of("acme", encoder) is first
    assert reader.of("other", encoder) is None
    publish(tmp_path, encoder, "acme")
    second = reader.of("acme", encoder)
    assert second is not None
    assert second.number == 2
    remove_learned(tmp_path, "acme")
    assert reader.of("acme", encoder) is None
    assert reader.counts(encoder) == (0, 0)


def test_an_adapter_that_could_not_be_removed_is_not_served(tmp_path: Path, encoder: Encoder) -> None:
    """Although it is whole and in memory; the status counts it as not used."""
    reader = LearnedAdapters(tmp_path)
    publish(tmp_path, encoder, "acme")
    assert reader.of("acme", encoder) is not None
    withhold(tmp_path, "acme")
    assert reader.of("acme", encoder) is None
    assert reader.counts(encoder) == (0, 1)
    release(tmp_path, "acme")
    assert reader.of("acme", encoder) is not None
    assert reader.counts(encoder) == (1, 0)


def test_an_adapter_of_another_model_or_a_damaged_one_is_refused(tmp_path: Path, encoder: Encoder) -> None:
    """The tenant is served with that of the package; the status counts them."""
    reader = LearnedAdapters(tmp_path)
    publish(tmp_path, encoder, "acme", model="f" * 64)
    publish(tmp_path, encoder, "fits")
    publish(tmp_path, encoder, "cut")
    path = tmp_path / "adapters" / "cut" / "000001.npz"
    path.write_bytes(path.read_bytes()[:-10])
    assert reader.of("acme", encoder) is None
    assert reader.of("cut", encoder) is None
    assert reader.of("fits", encoder) is not None
    assert reader.counts(encoder) == (2, 1)


def test_only_the_latest_stay_in_memory(tmp_path: Path, encoder: Encoder) -> None:
    """One that was dropped is read again."""
    reader = LearnedAdapters(tmp_path, capacity=2)
    for tenant in ("a", "b", "c"):
        publish(tmp_path, encoder, tenant)
    first, last = reader.of("a", encoder), reader.of("b", encoder)
    assert reader.of("a", encoder) is first
    assert reader.of("c", encoder) is not None
    assert reader.of("a", encoder) is first
    assert reader.of("b", encoder) is not last


@pytest.mark.parametrize(
    ("constants", "as_of", "name"),
    [
        (Embed(adapted=True, learned=True), None, "learned 1"),
        (Embed(adapted=True, learned=False), None, "package"),
        (Embed(adapted=False, learned=True), None, ""),
        (Embed(adapted=True, learned=True), datetime(2026, 3, 5, tzinfo=UTC), "package"),
    ],
)
def test_the_profile_decides_and_the_past_knows_nothing_of_it(
    tmp_path: Path, encoder: Encoder, constants: Embed, as_of: datetime | None, name: str
) -> None:
    """One switch, and no adapter at all without `adapted`; another tenant has that of the package."""
    publish(tmp_path, encoder, "acme")
    reader = LearnedAdapters(tmp_path)
    found = adapter_of(Selection("acme", as_of=as_of), encoder, reader, constants)
    assert found.name == name
    assert (found.adapter is None) == (name == "")
    other = adapter_of(Selection("other"), encoder, reader, constants)
    assert other.name == ("package" if constants.adapted else "")
    assert adapter_of(Selection("acme"), encoder, None, constants).name == other.name
