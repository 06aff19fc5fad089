"""Observations that are not near their entity, over a client that holds a few memories."""

from typing import Any

import pytest

from helix_gateway.mcp.names import observations
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


def hidden(store: Store) -> list[str]:
    """Texts of the memories that were deleted."""
    return sorted(store.memories[one].text for one in store.memories.keys() & store.forgotten)


async def test_missing_observations_take_one_list_and_no_recall(store: Store) -> None:
    """However many there are; what is near its entity is not listed."""
    texts = [f"has {number} dogs" for number in range(20)]
    deletions = [{"entityName": name, "observations": texts} for name in ("Ada", "Bob")]
    told = await called(store, "delete_observations", deletions=[*deletions, LIKES_FIGS])
    assert told["missing"] == [f"{name}: {text}" for name in ("Ada", "Bob") for text in texts]
    assert (store.queries, len(store.listed)) == ([], 1)
    assert "likes figs" not in store.listed[0]
    assert hidden(store) == ["Ada: likes figs"]


async def test_whatever_resembles_an_observation_does_not_hide_it(store: Store) -> None:
    """A search has places for the most similar memories only."""
    for number in range(300):
        await store.remember(
            event_id=f"like-{number}", text=f"Rye number 5 is baked in {number}.", title="Mill"
        )
    texts = ["Mill: Rye number 5 is baked.", "MILL: Rye number 6 is baked.", "Rye number 7 is baked."]
    for text in texts:
        await store.remember(event_id=text, text=text, title="Mill")
    await store.remember(event_id="again", text=texts[0], title="mill")
    wanted = [f"Rye number {number} is baked." for number in (5, 6, 7, 8)]
    told = await called(
        store, "delete_observations", deletions=[{"entityName": "Mill", "observations": wanted}]
    )
    assert told["missing"] == ["Mill: Rye number 8 is baked."]
    assert hidden(store) == sorted([*texts, texts[0]])
    assert len(store.listed) == 1


async def test_the_same_text_of_another_entity_stays(store: Store) -> None:
    """It is shown there; in another case of letters it is another observation."""
    await store.remember(event_id="1", text="Mill: is open", title="Shop")
    await store.remember(event_id="2", text="is open", title="Shop")
    await store.remember(event_id="3", text="Mill: Is Open", title="Mill")
    deletion = {"entityName": "Mill", "observations": ["is open"]}
    told = await called(store, "delete_observations", deletions=[deletion, LIKES_FIGS])
    assert (told["missing"], hidden(store)) == (["Mill: is open"], ["Ada: likes figs"])


async def test_every_page_of_every_list_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many texts as a list may name and a request has room for; what no memory can say is not asked."""
    monkeypatch.setattr(limits, "LISTED_TEXTS", 6)
    monkeypatch.setattr(observations, "LISTED_BYTES", 1_000)
    monkeypatch.setattr(limits, "PAGE_SIZE", 2)
    texts = [f"Rye number {number} is baked." for number in range(7)]
    for text in texts:
        await store.remember(event_id=text, text=text, title="Mill")
    long = ["figs " * 120, "plums " * 120, "n" * 2_000, " "]
    deletion = {"entityName": "Mill", "observations": [*texts, *long]}
    told = await called(store, "delete_observations", deletions=[deletion])
    assert told["missing"] == [f"Mill: {text}" for text in long]
    assert hidden(store) == texts
    assert max(map(len, store.listed)) == 6
    assert max(sum(map(len, one)) for one in store.listed) <= 1_000
    asked = {text for one in store.listed for text in one}
    assert asked == {form for text in [*texts, *long[:2]] for form in (text, f"Mill: {text}")} | {"Mill:  "}


async def test_a_text_without_a_form_is_refused(store: Store) -> None:
    """A lone surrogate is in no memory."""
    deletion = {"entityName": "Mill", "observations": ["\ud800"]}
    with pytest.raises(InvalidInputError, match="surrogates"):
        await called(store, "delete_observations", deletions=[deletion])
