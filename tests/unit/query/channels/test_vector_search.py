"""The dense channel over signals alone: how many stored vectors it compares, and what it finds."""

from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_query.recall.channels.vector_search import nearest_visible
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals.columns import COLUMNS, RECORD, SKETCH, TOKEN_CODES, blank, code
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.sketches import sketches_of
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.edges import MINHASH_PERMUTATIONS

MEMORIES, DIMENSIONS = 7_000, 384


def clustered(seed: int, count: int) -> NDArray[np.float32]:
    """Unit vectors around 150 centres, in directions of unequal weight."""
    drawn = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal((DIMENSIONS, DIMENSIONS), np.float32))[0]
    middle = np.random.default_rng(8).standard_normal((150, DIMENSIONS), np.float32)
    around = drawn.standard_normal((count, DIMENSIONS), np.float32)
    spread = (np.arange(1, DIMENSIONS + 1) ** -0.4).astype(np.float32)
    made = (middle[drawn.integers(0, 150, count)] + 2 * around) * spread @ turn
    unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def signals(tmp_path_factory: pytest.TempPathFactory) -> Signals:
    """One tenant's memories, all of them for everybody."""
    vectors = clustered(1, MEMORIES)
    columns = {name: blank(name, (MEMORIES,)) for name in COLUMNS}
    columns["hidden"][:] = False
    columns["tenant_code"][:] = code("acme")
    columns |= {"vector": vectors, SKETCH: sketches_of(vectors), RECORD: np.full(MEMORIES, b"{}", object)}
    columns[TOKEN_CODES] = np.full(MEMORIES, b"", object)
    columns["minhash"] = blank("minhash", (MEMORIES, MINHASH_PERMUTATIONS))
    folder = tmp_path_factory.mktemp("dense") / "signals"
    SignalsWriter.open(folder).append(np.arange(MEMORIES), columns)
    return Signals.open(folder)


def test_thousands_of_memories_have_few_stored_vectors_compared(
    signals: Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is on a page of its own; they are read in order, and the nearest are found."""
    compared: list[NDArray[np.int64]] = []
    cosines = Signals.cosines

    def noted(self: Signals, query: Any, ordinals: NDArray[np.int64]) -> Any:
        compared.append(ordinals)
        return cosines(self, query, ordinals)

    monkeypatch.setattr(Signals, "cosines", noted)
    view = Visibility(Selection("acme"), signals, datetime(2026, 3, 4, tzinfo=UTC))
    shares = []
    for query in clustered(2, 20):
        hits = nearest_visible(query, view, vectors=cast("Any", None), limit=100)
        exact = cosines(signals, query, np.arange(MEMORIES))
        shares.append(np.isin(np.argsort(-exact, kind="stable")[:100], hits.ordinals).mean())
        assert hits.scores.tolist() == np.sort(exact[hits.ordinals])[::-1].tolist()
    assert max(map(len, compared)) <= 2_048
    assert all((np.diff(ordinals) > 0).all() for ordinals in compared)
    assert np.mean(shares) > 0.99
