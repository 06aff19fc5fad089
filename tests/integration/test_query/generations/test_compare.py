"""Stores that disagree although their counts agree: publishing takes them, the comparison names them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_consolidation.reconciliation.compare import compare
from helix_shared.artifacts.lexicon.writer import entries_of

pytestmark = pytest.mark.integration


def filled(corpus: Any) -> list[str]:
    """Ids of four memories of two tenants; the fourth is hidden."""
    ids: list[str] = corpus.add(
        [
            {"text": "The harbour has nine gates.", "entities": ["Harbour"]},
            {"text": "Gate four is closed.", "entities": ["Gate"]},
            {"text": "A foreign memory.", "tenant_id": "other"},
            {"text": "A hidden memory.", "hidden": True},
        ]
    )
    return ids


def test_sound_stores_have_no_difference(corpus: Any) -> None:
    """Also an empty generation."""
    corpus.publish()
    assert compare(corpus.root, 1).differences == []
    filled(corpus)
    corpus.publish()
    found = compare(corpus.root, 2)
    assert found.differences == []
    assert found.counts == {"memories": 4, "hidden": 1, "lexicon": 3, "signals": 4, "graph": 4}


def test_ids_in_one_store_and_not_in_another_are_named_by_tenant(corpus: Any) -> None:
    """The counts are equal, so publishing lets them pass."""
    ids = filled(corpus)
    hidden = corpus.live.vectors.take([3])
    shown = hidden.set_column(hidden.column_names.index("hidden"), "hidden", pa.array([False]))
    corpus.live.lexicon.delete([2])
    corpus.live.lexicon.upsert(entries_of(shown))
    corpus.live.lexicon.commit()
    corpus.live.signals.erase(np.array([0], np.int64))
    corpus.live.graph.remove(1)
    corpus.publish()
    found = {(one.kind, one.tenant_id): one.examples for one in compare(corpus.root, 1).differences}
    assert found == {
        ("in vectors, not in the lexicon", "other"): (ids[2],),
        ("in the lexicon, not recallable in vectors", "acme"): (ids[3],),
        ("hidden in only one of vectors and signals", "acme"): (ids[0],),
        ("in vectors, not in the graph", "acme"): (ids[1],),
    }
