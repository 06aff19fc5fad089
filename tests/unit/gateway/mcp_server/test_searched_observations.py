"""The search for observations that are not near their entity, over a client that holds a few memories."""

from typing import Any

import pytest

from helix_memory import limits
from helix_shared.errors import InvalidInputError
from tests.unit.gateway.mcp_server.memory_store import Store, called

LIKES_FIGS: Any = {"entityName": "Ada", "observations": ["likes figs"]}


@pytest.fixture
async def store() -> Store:
    """One observation that is near its entity."""
    store = Store()
    await called(store, "create_entities", entities=[{"name": "Ada", "observations": ["likes figs"]}])
    return store


async def test_missing_observations_are_searched_for_together(store: Store) -> None:
    """As many as a query has room for, then in halves; a longer text is searched for by its beginning."""
    texts = [f"has {number} dogs" for number in range(20)]
    deletions = [{"entityName": name, "observations": texts} for name in ("Ada", "Bob")]
    told = await called(store, "delete_observations", deletions=[*deletions, LIKES_FIGS])
    assert told["missing"] == [f"{name}: {text}" for name in ("Ada", "Bob") for text in texts]
    lines = [len(query.splitlines()) for query in store.queries]
    assert lines[:7] == [40, 20, 20, 10, 10, 10, 10]
    assert (lines.count(1), len(lines)) == (40, 79)
    store.queries.clear()
    long = ["figs " * 500, "likes", "plums " * 500, "nuts " * 5_000]
    with pytest.raises(InvalidInputError, match="names nothing"):
        await called(store, "delete_observations", deletions=[{"entityName": "Ada", "observations": long}])
    assert len(store.queries) == 5


async def test_observations_that_took_the_places_of_others_do_not_hide_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recall with two places finds five of them, none of which is near its entity."""
    monkeypatch.setattr(limits, "TOP_K", 2)
    texts = [f"Rye number {number} is baked." for number in range(5)]
    for text in texts:
        await store.remember(event_id=text, text=text, title="Mill")
    deletion = {"entityName": "Mill", "observations": [*texts, "Rye is gone."]}
    told = await called(store, "delete_observations", deletions=[deletion])
    assert told["missing"] == ["Mill: Rye is gone."]
    assert sorted(store.memories[one].text for one in store.memories.keys() & store.forgotten) == texts


async def test_other_memories_that_fill_the_places_do_not_hide_observations(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three others are nearer to the joint query than any of them, none to the query of one."""
    monkeypatch.setattr(limits, "TOP_K", 3)
    texts = [f"Rye number {number} is baked." for number in range(6)]
    for number in range(3):
        await store.remember(
            event_id=f"other-{number}", text=f"number 0 1 2 3 4 5 and {number}", title="Mill"
        )
    for text in texts:
        await store.remember(event_id=text, text=text, title="Mill")
    deletion = {"entityName": "Mill", "observations": [*texts, "Rye is gone."]}
    told = await called(store, "delete_observations", deletions=[deletion])
    assert told["missing"] == ["Mill: Rye is gone."]
    assert sorted(store.memories[one].text for one in store.memories.keys() & store.forgotten) == texts


@pytest.mark.parametrize("hits", [0, 1, 7])
async def test_recalls_are_bounded_however_few_observations_each_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch, hits: int
) -> None:
    """Less than two an observation, of which many run at the same time; what is there is found."""
    monkeypatch.setattr(limits, "TOP_K", max(hits, 1))
    texts = [f"Rye number {number} is baked." for number in range(50)]
    for text in texts if hits else []:
        await store.remember(event_id=text, text=text, title="Mill")
    deletion = {"entityName": "Mill", "observations": texts}
    told = await called(store, "delete_observations", deletions=[deletion, LIKES_FIGS])
    assert told["missing"] == ([] if hits else [f"Mill: {text}" for text in texts])
    assert len(store.queries) < 2 * len(texts)
