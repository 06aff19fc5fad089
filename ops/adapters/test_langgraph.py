"""LangGraph's own tests of a store, a comparison with its reference, and what both leave open."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import new_helix
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from helix_memory.adapters import records
from helix_memory.adapters.langgraph import KIND, HelixStore
from helix_memory.client import Helix, InvalidInputError

SOURCE = Path(os.environ["ADAPTERS_LANGGRAPH_TESTS"])
"""tests/ of the source distribution of langgraph-checkpoint."""
FAKE_VECTORS = "reads the vectors of a fake embedding function; Helix embeds with its own model"


class FreshStore(HelixStore):
    """A store of a new tenant, in place of `InMemoryStore()`."""

    def __init__(self, **index: Any) -> None:
        if index:
            pytest.xfail(FAKE_VECTORS)
        super().__init__(new_helix())


def _their_tests() -> ModuleType:
    sys.path.insert(0, str(SOURCE.parent))
    spec = importlib.util.spec_from_file_location("tests.test_store", SOURCE / "test_store.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.InMemoryStore = FreshStore  # type: ignore[attr-defined]
    return module


THEIRS = _their_tests()
for _name, _test in inspect.getmembers(THEIRS, inspect.isfunction):
    if _name.startswith("test_"):
        globals()[f"test_theirs_{_name.removeprefix('test_')}"] = _test


@pytest.fixture
def fake_embeddings() -> Any:
    """Their toy embedding function."""
    return THEIRS.CharacterEmbeddings(dims=500)


LABELS = st.sampled_from(["a", "b", "ab", "é*"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "l", "a key / with: signs", ""])
LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=12) | st.just("The cat  sleeps.\n")
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
VALUES = st.dictionaries(st.sampled_from(["color", "size", "text"]), JSON, max_size=3)
FILTERS = (
    st.none()
    | st.fixed_dictionaries({"color": LEAVES})
    | st.fixed_dictionaries({"size": st.fixed_dictionaries({"$ne": LEAVES})})
)
WRITES = st.builds(PutOp, NAMESPACES, KEYS, VALUES | st.none(), st.sampled_from([None, False]), st.none())
PATHS = st.lists(LABELS | st.just("*"), max_size=2).map(tuple)
LISTS = st.builds(
    ListNamespacesOp,
    st.none() | st.tuples(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS)),
    st.none() | st.integers(1, 3), st.integers(0, 4), st.integers(0, 2),
)  # fmt: skip
PREFIXES = st.lists(LABELS, max_size=2).map(tuple)


def _seen(result: Any) -> Any:
    """What both stores must agree on: everything but times, scores and the order of a search."""
    if isinstance(result, list) and result and not isinstance(result[0], tuple):
        return sorted((one.namespace, one.key, repr(one.value)) for one in result)
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


@settings(max_examples=int(os.environ.get("ADAPTERS_EXAMPLES", "8")), phases=(Phase.generate,))
@given(data=st.data())
def test_a_store_does_what_the_reference_does(data: st.DataObject) -> None:
    """Random batches of writes, reads, searches and lists have the same results as in `InMemoryStore`."""
    with new_helix(user="ana") as helix:
        ours, reference = HelixStore(helix), InMemoryStore()
        for _ in range(3):
            ops: list[Any] = data.draw(st.lists(WRITES, min_size=1, max_size=5))
            ours.batch(ops), reference.batch(ops)
            queries = st.none() | st.sampled_from(["the cat", "color"])
            reads = [
                *data.draw(st.lists(st.builds(GetOp, NAMESPACES, KEYS), max_size=3)),
                *(GetOp(one.namespace, one.key) for one in ops),
                SearchOp(data.draw(PREFIXES), data.draw(FILTERS), 100, 0, data.draw(queries)),
                data.draw(LISTS),
            ]
            note(repr(ops))
            for read in reads:
                # the reference lists namespaces that were read or emptied; a namespace is where an item is
                for empty in [place for place, items in reference._data.items() if not items]:
                    del reference._data[empty]
                assert _seen(ours.batch([read])[0]) == _seen(reference.batch([read])[0]), read


def test_a_search_finds_what_is_meant(helix: Helix) -> None:
    """The best item comes first, with a score, and pages continue each other."""
    store = HelixStore(helix)
    for n, text in enumerate(["My cat is called Miso.", "I moved to Porto in May.", "I cannot eat peanuts."]):
        store.put(("memories", "ana"), f"m{n}", {"text": text, "n": n})
    store.put(("other",), "x", {"text": "A cat is called Rex."})
    found = store.search(("memories",), query="what is my pet's name?", limit=2)
    assert found[0].value == {"text": "My cat is called Miso.", "n": 0}
    assert found[0].score is not None
    more = store.search(("memories",), query="what is my pet's name?", limit=2, offset=2)
    assert {one.key for one in [*found, *more]} == {"m0", "m1", "m2"}
    assert [one.key for one in store.search((), query="allergy", filter={"n": {"$gte": 1}}, limit=1)] == [
        "m2"
    ]


def test_a_long_value_comes_back_whole(helix: Helix) -> None:
    """A value beyond the note is the text of its document, searched as JSON."""
    value = {
        "text": " two  blanks\n\tand a tab. " * 400,
        "list": list(range(300)),
        "wide": "\u2003\u00a0\u0085",
    }
    store = HelixStore(helix)
    store.put(("long",), "k", value)
    assert store.get(("long",), "k").value == value
    assert store.search(("long",), query="two blanks and a tab")[0].value == value


def test_only_the_named_fields_are_searched(helix: Helix) -> None:
    """An item without index is found by listing, never by a query."""
    store = HelixStore(helix)
    store.put(("i",), "fields", {"text": "My cat is called Miso.", "secret": "porcupine"}, index=["text"])
    store.put(("i",), "none", {"text": "a porcupine"}, index=False)
    scores = {one.key: one.score for one in store.search(("i",), query="Miso the cat")}
    assert scores["fields"] is not None
    assert scores["none"] is None
    assert helix.recall("porcupine", never_skip=True, mode="auto").memories[0].text.count("porcupine") == 0


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda store: store.put(("a",), "k", {"x": {1, 2}}), "value"),
        (lambda store: store.put(("a",), "k", {"x": float("nan")}), "value"),
        (lambda store: store.put(("a",), "k", {"x": "y" * 100_001}), "value"),
        (lambda store: store.put(("a",), "k", {"x": "y", "z": "w" * 3_000}, index=["x"]), "index"),
        (lambda store: store.put(("a" * 2_500,), "k", {"x": "y"}), "namespace"),
        (lambda store: store.search(("a",), filter={"x": {"$in": [1]}}), "filter.x"),
        (lambda store: store.search(("a",), limit=-1), "limit"),
    ],
)
def test_what_a_store_cannot_do_is_refused(
    helix: Helix, call: Callable[[BaseStore], object], field: str
) -> None:
    """The error names the field."""
    store = HelixStore(helix)
    with pytest.raises(InvalidInputError) as refused:
        call(store)
    assert refused.value.field == field


def test_a_time_to_live_is_refused(helix: Helix) -> None:
    """Nobody is told that an item would expire."""
    with pytest.raises(NotImplementedError):
        HelixStore(helix).put(("a",), "k", {"x": 1}, ttl=5)


def test_forged_records_hide_no_item() -> None:
    """Somebody else's writes with a note that cannot be used: reads return the items."""
    helix = new_helix()
    store = HelixStore(helix)
    store.put(("a",), "k", {"pizza": "with cheese"})
    for name, change in {"no-json": {}, "huge": {"length": 10**10}, "other": {"name": "k"}}.items():
        forged = {"space": ["a"], "name": name, "length": 12, "seen": 11} | change
        place = records.document_of(KIND, ["a"], name)
        helix.document(
            place,
            "pizza, pizza",
            source_uri=f"{KIND}:record?{records.json_of('note', forged)}",
            session=records.session_of(KIND, ["a"]),
            project=place,
            wait=True,
        )
    assert [one.key for one in store.search(("a",))] == ["k"]
    assert [one.key for one in store.search(("a",), query="pizza", limit=1)] == ["k"]
    assert [one.key for one in store.search(("a",), query="pizza", filter={"pizza": "with cheese"})] == ["k"]
    assert store.get(("a",), "no-json") is None
    assert store.list_namespaces() == [("a",)]
