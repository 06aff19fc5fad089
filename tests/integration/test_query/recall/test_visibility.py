"""Visibility: the columns give the same result as the selection on rows, on every dense route."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_query.diagnostics.dense_check import channel_recall, largest_tenant
from helix_query.recall.channels import vector_search
from helix_query.recall.channels.vector_search import nearest_visible
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.filters import EventTime, Sessions, Types
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.signals.columns import code
from helix_shared.artifacts.vectors import index, maintenance
from tests.examples import examples

from .asking import NOW, opened

pytestmark = pytest.mark.integration

OWNERS = ("", "ada", "bob")
BY_SKETCH = {"MAX_SCANNED": 999, "MAX_WITHOUT_ESTIMATE": 0, "MIN_RESCORED": 0, "SKETCH_OVERFETCH": 4}
WAYS = {
    "scanned and compared": {"MAX_SCANNED": 999},
    "scanned by sketch, then filtered": BY_SKETCH | {"MIN_POSTFILTER_SHARE": 1e-9},
    "filtered, then scanned by sketch": BY_SKETCH | {"MIN_POSTFILTER_SHARE": 2.0},
    "too many access lists to read": BY_SKETCH | {"MAX_ACCESS_LISTS": 0},
    "index, then filtered": {"MAX_SCANNED": 0, "MIN_UNFILTERED_SHARE": 1e-9},
    "filtered by the engine": {"MAX_SCANNED": 0, "MIN_UNFILTERED_SHARE": 2.0},
}
AUDIENCES = (["*"], ["ops"], ["dev", "ops"], ["dev"])
TYPES = ("episodic", "semantic", "decision")


@pytest.fixture(scope="module")
def generation(corpus_type: Any, encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two tenants, three owners, four access lists, three types, sessions and days; some hidden."""
    rows = [
        {
            "text": f"note {number} about the garden",
            "tenant_id": "acme" if number % 3 else "other",
            "owner": OWNERS[number % 5 % 3],
            "audience": AUDIENCES[number // 3 % 4],
            "type": TYPES[number % 7 % 3],
            "session_id": f"s{number % 4}",
            "occurred_at": NOW - timedelta(days=number),
            "hidden": number % 11 == 0,
        }
        for number in range(120)
    ]
    with opened(corpus_type, encoder, tmp_path_factory.mktemp("view"), rows) as generation:
        yield generation


MOMENTS = st.none() | st.integers(0, 90).map(lambda days: NOW - timedelta(days=days))
SELECTIONS = st.builds(
    Selection,
    tenant_id=st.sampled_from(["acme", "other", "nobody"]),
    user_id=st.sampled_from(["", "ada", "eve"]),
    principals=st.sets(st.sampled_from(["ops", "dev", "sales"])).map(tuple),
    filters=st.tuples(
        st.none() | st.builds(Types, st.sets(st.sampled_from(TYPES), min_size=1, max_size=2).map(tuple)),
        st.none()
        | st.builds(
            Sessions, st.sets(st.sampled_from(["s0", "s1", "s9"]), min_size=1, max_size=2).map(tuple)
        ),
        st.none() | st.builds(EventTime, MOMENTS, MOMENTS),
    ).map(lambda filters: tuple(one for one in filters if one is not None)),
)


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(selection=SELECTIONS)
def test_the_view_sees_what_the_selection_admits(generation: Generation, selection: Selection) -> None:
    """Exactly the rows, as the vector table has them, that are not hidden and that `admits` lets in."""
    every = np.arange(120)
    rows = {row["ordinal"]: row for row in generation.vectors.take(every).to_pylist()}
    expected = [o for o in every.tolist() if not rows[o]["hidden"] and selection.admits(rows[o])]
    visibility = Visibility.of(generation, selection, NOW)
    assert every[visibility.is_visible(every)].tolist() == expected


def test_a_store_is_as_large_as_its_memories(corpus: Any, tmp_path: Path) -> None:
    """Memories written again and names of access lists do not make it larger, nor does another tenant."""
    rows = [{"text": f"note {number} about the garden", "audience": ["dev", "ops"]} for number in range(10)]
    caller = Selection("acme", principals=("dev", "ops"))
    for _ in range(3):
        corpus.add([dict(row) for row in rows])
        corpus.add([{"text": f"remark {number}", "tenant_id": "other"} for number in range(10)])
    with closing(Generation.open(corpus.root, corpus.publish(), scratch=tmp_path)) as generation:
        assert generation.lexicon.scopes(caller).memories == 10
        assert generation.lexicon.scopes(Selection("other")).memories == 10


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(selection=SELECTIONS, way=st.sampled_from(sorted(WAYS)))
def test_all_ways_of_the_dense_channel_find_the_same(
    generation: Generation, selection: Selection, way: str
) -> None:
    """The best ten are the same for every route to the candidates and every time of the check."""
    query = generation.signals.vectors(np.array([17]))[0]
    visibility = Visibility.of(generation, selection, NOW)
    seen = np.arange(120)[visibility.is_visible(np.arange(120))]
    expected = np.sort(generation.signals.cosines(query, seen))[::-1][:10]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way].items():
            patch.setattr(vector_search, name, value)
        hits = nearest_visible(query, visibility, vectors=generation.vectors, limit=10)
    assert set(hits.ordinals.tolist()) <= set(seen.tolist())
    np.testing.assert_allclose(hits.scores, expected, atol=1e-5)


def test_sketches_choose_who_is_compared(generation: Generation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred in sight a dozen have their stored vectors read, the nearest among them."""
    compared: list[int] = []
    cosines = type(generation.signals).cosines

    def counted(signals: Any, query: Any, ordinals: Any) -> Any:
        compared.append(len(ordinals))
        return cosines(signals, query, ordinals)

    monkeypatch.setattr(type(generation.signals), "cosines", counted)
    for name, value in BY_SKETCH.items():
        monkeypatch.setattr(vector_search, name, value)
    query = generation.signals.vectors(np.array([25]))[0]
    visibility = Visibility.of(generation, Selection("acme"), NOW)
    hits = nearest_visible(query, visibility, vectors=generation.vectors, limit=1)
    assert hits.ordinals.tolist() == [25]
    assert max(compared) < 40 < generation.signals.tenant_sketches.count(code("acme"))


@pytest.mark.parametrize("way", sorted(WAYS))
def test_what_the_caller_has_takes_no_place(
    generation: Generation, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a list of any length: after 20 already served memories the 5 next nearest are found."""
    for name, value in WAYS[way].items():
        monkeypatch.setattr(vector_search, name, value)
    query = generation.signals.vectors(np.array([25]))[0]
    visibility = Visibility.of(generation, Selection("acme", principals=("dev", "ops")), NOW)
    seen = np.arange(120)[visibility.is_visible(np.arange(120))]
    order = seen[np.argsort(-generation.signals.cosines(query, seen), kind="stable")]
    assert len(order) > 26
    hits = nearest_visible(query, visibility, vectors=generation.vectors, limit=5, already_served=order[:20])
    fresh = [ordinal for ordinal in hits.ordinals.tolist() if ordinal not in order[:20]]
    assert len(fresh) == 5
    assert generation.signals.cosines(query, np.array(fresh)).min() >= generation.signals.cosines(
        query, order[25:26]
    )


def test_what_the_index_does_not_hold_yet_is_found(
    corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory written after the index was built comes first if it is nearest and visible."""
    monkeypatch.setattr(maintenance, "INDEX_ROWS", 100)
    monkeypatch.setattr(index, "ROWS_PER_PARTITION", 50)
    corpus.add([{"text": f"note {number} about the harbour"} for number in range(150)])
    assert corpus.live.vectors.maintain()
    corpus.add([{"text": "the lighthouse keeper retired"}, {"text": "a lighthouse secret", "owner": "ada"}])
    generation = Generation.open(corpus.root, corpus.publish(), scratch=tmp_path)
    assert generation.vectors.tail is not None
    query = corpus.encoder.embed_query("who kept the lighthouse?")
    monkeypatch.setattr(vector_search, "MAX_SCANNED", 0)
    for broad in (0.0001, 2.0):
        monkeypatch.setattr(vector_search, "MIN_UNFILTERED_SHARE", broad)
        visibility = Visibility.of(generation, Selection("acme"), NOW)
        hits = nearest_visible(query, visibility, vectors=generation.vectors, limit=5)
        assert hits.ordinals[0] == 150
        assert 151 not in hits.ordinals
        np.testing.assert_allclose(hits.scores, generation.signals.cosines(query, hits.ordinals), atol=1e-5)
    generation.close()


def test_how_much_of_exact_search_the_channel_finds(
    generation: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds everything if all memories are compared, less if few are; a stranger has no memories to find."""
    measured = channel_recall(generation, "acme", depth=10)
    assert measured is not None
    every = np.arange(120)
    in_sight = int(Visibility.of(generation, Selection("acme"), NOW).is_visible(every).sum())
    assert (measured.recall, measured.worst, measured.memories) == (1.0, 1.0, in_sight)
    assert 0 < measured.queries <= 32
    assert channel_recall(generation, "nobody") is None
    assert largest_tenant(generation.signals) == "acme"
    found = vector_search.nearest_visible

    def forgetful(*args: Any, **options: Any) -> Any:
        hits = found(*args, **options)
        return type(hits)(hits.ordinals[:3], hits.scores[:3])

    monkeypatch.setattr("helix_query.diagnostics.dense_check.nearest_visible", forgetful)
    fewer = channel_recall(generation, "acme", generation.signals.vectors(np.array([17, 25])), depth=5)
    assert fewer is not None
    assert (fewer.queries, fewer.recall, fewer.worst) == (2, 0.6, 0.6)
